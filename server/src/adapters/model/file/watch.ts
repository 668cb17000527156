/**
 * Owns: the models as `weir.config.json` has them now: a change is taken over whole, or not at all and said so.
 *
 * Invariants: what serves is never taken away by a file that is faulty, half written or gone; a binding that has not
 * changed stays the same value, so that what was learned of its endpoint is kept.
 */
import { dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../../ports/clock.ts';
import type { Log } from '../../../ports/log.ts';
import type { Binding } from '../binding.ts';
import type { Bindings } from '../bindings.ts';
import { readModels, type ReadModels, type Surroundings } from './read.ts';

/** How often it is looked at, milliseconds: a change counts at most this much later. */
const everyMs = 2_000;

export interface ModelFileDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly path: string;
  readonly env: Surroundings['env'];
  /** The text of a file; throws when it cannot be read. */
  readonly readText: (path: string) => string;
  /** The models that do not come from the file; an alias of the file takes the place of the same one here. */
  readonly others: readonly Binding[];
}

export interface WatchedModels {
  current(): Bindings;
  /** What every model is told; null: nothing. */
  instructions(): string | null;
  /** One sentence while the file is not what serves; else null. */
  problem(): string | null;
  /** Calls back after each change that was taken over. */
  onChange(callback: () => void): void;
  stop(): void;
}

/** Reads the file once; null when there is none. */
export function readModelFile({
  path,
  env,
  readText,
  aliases = [],
  secrets = [],
}: Pick<ModelFileDeps, 'path' | 'env' | 'readText'> &
  Pick<Surroundings, 'aliases' | 'secrets'>): ReadModels | null {
  let text: string;
  try {
    text = readText(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return null;
    return { type: 'faulty', problems: [`It cannot be read (${code ?? String(error)}).`] };
  }
  return readModels(text, { env, folder: dirname(path), readText, aliases, secrets });
}

/** Serves what the file says, beginning with what it says now; a file that is faulty now serves nothing yet. */
export function watchModelFile(deps: ModelFileDeps): WatchedModels {
  const { clock, log, path, others } = deps;
  let served: Omit<Extract<ReadModels, { readonly type: 'read' }>, 'type'> | null = null;
  let seen: ReadModels | null | undefined;
  let faults: readonly string[] = [];
  let bindings = assemble();
  let cancel = (): void => undefined;
  const callbacks: (() => void)[] = [];

  function assemble(): Bindings {
    const own = served?.bindings ?? [];
    const all = [...own, ...others.filter(({ alias }) => !own.some((mine) => mine.alias === alias))];
    return { all, default: served?.default ?? all[0]?.alias ?? null };
  }

  function sentence(): string | null {
    if (faults.length === 0) return null;
    return `${path} was changed and has faults, so the settings from before are in use. ${faults.join(' ')}`;
  }

  function look(): void {
    const serving = [...bindings.all, ...others];
    const now = readModelFile({
      ...deps,
      aliases: serving.map(({ alias }) => alias),
      secrets: serving.flatMap(({ endpoint }) => endpoint.secrets),
    });
    if (isDeepStrictEqual(now, seen)) return;
    const first = seen === undefined;
    seen = now;
    if (now?.type === 'read') {
      faults = [];
      served = { ...now, bindings: now.bindings.map((binding) => keptOr(binding, served?.bindings ?? [])) };
      if (!first) log.info({ path, models: now.bindings.map(({ alias }) => alias) }, 'model file taken over');
    } else if (now) {
      faults = now.problems;
      log.warn({ path, problems: faults }, 'model file has faults; the settings from before are in use');
    } else {
      // Where it never served, nothing is missed when it goes.
      faults = served ? ['It is gone. Put it back, or start the server anew to go on without it.'] : [];
      if (served) log.warn({ path }, 'model file is gone; the settings from before are in use');
    }
    bindings = assemble();
    if (!first) for (const callback of callbacks) callback();
  }

  function watch(): void {
    look();
    cancel = clock.after(everyMs, watch);
  }

  watch();
  return {
    instructions: () => served?.instructions ?? null,
    current: () => bindings,
    problem: sentence,
    onChange: (callback) => void callbacks.push(callback),
    stop: () => cancel(),
  };
}

const keptOr = (binding: Binding, before: readonly Binding[]): Binding =>
  before.find((old) => isDeepStrictEqual(old, binding)) ?? binding;
