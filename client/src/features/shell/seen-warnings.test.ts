import { expect, it } from 'vitest';
import { SeenWarnings, warningsLine } from './seen-warnings.svelte.ts';

const storage = () => {
  const kept = new Map<string, string>();
  return {
    kept,
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => void kept.set(name, value),
  };
};
const root = 'It runs as root.';
const away = 'Model "away" could not be reached.';

it('counts as new what nobody looked at in this browser, also on another page, and tells nobody what it said', () => {
  const browser = storage();
  const seen = new SeenWarnings(browser);
  expect(seen.newOf([root, away])).toBe(2);
  seen.look([root]);
  expect(seen.newOf([root, away])).toBe(1);
  expect(new SeenWarnings(browser).newOf([root, away])).toBe(1);
  expect([...browser.kept.values()].join()).not.toContain('root');
});

it('counts as new what went away and comes back, and nothing else for that', () => {
  const seen = new SeenWarnings(storage());
  seen.look([root, away]);
  seen.outlive([root]);
  expect([seen.newOf([root]), seen.newOf([root, away])]).toEqual([0, 1]);
});

it('goes on in a browser that keeps nothing, or keeps something else', () => {
  const full = {
    getItem: () => '{"no":"list"}',
    setItem: () => {
      throw new DOMException('The quota has been exceeded.', 'QuotaExceededError');
    },
  };
  const seen = new SeenWarnings(full);
  seen.look([root]);
  expect(seen.newOf([root])).toBe(0);
});

it('says on one line how many there are, and how many of them are new', () => {
  expect([warningsLine(1, 0), warningsLine(1, 1), warningsLine(3, 3), warningsLine(3, 1)]).toEqual([
    '1 warning',
    '1 warning, new',
    '3 warnings, new',
    '3 warnings, 1 new',
  ]);
});
