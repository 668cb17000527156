/**
 * Owns: loading the product with a change in its text, in this process only and before anything of it is loaded.
 */
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Change } from './guards.ts';

const server = join(import.meta.dirname, '../..');

/** Throws when a text is not there exactly once: a guard that moved must be found again. */
export function changed(source: string, { file, find, replace }: Change): string {
  const parts = source.split(find);
  if (parts.length !== 2) throw new Error(`${file} has ${parts.length - 1} times: ${find}`);
  return parts.join(replace);
}

export function loadChanged(changes: readonly Change[]): void {
  const byUrl = Map.groupBy(changes, ({ file }) => pathToFileURL(join(server, file)).href);
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context);
      const due = byUrl.get(url);
      if (!due) return loaded;
      const source = Buffer.from(loaded.source as Uint8Array).toString();
      return { ...loaded, source: due.reduce(changed, source) };
    },
  });
}
