/**
 * Owns: a life of watches as a model test leads it: two servers on one database and one machine, each with the real
 * services, actors and round of watches; a clock that the test moves; commands, files, models and people by hand.
 * Does not own: what happens (`watch-model.test.ts`), or what must hold (`watch-laws.ts`).
 *
 * Invariants: no real time and no real chance; each call to the database travels, is carried out whole or not at all, and
 * is answered; whatever a dead server sent arrives, and nothing comes back to it; one that stands still hears of nothing
 * until it wakes. Sessions are over 20 s after the last heartbeat, whatever the clock on the wall says, but where a server
 * is alone.
 */
import { liveTurn, type Fire } from 'schema/projection';
import type { Services } from 'schema/services';
import { createHeartbeat, type Round } from '../../../src/app/rounds/heartbeat.ts';
import { createRecovery } from '../../../src/app/rounds/recovery.ts';
import { createWatchRound, type WatchRound } from '../../../src/app/rounds/watches.ts';
import { createTeller } from '../../../src/app/watches/tell.ts';
import type { Clock } from '../../../src/ports/clock.ts';
import type { Conditions } from '../../../src/ports/conditions.ts';
import type { Batch, CommitOutcome } from '../../../src/ports/journal.ts';
import type { Log } from '../../../src/ports/log.ts';
import { sessionTermMs, type Session, type Sessions } from '../../../src/ports/ownership.ts';
import type { CommandResult, Processes } from '../../../src/ports/processes.ts';
import { StorageUnavailableError } from '../../../src/ports/storage-unavailable.ts';
import type { ClaimedPoll, Landing, PollOutcome } from '../../../src/ports/watches.ts';
import { createChance } from '../../simulation/chance.ts';
import { createTestClock, type TestClock } from '../../support/clock.ts';
import type { FakeCall } from '../../support/fake-model.ts';
import { createMemoryStorage, type MemoryStorage } from '../../support/memory-storage.ts';
import { createWatchLaws, type Holder, type WatchLaws } from './watch-laws.ts';
import { createWorld, type World } from './world.ts';

export type NodeId = 'a' | 'b';

export interface Node extends Holder {
  readonly id: NodeId;
  dead: boolean;
  /** It does nothing, and will go on as if nothing had been. */
  stands: boolean;
  up: { readonly world: World; readonly round: WatchRound; readonly session: Session } | null;
  rounds: readonly Round[];
}

export interface LifeOptions {
  /** Chooses how long calls travel. */
  readonly chance?: number;
  /** One server with a database of its own: however long that is away, nobody takes over. */
  readonly alone?: boolean;
  /** A server dies, or stands still, at this edge of a call to the database or a command, from `born` on. */
  readonly dieAt?: number;
  readonly standAt?: number;
}

export interface Life {
  readonly laws: WatchLaws;
  readonly clock: TestClock;
  readonly storage: MemoryStorage;
  /** Everything that happened, one line each. */
  readonly notes: readonly string[];
  note(what: string): void;
  /** Edges of calls to the database and of commands, since `born`. */
  readonly visits: number;
  readonly crashes: number;
  /** What every life begins with is there. */
  born(): void;
  /** What the commands of watches put out, by the last word of the command. */
  readonly files: Map<string, number>;
  /** How long commands take, milliseconds; negative: they do not start. */
  takes: number;
  /** The database does not answer. */
  away: boolean;
  /** Of which call the next answer is lost, of what was done; null: of none. */
  lose: string | null;
  /** At which edge of what the next server dies that comes there; null: at none. */
  trap: string | null;
  /** Calls take no time any more, and the servers that die are the last. */
  calm(): void;
  boot(id: NodeId): void;
  crash(node: Node, why: string): void;
  /** In order, as by SIGTERM. */
  stop(node: Node): void;
  wake(): void;
  node(id: NodeId): Node | null;
  nodes(): readonly Node[];
  /** Who has it loaded, else one of those who live. */
  serving(workstreamId: string, pick: number): Node | null;
  /** Asks a server for something, and waits for nothing. */
  ask(what: string, node: Node | null, work: (services: Services, world: World) => Promise<unknown>): void;
  calls(): readonly FakeCall[];
  answer(call: FakeCall, how: 'ANSWER' | 'FAIL'): void;
  /** The clock on the wall is set, or the machine slept: no timer ran. */
  jump(ms: number): void;
  /** `slice`: within so many milliseconds the database answers. */
  pass(ms: number, slice?: number): Promise<void>;
}

/** Calls that change something, and those that may find something: to die there may lose something. */
const asks = new Set([
  'watches.record',
  'journal.commit',
  'ownership.claim',
  'ownership.release',
  'removal.remove',
]);
const finds = new Set(['watches.claim', 'watches.deliveries', 'watches.waiting']);
const isSome = (value: unknown): boolean => Array.isArray(value) && value.length > 0;

const isBusy = ({ registry }: World, workstreamId: string): boolean => {
  const actor = registry.peek(workstreamId);
  return actor !== null && liveTurn(actor.state().projection) !== null;
};

const never = <T>(): Promise<T> => new Promise<T>(() => undefined);

/** Turns of the event loop. */
export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** `ODD` holds of odd files, `BROKEN` of none, for it cannot be judged. */
const conditions: Conditions = {
  check: () => Promise.resolve({ type: 'sound' }),
  judge: (expression, { output }) =>
    Promise.resolve(
      expression === 'BROKEN'
        ? { type: 'failed', message: 'It cannot be judged.' }
        : { type: Number(output) % 2 === 1 ? 'holds' : 'holdsNot' },
    ),
  stop: () => Promise.resolve(),
};

const concurrency = 3;

export function createLife({ chance: seed = 1, alone = false, dieAt, standAt }: LifeOptions = {}): Life {
  const chance = createChance(seed);
  const clock = createTestClock();
  const notes: string[] = [];
  const note = (what: string): void => void notes.push(`${(clock.now() / 1_000) % 100_000} ${what}`);
  let jumped = 0;
  let calm = false;
  let isBorn = false;
  let visits = 0;
  let crashes = 0;
  let lives = 0;
  let minted = 0;
  const wall = (): number => clock.now() + jumped;
  const storage = createMemoryStorage({ now: wall, after: () => () => undefined });
  const laws = createWatchLaws(wall, note);
  const terms = new Map<string, { readonly node: Node; expiresAt: number }>();
  const nodes = new Map<NodeId, Node>();
  const held = new Map<Node, (() => void)[]>();
  /** Commands that run: who ends them when their server dies. */
  const commands = new Map<string, { readonly node: Node; readonly watchId: string }>();
  const watchOf = new Map<string, string>();
  /** Who kept what is to be told. */
  const recorders = new Map<string, Node>();
  const keyOf = ({ watchId, poll }: Fire): string => `${watchId}:${poll}`;
  const answered = new WeakSet<FakeCall>();

  const termMs = alone ? Infinity : sessionTermMs;
  const latency = (): number => (calm ? 0 : [0, 0, 0, 0, 1, 2, 4][Math.floor(chance() * 7)]!);

  function visit(node: Node, what: string): boolean {
    if (node.dead) return true;
    if (!isBorn || calm) return false;
    visits += 1;
    if (visits === standAt) {
      note(`${node.name} stands still ${what}`);
      node.stands = true;
    }
    const springs = life.trap !== null && what.startsWith(life.trap);
    if (!springs && visits !== dieAt) return false;
    if (springs) life.trap = null;
    crash(node, what);
    return true;
  }

  /** Whatever is to happen inside a server that stands still happens when it wakes. */
  function inside(node: Node, run: () => void): void {
    if (node.dead) return;
    if (node.stands) held.set(node, [...(held.get(node) ?? []), run]);
    else run();
  }
  const awake = (node: Node): Promise<void> => new Promise((resolve) => inside(node, resolve));

  function endTerms(): void {
    for (const [id, { expiresAt }] of terms)
      if (clock.now() > expiresAt) {
        storage.expire(id);
        terms.delete(id);
      }
  }

  async function call(
    node: Node,
    what: string,
    work: () => Promise<unknown>,
    seen: (value: unknown) => void,
  ): Promise<unknown> {
    if (node.dead || (asks.has(what) && visit(node, `before ${what}`))) return never();
    await turns(latency());
    let given: { readonly value: unknown } | { readonly error: unknown };
    if (life.away) given = { error: new StorageUnavailableError('The database does not answer (LIFE).') };
    else {
      endTerms();
      given = await work().then(
        (value) => {
          seen(value);
          return { value };
        },
        (error: unknown) => ({ error }),
      );
      if (life.lose === what && 'value' in given) {
        life.lose = null;
        note(`the answer to ${what} is lost`);
        given = { error: new StorageUnavailableError('The answer is lost (LIFE).') };
      }
    }
    const isNews = asks.has(what) || (finds.has(what) && 'value' in given && isSome(given.value));
    if (isNews && visit(node, `after ${what}`)) return never();
    await turns(latency());
    await awake(node);
    if ('value' in given) return given.value;
    if (what === 'journal.commit' && given.error instanceof StorageUnavailableError)
      return { type: 'unavailable', message: given.error.message } satisfies CommitOutcome;
    throw given.error;
  }

  const watched: Readonly<Record<string, (node: Node, args: never, value: never) => void>> = {
    'watches.claim'(node, [{ leaseMs }]: [{ leaseMs: number }], polls: readonly ClaimedPoll[]) {
      for (const poll of polls) {
        note(`${node.name} gets ${poll.claim}: poll ${poll.poll} of ${poll.watchId}, ${poll.lateMs} ms late`);
        watchOf.set(poll.claim, poll.watchId);
      }
      laws.claimed(node, polls, leaseMs);
    },
    'watches.giveBack'(node, [, except]: [string, readonly ClaimedPoll[]]) {
      note('claims are given back');
      laws.gaveBack(node, except);
    },
    'watches.record'(node, [outcome]: [PollOutcome], landing: Landing) {
      note(`${node.name}: ${outcome.claim.claim} ${landing} ${outcome.fire?.reason ?? ''}`);
      laws.recorded(outcome, landing);
      const { fire, claim } = outcome;
      if (landing !== 'RECORDED' || !fire) return;
      if (!recorders.has(keyOf(fire))) recorders.set(keyOf(fire), node);
      if (alive().some(({ up }) => isBusy(up!.world, claim.workstreamId))) note('said while a turn lives');
    },
    'journal.commit'(node, [batch]: [Batch], outcome: CommitOutcome) {
      note(`${node.name} writes (${batch.entries.map(({ kind }) => kind).join(' ')}): ${outcome.type}`);
      if (outcome.type === 'committed') laws.committed(batch.workstreamId, batch.entries);
      for (const entry of batch.entries)
        if (entry.kind === 'SYSTEM' && entry.fire && recorders.get(keyOf(entry.fire)) !== node)
          note('told by another server');
      if (outcome.type === 'conflict') laws.violate('D-51', outcome.message);
    },
    'reservations.publish'(_node, [batch]: [Batch], outcome: { readonly type: string }) {
      if (outcome.type === 'published') laws.committed(batch.workstreamId, batch.entries);
    },
    'removal.remove'(
      _node,
      [{ workstreamId }]: [{ workstreamId: string }],
      outcome: { readonly type: string },
    ) {
      if (outcome.type === 'removed') laws.removed(workstreamId);
    },
  };

  function reachedBy(node: Node): MemoryStorage {
    const over = <T extends object>(port: T, name: string): T =>
      new Proxy(port, {
        get(target, method) {
          const f: unknown = Reflect.get(target, method);
          if (typeof f !== 'function') return f;
          const what = `${name}.${String(method)}`;
          return (...args: unknown[]) =>
            call(
              node,
              what,
              () => Reflect.apply(f, target, args) as Promise<unknown>,
              (value) => watched[what]?.(node, args as never, value as never),
            );
        },
      });
    const sessions: Sessions = {
      async begin(nodeId, host) {
        for (const [id, term] of terms)
          if (term.node.id === node.id) {
            storage.expire(id);
            terms.delete(id);
          }
        const begun = await storage.sessions.begin(nodeId, host);
        if (begun.type === 'busy') return begun;
        const { session } = begun;
        const renewed = (is: unknown): void => {
          const term = terms.get(session.id);
          if (is === true && term) term.expiresAt = clock.now() + termMs;
        };
        terms.set(session.id, { node, expiresAt: clock.now() + termMs });
        node.up = null;
        begunAt.set(node, {
          ...session,
          renew: () => call(node, 'session.renew', () => session.renew(), renewed) as Promise<boolean>,
          end: () =>
            call(
              node,
              'session.end',
              () => session.end(),
              () => terms.delete(session.id),
            ).then(
              () => undefined,
              () => undefined,
            ),
        });
        return begun;
      },
    };
    return new Proxy(storage, {
      get(target, name) {
        if (name === 'sessions') return sessions;
        const value: unknown = Reflect.get(target, name);
        return typeof value === 'object' && value !== null && !Array.isArray(value)
          ? over(value, String(name))
          : value;
      },
    });
  }
  const begunAt = new Map<Node, Session>();

  const clockOf = (node: Node): Clock => ({
    now: () => wall() - (node.id === 'b' ? 3_000 : 0),
    after: (ms, f) => clock.after(ms, () => inside(node, f)),
  });

  const processesOf = (node: Node, time: Clock): Processes => ({
    async run({ script, callId, timeoutMs }, signal) {
      const watchId = watchOf.get(callId) ?? '';
      if (visit(node, `before the command of ${callId}`)) return never();
      if (life.takes < 0) return resultOf('notStarted', '');
      laws.started(node, callId, watchId);
      commands.set(callId, { node, watchId });
      const { takes } = life;
      const ending = await new Promise<CommandResult['ending']>((resolve) => {
        if (signal.aborted) return resolve('aborted');
        if (takes === 0) return resolve('exited');
        const cancel = time.after(Math.min(takes, timeoutMs), () =>
          resolve(takes > timeoutMs ? 'timedOut' : 'exited'),
        );
        signal.addEventListener('abort', () => (cancel(), resolve('aborted')), { once: true });
      });
      laws.ended(callId, watchId);
      commands.delete(callId);
      if (visit(node, `after the command of ${callId}`)) return never();
      await awake(node);
      return resultOf(ending, String(life.files.get(script) ?? 0));
    },
    sessions: () => Promise.resolve([]),
    endLeftovers: () => Promise.resolve([]),
  });
  const resultOf = (ending: CommandResult['ending'], output: string): CommandResult => ({
    ending,
    exitCode: ending === 'exited' ? 0 : null,
    signal: null,
    output,
    message: null,
  });

  async function begin(node: Node): Promise<void> {
    const time = clockOf(node);
    const log: Log = {
      info: () => undefined,
      warn: () => undefined,
      error(fields, message) {
        const { error } = fields as { readonly error?: unknown };
        if (!node.dead && !message.includes('not the owner of its workstreams'))
          laws.violate('D-71', `${node.name}: ${message}: ${String(error)}`);
      },
    };
    const host = 'here';
    const mine = reachedBy(node);
    const world = await createWorld({
      clock: time as TestClock,
      storage: mine,
      host,
      conditions,
      ids: { random128: () => (minted += 1).toString(16).padStart(32, '0') },
      limits: { maxLoaded: 500, idleUnloadMs: 30 * 60_000 },
    });
    if (node.dead) return;
    const session = begunAt.get(node)!;
    const { registry, sessionId } = world;
    const processes = processesOf(node, time);
    const teller = createTeller({ store: mine.watches, registry, sessionId, host, log });
    const round = createWatchRound({
      ...{
        store: mine.watches,
        teller,
        processes,
        conditions,
        clock: time,
        log,
        sessionId,
        host,
        concurrency,
      },
    });
    const heartbeat = createHeartbeat({
      session,
      clock: time,
      log,
      canBeTakenOver: !alone,
      onLost() {
        round.stop();
        registry.deposeAll();
        crash(node, 'for it lost its session');
      },
    });
    const { ownership } = mine;
    const recovery = createRecovery({ ownership, registry, processes, sessionId, clock: time, log });
    node.up = { world, round, session };
    node.rounds = [heartbeat, recovery];
    heartbeat.run();
    recovery.run();
    round.run();
  }

  function crash(node: Node, why: string): void {
    if (node.dead) return;
    crashes += 1;
    note(`${node.name} dies ${why}`);
    end(node);
  }

  function end(node: Node): void {
    node.dead = true;
    node.stands = false;
    held.delete(node);
    for (const round of node.rounds) round.stop();
    for (const [claim, command] of commands)
      if (command.node === node) {
        laws.ended(claim, command.watchId);
        commands.delete(claim);
      }
  }

  async function stop(node: Node): Promise<void> {
    const { up } = node;
    if (!up) return;
    note(`${node.name} stops`);
    for (const round of node.rounds) round.stop();
    await up.round.end(2_000);
    await up.world.registry.stop(4_000);
    await up.session.end();
    end(node);
  }

  const alive = (): readonly Node[] => [...nodes.values()].filter(({ dead, up }) => !dead && up !== null);

  const life: Life = {
    laws,
    clock,
    storage,
    notes,
    note,
    get visits() {
      return visits;
    },
    get crashes() {
      return crashes;
    },
    born: () => void (isBorn = true),
    files: new Map(),
    takes: 0,
    away: false,
    lose: null,
    trap: null,
    calm() {
      note('— all goes well from here on —');
      calm = true;
      Object.assign(life, { away: false, lose: null, trap: null, takes: 0 });
      life.wake();
    },
    boot(id) {
      if (nodes.get(id)?.dead === false || (alone && id === 'b')) return;
      const node: Node = {
        id,
        name: `${id}${(lives += 1)}`,
        dead: false,
        stands: false,
        up: null,
        rounds: [],
        isLive() {
          const session = begunAt.get(node)?.id;
          return !node.dead && session !== undefined && clock.now() <= (terms.get(session)?.expiresAt ?? -1);
        },
      };
      nodes.set(id, node);
      note(`${node.name} starts`);
      begin(node).catch((error: unknown) => {
        if (error instanceof StorageUnavailableError) node.dead = true;
        else laws.violate('D-71', `${node.name} does not start: ${String(error)}`);
      });
    },
    crash,
    stop: (node) => void stop(node),
    wake() {
      for (const node of nodes.values()) {
        if (!node.stands) continue;
        note(`${node.name} wakes`);
        node.stands = false;
        laws.woke(node);
        const due = held.get(node) ?? [];
        held.delete(node);
        for (const run of due) inside(node, run);
      }
    },
    node: (id) => nodes.get(id) ?? null,
    nodes: alive,
    serving(workstreamId, pick) {
      const all = alive();
      const owner = all.find(({ up }) => up!.world.registry.peek(workstreamId) !== null);
      return (pick % 5 === 4 ? undefined : owner) ?? all[pick % Math.max(1, all.length)] ?? null;
    },
    ask(what, node, work) {
      if (!node?.up) return;
      const { world } = node.up;
      note(`${what} is asked of ${node.name}`);
      work(world.services, world).then(
        (outcome) => {
          const { type, code } = (outcome ?? {}) as { readonly type?: string; readonly code?: string };
          if (!node.dead) note(`${what} is answered: ${code ?? type}`);
        },
        (error: unknown) => {
          if (!node.dead && !(error instanceof StorageUnavailableError))
            laws.violate('D-71', `${what} throws ${String(error)}`);
        },
      );
    },
    calls: () =>
      alive()
        .filter(({ stands }) => !stands)
        .flatMap(({ up }) => up!.world.model.calls)
        .filter((one) => !answered.has(one) && !one.signal.aborted),
    answer(one, how) {
      answered.add(one);
      if (how === 'FAIL') one.fail();
      else one.answer({ text: 'yes' });
    },
    jump(ms) {
      note(`the clock goes ${ms} ms`);
      jumped += ms;
      laws.clockWasSet(ms);
    },
    async pass(ms, slice = ms) {
      for (let left = ms; left > 0; left -= slice) {
        await turns(8);
        await clock.advance(Math.min(left, slice));
      }
      await turns(8);
    },
  };
  return life;
}
