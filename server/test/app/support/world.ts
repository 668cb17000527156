/**
 * Owns: the app as it is composed, over fakes of the ports and a clock that the test moves.
 * Does not own: what is true of it (the tests).
 */
import { randomBytes } from 'node:crypto';
import { applyItem, viewOf, type FeedItem, type View } from 'schema/projection';
import type { FeedEvent, Viewer } from 'schema/model';
import type { Services } from 'schema/services';
import { systemSecrets } from '../../../src/adapters/random/index.ts';
import { createPrompt } from '../../../src/app/actor/prompt.ts';
import { createRegistry, type Registry, type RegistryLimits } from '../../../src/app/actor/registry.ts';
import type { Actor } from '../../../src/app/actor/actor.ts';
import { createDeletions } from '../../../src/app/deletions.ts';
import { withFirstWord } from '../../../src/app/feed/first-word.ts';
import { createHub, type Hub } from '../../../src/app/feed/hub.ts';
import { follow } from '../../../src/app/feed/follow.ts';
import { freely } from '../../../src/app/feed/reading.ts';
import { createLookout, noLookout } from '../../../src/app/rounds/lookout.ts';
import { sweep } from '../../../src/app/rounds/sweeps.ts';
import { createServices } from '../../../src/app/services/index.ts';
import { createTokens, type Tokens } from '../../../src/app/services/tokens.ts';
import type { Command } from '../../../src/core/inputs.ts';
import type { Guidance } from '../../../src/ports/guidance.ts';
import type { Conditions } from '../../../src/ports/conditions.ts';
import type { Ids } from '../../../src/ports/ids.ts';
import type { Line } from '../../../src/ports/line.ts';
import type { Log } from '../../../src/ports/log.ts';
import type { ModelAnswer, ModelInfo } from '../../../src/ports/model.ts';
import type { Processes } from '../../../src/ports/processes.ts';
import type { Workspaces } from '../../../src/ports/workspaces.ts';
import { lineOf, unlessRevoked } from '../../../src/transport/line.ts';
import { createTestClock, type TestClock } from '../../support/clock.ts';
import { createFakeModel, type FakeModel } from '../../support/fake-model.ts';
import { createFakeTools, type FakeTools } from '../../support/fake-tools.ts';
import { createMemoryStorage, type MemoryStorage } from '../../support/memory-storage.ts';

export const ada: Viewer = { id: 'ada', name: 'Ada', tokenId: 'ada' };
export const bob: Viewer = { id: 'bob', name: 'Bob', tokenId: 'bob' };

export interface LogLine {
  readonly level: 'info' | 'warn' | 'error';
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
}

export interface World {
  readonly clock: TestClock;
  readonly storage: MemoryStorage;
  readonly model: FakeModel;
  readonly tools: FakeTools;
  readonly hub: Hub;
  readonly registry: Registry;
  readonly services: Services;
  readonly tokens: Tokens;
  readonly log: readonly LogLine[];
  readonly sessionId: string;
  /** Workstreams that were to be told at once what their watches have said, in order. */
  readonly toldAtOnce: readonly string[];
  /** One look of the round that deletes what came to nothing. */
  sweep(retentionDays?: number | null): Promise<void>;
  /** Calls whose processes were ended because a dead server had left them. */
  readonly leftovers: readonly string[];
  /** What the next `endLeftovers` does instead. */
  breakLeftovers(error: Error | null): void;
  /** Id of a new workstream. */
  open(): Promise<string>;
  /** The actor, loaded now if need be; throws when it cannot be. */
  load(id: string): Promise<Actor>;
  send(id: string, text: string, by?: Viewer, key?: string): ReturnType<Services['messages']['send']>;
  stop(id: string): ReturnType<Services['turns']['stop']>;
  /** Another server on the same storage, with a session and fakes of its own. */
  restart(host?: string): Promise<World>;
}

/** A workstream of which nothing special is wanted. */
export const plain = {
  model: null,
  temperature: null,
  effort: null,
  workspace: null,
  approvalMode: null,
  instructions: null,
  tokenBudget: null,
} as const;

/** What leaves every setting as it is. */
export const unchanged = {
  title: null,
  approvalMode: null,
  model: null,
  instructions: null,
  tokenBudget: null,
} as const;

/** Nothing is said of a watch: what an edit leaves as it is. */
export const noWatch = {
  name: null,
  command: null,
  condition: null,
  every: null,
  maxPolls: null,
  deadline: null,
  repeat: null,
  instruction: null,
} as const;

/** No file says anything to a model. */
const noGuidance: Guidance = { ofServer: () => null, ofWorkspace: () => Promise.resolve(null) };

const noConditions: Conditions = {
  check: () => Promise.resolve({ type: 'sound' }),
  judge: () => Promise.resolve({ type: 'holdsNot' }),
  stop: () => Promise.resolve(),
};

/** An answer that can be counted, and on which the step throws. */
export const poison: ModelAnswer = {
  type: 'answered',
  text: '',
  reasoning: '',
  calls: [],
  get finish(): never {
    throw new Error('poison');
  },
  usage: { inputTokens: 1_000, outputTokens: 20 },
  alias: 'test',
  model: 'test',
};

/** A caller that waits for the answer. */
export const waits: AbortSignal = new AbortController().signal;

export const newKey = (): string => randomBytes(8).toString('hex');

export const saying = (text: string): Command => ({ type: 'send', text, delivery: 'QUEUE', turnId: null });
export const stopping: Command = { type: 'stop', turnId: null, force: false };

export async function createWorld(
  options: {
    readonly clock?: TestClock;
    readonly storage?: MemoryStorage;
    readonly host?: string;
    readonly workspaces?: Workspaces;
    /** Without them every condition is sound, and none holds. */
    readonly conditions?: Conditions;
    /** Without it the one of a server. */
    readonly line?: Line;
    readonly ids?: Ids;
    readonly random?: () => number;
    /** What is known of the models, the default first. */
    readonly models?: readonly ModelInfo[];
    /** What files say to every model. */
    readonly guidance?: Guidance;
    readonly limits?: RegistryLimits;
    readonly isStopping?: () => boolean;
    /** It shares the storage with others, and looks what they do. */
    readonly looksOut?: boolean;
  } = {},
): Promise<World> {
  const clock = options.clock ?? createTestClock();
  const storage = options.storage ?? createMemoryStorage(clock);
  const host = options.host ?? 'here';
  const begun = await storage.sessions.begin(newKey(), host);
  if (begun.type !== 'begun') throw new Error('the node is busy');
  const sessionId = begun.session.id;
  const model = createFakeModel(options.models);
  const tools = createFakeTools();
  const hub = withFirstWord(createHub());
  const lines: LogLine[] = [];
  const note =
    (level: LogLine['level']): Log['info'] =>
    (fields, message) =>
      void lines.push({ level, fields, message });
  const log: Log = { info: note('info'), warn: note('warn'), error: note('error') };
  const ids = options.ids ?? { random128: () => randomBytes(16).toString('hex') };
  const leftovers: string[] = [];
  let broken: Error | null = null;
  const processes: Processes = {
    run: () => Promise.reject(new Error('not here')),
    sessions: () => Promise.resolve([]),
    async endLeftovers({ callIds = [] }) {
      if (broken) throw broken;
      leftovers.push(...callIds);
      return callIds;
    },
  };
  const { journal, ownership, catalog, reservations, removal } = storage;
  const reserving = new Set<string>();
  const prompt = createPrompt({ guidance: options.guidance ?? noGuidance, clock });
  const registry = createRegistry({
    clock,
    ids,
    log,
    hub,
    model,
    tools,
    prompt,
    processes,
    host,
    journal,
    ownership,
    usage: storage.usage,
    sessionId,
    random: options.random ?? (() => 0.5),
    ...(options.limits && { limits: options.limits }),
    fires: (workstreamId) => storage.watches.deliveries({ workstreamId, limit: 100 }),
  });
  const lookout = options.looksOut
    ? createLookout({ elsewhere: storage.elsewhere, registry, hub, clock, log })
    : noLookout;
  lookout.run();
  const secrets = systemSecrets;
  const line = unlessRevoked(options.line ?? lineOf('commands'), (id, callback) =>
    tokens.onRevoked(id, callback),
  );
  const tokens = createTokens({ store: storage.tokens, journal, ids, secrets, clock, line });
  const workspaces = options.workspaces ?? {
    roots: ['/work'],
    choose: async (id, asked) => ({ type: 'chosen', path: asked ?? `/folders/${id}` }),
    abandon: () => Promise.resolve(null),
    own: async (id) => `/folders/${id}`,
    at: async (path) => path,
    ownRoot: async () => '/folders',
    writtenBelow: async () => '/folders/',
  };
  const isStopping = options.isStopping ?? (() => false);
  const deletions = createDeletions({ registry, journal, clock, log, isStopping });
  const toldAtOnce: string[] = [];
  const services = createServices({
    clock,
    ids,
    secrets,
    log,
    hub,
    model,
    tools,
    registry,
    tokens,
    workspaces,
    journal,
    catalog,
    reservations,
    removal,
    deletions,
    reserving,
    search: storage.search,
    usage: storage.usage,
    watches: storage.watches,
    conditions: options.conditions ?? noConditions,
    watchRound: {
      tell: (id) => void toldAtOnce.push(id),
      figures: () => ({ running: 2, polls: 3, fires: 4, errors: 5, lateP99Ms: 6.5 }),
    },
    prompt,
    sessionId,
    host,
    isStopping,
    line,
    awake: lookout.awake,
    serverInfo: () => Promise.reject(new Error('not asked here')),
  });

  const sweepOnce = (retentionDays: number | null = null): Promise<void> =>
    sweep({ removal, registry, deletions, reserving, workspaces, clock, log, sessionId, retentionDays });

  const world: World = {
    sweep: sweepOnce,
    clock,
    storage,
    model,
    tools,
    hub,
    registry,
    services,
    tokens,
    log: lines,
    sessionId,
    toldAtOnce,
    leftovers,
    breakLeftovers: (error) => void (broken = error),
    async open() {
      const input = { ...plain, key: newKey(), title: 'Test' };
      const outcome = await services.workstreams.create(ada, input, waits);
      if (outcome.type !== 'Accepted') throw new Error(outcome.message);
      return outcome.workstreamId;
    },
    async load(id) {
      const loading = await registry.load(id);
      if (loading.type !== 'loaded') throw new Error(loading.code);
      return loading.actor;
    },
    send: (id, text, by = ada, key = newKey()) =>
      services.messages.send(by, { key, workstreamId: id, text, delivery: 'QUEUE', turnId: null }),
    stop: (id) => services.turns.stop(ada, { key: newKey(), workstreamId: id, turnId: null, force: false }),
    restart: (at = host) => createWorld({ ...options, clock, storage, host: at }),
  };
  return world;
}

/** Resolves once it is so, looking again whenever the program has done something. Fails by the test's own time-out. */
export async function until<T>(fact: () => T | null | undefined | false): Promise<T> {
  for (;;) {
    const found = fact();
    if (found) return found;
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

/** Lets everything that is due now happen, calls to the memory storage included. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 12; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}

export interface Follower {
  readonly events: readonly FeedEvent[];
  readonly items: readonly FeedItem[];
  /** The cursor after the last event. */
  readonly cursor: string | null;
  readonly done: boolean;
  /** Stops taking events until `resume`. */
  pause(): void;
  resume(): void;
  cut(): void;
  /** Resolves with the first item of the type. */
  item<T extends FeedItem['type']>(type: T): Promise<Extract<FeedItem, { readonly type: T }>>;
}

/** Follows as a client does: takes events until cut or ended. */
export function attach(world: World, id: string, after: string | null): Follower {
  const events: FeedEvent[] = [];
  const controller = new AbortController();
  let done = false;
  let gate: Promise<void> | null = null;
  let open = (): void => undefined;
  const { registry, hub, clock } = world;
  const { catalog, journal } = world.storage;
  const run = async (): Promise<void> => {
    for await (const event of follow(
      { registry, hub, clock, catalog, journal, reading: freely },
      id,
      after,
      controller.signal,
    )) {
      events.push(event);
      if (gate) await gate;
    }
    done = true;
  };
  void run();
  return {
    events,
    get items() {
      return events.map((event) => event.item);
    },
    get cursor() {
      return events.at(-1)?.cursor ?? null;
    },
    get done() {
      return done;
    },
    pause: () =>
      void (gate = new Promise((resolve) => {
        open = resolve;
      })),
    resume() {
      gate = null;
      open();
    },
    cut: () => controller.abort(),
    item: (type) => until(() => events.map((e) => e.item).find((item) => item.type === type)) as never,
  };
}

/** What the server says of a workstream, as a view to fold feed items into. */
export async function snapshot(
  world: World,
  id: string,
): Promise<{ readonly view: View; readonly cursor: string }> {
  const model = await world.services.workstreams.get(id);
  if (!model) throw new Error('no such workstream');
  return { view: viewOf(model.durable, model.pending, model.epoch, model.overlay), cursor: model.cursor };
}

export const foldItems = (view: View, items: readonly FeedItem[]): View =>
  items.reduce((v, item) => applyItem(v, item)[0], view);
