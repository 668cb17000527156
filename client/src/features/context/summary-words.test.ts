import { expect, it } from 'vitest';
import { cannotSummarise, roomAloud, roomWords, triggerWords } from './summary-words.ts';

const free = { summarising: false, busy: false, closed: false, setAside: false, demo: false };

it('D-40 says why nothing can be summarised while a turn lives, and that a summary can be stopped', () => {
  expect(cannotSummarise(free)).toBeNull();
  expect(cannotSummarise({ ...free, busy: true })).toMatch(/^A turn is running\./);
  expect(cannotSummarise({ ...free, busy: true, summarising: true })).toMatch(/Stop ends that/);
  expect(cannotSummarise({ ...free, closed: true })).toMatch(/closed/);
  expect(cannotSummarise({ ...free, setAside: true })).toMatch(/takes no commands/);
});

it('D-40 says before it is tried that the demo cannot summarise, and to choose another model', () => {
  expect(cannotSummarise({ ...free, demo: true })).toMatch(
    /^The demo .* cannot summarise\. Choose another model/,
  );
});

it('D-40 says how much room a summary made, to be seen and to be heard, and each cause in words of its own', () => {
  const room = { before: 7_412, after: 1_204 };
  expect(roomWords(room)).toBe('7,412 → 1,204 tokens');
  expect(roomAloud(room)).toBe('from 7,412 to 1,204 tokens');
  expect(new Set(Object.values(triggerWords)).size).toBe(4);
});
