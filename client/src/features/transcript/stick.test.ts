import { expect, it } from 'vitest';
import { restOf, sticksAfter } from './stick.ts';

const place = (scrollTop: number, scrollHeight: number) => ({ scrollTop, scrollHeight, clientHeight: 500 });

it('lets go when the reader goes up, and holds on again at the end', () => {
  expect(sticksAfter(true, 500, place(300, 1_000))).toBe(false);
  expect(sticksAfter(false, 300, place(480, 1_000))).toBe(true);
  expect(sticksAfter(false, 300, place(400, 1_000))).toBe(false);
});

it('holds on when more has come before the scroll event did', () => {
  expect(sticksAfter(true, 500, place(500, 1_400))).toBe(true);
});

it('rests at the end, and at the beginning of a question that does not fit', () => {
  expect(restOf(place(0, 1_000), null)).toBe(500);
  expect(restOf(place(0, 1_000), 600)).toBe(500);
  expect(restOf(place(0, 1_000), 300)).toBe(284);
  expect(restOf(place(0, 400), null)).toBe(0);
  expect(restOf(place(0, 1_000), 5)).toBe(0);
});
