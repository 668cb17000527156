import fc from 'fast-check';
import { expect, it } from 'vitest';
import { follow, PAGE } from '../../src/client-kit/follow.ts';
import type { Followed } from '../../src/client-kit/followed.ts';
import { applyEntries, emptyProjection, type EntryBody } from '../../src/projection/index.ts';
import { workstreamGlobalId } from '../../src/types/global-id.ts';
import { bodies } from './support/bodies.ts';
import { createInProcess, hastyPace, servicesOf, until, type InProcess } from './support/in-process.ts';
import { createWorld, type World } from './support/world.ts';

const id = workstreamGlobalId('w1');

/** Bodies in a fixed order, so that a run is told by its moves alone. */
const inTurn = (): (() => EntryBody) => {
  let next = 0;
  return () => bodies[next++ % bodies.length]!;
};

function begin(prepare: (world: World) => void = () => undefined) {
  const world = createWorld(inTurn());
  prepare(world);
  const transport = createInProcess(servicesOf(world));
  const pace = hastyPace();
  const seen: Followed[] = [];
  /** What a reader must never see: a transcript with a hole, a repeat, or another end than the view's. */
  const torn: (readonly number[])[] = [];
  const follower = follow({ transport, pace }, id, (followed) => {
    seen.push(followed);
    const { known } = followed;
    if (!known) return;
    const revisions = known.entries.map((e) => e.revision);
    const last = known.view.projection.revision;
    const whole = revisions.every((revision, i) => revision === last - revisions.length + 1 + i);
    if (!whole) torn.push(revisions);
  });
  const now = () => seen.at(-1)!;
  return { world, transport, pace, seen, follower, now, torn };
}

const caughtUp = ({ world, now }: Pick<ReturnType<typeof begin>, 'world' | 'now'>) =>
  until('the follower has caught up', () => {
    const { known, connection } = now();
    return (
      connection.status === 'CONNECTED' &&
      known?.view.projection.revision === world.entries.length &&
      known.view.base.revision === world.durableThrough &&
      known.view.epoch === world.epoch &&
      known.view.overlay.message?.text === world.overlay.message?.text
    );
  });

it('D-58 shows what the fold of all entries gives, with what is pending told apart', async () => {
  const run = begin((world) => {
    for (let i = 0; i < 40; i += 1) world.admit();
    world.acknowledge(35);
    world.stream('half an ans');
  });
  await caughtUp(run);
  run.world.admit();
  run.world.acknowledge(38);
  await caughtUp(run);
  const { view, entries } = run.now().known!;
  expect(entries).toEqual(run.world.entries);
  expect(view.projection).toEqual(applyEntries(emptyProjection, run.world.entries));
  expect(view.base).toEqual(applyEntries(emptyProjection, run.world.entries.slice(0, 38)));
  run.follower.stop();
});

type Move = (world: World, transport: InProcess, n: number) => void;
const moves: Readonly<Record<string, Move>> = {
  admit: (world) => {
    world.admit();
  },
  'admit and lose on the way': (world) => {
    world.admitUnsent();
  },
  acknowledge: (world, _t, n) => {
    world.acknowledge(world.durableThrough + 1 + (n % 4));
  },
  'take over': (world) => {
    world.takeOver();
  },
  stream: (world, _t, n) => {
    world.stream(`word${n} `);
  },
  repeat: (world, _t, n) => {
    world.repeat(1 + (n % Math.max(1, world.entries.length)));
  },
  heartbeat: (world) => {
    world.heartbeat();
  },
  'demand a snapshot': (world) => {
    world.demandSnapshot();
  },
  'end, resumable': (world) => {
    world.end(true);
  },
  cut: (_w, transport) => {
    transport.cut();
  },
  'go down': (_w, transport) => {
    transport.down = true;
    transport.cut();
  },
  'come up': (_w, transport) => {
    transport.down = false;
  },
};
const names = Object.keys(moves);

/** An entry goes missing, is stored, and another server takes over (broke: it was asked for from behind it, for ever). */
const lostBeforeTakeOver = [
  { name: 'heartbeat', n: 11, breathe: true },
  { name: 'heartbeat', n: 11, breathe: true },
  { name: 'admit and lose on the way', n: 0, breathe: false },
  { name: 'acknowledge', n: 1, breathe: false },
  { name: 'take over', n: 11, breathe: true },
];

it('D-54 D-55 I7 loses nothing and applies nothing twice, however the connection is cut and repeated', async () => {
  const move = fc.record({
    name: fc.constantFrom(...names, 'admit', 'admit', 'acknowledge', 'stream'),
    n: fc.nat(1_000),
    /** Whether the follower gets to run before the next move. */
    breathe: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(move, { minLength: 1, maxLength: 60 }), async (script) => {
      const run = begin((world) => {
        world.admit();
      });
      for (const { name, n, breathe } of script) {
        moves[name]!(run.world, run.transport, n);
        if (breathe) for (let i = 0; i < n % 12; i += 1) await new Promise((r) => setImmediate(r));
      }
      run.transport.down = false;
      // A lost entry with nothing behind it shows at the next heartbeat.
      await until('subscribed again', () => {
        run.world.heartbeat();
        return (
          run.now().known?.view.projection.revision === run.world.entries.length &&
          run.now().connection.status === 'CONNECTED'
        );
      });
      await caughtUp(run);
      const { view, entries } = run.now().known!;
      run.follower.stop();
      expect(run.torn).toEqual([]);
      expect(entries).toEqual(run.world.entries.slice(-entries.length));
      expect(view.projection).toEqual(applyEntries(emptyProjection, run.world.entries));
      expect(view.overlay.message).toEqual(run.world.overlay.message);
    }),
    { numRuns: 150, examples: [[lostBeforeTakeOver]] },
  );
});

it('D-53 reads older history on demand until the first entry, once each', async () => {
  const run = begin((world) => {
    for (let i = 0; i < 2 * PAGE + 30; i += 1) world.admit();
    world.acknowledge(2 * PAGE + 30);
  });
  await caughtUp(run);
  expect(run.now().known!.entries).toHaveLength(PAGE);
  await Promise.all([run.follower.loadOlder(), run.follower.loadOlder()]);
  run.world.admit();
  await caughtUp(run);
  expect(run.now().known!.entries).toHaveLength(2 * PAGE + 1);
  await run.follower.loadOlder();
  expect(run.now().known!.entries).toEqual(run.world.entries);
  expect(run.now().known!.olderCursor).toBeNull();
  const asked = run.transport.requests;
  await run.follower.loadOlder();
  expect(run.transport.requests).toBe(asked);
  run.follower.stop();
});

it('waits longer after each failure in a row, says why, and is quick again once it was up', async () => {
  const run = begin();
  await caughtUp(run);
  run.transport.down = true;
  run.transport.cut();
  await until('five pauses', () => run.pace.paused.length >= 5);
  expect(run.pace.paused.slice(0, 5)).toEqual([500, 1_000, 2_000, 4_000, 8_000]);
  expect(run.seen.find((s) => s.connection.status === 'WAITING')?.connection).toEqual({
    status: 'WAITING',
    attempt: 1,
    retryAt: 500,
    reason: 'The connection to the server was lost.',
  });
  // What was known stays on the page meanwhile.
  expect(run.now().known).not.toBeNull();
  run.transport.down = false;
  await until('connected again', () => run.now().connection.status === 'CONNECTED');
  const pauses = run.pace.paused.length;
  run.transport.cut();
  await until('one more pause', () => run.pace.paused.length > pauses);
  expect(run.pace.paused[pauses]).toBe(500);
  run.follower.stop();
});

it('ends calmly for a workstream that does not exist, and tells nothing after it was stopped', async () => {
  const { transport } = begin();
  const seen: Followed[] = [];
  follow({ transport, pace: hastyPace() }, workstreamGlobalId('w2'), (f) => seen.push(f));
  await until('it is said to be missing', () => seen.at(-1)?.connection.status === 'ENDED');
  expect(seen.at(-1)).toMatchObject({ missing: true, known: null });

  const run = begin();
  await caughtUp(run);
  run.follower.stop();
  const told = run.seen.length;
  run.world.admit();
  transport.cut();
  for (let i = 0; i < 20; i += 1) await new Promise((r) => setImmediate(r));
  expect(run.seen).toHaveLength(told);
});

it('stops asking when the server says that nothing more will come', async () => {
  const run = begin();
  await caughtUp(run);
  run.world.end(false);
  await until('ended', () => run.now().connection.status === 'ENDED');
  expect(run.now().connection).toEqual({ status: 'ENDED', reason: 'The server stops.' });
});
