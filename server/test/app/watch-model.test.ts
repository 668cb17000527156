/**
 * Owns: the life of watches on two servers that share a database, as a model sees it (D-80 to D-84): made, edited, paused,
 * run now, canceled, closed, opened and deleted, polled and told, while commands take their time, models answer or do not,
 * the machine sleeps, its clock is set, the database goes away and loses answers, and servers die, stand still and stop.
 *
 * Invariants: time is a test clock, ids are counted, and every choice is fast-check's: a seed is one run. A failure prints
 * it with the shortest life that breaks a law, and what happened there; `WATCHES_SEED=… WATCHES_PATH=…` runs it again,
 * `WATCHES_RUNS=3000` looks longer, and `WATCHES_REACH=1` says what the lives came to.
 */
import fc from 'fast-check';
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import type { Life } from './support/watch-life.ts';
import { begin, lead, lives, type Step } from './support/watch-moves.ts';

const runs = Number(process.env['WATCHES_RUNS'] ?? 300);
const seed = Number(process.env['WATCHES_SEED'] ?? Date.now() % 2 ** 31);
const path = process.env['WATCHES_PATH'];

const s = 1_000;

/** In how many lives something happened. */
const happened = new Map<string, number>();
function noteAll(life: Life): void {
  for (const what of wanted) if (life.notes.some((line) => line.includes(what))) count(what);
}
const count = (what: string): unknown => happened.set(what, (happened.get(what) ?? 0) + 1);

/** Each of these happens in ten lives of 1,000 and more. */
const wanted: readonly string[] = [
  ...[
    'told',
    'CHANGE is to be told',
    'CHANGE and goes on',
    'CONDITION and goes on',
    'MAX_POLLS is',
    'DEADLINE is',
  ],
  ...[
    'CONDITION_ERRORS is',
    'RECORDED',
    'STALE',
    'LOST',
    'polls were missed',
    'dies',
    'stands still',
    'stops',
  ],
  ...['edited while it is polled', 'pause while it is polled', 'runNow while it is polled'],
  ...[
    'cancel while it is polled',
    'close while a watch',
    'delete while a watch',
    'open is answered: Accepted',
  ],
  ...[
    'dies after watches.record',
    'dies before watches.record',
    'dies after watches.claim',
    'dies after the command',
  ],
  ...['dies after journal.commit', 'for it lost its session', 'the answer to watches.record is lost'],
  ...[
    'the answer to watches.claim is lost',
    'told by another server',
    'said while a turn lives',
    'WATCH SYSTEM',
    'SYSTEM WATCH',
  ],
];

describe('in any life of watches', () => {
  it(
    'each is polled when it is due and by one at a time, and what it says is told once (D-80 to D-84)',
    { timeout: runs * 1_000 + 60_000 },
    async () => {
      await fc.assert(
        fc.asyncProperty(lives, async ({ options, steps }) => {
          const life = await begin(options);
          await lead(life, steps);
          noteAll(life);
        }),
        { numRuns: runs, seed, ...(path && { path }) },
      );
      if (process.env['WATCHES_RUNS']) console.log(`watches: ${runs} lives, 0 violations, seed ${seed}`);
      if (process.env['WATCHES_REACH'])
        console.log(wanted.map((what) => `${happened.get(what) ?? 0} ${what}`).join('\n'));
      if (runs < 1_000 || path) return;
      const rarely = wanted.filter((what) => (happened.get(what) ?? 0) < 10);
      assert.deepEqual(rarely, [], 'the random lives do not reach what the rules are about');
    },
  );

  /** All that a watch may come to, in one life. */
  const eventful: readonly Step[] = [
    { do: 'watch', pick: 0, condition: null, every: '10', maxPolls: null, deadline: null, repeat: true },
    { do: 'watch', pick: 3, condition: 'ODD', every: '15', maxPolls: 2, deadline: null, repeat: true },
    { do: 'pass', ms: 11 * s },
    { do: 'file', pick: 0 },
    // Told to one that rests.
    { do: 'pass', ms: 10 * s },
    { do: 'file', pick: 0 },
    // Told to one whose turn lives, when that is over; the other has nothing more to say.
    { do: 'pass', ms: 10 * s },
    { do: 'model', how: 'ANSWER' },
    { do: 'model', how: 'ANSWER' },
    { do: 'pass', ms: 1 },
    { do: 'model', how: 'ANSWER' },
    { do: 'pass', ms: 1 },
    { do: 'evict', pick: 0 },
    { do: 'file', pick: 0 },
    { do: 'takes', ms: 4 * s },
    // Told to one that is loaded for it, and polled when it is edited, closed, paused, made due, and deleted.
    { do: 'pass', ms: 15 * s },
    { do: 'model', how: 'ANSWER' },
    { do: 'pass', ms: 5 * s },
    { do: 'edit', pick: 1, part: { every: '15' } },
    { do: 'pass', ms: 16 * s },
    { do: 'close', pick: 1 },
    { do: 'pass', ms: 5 * s },
    { do: 'open', pick: 0 },
    { do: 'pass', ms: 2 * s },
    { do: 'pause', pick: 1 },
    { do: 'file', pick: 0 },
    { do: 'resume', pick: 0 },
    { do: 'pass', ms: 2 * s },
    { do: 'runNow', pick: 1 },
    { do: 'pass', ms: 5 * s },
    // And when the database is away as its command ends.
    { do: 'pass', ms: 12 * s },
    { do: 'away', ms: 6 * s },
    { do: 'pass', ms: 14 * s },
    { do: 'delete', pick: 1 },
    { do: 'pass', ms: 10 * s },
  ].map((move) => ({ move, turns: 9 }) as Step);

  const parts = [
    ...[
      '(TURN SYSTEM WATCH)',
      'said while a turn lives',
      '(ASSISTANT TURN TURN SYSTEM WATCH',
      'MAX_POLLS is to be told',
    ],
    ...['edited while', 'close while', 'pause while', 'runNow while', 'delete while', 'STALE', 'LOST'],
  ];

  it.each(['dieAt', 'standAt'] as const)(
    'nothing is lost or told twice, wherever a server dies or stands still (D-84): %s',
    { timeout: 120_000 },
    async (how) => {
      const whole = await begin();
      await lead(whole, eventful);
      const missing = parts.filter((part) => !whole.notes.some((line) => line.includes(part)));
      assert.deepEqual(missing, [], 'this life is not what it is meant to be');
      assert.ok(whole.visits > 60, `${whole.visits} edges`);
      for (let edge = 1; edge <= whole.visits; edge += 1) {
        const life = await begin({ [how]: edge });
        await lead(life, eventful).catch((error: unknown) => {
          throw new Error(`${how} ${edge}: ${String(error)}`, { cause: error });
        });
      }
      if (process.env['WATCHES_REACH']) console.log(`${how}: ${whole.visits} edges`);
    },
  );

  /** A turn takes so long that more waits for it than is kept. */
  const crowded: readonly Step[] = [
    { do: 'watch', pick: 0, condition: 'ODD', every: '10', maxPolls: null, deadline: null, repeat: true },
    { do: 'file', pick: 0 },
    { do: 'pass', ms: 91 * s },
    { do: 'model', how: 'ANSWER' },
    { do: 'pass', ms: 10 * s },
    { do: 'model', how: 'ANSWER' },
    { do: 'pass', ms: 10 * s },
  ].map((move) => ({ move, turns: 9 }) as Step);

  it('what is left out is counted, once, wherever a server dies (D-84)', { timeout: 120_000 }, async () => {
    const whole = await begin();
    await lead(whole, crowded);
    assert.ok(whole.notes.some((line) => line.includes('some are left out')));
    for (let edge = 1; edge <= whole.visits; edge += 1)
      await lead(await begin({ dieAt: edge }), crowded).catch((error: unknown) => {
        throw new Error(`dieAt ${edge}: ${String(error)}`, { cause: error });
      });
  });
});
