/**
 * A `Services` and an `Access` in memory, for tests of whatever stands before them. It answers, counts what is open,
 * and can be told to break; it decides nothing.
 */
import {
  applyEntries,
  emptyOverlay,
  emptyProjection,
  encodeCursor,
  stateOf,
  type Entry,
  type Watch,
} from 'schema/projection';
import type {
  FeedEvent,
  ModelCallModel,
  TokenModel,
  UsageTotalModel,
  Viewer,
  WatchModel,
  WorkstreamModel,
  WorkstreamSummaryModel,
} from 'schema/model';
import type { Access, Services } from 'schema/services';
import type { WorkstreamNotFound } from 'schema/outcome';
import { modelInfo } from './fake-model.ts';

export interface FakeWorkstream {
  readonly id: string;
  entries: readonly Entry[];
  durableThrough: number;
}

const at = '2026-11-30T09:52:03.120Z';

const notFound: WorkstreamNotFound = {
  type: 'Rejected',
  code: 'WORKSTREAM_NOT_FOUND',
  message: 'There is no workstream with this id.',
  retryable: false,
};

const total: UsageTotalModel = {
  calls: 3,
  inputTokens: 3_000_000_000,
  cachedInputTokens: 100,
  outputTokens: 40,
  reasoningTokens: 4,
  cost: 0.25,
  estimatedCalls: 1,
};

const modelCall = (id: string): ModelCallModel => ({
  id,
  purpose: 'TURN',
  turnId: 't1',
  alias: 'demo',
  model: 'demo-1',
  usage: { inputTokens: 10, outputTokens: 4, cachedInputTokens: 6 },
  estimated: false,
  outcome: 'ANSWERED',
  cost: null,
  at,
});

/** As it could be polled. */
const polledOf = (workstreamId: string, watch: Watch): WatchModel => ({
  ...watch,
  workstreamId,
  polls: 4,
  fires: 1,
  nextPollAt: at,
  lastPollAt: at,
  lastExitCode: 0,
  lastOutput: 'done\n',
  lastError: null,
});

const accepted = { type: 'Accepted', durability: 'DURABLE' } as const;

const said = {
  ...accepted,
  disposition: 'STARTED',
  messageId: 'e9',
  turnId: 't9',
  revision: 9,
} as const;

const storageUnavailable = {
  type: 'Rejected',
  code: 'STORAGE_UNAVAILABLE',
  message: 'The database does not answer.',
  retryable: true,
} as const;

/** An unending stream that tests push into; counts those who listen. */
function createChannel<T>() {
  const listeners = new Set<(item: T | Error) => void>();
  const waiting: { count: number; resolve: () => void }[] = [];
  const changed = (): void => {
    for (const w of waiting.splice(0))
      if (listeners.size === w.count) w.resolve();
      else waiting.push(w);
  };
  return {
    get open() {
      return listeners.size;
    },
    /** Resolves once exactly `count` listen. */
    hasOpen: (count: number): Promise<void> =>
      listeners.size === count
        ? Promise.resolve()
        : new Promise((resolve) => {
            waiting.push({ count, resolve });
          }),
    push(item: T | Error) {
      for (const listener of [...listeners]) listener(item);
    },
    async *follow(signal: AbortSignal): AsyncGenerator<T> {
      const items: (T | Error)[] = [];
      let wake: () => void = () => undefined;
      const listener = (item: T | Error): void => {
        items.push(item);
        wake();
      };
      const onAbort = (): void => {
        wake();
      };
      signal.addEventListener('abort', onAbort);
      listeners.add(listener);
      changed();
      try {
        while (!signal.aborted) {
          const item = items.shift();
          if (item instanceof Error) throw item;
          if (item !== undefined) yield item;
          else
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
        }
      } finally {
        listeners.delete(listener);
        signal.removeEventListener('abort', onAbort);
        changed();
      }
    },
  };
}

export function createFakeServices() {
  const workstreams = new Map<string, FakeWorkstream>();
  const feed = createChannel<FeedEvent>();
  const states = createChannel<never>();
  const tokens = createChannel<never>();
  const calls: { verb: string; by: Viewer; input: unknown }[] = [];
  const broken: { reads: Error | null } = { reads: null };

  const modelOf = (w: FakeWorkstream): WorkstreamModel => {
    const durable = applyEntries(
      emptyProjection,
      w.entries.filter((e) => e.revision <= w.durableThrough),
    );
    const pending = w.entries.filter((e) => e.revision > w.durableThrough);
    const projection = applyEntries(durable, pending);
    return {
      id: w.id,
      projection,
      durable,
      pending,
      epoch: 3,
      durableThrough: w.durableThrough,
      state: stateOf(projection),
      context: projection.context,
      overlay: {
        ...emptyOverlay,
        message: { id: 'm1', turnId: 't1', text: 'so far', reasoning: '' },
        tools: { k1: { offset: 5, text: 'tail' } },
      },
      persistence: { status: 'RETRYING', nextAttemptAt: at, message: 'The database is away.' },
      cursor: encodeCursor({ incarnation: 'i1', epoch: 3, revision: projection.revision }),
      owner: 's1',
      quarantine: null,
      createdAt: at,
      updatedAt: at,
    };
  };
  const summaryOf = (w: FakeWorkstream): WorkstreamSummaryModel => {
    const { id, projection, state } = modelOf(w);
    return {
      id,
      title: projection.configuration.title,
      state,
      stopping: false,
      lifecycle: projection.lifecycle === 'CLOSED' ? 'CLOSED' : 'OPEN',
      model: projection.configuration.model,
      revision: projection.revision,
      persistence: 'RETRYING',
      createdAt: at,
      updatedAt: at,
    };
  };
  const record = (verb: string, by: Viewer, input: unknown): void => {
    calls.push({ verb, by, input });
  };
  const read = <T>(value: T): Promise<T> =>
    broken.reads ? Promise.reject(broken.reads) : Promise.resolve(value);

  const watchesOf = (w: FakeWorkstream): readonly WatchModel[] =>
    modelOf(w).projection.watches.map((watch) => polledOf(w.id, watch));
  const onWatch =
    (verb: string) => (by: Viewer, input: { readonly workstreamId: string; readonly watchId: string }) => {
      record(verb, by, input);
      const found = workstreams.get(input.workstreamId);
      if (!found) return Promise.resolve(notFound);
      const watches = modelOf(found).projection.watches;
      const watch = watches.find(({ id }) => id === input.watchId);
      return Promise.resolve(
        watch
          ? { ...accepted, watch }
          : ({
              type: 'Rejected',
              code: 'WATCH_NOT_FOUND',
              message: 'There is no such watch.',
              retryable: false,
              watchIds: watches.map(({ id }) => id),
            } as const),
      );
    };

  const token: TokenModel = { id: 'k-1', name: 'laptop', createdAt: at, lastUsedAt: null };

  const services: Services = {
    workstreams: {
      get: (id) => {
        const found = workstreams.get(id);
        return read(found ? modelOf(found) : null);
      },
      list: ({ first, after }, { lifecycle }) => {
        const all = [...workstreams.values()]
          .map(summaryOf)
          .filter((w) => lifecycle === null || w.lifecycle === lifecycle)
          .toReversed();
        const from = after === null ? 0 : all.findIndex((w) => w.id === after.id) + 1;
        const items = all.slice(from, from + first);
        return read({ items, hasNext: from + first < all.length, totalCount: all.length });
      },
      async *states(signal) {
        yield { type: 'StatesSnapshot', workstreams: [...workstreams.values()].map(summaryOf), older: null };
        yield* states.follow(signal);
      },
      create: (by, input) => {
        record('create', by, input);
        if (input.model === 'nope')
          return Promise.resolve({
            type: 'Rejected',
            code: 'INVALID_INPUT',
            field: 'model',
            message: 'There is no model "nope".',
            retryable: false,
          } as const);
        const id = `w${workstreams.size + 1}`;
        workstreams.set(id, { id, entries: [], durableThrough: 0 });
        return Promise.resolve({ type: 'Accepted', durability: 'DURABLE', workstreamId: id } as const);
      },
      configure: (by, input) => {
        record('configure', by, input);
        const found = workstreams.get(input.workstreamId);
        if (!found) return Promise.resolve(notFound);
        const { configuration } = modelOf(found).projection;
        const approvalMode = input.approvalMode ?? configuration.approvalMode;
        const title = input.title ?? configuration.title;
        return Promise.resolve({
          ...accepted,
          configuration: {
            ...configuration,
            title,
            approvalMode,
            approvalModeBy: { id: by.id, name: by.name },
          },
        });
      },
      compact: (by, input) => {
        record('compact', by, input);
        return Promise.resolve(
          workstreams.has(input.workstreamId) ? { ...accepted, turnId: 't9' } : notFound,
        );
      },
      systemPrompt: ({ workspace, instructions }) =>
        read(`You work in ${workspace}. ${instructions ?? 'Nothing else.'}`),
      discardUnsaved: (by, input) => {
        record('discardUnsaved', by, input);
        return Promise.resolve(
          workstreams.has(input.workstreamId)
            ? { ...accepted, discarded: 2 }
            : ({
                type: 'Rejected',
                code: 'NOTHING_TO_DISCARD',
                message: 'Nothing was refused by the database.',
                retryable: true,
              } as const),
        );
      },
      close: (by, input) => {
        record('close', by, input);
        return Promise.resolve({ ...accepted, lifecycle: 'CLOSED' } as const);
      },
      open: (by, input) => {
        record('open', by, input);
        return Promise.resolve({ ...accepted, lifecycle: 'OPEN' } as const);
      },
      delete: (by, input) => {
        record('delete', by, input);
        const { workstreamId } = input;
        if (!workstreams.delete(workstreamId)) return Promise.resolve(notFound);
        return Promise.resolve({ ...accepted, workstreamId, workspaceKept: null });
      },
      fork: (by, input) => {
        record('fork', by, input);
        return Promise.resolve(notFound);
      },
    },
    history: {
      page: (workstreamId, range) => {
        const w = workstreams.get(workstreamId);
        if (!w) return read(null);
        const entries =
          range.direction === 'forward'
            ? w.entries.filter((e) => e.revision > range.after).slice(0, range.count)
            : w.entries.filter((e) => range.before === null || e.revision < range.before).slice(-range.count);
        const { projection, cursor, epoch } = modelOf(w);
        return read({
          entries,
          hasOlder: (entries[0]?.revision ?? 1) > 1,
          hasNewer: (entries.at(-1)?.revision ?? 0) < projection.revision,
          revision: projection.revision,
          durableThrough: w.durableThrough,
          epoch,
          cursor,
        });
      },
    },
    search: {
      find: (asked) => {
        const { text, workstreamId, first } = asked;
        calls.push({ verb: 'search', by: viewer('none'), input: asked });
        if (text === '') return read({ type: 'Invalid', message: 'Name at least one word to find.' });
        if (text === 'a') return read({ type: 'TooBroad', message: 'Narrow it.' });
        const items = [...workstreams.values()]
          .filter((w) => workstreamId === null || w.id === workstreamId)
          .flatMap((w) =>
            w.entries.flatMap((entry) =>
              entry.kind === 'USER'
                ? [
                    {
                      workstreamId: w.id,
                      title: summaryOf(w).title,
                      entry,
                      superseded: false,
                      snippet: [{ text: entry.text, hit: true }],
                    },
                  ]
                : [],
            ),
          );
        return read({ type: 'Found', items: items.slice(0, first), hasNext: items.length > first });
      },
    },
    feed: {
      follow: async function* (workstreamId, after, signal) {
        calls.push({ verb: 'follow', by: viewer('none'), input: { workstreamId, after } });
        if (workstreams.has(workstreamId)) yield* feed.follow(signal);
        else
          yield {
            item: { type: 'Ended', reason: 'WORKSTREAM_NOT_FOUND', resumable: false },
            cursor: '',
          };
      },
      tokens: (_workstreamId, signal) => tokens.follow(signal),
    },
    messages: {
      send: (by, input) => {
        record('send', by, input);
        return Promise.resolve(workstreams.has(input.workstreamId) ? said : notFound);
      },
      editQueued: (by, input) => {
        record('editQueued', by, input);
        return Promise.resolve({
          type: 'Rejected',
          code: 'NOT_YOURS',
          message: 'Only its author may.',
          retryable: false,
          author: { id: 'a-2', name: 'Bob' },
        });
      },
      withdrawQueued: (by, input) => {
        record('withdrawQueued', by, input);
        return Promise.resolve({
          type: 'Rejected',
          code: 'MESSAGE_NOT_QUEUED',
          message: 'This message does not wait any more.',
          retryable: false,
          queuedMessageIds: ['q2'],
        });
      },
      rewind: (by, input) => {
        record('rewind', by, input);
        return Promise.resolve({ ...accepted, revision: 9, text: 'taken back', superseded: 3 });
      },
      resend: (by, input) => {
        record('resend', by, input);
        return Promise.resolve({
          type: 'Rejected',
          code: 'MESSAGE_NOT_FOUND',
          message: 'There is no such message.',
          retryable: false,
          watermark: 7,
        });
      },
      resumeQueue: () => Promise.resolve(storageUnavailable),
    },
    turns: {
      stop: (by, input) => {
        record('stop', by, input);
        return Promise.resolve({
          type: 'Rejected',
          code: 'STALE_TURN',
          message: 'That turn has ended.',
          retryable: false,
          currentTurnId: 't2',
        });
      },
      retry: (by, input) => {
        record('retry', by, input);
        return Promise.resolve({
          type: 'Rejected',
          code: 'BUSY',
          message: 'A turn is running.',
          retryable: true,
          currentTurnId: 't2',
        });
      },
    },
    approvals: {
      decide: (by, input) => {
        record('decide', by, input);
        return Promise.resolve({
          type: 'Rejected',
          code: 'APPROVAL_GONE',
          message: 'That cycle is not open.',
          retryable: false,
          currentCycleIds: ['c2'],
        });
      },
      list: () => {
        const items = [...workstreams.values()].flatMap((w) =>
          modelOf(w).projection.cycles.map((cycle) => ({ workstreamId: w.id, cycle })),
        );
        return read({ items, hasNext: false, totalCount: items.length });
      },
    },
    watches: {
      get: (watchId) => {
        const all = [...workstreams.values()].flatMap(watchesOf);
        return read(all.find(({ id }) => id === watchId) ?? null);
      },
      list: (asked) => {
        calls.push({ verb: 'watches', by: viewer('none'), input: asked });
        const all = [...workstreams.values()]
          .filter((w) => asked.workstreamId === null || w.id === asked.workstreamId)
          .flatMap(watchesOf)
          .toReversed();
        const from = asked.after === null ? 0 : all.findIndex(({ id }) => id === asked.after) + 1;
        return read({ items: all.slice(from, from + asked.first), hasNext: from + asked.first < all.length });
      },
      ofWorkstream: (workstreamId, watches, ended) => {
        calls.push({ verb: 'ofWorkstream', by: viewer('none'), input: { workstreamId, ended } });
        return read(watches.map((watch) => polledOf(workstreamId, watch)));
      },
      polls: (watchId, page) => {
        calls.push({ verb: 'polls', by: viewer('none'), input: { watchId, ...page } });
        return read([
          { poll: 4, at, durationMs: 12, exitCode: 0, fired: true, error: null, outputTail: 'done\n' },
        ]);
      },
      tryCondition: (asked) => {
        calls.push({ verb: 'tryCondition', by: viewer('none'), input: asked });
        return read(
          asked.expression === '1 +'
            ? { soundness: 'UNSOUND', line: 1, column: 4, verdict: null, message: 'Something is missing.' }
            : { soundness: 'SOUND', line: null, column: null, verdict: 'HOLDS', message: null },
        );
      },
      figures: () =>
        read({
          due: 1,
          running: 2,
          late: 3,
          polls: 4,
          fires: 5,
          errors: 6,
          lateP99Ms: null,
          waiting: 7,
        }),
      create: (by, input) => {
        record('createWatch', by, input);
        return Promise.resolve({
          type: 'Rejected',
          code: 'WATCH_LIMIT',
          message: 'There are 5 watches already.',
          retryable: true,
          capacity: 5,
        });
      },
      update: onWatch('updateWatch'),
      pause: onWatch('pauseWatch'),
      resume: onWatch('resumeWatch'),
      runNow: onWatch('runWatchNow'),
      cancel: onWatch('cancelWatch'),
    },
    tokens: {
      list: () => read([token]),
      create: () => Promise.resolve({ type: 'Accepted', durability: 'DURABLE', token, secret: 's3cret' }),
      revoke: () =>
        Promise.resolve({
          type: 'Rejected',
          code: 'TOKEN_NOT_FOUND',
          message: 'There is no token with this id.',
          retryable: false,
        }),
    },
    usage: {
      ofWorkstream: (workstreamId) => read(workstreams.has(workstreamId) ? total : { ...total, calls: 0 }),
      ofTurn: (_workstreamId, turnId) => read({ ...total, calls: turnId === 't1' ? 2 : 0 }),
      groups: (asked) => {
        calls.push({ verb: 'usage', by: viewer('none'), input: asked });
        const group = { ...total, day: null, workstreamId: null, title: null, alias: null };
        return read(
          [
            { ...group, day: '2026-11-30', workstreamId: 'w1', title: 'Fix it', alias: 'demo' },
            { ...group, workstreamId: 'gone', cost: null },
          ].slice(0, asked.first),
        );
      },
      calls: (_workstreamId, { first, after }) => {
        const all = ['m3', 'm2', 'm1'].map(modelCall);
        const from = after === null ? 0 : all.findIndex((call) => call.id === after) + 1;
        return read({ items: all.slice(from, from + first), hasNext: from + first < all.length });
      },
    },
    models: {
      list: () => [{ ...modelInfo, alias: 'demo', description: 'built in', demo: true, isDefault: true }],
    },
    tools: { list: () => [{ name: 'shell', description: 'Runs a command.', asks: true }] },
    server: {
      info: () =>
        read({
          version: '0.0.0',
          node: 'n1',
          database: 'memory',
          workspaceRoots: ['/tmp'],
          warnings: [],
          persistence: { status: 'HEALTHY' },
        }),
    },
  };
  return { services, workstreams, feed, states, tokens, calls, broken };
}

export const viewer = (token: string): Viewer => ({
  id: `author-${token}`,
  name: token,
  tokenId: `id-${token}`,
});

export function createFakeAccess() {
  const valid = new Set(['good', 'other', 'third']);
  const codes = new Set(['code-1']);
  const watchers = new Map<string, Set<() => void>>();
  const broken: { error: Error | null } = { error: null };
  const access: Access = {
    authenticate: (token) =>
      broken.error ? Promise.reject(broken.error) : Promise.resolve(valid.has(token) ? viewer(token) : null),
    exchange: (code) => Promise.resolve(codes.delete(code) ? { token: 'good' } : null),
    onRevoked: (tokenId, callback) => {
      const set = watchers.get(tokenId) ?? new Set();
      watchers.set(tokenId, set.add(callback));
      return () => set.delete(callback);
    },
  };
  return {
    access,
    broken,
    revoke(token: string) {
      valid.delete(token);
      for (const callback of watchers.get(`id-${token}`) ?? []) callback();
    },
    /** Somebody else revoked it: nobody here is told. */
    revokeElsewhere(token: string) {
      valid.delete(token);
    },
    /** How many wait to hear of a revocation. */
    get watching() {
      return [...watchers.values()].reduce((sum, set) => sum + set.size, 0);
    },
  };
}
