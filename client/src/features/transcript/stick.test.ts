import { expect, it } from 'vitest';
import { sticksAfter } from './stick.ts';

const place = (scrollTop: number, scrollHeight: number) => ({ scrollTop, scrollHeight, clientHeight: 500 });

it('lets go when the reader goes up, and holds on again at the end', () => {
  expect(sticksAfter(true, 500, place(300, 1_000))).toBe(false);
  expect(sticksAfter(false, 300, place(480, 1_000))).toBe(true);
  expect(sticksAfter(false, 300, place(400, 1_000))).toBe(false);
});

it('holds on when more has come before the scroll event did', () => {
  expect(sticksAfter(true, 500, place(500, 1_400))).toBe(true);
});
