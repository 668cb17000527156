/** Owns: when watches are polled, and what becomes of that when the database, the clock or the server fails (D-81, D-84). */
import type { Entry, Fire, Watch, WatchDefinition } from 'schema/projection';
import { beforeEach, describe, expect, it } from 'vitest';
import { createWatchRound, type WatchRound } from '../../src/app/rounds/watches.ts';
import { createTeller } from '../../src/app/watches/tell.ts';
import type { Processes } from '../../src/ports/processes.ts';
import { StorageUnavailableError } from '../../src/ports/storage-unavailable.ts';
import type { WatchStore } from '../../src/ports/watches.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import { createMemoryWatches, type MemoryWatches } from '../support/memory-watches.ts';

const s = 1_000;
const hour = 3_600 * s;

interface Run {
  readonly watch: string;
  readonly at: number;
  readonly end: number | null;
}

let clock: TestClock;
/** The database's clock minus the server's. */
let skew: number;
let workstreams: Set<string>;
let live: Set<string>;
let watches: MemoryWatches;
let runs: Run[];
/** How long each command takes, and how long it takes to end when it is to. */
let takes: number;
let dies: number;
/** What a command puts out, by its watch and the run of it; null: it cannot be started. */
let prints: (watch: string, run: number) => string | null;
let running: string[];
let most: { all: number; ofOneWatch: number; ofOneWorkstream: number; looks: number };
/** Before the store does what is asked of it; may reject, or take its time. */
let before: { [K in 'claim' | 'held' | 'record' | 'deliveries']: () => Promise<void> };
let asked: { claim: number; giveBack: number; record: number };
/** So many claims more take place, and their answer is lost. */
let lost: number;
/** Which workstreams can be loaded. */
let loads: (workstream: string) => boolean;
let writes: boolean;
let heard: string[];
let logged: string[];
let round: WatchRound;

const nothing = async (): Promise<void> => undefined;
const away = (): Promise<void> => Promise.reject(new StorageUnavailableError('away'));
const note = (_facts: object, text: string): void => void logged.push(text);
const quiet = (): void => undefined;
const log = { info: quiet, warn: quiet, error: note };

const counted = (names: readonly string[], of: (name: string) => string): number =>
  Math.max(0, ...[...Map.groupBy(names, of).values()].map(({ length }) => length));
const workstreamOf = (watch: string): string => watch.split('/')[0]!;

const processes: Processes = {
  async run({ script }, signal) {
    const index = runs.push({ watch: script, at: clock.now(), end: null }) - 1;
    const nth = runs.filter(({ watch }) => watch === script).length;
    running = [...running, script];
    most.all = Math.max(most.all, running.length);
    most.ofOneWatch = Math.max(
      most.ofOneWatch,
      counted(running, (name) => name),
    );
    most.ofOneWorkstream = Math.max(most.ofOneWorkstream, counted(running, workstreamOf));
    const isOver = await new Promise<boolean>((resolve) => {
      const cancel = clock.after(takes, () => resolve(true));
      const abort = (): void => {
        cancel();
        if (dies === 0) resolve(false);
        else clock.after(dies, () => resolve(false));
      };
      if (signal.aborted) abort();
      signal.addEventListener('abort', abort, { once: true });
    });
    running = running.toSpliced(running.indexOf(script), 1);
    runs[index] = { ...runs[index]!, end: clock.now() };
    const output = prints(script, nth);
    return {
      ending: isOver ? (output === null ? 'notStarted' : 'exited') : 'aborted',
      exitCode: isOver && output !== null ? 0 : null,
      signal: null,
      output: output ?? '',
      message: null,
    };
  },
  sessions: async () => [],
  endLeftovers: async () => [],
};

const store = (): WatchStore => {
  const { claim, giveBack, untilDue, held, record, waiting, deliveries, get, list, polls, counts } =
    watches.store;
  let looks = 0;
  return {
    async claim(request) {
      asked.claim += 1;
      most.looks = Math.max(most.looks, (looks += 1));
      try {
        await before.claim();
        const claims = claim(request);
        if (lost === 0) return claims;
        lost -= 1;
        throw new StorageUnavailableError('The answer was lost (TEST).');
      } finally {
        looks -= 1;
      }
    },
    async record(outcome) {
      asked.record += 1;
      await before.record();
      return record(outcome);
    },
    async waiting(request) {
      await before.deliveries();
      return waiting(request);
    },
    async deliveries(request) {
      await before.deliveries();
      return deliveries(request);
    },
    giveBack: async (...given) => {
      asked.giveBack += 1;
      return giveBack(...given);
    },
    untilDue: async (request) => untilDue(request),
    async held(claims) {
      await before.held();
      return held(claims);
    },
    get: async (id) => get(id),
    list: async (request) => list(request),
    polls: async (id, page) => polls(id, page),
    counts: async (request) => counts(request),
  };
};

const entry = (part: object): Entry =>
  ({ id: 'entry', revision: 1, epoch: 1, at: '2026-01-01T00:00:00.000Z', ...part }) as Entry;

/** The workstream of these, with an actor that writes down what it hears, but for what it takes for written (D-84). */
function hear(workstreamId: string, fires: readonly Fire[]): void {
  for (const fire of fires) {
    heard.push(`${fire.watchId} ${fire.poll} ${fire.reason}`);
    const watch = watches.store.get(fire.watchId)?.watch;
    if (!writes || !watch || fire.poll <= watch.lastFire) continue;
    const told = { ...watch, lastFire: fire.poll, due: null };
    const ended = { ...told, status: 'ENDED', end: 'FIRED' };
    watches.commit(workstreamId, [
      entry({ kind: 'SYSTEM', fire }),
      entry({ kind: 'WATCH', watch: fire.ended ? ended : told }),
    ]);
  }
}

/** A server that has looked for the first time. */
async function begin(sessionId: string, concurrency?: number): Promise<WatchRound> {
  live.add(sessionId);
  const by = { sessionId, host: 'here', log, store: store() };
  const teller = createTeller({
    ...by,
    registry: {
      load: async (id) =>
        loads(id)
          ? { type: 'loaded', actor: { fired: (fires) => hear(id, fires) } }
          : { type: 'Rejected', code: 'STORAGE_UNAVAILABLE' },
    },
  });
  const conditions = {
    check: async () => ({ type: 'sound' }) as const,
    judge: async () => ({ type: 'failed', message: 'No key.' }) as const,
    stop: nothing,
  };
  const made = createWatchRound({
    ...by,
    teller,
    clock,
    processes,
    conditions,
    ...(concurrency && { concurrency }),
  });
  made.run();
  await clock.advance(0);
  return made;
}

/** A watch `workstream/name`, due now. */
function watch(id: string, over: Partial<WatchDefinition> = {}, rest: Partial<Watch> = {}): Watch {
  const made: Watch = {
    id,
    version: 1,
    definition: {
      name: id,
      command: id,
      condition: null,
      everySeconds: 10,
      maxPolls: 10_000,
      deadline: null,
      repeat: true,
      instruction: null,
      ...over,
    },
    status: 'ACTIVE',
    pausedBy: null,
    end: null,
    author: { id: 'ada', name: 'Ada' },
    depth: 1,
    createdAt: new Date(clock.now()).toISOString(),
    lastFire: 0,
    firesTold: 0,
    due: 'NOW',
    ...rest,
  };
  workstreams.add(workstreamOf(id));
  const refused = watches.commit(workstreamOf(id), [entry({ kind: 'WATCH', watch: made })]);
  if (refused !== null) throw new Error(refused);
  return made;
}

beforeEach(() => {
  clock = createTestClock(0);
  skew = 0;
  [workstreams, live] = [new Set(), new Set()];
  watches = createMemoryWatches({
    clock: { now: () => clock.now() + skew, after: clock.after },
    workstream: (id) =>
      workstreams.has(id)
        ? { lifecycle: 'OPEN', quarantine: null, owner: null, host: 'here', workspace: '/w' }
        : undefined,
    isLive: (sessionId) => sessionId !== null && live.has(sessionId),
  });
  [runs, running, heard, logged] = [[], [], [], []];
  [takes, dies] = [s, 0];
  prints = () => 'same';
  most = { all: 0, ofOneWatch: 0, ofOneWorkstream: 0, looks: 0 };
  before = { claim: nothing, held: nothing, record: nothing, deliveries: nothing };
  asked = { claim: 0, giveBack: 0, record: 0 };
  lost = 0;
  [loads, writes] = [() => true, true];
});

const begun = (id = 'w/a'): number[] => runs.filter(({ watch: by }) => by === id).map(({ at }) => at);
const history = (id = 'w/a') => watches.store.polls(id, { limit: 100, before: null });

describe('The round of watches looks for what is due', () => {
  it('one look at a time, also while the database takes 40 s and polls end meanwhile (F3)', async () => {
    takes = 1_200;
    for (const id of ['w/a', 'v/a']) watch(id);
    round = await begin('one');
    await clock.advance(500);
    const looked = asked.claim;
    const held = Promise.withResolvers<void>();
    before.claim = () => held.promise;
    await clock.advance(40 * s);
    expect([asked.claim - looked, most.looks, running]).toEqual([1, 1, []]);
    before.claim = nothing;
    held.resolve();
    await clock.advance(0);
    expect([runs.length, most.looks]).toEqual([4, 1]);
  });

  it('again at once when a poll ended during a look, which knew of no room for more', async () => {
    takes = 1_200;
    watch('w/a');
    round = await begin('one', 2);
    await clock.advance(500);
    for (const id of ['v/a', 'u/a']) watch(id);
    const held = Promise.withResolvers<void>();
    before.claim = () => held.promise;
    await clock.advance(5 * s);
    before.claim = nothing;
    held.resolve();
    // The look that was held, and the next one.
    await clock.advance(0);
    await clock.advance(0);
    expect(running).toEqual(['u/a', 'v/a']);
  });

  it('again after a second when the database was away (F3)', async () => {
    watch('w/a');
    before.claim = away;
    round = await begin('one');
    await clock.advance(999);
    before.claim = nothing;
    expect(begun()).toEqual([]);
    await clock.advance(1);
    expect(begun()).toEqual([1_000]);
  });

  it('for what was claimed and never heard of, as soon as the database answers again (broke: it waited for its lease, and others of its workstream with it)', async () => {
    for (const id of ['w/a', 'w/b', 'w/c']) watch(id);
    lost = 1;
    round = await begin('one');
    await clock.advance(999);
    expect(begun()).toEqual([]);
    await clock.advance(2 * s);
    expect(['w/a', 'w/b', 'w/c'].map((id) => begun(id).length)).toEqual([1, 1, 1]);
    expect(asked.giveBack).toBe(1);
  });

  it('soon enough for what others make due meanwhile (D-81)', async () => {
    round = await begin('one');
    await clock.advance(12_345);
    watch('w/a');
    await clock.advance(500);
    expect(begun()).toHaveLength(1);
  });
});

describe('The polls of a server', () => {
  it('are no more at once than it may run, and the next begins as soon as one is over (D-81)', async () => {
    takes = 10_250;
    for (let i = 0; i < 7; i++) watch(`w${i}/a`, { everySeconds: 3_600 });
    round = await begin('one', 3);
    await clock.advance(60 * s);
    expect([most.all, runs.map(({ at }) => at)]).toEqual([3, [0, 0, 0, 10_250, 10_250, 10_250, 20_500]]);
  });

  it('are two of a workstream at most, which keeps no other waiting (D-81)', async () => {
    takes = 20 * s;
    for (const name of 'abcde') watch(`w/${name}`, { everySeconds: 3_600 });
    watch('x/a', { everySeconds: 3_600 });
    round = await begin('one');
    await clock.advance(500);
    expect(running).toEqual(['w/a', 'w/b', 'x/a']);
    await clock.advance(100 * s);
    expect([most.ofOneWorkstream, runs.length]).toEqual([2, 6]);
  });

  it('stay that few when 50 are overdue at its start, and each of those is polled once (F8)', async () => {
    for (let i = 0; i < 50; i++) watch(`w${i}/a`, { everySeconds: 3_600 });
    await clock.advance(5.5 * hour);
    round = await begin('one');
    await clock.advance(10 * s);
    expect([most.all, runs.length, new Set(runs.map(({ watch: by }) => by)).size]).toEqual([16, 50, 50]);
    expect(Math.max(...runs.map(({ end }) => end!)) - 5.5 * hour).toBe(4 * s);
  });
});

describe('The polls of a watch', () => {
  it('never overlap, also when its command takes longer than its interval (F1)', async () => {
    takes = 40 * s;
    watch('w/a', { everySeconds: 15 });
    round = await begin('one');
    await clock.advance(134 * s);
    expect([most.ofOneWatch, begun()]).toEqual([1, [0, 45 * s, 90 * s]]);
  });

  it('never overlap, also when the machine sleeps longer than a lease while its command runs (D-81)', async () => {
    [takes, dies] = [40 * s, 3 * s];
    watch('w/a', { everySeconds: 15 });
    round = await begin('one');
    await clock.advance(10 * s);
    skew = hour;
    await clock.advance(50 * s);
    expect([most.ofOneWatch, begun()]).toEqual([1, [0, 13.5 * s, 60 * s]]);
    expect(history().map(({ poll }) => poll)).toEqual([1]);
  });

  it('keep their cadence for hours, however long the command takes (F7)', async () => {
    takes = 3_333;
    watch('w/a', { everySeconds: 600 });
    round = await begin('one');
    await clock.advance(3 * hour);
    expect(begun()).toEqual(Array.from({ length: 19 }, (_, i) => i * 600 * s));
  });

  it('that a server missed while it was away are one, and then it is in its cadence again (F7, D-81)', async () => {
    watch('w/a', { everySeconds: 60 });
    await clock.advance(hour + 17 * s);
    round = await begin('one');
    await clock.advance(120 * s);
    expect(begun()).toEqual([hour + 17 * s, hour + 60 * s, hour + 120 * s]);
  });

  it('that a clock jumped over are one (F9)', async () => {
    watch('w/a', { everySeconds: 60 });
    round = await begin('one');
    await clock.advance(30 * s);
    skew = 6 * hour;
    await clock.advance(60 * s);
    expect(begun()).toEqual([0, 30.5 * s, 60 * s]);
  });

  it('are put off by an interval at most when a clock goes back (F9)', async () => {
    watch('w/a', { everySeconds: 60 });
    round = await begin('one');
    await clock.advance(30 * s);
    skew = -6 * hour;
    await clock.advance(90 * s);
    expect(begun()).toEqual([0, 90.5 * s]);
  });
});

describe('What came of a poll', () => {
  it('is kept as soon as the database is back, and the command not run again for that (D-81)', async () => {
    prints = (_id, run) => `${run}`;
    watch('w/a');
    round = await begin('one');
    await clock.advance(5 * s);
    before.record = away;
    await clock.advance(600 * s);
    expect([runs.length, heard]).toEqual([2, []]);
    before.record = nothing;
    await clock.advance(s);
    expect(heard).toEqual(['w/a 2 CHANGE']);
    expect(history().map(({ poll, fired }) => [poll, fired])).toEqual([
      [2, true],
      [1, false],
    ]);
  });

  it('that the database refuses holds up nobody, and is polled again when its lease is over', async () => {
    watch('w/a');
    before.record = () => Promise.reject(new Error('refused'));
    round = await begin('one');
    await clock.advance(2 * s);
    before.record = nothing;
    expect([asked.record, logged.length]).toEqual([1, 1]);
    await clock.advance(177 * s);
    expect(begun()).toEqual([0]);
    await clock.advance(2 * s);
    expect(begun()).toEqual([0, 180 * s]);
  });

  it.each([
    ['edited', { version: 2, due: 'LATER' as const }],
    ['paused', { status: 'PAUSED' as const, pausedBy: 'PERSON' as const, due: null }],
    ['canceled', { status: 'ENDED' as const, end: 'CANCELED' as const, due: null }],
  ])('of a watch that was %s meanwhile is written down and told to nobody (D-84)', async (_how, change) => {
    prints = (_id, run) => `${run}`;
    const made = watch('w/a');
    round = await begin('one');
    await clock.advance(10_500);
    watch('w/a', made.definition, { ...made, ...change });
    await clock.advance(3 * s);
    expect(history()).toMatchObject([
      { poll: 2, fired: false },
      { poll: 1, fired: false },
    ]);
    await clock.advance(30 * s);
    expect(heard.filter((fire) => fire.startsWith('w/a 2'))).toEqual([]);
  });

  it('of a workstream that was deleted meanwhile is dropped, and the others go on (D-86)', async () => {
    prints = (_id, run) => `${run}`;
    for (const id of ['w/a', 'v/a']) watch(id);
    round = await begin('one');
    await clock.advance(10_500);
    watches.drop('w');
    workstreams.delete('w');
    await clock.advance(11 * s);
    expect([begun('w/a').length, begun('v/a').length, running, logged]).toEqual([2, 3, [], []]);
    expect(heard).toEqual(['v/a 2 CHANGE', 'v/a 3 CHANGE']);
  });
});

describe('A command that still runs', () => {
  const paused = { status: 'PAUSED', pausedBy: 'PERSON', due: null } as const;

  beforeEach(() => {
    [takes, dies] = [100 * s, 3 * s];
  });

  it.each([
    ['edited', [{ version: 2, due: 'NOW' }]],
    ['paused and resumed', [paused, { due: 'NOW' }]],
    ['paused, edited and resumed', [paused, { ...paused, version: 2 }, { version: 2, due: 'NOW' }]],
  ] as const)(
    'of a watch that was %s is ended, and the next poll begins when it has (D-81)',
    async (_how, changes) => {
      const made = watch('w/a', { everySeconds: 3_600 });
      round = await begin('one');
      await clock.advance(10.2 * s);
      for (const change of changes) watch('w/a', made.definition, { ...made, ...change });
      await clock.advance(2 * s);
      expect([begun(), running]).toEqual([[0], ['w/a']]);
      await clock.advance(30 * s);
      expect([begun(), most.ofOneWatch, asked.record]).toEqual([[0, 13.5 * s], 1, 1]);
      expect(history()).toEqual([expect.objectContaining({ poll: 1, exitCode: null, fired: false })]);
      await clock.advance(100 * s);
      expect([history().length, begun().length]).toEqual([2, 2]);
    },
  );

  it.each([
    ['paused', paused],
    ['canceled', { status: 'ENDED', end: 'CANCELED', due: null }],
  ] as const)('of a watch that was %s is ended, and recorded (D-81, D-86)', async (_how, change) => {
    const made = watch('w/a');
    round = await begin('one');
    await clock.advance(10.2 * s);
    watch('w/a', made.definition, { ...made, ...change });
    await clock.advance(3.5 * s);
    expect([running, history().map(({ poll }) => poll), round.figures().errors]).toEqual([[], [1], 0]);
  });

  it('of a workstream that was deleted is ended, and keeps no place (D-81)', async () => {
    watch('w/a');
    round = await begin('one', 1);
    await clock.advance(10.2 * s);
    watches.drop('w');
    workstreams.delete('w');
    watch('v/a');
    await clock.advance(4 * s);
    expect([running, begun('v/a')]).toEqual([['v/a'], [13.5 * s]]);
  });

  it('is left alone when nothing of its watch was changed but when it is due (D-81)', async () => {
    const made = watch('w/a');
    round = await begin('one');
    await clock.advance(10.2 * s);
    watch('w/a', made.definition, { ...made, due: 'NOW' });
    await clock.advance(95 * s);
    expect([begun(), history().map(({ exitCode }) => exitCode)]).toEqual([[0, 100 * s], [0]]);
  });

  it('of a watch that was changed is ended when the database is back, and not run twice meanwhile (D-81)', async () => {
    const made = watch('w/a', { everySeconds: 3_600 });
    round = await begin('one');
    before.held = away;
    watch('w/a', made.definition, { ...made, version: 2, due: 'NOW' });
    await clock.advance(20.2 * s);
    expect(running).toEqual(['w/a']);
    before.held = nothing;
    await clock.advance(10 * s);
    expect([begun().length, most.ofOneWatch]).toEqual([2, 1]);
  });
});

describe('A round that is stopped', () => {
  it('ends its commands, keeps nothing of them, and another server polls them once (D-81)', async () => {
    takes = 60 * s;
    watch('w/a', { everySeconds: 300 });
    round = await begin('one');
    await clock.advance(10 * s);
    const ended = round.end(5 * s);
    await clock.advance(0);
    await ended;
    expect([running, history(), asked.record]).toEqual([[], [], 0]);
    live.delete('one');
    await clock.advance(hour);
    expect(runs).toHaveLength(1);
    await begin('two');
    await clock.advance(61 * s);
    expect(history().map(({ poll }) => poll)).toEqual([1]);
    expect(begun()).toEqual([0, hour + 10 * s]);
  });

  it('begins nothing that a look under way still finds', async () => {
    watch('w/a');
    const held = Promise.withResolvers<void>();
    before.claim = () => held.promise;
    round = await begin('one');
    round.stop();
    held.resolve();
    await clock.advance(30 * s);
    expect([runs, clock.pending]).toEqual([[], 0]);
  });

  it('waits no longer than it may for what cannot be kept', async () => {
    watch('w/a');
    before.record = away;
    round = await begin('one');
    await clock.advance(1_500);
    let is = 'waiting';
    void round.end(200).then(() => (is = 'over'));
    await clock.advance(199);
    expect(is).toBe('waiting');
    await clock.advance(1);
    expect(is).toBe('over');
    await clock.advance(60 * s);
    expect(asked.record).toBeLessThan(4);
  });

  it('that crashed instead has its polls run by the next server, without their lease being over (D-100)', async () => {
    takes = 100 * s;
    watch('w/a', { everySeconds: 300 });
    round = await begin('one');
    await clock.advance(20 * s);
    live.delete('one');
    await begin('two');
    await clock.advance(0);
    expect(begun()).toEqual([0, 20 * s]);
  });
});

describe('What a watch has to say', () => {
  beforeEach(() => {
    prints = (_id, run) => `${run}`;
  });

  it('is no change from a poll that could not run, be that the first one or not (D-83)', async () => {
    prints = (_id, run) => ([1, 2, 4].includes(run) ? null : run < 6 ? 'x' : 'y');
    watch('w/a');
    round = await begin('one');
    await clock.advance(65 * s);
    expect([runs.length, heard]).toEqual([7, ['w/a 6 CHANGE']]);
  });

  it('is told at once, and once when it is written down (D-84)', async () => {
    watch('w/a', { repeat: false });
    round = await begin('one');
    await clock.advance(11 * s);
    expect(heard).toEqual(['w/a 2 CHANGE']);
    await clock.advance(300 * s);
    expect([heard.length, runs.length]).toEqual([1, 2]);
  });

  it('is told again every 10 s until it is written down (D-84)', async () => {
    watch('w/a', { repeat: false });
    writes = false;
    round = await begin('one');
    await clock.advance(35 * s);
    expect(heard).toEqual(Array.from({ length: 3 }, () => 'w/a 2 CHANGE'));
    writes = true;
    await clock.advance(300 * s);
    expect(heard).toHaveLength(4);
  });

  it('is told at once to a workstream that is said to take it again (D-84)', async () => {
    watch('w/a', { repeat: false });
    loads = () => false;
    round = await begin('one');
    await clock.advance(11 * s);
    loads = () => true;
    round.tell('w');
    await clock.advance(0);
    expect([clock.now(), heard]).toEqual([11 * s, ['w/a 2 CHANGE']]);
  });

  it('is told after what it said before and could not be told: nothing is left out (D-84)', async () => {
    watch('w/a');
    loads = () => false;
    round = await begin('one');
    await clock.advance(25 * s);
    loads = () => true;
    // The next poll is over before what waits is looked for.
    before.deliveries = away;
    await clock.advance(5.5 * s);
    before.deliveries = nothing;
    await clock.advance(2.5 * s);
    expect([clock.now(), heard]).toEqual([33 * s, ['w/a 2 CHANGE', 'w/a 3 CHANGE', 'w/a 4 CHANGE']]);
    await clock.advance(8 * s);
    expect(heard.slice(3)).toEqual(['w/a 5 CHANGE']);
  });

  it('is told though others cannot be told what waits for them, however many and much that is (D-84)', async () => {
    const many = Array.from({ length: 150 }, (_, i) => `a${i}`);
    loads = (id) => id === 'z' && clock.now() >= 60 * s;
    for (const id of many) watch(`${id}/a`, { repeat: false });
    for (let i = 0; i < 5; i++) watch(`b/${i}`);
    round = await begin('one', 300);
    await clock.advance(30 * s);
    watch('z/a', { repeat: false });
    await clock.advance(60 * s);
    expect(heard).toEqual(['z/a 2 CHANGE']);
  });

  it('is told by the next server where one crashed before it told it, and asks for no poll (D-84)', async () => {
    watch('w/a', { repeat: false });
    loads = () => false;
    await begin('one');
    await clock.advance(11 * s);
    expect(heard).toEqual([]);
    live.delete('one');
    loads = () => true;
    await begin('two');
    await clock.advance(0);
    expect([heard, runs.length]).toEqual([['w/a 2 CHANGE'], 2]);
  });

  it('waits for a workstream that cannot be loaded, and for a database that is away (D-84)', async () => {
    watch('w/a', { repeat: false });
    loads = () => false;
    round = await begin('one');
    await clock.advance(15 * s);
    loads = () => true;
    before.deliveries = away;
    await clock.advance(15 * s);
    expect(heard).toEqual([]);
    before.deliveries = nothing;
    await clock.advance(10 * s);
    expect(heard).toEqual(['w/a 2 CHANGE']);
  });
});

describe('The figures of a round', () => {
  it('are null and zero before the first poll', async () => {
    round = await begin('one');
    expect(round.figures()).toEqual({ running: 0, polls: 0, fires: 0, errors: 0, lateP99Ms: null });
  });

  it('count what runs, what was polled, what was told, what went wrong, and how late it began', async () => {
    prints = (_id, run) => `${run}`;
    watch('w/a');
    watch('v/a', { condition: 'data.x', repeat: true });
    await clock.advance(250);
    round = await begin('one');
    await clock.advance(500);
    expect(round.figures()).toMatchObject({ running: 2, polls: 0, lateP99Ms: 250 });
    await clock.advance(14 * s);
    expect(round.figures()).toEqual({ running: 0, polls: 4, fires: 1, errors: 2, lateP99Ms: 250 });
  });

  it('count no end as a fire: what was waited for has not happened (broke: two watches that used up their polls were two fires)', async () => {
    prints = () => 'the same';
    watch('w/a', { maxPolls: 2 });
    watch('v/a', { maxPolls: 2 });
    round = await begin('one');
    await clock.advance(40 * s);
    expect(heard.toSorted()).toEqual(['v/a 2 MAX_POLLS', 'w/a 2 MAX_POLLS']);
    expect(round.figures()).toMatchObject({ polls: 4, fires: 0 });
  });
});
