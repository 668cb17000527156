/**
 * Owns: a server in a process of its own that can be asked what it holds, for tests that look for leaks. Put together
 * by `compose.ts` like any other; only the hub is seen from outside, by a change to its text while it is loaded, so that
 * the product has no door for it. Run with `--expose-gc` and an IPC channel; ends with its parent.
 */
import { setImmediate as turn } from 'node:timers/promises';
import type { Change } from '../simulation/guards.ts';
import { loadChanged } from '../simulation/without.ts';

/** What a server holds after garbage was collected. */
export interface Held {
  /** Subscriptions and listeners of its hub. */
  readonly subscribers: number;
  readonly timers: number;
  /** Connections of clients; those to the database are none of these. */
  readonly sockets: number;
  readonly heapBytes: number;
}

export type { Change };

export type Told = { readonly type: 'up'; readonly link: string } | ({ readonly type: 'held' } & Held);

const hubs: { size(): number }[] = [];
Object.assign(globalThis, { hubsOfThisServer: hubs });
const seen: Change = {
  file: 'src/app/feed/hub.ts',
  find: 'export function createHub(): Hub {\n',
  replace: `export function createHub(): Hub {\n  const hub = createUnseenHub();\n  globalThis.hubsOfThisServer.push(hub);\n  return hub;\n}\nfunction createUnseenHub(): Hub {\n`,
};
loadChanged([seen, ...(JSON.parse(process.env['CHANGES'] ?? '[]') as Change[])]);

const { checkModelFile, start } = await import('../../src/compose.ts');
const { readConfig } = await import('../../src/config.ts');

const tell = (told: Told): void => void process.send!(told);
const read = readConfig(process.env, [], process.cwd(), checkModelFile);
if (read.type !== 'config') throw new Error(JSON.stringify(read));
const started = await start(read.config, () => undefined);
if (started.type !== 'running') throw new Error(started.message);
const { server } = started;
process.on('disconnect', () => void server.stop().finally(() => process.exit(0)));
process.on('message', () => void look());
tell({ type: 'up', link: await server.issueLink() });

async function look(): Promise<void> {
  for (let n = 0; n < 4; n += 1) {
    await turn();
    globalThis.gc!();
  }
  const open = process.getActiveResourcesInfo();
  const count = (what: string): number => open.filter((kind) => kind === what).length;
  tell({
    type: 'held',
    subscribers: hubs.reduce((sum, hub) => sum + hub.size(), 0),
    timers: count('Timeout'),
    sockets: count('TCPSocketWrap'),
    heapBytes: process.memoryUsage().heapUsed,
  });
}
