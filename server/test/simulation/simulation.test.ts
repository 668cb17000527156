/**
 * Owns: a short run of the simulation as part of every test run, and that it is what it says: repeatable, far-reaching,
 * and able to fail. `pnpm sim` runs it longer.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { guards } from './guards.ts';
import { laws } from './laws.ts';
import { movesOf, type Move, type MoveName } from './moves.ts';
import { dyingEverywhere, live, takenOverEverywhere, tell } from './run.ts';
import { changed } from './without.ts';

const root = join(import.meta.dirname, '../../..');
const run = promisify(execFile);

const flow: readonly [MoveName, number] = ['flow', 13];

/** Results that do not fit beside what came before: that is summarised, in three parts, and they follow. */
const summaryInABatch: readonly Move[] = (
  [
    ...[['send', 0], flow, ['fill', 6_400], flow, ['fill', 12_482], flow, flow],
    ...[['summarise', 0], flow, ['summarise', 0], flow, ['summarise', 0], flow, flow],
    ...[['summarise', 0], flow, ['answer', 0], flow],
  ] as readonly (readonly [MoveName, number])[]
).map(([name, n]) => ({ do: name, n }));

describe('In a simulated world', { timeout: 120_000 }, () => {
  it('no law fails in any life of a hundred seeds', async () => {
    for (let seed = 1; seed <= 100; seed += 1)
      expect({ seed, ...(await live(movesOf(seed))).violation }).toEqual({ seed });
  });

  it.each([4, 11])(
    'no law fails when life %i loses its process at any commit, claim or effect',
    async (seed) => {
      let crashes = 0;
      for await (const { violation, dieAt, ...life } of dyingEverywhere(movesOf(seed))) {
        expect({ dieAt, violation }).toEqual({ dieAt, violation: null });
        crashes += life.crashes;
      }
      expect(crashes).toBeGreaterThan(100);
    },
  );

  describe('a summary between the calls of a batch and their results', () => {
    it('is what this life is about', async () => {
      const lines = (await tell(summaryInABatch)).join('\n');
      expect(lines).toMatch(
        /TOOL_SETTLED TURN\).*(summary call .*){3}\(CHECKPOINT TURN TOOL TOOL TOOL SYSTEM\).*▸ answer.*all goes well/s,
      );
    });

    it('loses nothing wherever its process dies', async () => {
      let crashes = 0;
      for await (const { violation, dieAt, ...life } of dyingEverywhere(summaryInABatch)) {
        expect({ dieAt, violation }).toEqual({ dieAt, violation: null });
        crashes += life.crashes;
      }
      expect(crashes).toBeGreaterThan(50);
    });

    it('loses nothing wherever another process takes over from one that stands still', async () => {
      let lives = 0;
      for await (const { violation, standAt } of takenOverEverywhere(summaryInABatch)) {
        expect({ standAt, violation }).toEqual({ standAt, violation: null });
        lives += 1;
      }
      expect(lives).toBeGreaterThan(50);
    });
  });

  it('the same seed gives the same life, word for word', async () => {
    const once = await tell(movesOf(5));
    expect(once.length).toBeGreaterThan(100);
    expect(await tell(movesOf(5))).toEqual(once);
  });

  it('lives come to what the laws are about', async () => {
    const seen = new Map<string, number>();
    for (let seed = 1; seed <= 200; seed += 1)
      for (const line of await tell(movesOf(seed)))
        for (const what of wanted) if (line.includes(what)) seen.set(what, (seen.get(what) ?? 0) + 1);
    expect(wanted.filter((what) => (seen.get(what) ?? 0) < 3)).toEqual([]);
  });
});

/** Each of these happens at least three times in 200 lives. */
const wanted: readonly string[] = [
  ...[
    'before commit',
    'after commit',
    'before tool',
    'after tool',
    'before model',
    'after model',
    'after claim',
  ],
  ...['before prepare', 'killed', 'lost its session', 'arrives late', 'a2: ownership.claim'],
  ...['REWIND TURN)', 'REWIND TURN USER', '(REWIND)', '(CONFIGURATION)', 'send STEER', 'force'],
  ...['before summary', 'after summary', 'before read', 'after read', 'usage.record'],
  ...['CHECKPOINT TURN TOOL', '(CHECKPOINT TURN)', 'TOOL SYSTEM', '()'],
  ...[' compact', 'tokenBudget', 'instructions', '"alias":', 'NOTHING_TO_COMPACT'],
  ...['TOOL QUEUE USER', 'editQueued', 'withdrawQueued'],
  ...['RECOVERY', 'CANCELLATION', 'APPROVAL', 'TOOL_STARTED', 'TOOL_SETTLED', 'QUEUE'].map(
    (kind) => `${kind}`,
  ),
  ...['OWNER_LOST', 'OWNER_ELSEWHERE', 'STORAGE_UNAVAILABLE', 'SHUTTING_DOWN', 'PENDING', 'KEY_REUSED'],
  ...[
    'STALE_TURN',
    'ALREADY_DECIDED',
    'APPROVAL_GONE',
    'ARGUMENTS_CHANGED',
    'epoch 4',
    'b1: ownership.claim',
    'BUSY',
    'NOT_YOURS',
    'MESSAGE_NOT_QUEUED',
    'MESSAGE_NOT_FOUND',
  ],
];

describe('A guard', { timeout: 60_000 }, () => {
  it.each(guards)('is where the simulation looks for it: $name', ({ without, hazard = [] }) => {
    const files = new Map<string, string>();
    for (const change of [...hazard, ...without]) {
      const source = files.get(change.file) ?? readFileSync(join(root, 'server', change.file), 'utf8');
      files.set(change.file, changed(source, change));
    }
  });

  it('that is switched off is missed, and the shortest path to that is told', async () => {
    const index = guards.findIndex(({ name }) => name.startsWith('only what no live session owns'));
    const args = ['scripts/sim.ts', '--without', String(index + 1), '--runs', '10'];
    const failed = await run(execPath, args, { cwd: root }).then(
      () => null,
      (error: { readonly code: number; readonly stdout: string; readonly stderr: string }) => error,
    );
    expect(failed?.code).toBe(1);
    expect(failed?.stdout).toMatch(/^sim: 10 runs, \d+ crashes, [1-9]\d* violations, seed 1\n$/);
    expect(failed?.stderr).toContain(`D-100 ${laws['D-100']}`);
    const moves = Number(/(\d+) moves that show it/.exec(failed?.stderr ?? '')?.[1]);
    expect(moves).toBeLessThan(12);
  });
});
