/**
 * Owns: one server process of a simulated world: the real app, put together as `compose.ts` does, over simulated ports.
 */
import type { Viewer } from 'schema/model';
import type { Services } from 'schema/services';
import { systemSecrets } from '../../src/adapters/random/index.ts';
import { sentenceOf } from '../../src/app/actor/actor.ts';
import { createPrompt } from '../../src/app/actor/prompt.ts';
import { createRegistry, type Registry } from '../../src/app/actor/registry.ts';
import { createDeletions } from '../../src/app/deletions.ts';
import { withFirstWord, type FirstWordHub } from '../../src/app/feed/first-word.ts';
import { createHub, type Hub } from '../../src/app/feed/hub.ts';
import { createHeartbeat, type Round } from '../../src/app/rounds/heartbeat.ts';
import { createRecovery } from '../../src/app/rounds/recovery.ts';
import { createServices } from '../../src/app/services/index.ts';
import { createTokens } from '../../src/app/services/tokens.ts';
import type { State } from '../../src/core/workstream/state.ts';
import type { Ids } from '../../src/ports/ids.ts';
import type { Line } from '../../src/ports/line.ts';
import type { Log } from '../../src/ports/log.ts';
import type { Processes } from '../../src/ports/processes.ts';
import type { Session } from '../../src/ports/ownership.ts';
import type { Workspaces } from '../../src/ports/workspaces.ts';
import type { Disk } from './disk.ts';
import type { Provider } from './provider.ts';
import type { Process, Scheduler } from './scheduler.ts';

/** How long a stopping server lets actors store what they accepted, milliseconds; as `compose.ts`. */
const settleMs = 4_000;

/** Nobody waits: who is next here is the scheduler's to say. */
const openLine: Line = async () => ({
  rest: () => undefined,
  work: async () => undefined,
  free: () => undefined,
});

export interface Node {
  readonly process: Process;
  /** Null until it has a session. */
  readonly up: Running | null;
  /** Stops as when told by a signal. */
  stop(): void;
}

export interface Running {
  readonly services: Services;
  readonly registry: Registry;
  readonly hub: Hub;
}

export const ada: Viewer = { id: 'ada', name: 'Ada', tokenId: 'ada' };
export const bob: Viewer = { id: 'bob', name: 'Bob', tokenId: 'bob' };

export interface NodeDeps {
  readonly scheduler: Scheduler;
  readonly disk: Disk;
  readonly provider: Provider;
  readonly ids: Ids;
  readonly random: () => number;
  /** A line that the server logs as an error. */
  onError(process: Process, message: string, fields: Readonly<Record<string, unknown>>): void;
  /** An owner says that another process took over. */
  onRobbed(process: Process, state: State): void;
  /** The process ends by itself. */
  exit(process: Process): void;
}

export function startNode(deps: NodeDeps, process: Process, skewMs: number): Node {
  const { scheduler, disk, provider, ids } = deps;
  const clock = scheduler.clockOf(process, skewMs);
  const storage = disk.connect(process);
  const log: Log = {
    info: () => undefined,
    warn: () => undefined,
    error: (fields, message) => {
      if (process.alive) deps.onError(process, message, fields);
    },
  };
  let running: Running | null = null;
  let session: Session | null = null;
  let stopping = false;
  let lost = false;
  let rounds: readonly Round[] = [];

  async function begin(): Promise<Session> {
    for (;;) {
      const begun = await storage.sessions.begin(process.nodeId, process.host).catch(() => null);
      if (begun?.type === 'begun') return begun.session;
      await new Promise<void>((resolve) => clock.after(1_000, resolve));
    }
  }

  async function start(): Promise<void> {
    session = await begin();
    const stateOf = (id: string) => running?.registry.peek(id)?.state() ?? null;
    const model = provider.model(process, stateOf);
    const tools = provider.tools(process, stateOf);
    const inner = withFirstWord(createHub());
    const hub: FirstWordHub = {
      ...inner,
      publish(id, item) {
        const state = stateOf(id);
        const robbed = item.type === 'Ended' && item.reason === sentenceOf.ownerLost;
        if (robbed && !lost && state && process.alive) deps.onRobbed(process, state);
        inner.publish(id, item);
      },
    };
    const { journal, ownership, catalog, reservations, removal } = storage;
    const processes: Processes = {
      run: () => Promise.reject(new Error('not here')),
      // Calls are known by their process here, and ended when their workstream is loaded.
      sessions: () => Promise.resolve([]),
      endLeftovers: async ({ callIds = [] }) => provider.endLeftovers(process.host, callIds),
    };
    const prompt = createPrompt({
      guidance: { ofServer: () => null, ofWorkspace: () => Promise.resolve(null) },
      clock,
    });
    const registry = createRegistry({
      clock,
      ids,
      log,
      hub,
      model,
      tools,
      prompt,
      processes,
      host: process.host,
      journal,
      ownership,
      usage: storage.usage,
      sessionId: session.id,
      random: deps.random,
      fires: () => Promise.resolve([]),
    });
    const secrets = systemSecrets;
    const workspaces: Workspaces = {
      roots: ['/folders'],
      choose: async (id) => ({ type: 'chosen', path: `/folders/${id}` }),
      abandon: () => Promise.resolve(null),
      own: async (id) => `/folders/${id}`,
      at: async (path) => path,
      ownRoot: async () => '/folders',
      writtenBelow: async () => '/folders/',
    };
    const services = createServices({
      clock,
      ids,
      secrets,
      log,
      hub,
      model,
      tools,
      registry,
      tokens: createTokens({ store: storage.tokens, journal, ids, secrets, clock, line: openLine }),
      workspaces,
      journal,
      catalog,
      reservations,
      removal,
      deletions: createDeletions({ registry, journal, clock, log, isStopping: () => stopping }),
      reserving: new Set(),
      search: storage.search,
      usage: storage.usage,
      watches: storage.watches,
      conditions: {
        check: () => Promise.resolve({ type: 'sound' }),
        judge: () => Promise.resolve({ type: 'holdsNot' }),
        stop: () => Promise.resolve(),
      },
      watchRound: {
        tell: () => undefined,
        figures: () => ({ running: 0, polls: 0, fires: 0, errors: 0, lateP99Ms: null }),
      },
      prompt,
      sessionId: session.id,
      host: process.host,
      line: openLine,
      isStopping: () => stopping,
      awake: () => Promise.resolve(),
      serverInfo: () => Promise.reject(new Error('not asked here')),
    });
    running = { services, registry, hub };
    const heartbeat = createHeartbeat({
      session,
      clock,
      log,
      canBeTakenOver: true,
      onLost() {
        lost = true;
        registry.deposeAll();
        scheduler.later(process, `${process.name} ends, for it lost its session`, () => deps.exit(process));
      },
    });
    const recovery = createRecovery({ ownership, registry, processes, sessionId: session.id, clock, log });
    rounds = [heartbeat, recovery];
    for (const round of rounds) round.run();
  }

  async function stop(): Promise<void> {
    if (stopping) return;
    stopping = true;
    for (const round of rounds) round.stop();
    await running?.registry.stop(settleMs);
    await session?.end();
    deps.exit(process);
  }

  void start();
  return {
    process,
    get up() {
      return process.alive ? running : null;
    },
    stop: () => void stop(),
  };
}
