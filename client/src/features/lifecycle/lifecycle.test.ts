import { expect, it } from 'vitest';
import { closingWords, deletedWords, inTurns } from './lifecycle.ts';

it('D-25 says what is left of a deleted workstream only when something is', () => {
  expect(deletedWords('Plan', null)).toBe('“Plan” was deleted.');
  expect(deletedWords('Plan', '/w/x')).toMatch(/^“Plan” was deleted\. Its folder \/w\/x was kept/);
});

it('says how closing several goes, and how many were refused', () => {
  expect(closingWords({ of: 3, closed: 1, refused: 1 })).toBe(
    'Closing: 2 of 3 done. Each may take some 10 s.',
  );
  expect(closingWords({ of: 3, closed: 3, refused: 0 })).toBe('3 closed.');
  expect(closingWords({ of: 3, closed: 2, refused: 1 })).toBe('2 closed, 1 not: the reason stands at each.');
});

it('does something for each, never for more at once than it may', async () => {
  const done: number[] = [];
  let now = 0;
  let most = 0;
  await inTurns([1, 2, 3, 4, 5], 2, async (item) => {
    most = Math.max(most, (now += 1));
    await Promise.resolve();
    done.push(item);
    now -= 1;
  });
  expect(done).toEqual([1, 2, 3, 4, 5]);
  expect(most).toBe(2);
});
