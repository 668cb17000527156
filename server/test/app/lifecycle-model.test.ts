/**
 * Owns: the life of a few workstreams in one server, as a model sees it (D-20 to D-26): created, published or taken
 * back, written to, closed, opened, let go, loaded, deleted, reaped, by people who do not wait for one another, nor
 * always for an answer, while the database comes and goes, answers are lost and the server dies.
 *
 * Invariants: time is a test clock, ids are counted, and every choice is fast-check's: a seed is one run. A failure
 * prints it with the shortest life that breaks a rule; `LIFECYCLE_SEED=… LIFECYCLE_PATH=…` runs it again, and
 * `LIFECYCLE_RUNS=10000` looks longer.
 */
import fc, { type AsyncCommand } from 'fast-check';
import assert from 'node:assert/strict';
import { activityOf, liveTurn, type Entry, type Projection } from 'schema/projection';
import { describe, it } from 'vitest';
import { recoverLiveTurns } from '../../src/app/rounds/recovery.ts';
import { StorageUnavailableError } from '../../src/ports/storage-unavailable.ts';
import type { Workspaces } from '../../src/ports/workspaces.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import type { FakeCall } from '../support/fake-model.ts';
import { createMemoryStorage, type MemoryStorage } from '../support/memory-storage.ts';
import { ada, bob, createWorld, plain, unchanged, type World } from './support/world.ts';

const runs = Number(process.env['LIFECYCLE_RUNS'] ?? 300);
const seed = Number(process.env['LIFECYCLE_SEED'] ?? Date.now() % 2 ** 31);
const path = process.env['LIFECYCLE_PATH'];

/** Fewer than there are workstreams, so that they make way for one another. */
const maxLoaded = 2;
const minute = 60_000;
const hour = 60 * minute;

type Move =
  | { readonly do: 'create'; readonly named: boolean; readonly slow: boolean }
  /** The oldest creation that is being prepared goes on: it is published, or taken back. */
  | { readonly do: 'prepared'; readonly how: 'GOOD' | 'REFUSED' | 'BROKEN' }
  | { readonly do: 'send' | 'stop' | 'close' | 'open' | 'delete' | 'rename' | 'fork'; readonly pick: number }
  /** The last of these again, under the same key. */
  | { readonly do: 'again'; readonly what: 'close' | 'open' | 'delete' | 'create' }
  | { readonly do: 'evict' | 'load' | 'decide'; readonly pick: number }
  /** The oldest open call of the model ends. */
  | { readonly do: 'model'; readonly how: 'ANSWER' | 'ASK' | 'FAIL' }
  | { readonly do: 'database'; readonly away: boolean }
  | { readonly do: 'loseAnswer' }
  /** Whoever asked last for a workstream is gone. */
  | { readonly do: 'vanish' }
  | { readonly do: 'pass'; readonly ms: number }
  | { readonly do: 'sweep'; readonly after: number; readonly retentionDays: number | null }
  | { readonly do: 'crash'; readonly stubborn: boolean };

interface Step {
  readonly move: Move;
  /** Turns of the event loop before the next one: what was begun is somewhere on its way by then. */
  readonly turns: number;
}

/** What the model knows without looking. */
interface Known {
  preparing: number;
}

/** What was begun for a person, and what came of it. */
interface Op {
  readonly what: Move['do'];
  readonly id: string | null;
  outcome: { readonly type: string; readonly code?: string; readonly [field: string]: unknown } | null;
}

interface Gate {
  readonly op: Op;
  readonly open: (how: 'GOOD' | 'REFUSED' | 'BROKEN') => void;
}

/** What was announced of one workstream on one hub, in order. */
type Word = 'OPEN' | 'CLOSED' | 'DELETED';

class Life {
  readonly clock: TestClock = createTestClock();
  readonly storage: MemoryStorage = createMemoryStorage(this.clock);
  world!: World;
  readonly ids: string[] = [];
  readonly ops: Op[] = [];
  gates: Gate[] = [];
  /** Ids that somebody, or the operator by his settings, wanted gone. */
  readonly asked = new Set<string>();
  words = new Map<string, Word[]>();
  /** There when the hub began to listen. */
  old = new Set<string>();
  away = false;
  /** The database was away once, or an answer of its was lost. */
  troubled = false;
  crashed = false;
  /** Entries as they were last seen in storage. */
  readonly seen = new Map<string, readonly Entry[]>();
  /** Seen, and not there any more. */
  readonly gone = new Set<string>();
  /** What is sent again, under the same key. */
  readonly again = new Map<string, () => void>();
  /** How many may be loaded: recovery may load more, and then no more than that. */
  allowance = maxLoaded;
  /** Folders that were made, of the server, whichever process it is. */
  readonly folders = new Set<string>();
  /** Ends the caller of the last creation. */
  vanish = (): void => undefined;
  /** Every id the server drew: some of them are workstreams, whoever was told. */
  private readonly minted: string[] = [];
  private dead = { is: false };
  private ended = new WeakSet<FakeCall>();

  async boot(stubborn = false): Promise<void> {
    const dead = { is: false };
    this.dead = dead;
    const workspaces: Workspaces = {
      roots: ['/work'],
      choose: async (id, asked) => {
        const chosen = await (asked === 'slow' ? this.prepare(id) : folderOf(id));
        if (chosen.type === 'chosen' && !dead.is) this.folders.add(chosen.path);
        return chosen;
      },
      abandon: async (path) => {
        // What a process that died had begun is rolled back.
        if (dead.is) throw new StorageUnavailableError('dead');
        this.folders.delete(path);
        return null;
      },
      own: async (id) => folderOf(id).path,
      at: async (path) => path,
      ownRoot: async () => '/folders',
      writtenBelow: async () => '/folders/',
    };
    this.world = await createWorld({
      clock: this.clock,
      storage: pluggedIn(this.storage, dead),
      workspaces,
      ids: {
        random128: () => {
          const id = this.minted.length.toString(16).padStart(32, '0');
          this.minted.push(id);
          return id;
        },
      },
      limits: { maxLoaded, idleUnloadMs: 30 * minute },
    });
    if (stubborn) this.world.model.ignoreAborts();
    this.words = new Map();
    this.old = new Set(this.visible());
    const say = (id: string, word: Word): void =>
      void this.words.set(id, [...(this.words.get(id) ?? []), word]);
    this.world.hub.onAnnounce(({ id, lifecycle }) => {
      if (!dead.is) say(id, lifecycle);
    });
    this.world.hub.onDeleted((id) => {
      if (!dead.is) say(id, 'DELETED');
    });
    const { registry, sessionId } = this.world;
    await recoverLiveTurns({
      registry,
      sessionId,
      ownership: this.storage.ownership,
      log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    });
    this.allowance = Math.max(maxLoaded, registry.present().length);
  }

  /** Workstreams that storage has published and not deleted. */
  visible(): readonly string[] {
    return this.minted.filter((id) => this.storage.entries(id).length > 0);
  }

  /** Begins something for a person, who may wait for it, or not. */
  begin(what: Move['do'], id: string | null, work: () => Promise<unknown>): Op {
    const op: Op = { what, id, outcome: null };
    this.ops.push(op);
    const { dead } = this;
    work().then(
      (outcome) => void (op.outcome = dead.is ? { type: 'Lost' } : (outcome as NonNullable<Op['outcome']>)),
      (error: unknown) => {
        // What a test breaks on purpose comes back as it was.
        const meant = /BROKEN|VANISHED/.exec(String(error))?.[0];
        op.outcome = { type: meant ?? `threw ${String(error)}` };
      },
    );
    return op;
  }

  private prepare(id: string): ReturnType<Workspaces['choose']> {
    return new Promise((resolve, reject) => {
      const op = this.ops.findLast((o) => o.what === 'create')!;
      const open: Gate['open'] = (how) =>
        how === 'GOOD'
          ? resolve(folderOf(id))
          : how === 'REFUSED'
            ? resolve({ type: 'refused', problem: 'There is no such folder.' })
            : reject(new Error('BROKEN'));
      this.gates.push({ op, open });
    });
  }

  /** Calls of the model that are open. */
  calls(): readonly FakeCall[] {
    return this.world.model.calls.filter((call) => !this.ended.has(call) && !call.signal.aborted);
  }

  end(call: FakeCall, how: 'ANSWER' | 'ASK' | 'FAIL'): void {
    this.ended.add(call);
    if (how === 'ASK') call.callTools(['write', 'it']);
    else if (how === 'FAIL') call.fail();
    else call.answer({ text: 'yes' });
  }

  /** The process dies: nothing it does from now on arrives anywhere. What was on its way may have. */
  async crash(stubborn: boolean): Promise<void> {
    this.dead.is = true;
    this.crashed = true;
    await turns(12);
    this.world.registry.deposeAll();
    this.storage.expire(this.world.sessionId);
    this.gates = [];
    for (const op of this.ops) op.outcome ??= { type: 'Lost' };
    this.again.clear();
    this.away = false;
    this.storage.comeBack();
    await this.boot(stubborn);
  }

  /** The database answers sooner than any time that passes here. */
  async pass(ms: number): Promise<void> {
    await turns(ms > 0 ? 24 : 0);
    await this.clock.advance(ms);
  }

  /** Somebody who waits for a workstream to be made, until the next `vanish`. */
  caller(): AbortSignal {
    const controller = new AbortController();
    this.vanish = () => controller.abort(new Error('VANISHED'));
    return controller.signal;
  }

  pick(n: number): string | null {
    return this.ids[n % Math.max(1, this.ids.length)] ?? null;
  }
}

const folderOf = (id: string) => ({ type: 'chosen', path: `/folders/${id}` }) as const;

/** Storage that a dead process cannot reach: its calls are never answered, and do nothing. */
function pluggedIn(storage: MemoryStorage, dead: { readonly is: boolean }): MemoryStorage {
  const guard = <T extends object>(port: T): T =>
    new Proxy(port, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]): unknown =>
          dead.is ? new Promise(() => undefined) : Reflect.apply(value, target, args);
      },
    });
  return new Proxy(storage, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'object' && value !== null && !Array.isArray(value) ? guard(value) : value;
    },
  });
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}

async function make(life: Life, known: Known, move: Move): Promise<void> {
  const { world } = life;
  const { services, registry } = world;
  const { storage } = life;
  switch (move.do) {
    case 'create': {
      const key = `create-${life.ops.length}`;
      const input = {
        ...plain,
        key,
        title: move.named ? key : null,
        workspace: move.slow ? 'slow' : null,
      };
      const begin = (): void => {
        const caller = life.caller();
        life.begin('create', null, () => services.workstreams.create(ada, input, caller));
      };
      life.again.set('create', begin);
      if (move.slow) known.preparing += 1;
      return begin();
    }
    case 'prepared': {
      const gate = life.gates.shift();
      gate?.open(move.how);
      return;
    }
    case 'again':
      return life.again.get(move.what)?.();
    case 'model': {
      const call = life.calls()[0];
      if (call) life.end(call, move.how);
      return;
    }
    case 'database':
      life.away = move.away;
      life.troubled ||= move.away;
      if (move.away) life.storage.goAway();
      else life.storage.comeBack();
      return;
    case 'loseAnswer':
      life.troubled = true;
      return life.storage.loseAnswers();
    case 'vanish':
      return life.vanish();
    case 'pass':
      return life.pass(move.ms);
    case 'sweep':
      await life.pass(move.after);
      world.registry.unloadIdle();
      return sweep(life, move.retentionDays);
    case 'crash':
      known.preparing = 0;
      return life.crash(move.stubborn);
    default:
      break;
  }
  const id = life.pick(move.pick);
  if (id === null) return;
  const key = `${move.do}-${life.ops.length}`;
  const begin = (what: Move['do'], work: () => Promise<unknown>): void => {
    if (what === 'delete') life.asked.add(id);
    life.begin(what, id, work);
  };
  const repeatable = (what: 'close' | 'open' | 'delete'): void => {
    const again = (): void => begin(what, () => services.workstreams[what](bob, { key, workstreamId: id }));
    life.again.set(what, again);
    again();
  };
  switch (move.do) {
    case 'send':
      return begin('send', () => world.send(id, key, ada, key));
    case 'stop':
      return begin('stop', () =>
        services.turns.stop(ada, { key, workstreamId: id, turnId: null, force: false }),
      );
    case 'close':
    case 'open':
    case 'delete':
      return repeatable(move.do);
    case 'rename':
      return begin('rename', () =>
        services.workstreams.configure(ada, {
          key,
          workstreamId: id,
          ...unchanged,
          title: key,
        }),
      );
    case 'fork': {
      const input = { key, workstreamId: id, revision: null, title: null, workspace: null };
      const caller = life.caller();
      return begin('fork', () => services.workstreams.fork(ada, input, caller));
    }
    case 'evict': {
      const actor = registry.peek(id);
      if (!registry.unload(id) || !actor) return;
      const { pending, batches, durableBatches, projection } = actor.state();
      assert.deepEqual(
        [pending, durableBatches],
        [[], batches],
        `D-24: ${id} left memory, and not all is stored`,
      );
      assert.ok(!works(projection), `D-24: ${id} left memory while its turn works`);
      return;
    }
    case 'load':
      return begin('load', async () => ({ type: (await registry.load(id)).type }));
    case 'decide': {
      // Also in one that rests: the decision loads it.
      const open = life
        .visible()
        .flatMap((workstreamId) => openItems(storage.entries(workstreamId), workstreamId));
      const item = open[move.pick % Math.max(1, open.length)];
      if (!item) return;
      return begin('decide', () =>
        services.approvals.decide(ada, {
          key,
          ...item,
          verdict: 'DENIED',
          feedback: null,
        }),
      );
    }
  }
}

/** True while a turn lives that waits for no person. */
const works = (projection: Projection): boolean =>
  liveTurn(projection) !== null && activityOf(projection) !== 'APPROVAL';

/** Questions that are open in this journal, as a decision names them. */
function openItems(entries: readonly Entry[], workstreamId: string) {
  const cycles = new Map(entries.flatMap((e) => (e.kind === 'APPROVAL' ? [[e.cycle.id, e.cycle]] : [])));
  return [...cycles.values()].flatMap((cycle) =>
    cycle.status !== 'OPEN'
      ? []
      : cycle.items.map(({ callId, argumentsHash }) => ({
          workstreamId,
          cycleId: cycle.id,
          callId,
          argumentsHash,
        })),
  );
}

/** What can be said at any moment, however much is under way. */
function check(life: Life): void {
  const { world, storage } = life;
  // Also what nobody was told the id of, and what went before anybody looked.
  for (const id of [...life.visible(), ...life.words.keys()]) if (!life.ids.includes(id)) life.ids.push(id);

  const present = world.registry.present();
  life.allowance = Math.min(life.allowance, Math.max(maxLoaded, present.length));
  assert.ok(present.length <= life.allowance, `D-24: ${present.length} are loaded`);

  for (const { what, id, outcome } of life.ops) {
    const said = outcome?.code ?? outcome?.type ?? '';
    assert.ok(!said.startsWith('threw'), `${what} ${id ?? ''} ${said}`);
    // A reservation that is still being prepared is nobody's to reap (D-21), and who rests is loaded again (D-24).
    const lost = said === 'STORAGE_UNAVAILABLE' || said === 'OWNER_LOST' || said === 'JOURNAL_UNSETTLED';
    assert.ok(life.troubled || !lost, `${what} ${id ?? ''} is refused with ${said}, and nothing is wrong`);
  }

  for (const id of life.ids) {
    const now = storage.entries(id);
    const before = life.seen.get(id) ?? [];
    if (now.length === 0 && before.length > 0) {
      if (!life.gone.has(id)) assert.ok(life.asked.has(id), `${id} is gone, and nobody asked`);
      life.gone.add(id);
    } else {
      assert.ok(!(life.gone.has(id) && now.length > 0), `D-25: ${id} is back`);
      assert.ok(
        before.every((entry, i) => now[i]?.id === entry.id),
        `a durable entry of ${id} is lost`,
      );
      if (now.length > 0) life.seen.set(id, now);
    }
    now.forEach((entry, i) => {
      const next = now[i + 1];
      if (entry.kind === 'LIFECYCLE' && entry.lifecycle === 'CLOSED' && next)
        assert.ok(
          next.kind === 'LIFECYCLE' && next.lifecycle === 'OPEN',
          `I56: ${next.kind} after CLOSED in ${id}`,
        );
    });
    const folder = workspaceOf(now);
    assert.ok(folder === null || life.folders.has(folder), `D-20: ${id} is there, and its folder is gone`);
    const words = life.words.get(id) ?? [];
    const deleted = words.indexOf('DELETED');
    assert.ok(deleted === -1 || deleted === words.length - 1, `D-26: ${id}: ${words.join(' ')}`);
    if (deleted !== -1) assert.equal(now.length, 0, `D-26: ${id} was announced as deleted, and is there`);
    if (!life.old.has(id) && words.length > 0)
      assert.equal(words[0], 'OPEN', `D-26: ${id} was not announced as created first`);
  }
}

/** Of a workstream with these entries; null when there is none. */
const workspaceOf = (entries: readonly Entry[]): string | null =>
  entries.find((entry) => entry.kind === 'CONFIGURATION')?.configuration.workspace ?? null;

/** What nobody used may go, and what was closed long enough ago. */
async function sweep(life: Life, retentionDays: number | null): Promise<void> {
  // A database that is away sweeps nothing.
  for (const id of life.away ? [] : life.visible()) {
    const row = await life.storage.catalog.get(id);
    const entries = life.storage.entries(id);
    const closed = row?.projection.lifecycle === 'CLOSED';
    // A workstream is as old as its reservation.
    const age = life.clock.now() - Date.parse((closed ? row.updatedAt : row?.createdAt) ?? '');
    const unused = !closed && entries.every((e) => e.kind !== 'USER') && age > 2 * hour;
    if (unused || (closed && retentionDays !== null && age > retentionDays * 24 * hour)) life.asked.add(id);
  }
  return life.world.sweep(retentionDays);
}

/** What can be said of what others see, once it is quiet: the database answers and nothing is on its way. */
async function look(life: Life): Promise<void> {
  if (life.away) return;
  const { world, storage } = life;
  const { workstreams, search, history, approvals } = world.services;
  const visible = new Set(life.visible());
  const range = { first: 100, after: null };
  const all = await workstreams.list(range, { lifecycle: null });
  const parts = [
    await workstreams.list(range, { lifecycle: 'OPEN' }),
    await workstreams.list(range, { lifecycle: 'CLOSED' }),
  ];
  const cycles = await approvals.list(range);
  // Something may have come or gone while it was read: then there is nothing to compare with.
  check(life);
  if (JSON.stringify([...visible]) !== JSON.stringify(life.visible())) return;
  const listed = all.items.map((item) => item.id).sort();
  assert.deepEqual(listed, [...visible].sort(), 'D-20: the list shows what is published, and nothing else');
  assert.equal(all.totalCount, visible.size);
  assert.equal(
    parts.reduce((sum, part) => sum + part.totalCount, 0),
    visible.size,
  );
  for (const { workstreamId } of cycles.items) assert.ok(visible.has(workstreamId));
  for (const id of life.ids) {
    assert.equal((await workstreams.get(id)) !== null, visible.has(id) && storage.entries(id).length > 0);
    if (!visible.has(id))
      assert.equal(await history.page(id, { direction: 'forward', count: 10, after: 0 }), null);
  }
  const found = await search.find({ text: 'yes', workstreamId: null, first: 50, after: null });
  if (found.type === 'Found')
    for (const { workstreamId } of found.items)
      assert.ok(
        visible.has(workstreamId) || life.gone.has(workstreamId),
        'D-20: found before it is published',
      );
}

/** How often something happened, over all lives. */
const happened = new Map<string, number>();
const note = (what: string): unknown => happened.set(what, (happened.get(what) ?? 0) + 1);

function noteAll(life: Life): void {
  for (const { what, outcome } of life.ops) note(`${what} ${outcome?.code ?? outcome?.type ?? 'open'}`);
  for (const words of life.words.values()) for (const word of words) note(word);
  for (const { message } of life.world.log) note(message);
}

/** Each of these happens ten times and more in 300 lives. */
const wanted: readonly string[] = [
  ...[
    'create Accepted',
    'create INVALID_INPUT',
    'create BROKEN',
    'create VANISHED',
    'create Lost',
    'create STORAGE_UNAVAILABLE',
  ],
  ...['close Accepted', 'close JOURNAL_UNSETTLED', 'close Lost', 'close AT_CAPACITY', 'open Accepted'],
  ...['delete Accepted', 'delete WORKSTREAM_NOT_FOUND', 'delete STORAGE_UNAVAILABLE', 'delete Lost'],
  ...[
    'send Accepted',
    'send CLOSING',
    'send WORKSTREAM_CLOSED',
    'send AT_CAPACITY',
    'send WORKSTREAM_NOT_FOUND',
  ],
  ...['fork Accepted', 'decide Accepted', 'rename Accepted', 'stop Accepted', 'OPEN', 'CLOSED', 'DELETED'],
  ...['reservations that came to nothing were deleted', 'workstreams that were never used were deleted'],
  'workstreams that were closed 1 days ago or earlier were deleted',
];

/** All that was begun comes to its end, and then all of it must be right. */
async function finish(life: Life): Promise<void> {
  life.away = false;
  life.storage.comeBack();
  life.storage.loseAnswers(0);
  for (let round = 0; round < 40; round += 1) {
    for (const gate of life.gates.splice(0)) gate.open('GOOD');
    for (const call of life.calls()) life.end(call, 'ANSWER');
    await turns(12);
    if (round % 4 === 3) await life.clock.advance(30_000);
    check(life);
    if (round > 8 && life.ops.every((op) => op.outcome !== null) && life.calls().length === 0) break;
  }
  const hung = life.ops.filter((op) => op.outcome === null).map((op) => `${op.what} ${op.id ?? ''}`);
  assert.deepEqual(hung, [], 'something hangs');
  await life.clock.advance(3 * minute);
  await turns(24);
  check(life);
  await look(life);
  const { world, storage } = life;
  for (const id of life.ids) {
    const actor = world.registry.peek(id);
    const row = await storage.catalog.get(id);
    if (!actor && row) assert.ok(!works(row.projection), `D-24: a turn of ${id} works, and nobody runs it`);
    if (actor) assert.equal(actor.state().incarnation, row?.incarnation, `${id} is loaded, and deleted`);
    if (actor) assert.equal(actor.state().closing, false, `the door of ${id} is shut for ever`);
    if (life.gone.has(id)) {
      const words = life.words.get(id) ?? [];
      if (life.old.has(id) || words.length > 0)
        assert.equal(words.filter((word) => word === 'DELETED').length, 1, `D-26: ${id} was not announced`);
    }
  }
  for (const id of life.visible())
    assert.ok(life.old.has(id) || life.words.has(id), `D-26: ${id} is there, and nobody was told`);
  for (const op of life.ops) {
    const made = op.what === 'create' || op.what === 'fork' ? op.outcome?.['workstreamId'] : undefined;
    if (typeof made === 'string')
      assert.ok(life.ids.includes(made), `D-20: ${op.what} answered ${made}, which was never there`);
    if (op.outcome?.type !== 'Accepted' || op.id === null || life.gone.has(op.id)) continue;
    if (op.what === 'delete') assert.fail(`${op.id} was deleted, and is there`);
    const { messageId, durability } = op.outcome;
    if (op.what === 'send' && durability === 'DURABLE')
      assert.ok(
        JSON.stringify(storage.entries(op.id)).includes(String(messageId)),
        `a message that was accepted is lost in ${op.id}`,
      );
  }
  if (!life.troubled && !life.crashed)
    assert.equal(storage.rows, life.visible().length, 'D-20: what was not published is not taken back');
  // What came to nothing is reaped, and nothing else.
  await life.clock.advance(3 * hour);
  const kept = life.visible();
  await sweep(life, null);
  check(life);
  assert.equal(storage.rows, life.visible().length, 'D-21: a reservation is left');
  const used = new Set(life.visible().map((id) => workspaceOf(storage.entries(id))));
  assert.deepEqual(
    [...life.folders].filter((folder) => !used.has(folder)),
    [],
    'D-20: a folder is left',
  );
  for (const id of kept)
    if (!life.visible().includes(id)) assert.ok(life.seen.get(id)?.every((e) => e.kind !== 'USER'));
}

class Command implements AsyncCommand<Known, Life> {
  readonly step: Step;
  constructor(step: Step) {
    this.step = step;
  }
  check(known: Readonly<Known>): boolean {
    return this.step.move.do !== 'prepared' || known.preparing > 0;
  }
  async run(known: Known, life: Life): Promise<void> {
    const { move } = this.step;
    if (move.do === 'prepared') known.preparing -= 1;
    await make(life, known, move);
    await turns(this.step.turns);
    check(life);
    if (this.step.turns > 6) await look(life);
  }
  toString(): string {
    return JSON.stringify(this.step);
  }
}

const pick = fc.nat(3);
const on = (...names: readonly ('send' | 'stop' | 'close' | 'open' | 'delete' | 'rename' | 'fork')[]) =>
  fc.record({ do: fc.constantFrom(...names), pick });
const moves: readonly fc.WeightedArbitrary<Move>[] = [
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('create' as const),
      named: fc.boolean(),
      slow: fc.constantFrom(false, false, true),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('prepared' as const),
      how: fc.constantFrom('GOOD' as const, 'REFUSED' as const, 'BROKEN' as const),
    }),
  },
  { weight: 9, arbitrary: on('send') },
  { weight: 2, arbitrary: on('stop', 'rename') },
  { weight: 1, arbitrary: on('fork') },
  { weight: 6, arbitrary: on('close') },
  { weight: 4, arbitrary: on('open') },
  { weight: 3, arbitrary: on('delete') },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('again' as const),
      what: fc.constantFrom('close' as const, 'open' as const, 'delete' as const, 'create' as const),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom('evict' as const, 'load' as const, 'decide' as const, 'decide' as const),
      pick,
    }),
  },
  {
    weight: 9,
    arbitrary: fc.record({
      do: fc.constant('model' as const),
      how: fc.constantFrom('ANSWER' as const, 'ASK' as const, 'ASK' as const, 'FAIL' as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('database' as const), away: fc.constantFrom(true, false, false) }),
  },
  { weight: 2, arbitrary: fc.constant({ do: 'loseAnswer' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'vanish' as const }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('pass' as const),
      ms: fc.constantFrom(500, 3_000, 11_000, 31 * minute, 3 * hour, 48 * hour, 48 * hour),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('sweep' as const),
      after: fc.constantFrom(0, 3 * hour, 48 * hour),
      retentionDays: fc.constantFrom(null, 1, 1),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('crash' as const), stubborn: fc.boolean() }) },
];

/** Without fast-check's bias to short ones, in which little happens. */
const commands = fc.noBias(
  fc.commands(
    [
      fc
        .record({ move: fc.oneof(...moves), turns: fc.constantFrom(0, 0, 1, 2, 3, 5, 8, 20) })
        .map((step) => new Command(step)),
    ],
    { maxCommands: 32, size: 'max' },
  ),
);

describe('in any life of a server', () => {
  it(
    'nothing unfinished is seen, nothing durable is lost, and each end is told once (D-20 to D-26, I56)',
    { timeout: runs * 1_000 + 60_000 },
    async () => {
      await fc.assert(
        fc.asyncProperty(commands, async (lived) => {
          const life = new Life();
          await life.boot();
          for (let i = 0; i < 3; i += 1) await life.world.open();
          check(life);
          await fc.asyncModelRun(() => ({ model: { preparing: 0 }, real: life }), lived);
          await finish(life);
          noteAll(life);
        }),
        { numRuns: runs, seed, ...(path && { path }) },
      );
      if (process.env['LIFECYCLE_RUNS']) console.log(`lifecycle: ${runs} lives, 0 violations, seed ${seed}`);
      if (process.env['LIFECYCLE_REACH'])
        console.log(
          [...happened]
            .sort(([a], [b]) => (a < b ? -1 : 1))
            .map(([what, n]) => `${n} ${what}`)
            .join('\n'),
        );
      if (runs < 300 || path) return;
      const rarely = wanted.filter((what) => !happened.has(what));
      assert.deepEqual(rarely, [], 'the random lives do not reach what the rules are about');
    },
  );
});
