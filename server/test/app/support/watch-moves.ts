/**
 * Owns: what may happen in a life of watches, as data; and leading one: every move, what must hold after it, and the end,
 * where everything answers. A move that has nothing to act on does nothing, so that any list of moves is a life.
 */
import fc from 'fast-check';
import assert from 'node:assert/strict';
import { liveTurn } from 'schema/projection';
import type { Services } from 'schema/services';
import { createLife, turns, type Life, type LifeOptions, type NodeId } from './watch-life.ts';
import { ada, bob, plain, waits } from './world.ts';

const s = 1_000;
const hour = 3_600 * s;

type Change = 'pause' | 'resume' | 'runNow' | 'cancel';
type OnWorkstream = 'close' | 'open' | 'delete' | 'send' | 'evict' | 'stopTurn';

type Move =
  | {
      readonly do: 'watch';
      readonly pick: number;
      readonly condition: string | null;
      readonly every: string;
      readonly maxPolls: number | null;
      readonly deadline: string | null;
      readonly repeat: boolean;
    }
  | {
      readonly do: 'edit';
      readonly pick: number;
      readonly part: Partial<Record<'condition' | 'every' | 'deadline' | 'command', string>> & {
        readonly maxPolls?: number;
      };
    }
  | { readonly do: Change; readonly pick: number }
  | { readonly do: OnWorkstream; readonly pick: number }
  | { readonly do: 'file'; readonly pick: number }
  | { readonly do: 'takes'; readonly ms: number }
  | { readonly do: 'model'; readonly how: 'ANSWER' | 'FAIL' }
  | { readonly do: 'pass' | 'jump'; readonly ms: number }
  | { readonly do: 'away'; readonly ms: number }
  | { readonly do: 'lose'; readonly what: string }
  /** The next server that comes to this edge dies there. */
  | { readonly do: 'trap'; readonly what: string }
  | { readonly do: 'stand'; readonly node: NodeId; readonly ms: number }
  | { readonly do: 'crash' | 'stop' | 'start'; readonly node: NodeId };

export interface Step {
  readonly move: Move;
  /** Turns of the event loop before the next one. */
  readonly turns: number;
}

/** One in a list that may be empty. */
const pickOf = <T>(all: readonly T[], pick: number): T | undefined => all[pick % Math.max(1, all.length)];

/** Mostly one that is being polled, if any is. */
const pickPolled = <T>(all: readonly T[], isPolled: (one: T) => boolean, pick: number): T | undefined => {
  const polled = all.filter(isPolled);
  return polled.length > 0 && pick % 4 > 0 ? pickOf(polled, pick >> 2) : pickOf(all, pick);
};
const pickWatch = (life: Life, pick: number) =>
  pickPolled(life.laws.watches(), ({ running }) => running, pick);

/** Two servers, and two workstreams that are open. */
export async function begin(options: LifeOptions = {}): Promise<Life> {
  const life = createLife(options);
  life.boot('a');
  await life.pass(1);
  for (const key of ['one', 'two'])
    life.ask('create', life.node('a'), ({ workstreams }) =>
      workstreams.create(ada, { ...plain, key, title: key }, waits),
    );
  await turns(40);
  life.boot('b');
  await turns(40);
  assert.equal(life.laws.workstreams().length, 2);
  life.born();
  return life;
}

async function make(life: Life, move: Move, index: number): Promise<void> {
  const key = `${move.do}-${index}`;
  switch (move.do) {
    case 'watch': {
      const { pick, condition, every, maxPolls, deadline, repeat } = move;
      const workstreamId = pickOf(life.laws.workstreams(), pick)?.id;
      if (workstreamId === undefined) return;
      return life.ask('watch', life.serving(workstreamId, pick >> 2), ({ watches }) =>
        watches.create(pick % 3 === 2 ? bob : ada, {
          ...{ key, workstreamId, name: null, condition, every, maxPolls, deadline, repeat },
          command: `file-${pick % 3}`,
          instruction: null,
        }),
      );
    }
    case 'edit': {
      const found = pickWatch(life, move.pick);
      if (!found) return;
      const { workstreamId, watch } = found;
      if (found.running) life.note('edited while it is polled');
      return life.ask('edit', life.serving(workstreamId, move.pick >> 3), ({ watches }) =>
        watches.update(ada, {
          ...{ key, workstreamId, watchId: watch.id, version: watch.version },
          ...{ name: null, command: null, condition: null, every: null, maxPolls: null, deadline: null },
          ...{ repeat: null, instruction: null },
          ...move.part,
        }),
      );
    }
    case 'pause':
    case 'resume':
    case 'runNow':
    case 'cancel': {
      const found = pickWatch(life, move.pick);
      if (!found) return;
      const { workstreamId, watch } = found;
      if (found.running) life.note(`${move.do} while it is polled`);
      return life.ask(move.do, life.serving(workstreamId, move.pick >> 3), ({ watches }) =>
        watches[move.do](ada, { key, workstreamId, watchId: watch.id }),
      );
    }
    case 'close':
    case 'open':
    case 'delete':
    case 'send':
    case 'stopTurn':
    case 'evict':
      return onWorkstream(life, move, key);
    case 'file': {
      const file = `file-${move.pick % 3}`;
      return void life.files.set(file, (life.files.get(file) ?? 0) + 1);
    }
    case 'takes':
      return void (life.takes = move.ms);
    case 'model': {
      const call = life.calls()[0];
      if (call) life.answer(call, move.how);
      return;
    }
    case 'pass':
      await life.pass(move.ms, 250);
      // Somebody looks after servers.
      if (move.ms >= 10 * s) for (const id of ['a', 'b'] as const) life.boot(id);
      return;
    case 'jump':
      return life.jump(move.ms);
    case 'away':
      life.away = true;
      return void life.clock.after(move.ms, () => void (life.away = false));
    case 'lose':
      return void (life.lose = move.what);
    case 'trap':
      return void (life.trap = move.what);
    case 'crash': {
      const node = life.node(move.node);
      if (node) life.crash(node, 'as somebody kills it');
      return;
    }
    case 'stand': {
      const node = life.node(move.node);
      if (!node?.up || node.dead) return;
      life.note(`${node.name} stands still`);
      node.stands = true;
      return void life.clock.after(move.ms, life.wake);
    }
    case 'stop': {
      const node = life.node(move.node);
      if (node?.up && !node.dead && !node.stands) life.stop(node);
      return;
    }
    case 'start':
      return life.boot(move.node);
  }
}

function onWorkstream(
  life: Life,
  { do: what, pick }: { readonly do: OnWorkstream; readonly pick: number },
  key: string,
): void {
  const isPolled = ({ id }: { readonly id: string }): boolean =>
    life.laws.watches().some((one) => one.workstreamId === id && one.running);
  const found = pickPolled(life.laws.workstreams(), isPolled, pick);
  if (!found) return;
  const workstreamId = found.id;
  if (isPolled(found)) life.note(`${what} while a watch of it is polled`);
  const text = key;
  const asks: Readonly<Record<typeof what, (services: Services) => Promise<unknown>>> = {
    close: ({ workstreams }) => workstreams.close(ada, { key, workstreamId }),
    open: ({ workstreams }) => workstreams.open(ada, { key, workstreamId }),
    delete: ({ workstreams }) => workstreams.delete(ada, { key, workstreamId }),
    send: ({ messages }) =>
      messages.send(pick % 3 === 0 ? bob : ada, { key, workstreamId, text, delivery: 'QUEUE', turnId: null }),
    stopTurn: ({ turns: live }) => live.stop(ada, { key, workstreamId, turnId: null, force: false }),
    evict: () => Promise.resolve(null),
  };
  const node = life.serving(workstreamId, pick >> 1);
  if (what === 'evict') return void node?.up?.world.registry.unload(workstreamId);
  life.ask(what, node, asks[what]);
}

/** What must hold between any two moves. */
function check(life: Life): void {
  const { violation } = life.laws;
  if (violation === null) return;
  assert.fail(`${violation}\n\nWhat happened:\n${life.notes.slice(-60).join('\n')}`);
}

/** Everything answers from now on: what was to be told is told, and what is due is polled on time. */
async function finish(life: Life): Promise<void> {
  life.calm();
  // An even file holds nobody's condition.
  for (const [file, value] of life.files) life.files.set(file, value + (value % 2));
  for (let n = 0; n < 60; n += 1) {
    goOn(life, n);
    await life.pass(5 * s, s);
    check(life);
    // A poll that is under way may take two minutes, and a lease outlives that by one.
    if (n > 6 && isQuiet(life) && !life.laws.watches().some(({ held }) => held)) break;
  }
  for (let n = 0; n < 70; n += 1) {
    for (const call of life.calls()) life.answer(call, 'ANSWER');
    await life.pass(500);
    life.laws.noneLate(s);
    check(life);
  }
  for (let n = 0; n < 20 && !isQuiet(life); n += 1) {
    for (const call of life.calls()) life.answer(call, 'ANSWER');
    await life.pass(20);
  }
  assert.ok(isQuiet(life), `It does not come to rest:\n${life.notes.slice(-60).join('\n')}`);
  life.laws.atRest();
  check(life);
}

function goOn(life: Life, n: number): void {
  life.boot('a');
  life.boot('b');
  for (const call of life.calls()) life.answer(call, 'ANSWER');
  for (const { id: workstreamId, lifecycle } of life.laws.workstreams()) {
    const node = life.serving(workstreamId, n);
    const key = `last-${n}-${workstreamId}`;
    if (lifecycle === 'CLOSED')
      life.ask('open', node, ({ workstreams }) => workstreams.open(ada, { key, workstreamId }));
  }
}

const isQuiet = (life: Life): boolean =>
  life.laws.workstreams().every(({ id, lifecycle }) => {
    const actor = life.nodes().flatMap(({ up }) => up!.world.registry.peek(id) ?? [])[0];
    return (
      lifecycle === 'OPEN' &&
      (!actor || (!liveTurn(actor.state().projection) && actor.state().pending.length === 0))
    );
  });

export async function lead(life: Life, steps: readonly Step[]): Promise<void> {
  for (const [index, { move, turns: after }] of steps.entries()) {
    life.note(`▸ ${JSON.stringify(move)}`);
    await make(life, move, index);
    await turns(after);
    check(life);
  }
  await finish(life);
}

const constant = <const T>(value: T): fc.Arbitrary<T> => fc.constant(value);
const of = <const T>(...values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values);
const pick = fc.nat(63);
const weighted = (weight: number, arbitrary: fc.Arbitrary<Move>) => ({ weight, arbitrary });
const node = of('a', 'a', 'b');

/** Mostly one that goes on and on. */
const watch: fc.Arbitrary<Extract<Move, { do: 'watch' }>> = fc.record({
  do: constant('watch'),
  pick,
  condition: of(null, null, 'ODD', 'BROKEN'),
  every: of('10', '10', '15', '60'),
  maxPolls: of(null, null, null, 1, 3),
  deadline: of(null, null, null, '25', '5m'),
  repeat: of(true, true, false),
});
const edges = of(
  ...['after watches.claim', 'before the command', 'after the command', 'before watches.record'],
  ...['after watches.record', 'after watches.record', 'before journal.commit', 'after journal.commit'],
);

const moves: readonly fc.WeightedArbitrary<Move>[] = [
  weighted(3, watch),
  weighted(
    4,
    fc.record({
      do: constant('edit'),
      pick,
      part: of<Extract<Move, { do: 'edit' }>['part']>(
        { every: '15' },
        { condition: 'ODD' },
        { condition: '' },
        { maxPolls: 1 },
        { maxPolls: 50 },
        { deadline: '20' },
        { deadline: '' },
        { command: 'file-1' },
      ),
    }),
  ),
  weighted(3, fc.record({ do: of('pause'), pick })),
  weighted(5, fc.record({ do: of('resume', 'runNow'), pick })),
  weighted(1, fc.record({ do: of('cancel'), pick })),
  weighted(4, fc.record({ do: of('close', 'open', 'open'), pick })),
  weighted(1, fc.record({ do: of('delete'), pick })),
  weighted(6, fc.record({ do: of('send', 'send', 'evict', 'evict', 'stopTurn'), pick })),
  weighted(14, fc.record({ do: constant('file'), pick })),
  weighted(5, fc.record({ do: constant('takes'), ms: of(0, 200, 4 * s, 9 * s, 9 * s, 26 * s, 150 * s, -1) })),
  weighted(8, fc.record({ do: constant('model'), how: of('ANSWER', 'ANSWER', 'ANSWER', 'FAIL') })),
  weighted(
    26,
    fc.record({ do: constant('pass'), ms: of(1, 500, 3 * s, 10 * s, 10 * s, 21 * s, 35 * s, 130 * s) }),
  ),
  weighted(2, fc.record({ do: constant('jump'), ms: of(25 * s, hour, -5 * s, -hour) })),
  weighted(3, fc.record({ do: constant('away'), ms: of(500, 3 * s, 15 * s, 15 * s, 200 * s) })),
  weighted(
    2,
    fc.record({ do: constant('lose'), what: of('watches.claim', 'watches.record', 'journal.commit') }),
  ),
  weighted(2, fc.record({ do: constant('trap'), what: edges })),
  weighted(2, fc.record({ do: constant('stand'), node, ms: of(2 * s, 25 * s, 60 * s, 200 * s) })),
  weighted(1, fc.record({ do: of('crash', 'stop'), node })),
  weighted(2, fc.record({ do: constant('start'), node })),
];

const step = fc.record({ move: fc.oneof(...moves), turns: of(0, 0, 1, 2, 3, 5, 8, 20) });
const takes = of(0, 0, 200, 4 * s, 9 * s).map((ms): Move => ({ do: 'takes', ms }));

/** Without fast-check's bias to short ones, in which little happens; none is without watches. */
export const lives: fc.Arbitrary<{ readonly options: LifeOptions; readonly steps: readonly Step[] }> =
  fc.noBias(
    fc
      .record({
        options: fc.record({ chance: fc.nat(1_000_000), alone: of(false, false, true) }),
        first: fc.tuple(takes, watch, watch),
        steps: fc.array(step, { minLength: 5, maxLength: 45, size: 'max' }),
      })
      .map(({ options, first, steps }) => ({
        options,
        steps: [...first.map((move) => ({ move, turns: 9 })), ...steps],
      })),
  );
