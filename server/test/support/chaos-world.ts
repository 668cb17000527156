/**
 * Owns: the server's own parts on a real database and the real model adapter over real HTTP, with a clock that moves
 * only while everything else stands still. Does not own: what goes wrong (`chaos-proxy.ts`), or what must hold.
 *
 * Invariant: time never passes while a statement, a tool or an answer that moves is under way, so no term runs out
 * because a machine is slow.
 */
import { randomBytes } from 'node:crypto';
import type { Entry, FeedItem, ToolResult } from 'schema/projection';
import type { Viewer } from 'schema/model';
import type { Services } from 'schema/services';
import type { Binding } from '../../src/adapters/model/binding.ts';
import { fixedBindings } from '../../src/adapters/model/bindings.ts';
import { createPlane } from '../../src/adapters/model/plane.ts';
import { systemIds, systemSecrets as secrets } from '../../src/adapters/random/index.ts';
import type { Storage } from '../../src/adapters/storage/index.ts';
import { createPrompt } from '../../src/app/actor/prompt.ts';
import { createRegistry, type Registry } from '../../src/app/actor/registry.ts';
import { createDeletions } from '../../src/app/deletions.ts';
import { withFirstWord, type FirstWordHub } from '../../src/app/feed/first-word.ts';
import { createHub } from '../../src/app/feed/hub.ts';
import { createServices } from '../../src/app/services/index.ts';
import { createTokens } from '../../src/app/services/tokens.ts';
import type { Log } from '../../src/ports/log.ts';
import type { Model } from '../../src/ports/model.ts';
import type { ToolCall, Tools } from '../../src/ports/tools.ts';
import { lineOf } from '../../src/transport/line.ts';
import { createTestClock, type TestClock } from './clock.ts';

export interface ChaosWorld {
  readonly clock: TestClock;
  readonly services: Services;
  readonly registry: Registry;
  readonly model: Model;
  /** Every line of the log, as JSON. */
  readonly log: readonly string[];
  /** Every item of a workstream's feed, in order. */
  items(workstreamId: string): readonly FeedItem[];
  /** Calls back with each item of any feed as it is published, until the returned function is called. */
  onItem(listener: (workstreamId: string, item: FeedItem) => void): () => void;
  /** The journal as it is stored, up to this revision. */
  read(workstreamId: string, through: number): Promise<readonly Entry[]>;
  /** What a tool was run with, in order. */
  readonly runs: readonly ToolCall[];
  /** Runs `work` and lets time pass whenever nothing moves; throws when more than `patienceMs` passed and nothing ended. */
  live<T>(work: Promise<T>, patienceMs: number): Promise<T>;
  /** A turn ended, so that patience begins anew. */
  progress(): void;
  /** An answer has stalled: it may be that nothing moves any more. */
  look(): void;
  stop(): Promise<void>;
}

export const ada: Viewer = { id: 'ada', name: 'Ada', tokenId: 'ada' };
export const newKey = (): string => randomBytes(8).toString('hex');

/** How far time moves at once while nothing else does, milliseconds. */
const strideMs = 250;

export async function createChaosWorld(options: {
  readonly storage: Storage;
  readonly bindings: readonly Binding[];
  /** Answers that are kept waiting for ever: nothing of them moves. */
  readonly stalled: () => number;
  readonly clock?: TestClock;
}): Promise<ChaosWorld> {
  const clock = options.clock ?? createTestClock();
  const log: string[] = [];
  const note =
    (level: string): Log['info'] =>
    (fields, message) =>
      void log.push(JSON.stringify({ level, ...fields, message }));
  const logs: Log = { info: note('info'), warn: note('warn'), error: note('error') };
  const feeds = new Map<string, FeedItem[]>();
  const listeners = new Set<(workstreamId: string, item: FeedItem) => void>();
  const runs: ToolCall[] = [];
  let statements = 0;
  let answers = 0;
  let progressAt = clock.now();
  let look = (): void => undefined;

  /** The same port, whose calls are counted while they are under way. */
  function counted<T extends object>(port: T): T {
    return new Proxy(port, {
      get(target, name, receiver) {
        const member: unknown = Reflect.get(target, name, receiver);
        if (typeof member !== 'function') return member;
        return (...input: unknown[]): unknown => {
          const result: unknown = Reflect.apply(member, target, input);
          if (!(result instanceof Promise)) return result;
          statements += 1;
          return result.finally(() => {
            statements -= 1;
            look();
          });
        };
      },
    });
  }

  const storage = {
    journal: counted(options.storage.journal),
    ownership: counted(options.storage.ownership),
    catalog: counted(options.storage.catalog),
    reservations: counted(options.storage.reservations),
    removal: counted(options.storage.removal),
    usage: counted(options.storage.usage),
  };
  const begun = await options.storage.sessions.begin(newKey(), 'chaos');
  if (begun.type !== 'begun') throw new Error('the node is busy');
  const sessionId = begun.session.id;

  const bare = withFirstWord(createHub());
  const hub: FirstWordHub = {
    ...bare,
    publish(id, item) {
      const feed = feeds.get(id) ?? [];
      feeds.set(id, feed);
      feed.push(item);
      bare.publish(id, item);
      for (const listener of listeners) listener(id, item);
    },
  };
  const plane = createPlane({ clock, log: logs, bindings: fixedBindings(options.bindings) });
  const model: Model = {
    list: plane.list,
    call(request, signal, onEvent) {
      answers += 1;
      const heard: typeof onEvent = (event) => {
        onEvent(event);
        if (event.type === 'notice') look();
      };
      return plane.call(request, signal, heard).finally(() => {
        answers -= 1;
        look();
      });
    },
  };
  const tools: Tools = {
    definitions: [
      { name: 'look', access: 'READ', description: 'Looks.', parameters: { type: 'object' } },
      { name: 'fail', access: 'READ', description: 'Fails.', parameters: { type: 'object' } },
    ],
    prepare: (call) =>
      Promise.resolve({
        type: 'ready',
        access: 'READ',
        argumentsHash: `hash-of-${call.callId}`,
        preview: { kind: 'TEXT', title: call.name, body: call.arguments },
        basis: null,
      }),
    run(call, signal) {
      runs.push(call);
      const result: ToolResult = { outcome: 'OK', effect: 'NONE', content: `saw ${call.arguments}` };
      return new Promise((resolve) =>
        setImmediate(() =>
          resolve(
            signal.aborted
              ? { ...result, outcome: 'CANCELED', content: 'Ended.' }
              : call.name === 'fail'
                ? { ...result, outcome: 'ERROR', content: 'There is nothing there.' }
                : result,
          ),
        ),
      );
    },
  };
  const processes = {
    run: () => Promise.reject(new Error('not here')),
    sessions: () => Promise.resolve([]),
    endLeftovers: () => Promise.resolve([]),
  };
  const prompt = createPrompt({
    guidance: { ofServer: () => null, ofWorkspace: () => Promise.resolve(null) },
    clock,
  });
  const registry = createRegistry({
    clock,
    ids: systemIds,
    log: logs,
    hub,
    model,
    tools,
    prompt,
    processes,
    host: 'chaos',
    journal: storage.journal,
    ownership: storage.ownership,
    usage: storage.usage,
    sessionId,
    random: () => 0.5,
    fires: () => Promise.resolve([]),
  });
  const workspaces = {
    roots: ['/'],
    choose: () => Promise.resolve({ type: 'chosen' as const, path: '/chaos' }),
    abandon: () => Promise.resolve(null),
    own: () => Promise.resolve('/chaos'),
    at: (path: string) => Promise.resolve(path),
    ownRoot: () => Promise.resolve(null),
    writtenBelow: () => Promise.resolve(null),
  };
  const line = lineOf('commands');
  const services = createServices({
    clock,
    ids: systemIds,
    secrets,
    log: logs,
    hub,
    model,
    tools,
    registry,
    tokens: createTokens({
      store: options.storage.tokens,
      journal: storage.journal,
      ids: systemIds,
      secrets,
      clock,
      line,
    }),
    workspaces,
    journal: storage.journal,
    catalog: storage.catalog,
    reservations: storage.reservations,
    removal: storage.removal,
    deletions: createDeletions({
      registry,
      journal: storage.journal,
      clock,
      log: logs,
      isStopping: () => false,
    }),
    reserving: new Set<string>(),
    search: options.storage.search,
    usage: options.storage.usage,
    watches: options.storage.watches,
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
    sessionId,
    line,
    host: 'chaos',
    isStopping: () => false,
    awake: () => Promise.resolve(),
    serverInfo: () => Promise.reject(new Error('not asked here')),
  });

  const waiting = (): number => plane.list().reduce((sum, one) => sum + one.waiting, 0);
  const isStill = (): boolean => statements === 0 && answers - waiting() - options.stalled() <= 0;

  async function isStillFor(turns: number): Promise<boolean> {
    for (let turn = 0; turn < turns; turn += 1) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      if (!isStill()) return false;
    }
    return true;
  }

  return {
    clock,
    services,
    registry,
    model,
    log,
    runs,
    items: (id) => feeds.get(id) ?? [],
    read: (id, through) => storage.journal.read(id, { after: 0, through, limit: through }),
    onItem(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    look: () => look(),
    progress: () => void (progressAt = clock.now()),
    async live(work, patienceMs) {
      let done = false;
      const ended = work.finally(() => {
        done = true;
        look();
      });
      ended.catch(() => undefined);
      progressAt = clock.now();
      while (!done) {
        const changed = new Promise<void>((resolve) => (look = resolve));
        if (!(await isStillFor(3))) {
          await changed;
          continue;
        }
        if (clock.now() - progressAt > patienceMs)
          throw new Error(
            `nothing ended for ${patienceMs / 60_000} minutes of the clock: something is stuck`,
          );
        await clock.advance(strideMs);
      }
      return ended;
    },
    async stop() {
      await registry.stop(0);
      await begun.session.end();
    },
  };
}
