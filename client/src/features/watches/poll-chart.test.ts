import { expect, it } from 'vitest';
import { barsOf, chart, chartTitle, chartWords, type Poll } from './poll-chart.ts';

const poll = (number: number, durationMs: number, part: Partial<Poll> = {}): Poll => ({
  poll: number,
  at: '2026-11-30T09:00:00.000Z',
  durationMs,
  exitCode: 0,
  fired: false,
  error: null,
  outputTail: '',
  ...part,
});
const polls = [poll(3, 400, { fired: true }), poll(2, 0, { error: 'No.' }), poll(1, 100, { exitCode: 1 })];

it('D-86 draws the oldest first, the longest all of the height, and each so that it is seen', () => {
  const bars = barsOf(polls);
  expect(bars.map(({ poll: number, kind }) => [number, kind])).toEqual([
    [1, 'exit'],
    [2, 'error'],
    [3, 'fired'],
  ]);
  expect(bars.map(({ height }) => height)).toEqual([11, 2, chart.height - chart.marks]);
  for (const { y, height } of bars) expect(y + height).toBe(chart.height);
});

it('holds 200 polls in its width, one beside the other', () => {
  const bars = barsOf(Array.from({ length: 200 }, (_, i) => poll(200 - i, 5)));
  expect(bars.every(({ x, width }, i) => x + width <= (bars[i + 1]?.x ?? chart.width))).toBe(true);
});

it('says in one sentence what it shows', () => {
  expect(chartWords(polls)).toBe(
    'Of 3 polls 1 fired, 1 went wrong, the command of 1 others failed. They took 0 ms to 400 ms.',
  );
  expect(chartWords([])).toBe('No poll.');
});

it('D-86 says how long the highest bar is, without which heights say nothing', () => {
  expect(chartTitle(polls)).toBe('How long each poll took, the oldest first; the longest 400 ms');
});
