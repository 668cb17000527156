import type { WorkstreamSummary } from 'schema/client-kit';
import { expect, it } from 'vitest';
import { announcement, coverWords, listed } from './order.ts';

const row = (id: string, state: WorkstreamSummary['state'], createdAt: string): WorkstreamSummary => ({
  id,
  title: `T${id}`,
  state,
  stopping: false,
  lifecycle: 'OPEN',
  persistence: 'HEALTHY',
  model: 'demo',
  revision: 1,
  createdAt,
  updatedAt: createdAt,
});
const rows = [
  row('1', 'IDLE', '2026-01-01'),
  row('2', 'ATTENTION', '2026-01-02'),
  row('3', 'RUNNING', '2026-01-03'),
  row('4', 'IDLE', '2026-01-03'),
];

it('puts what needs a person first and keeps the rest in the order of making', () => {
  const { needsYou, others } = listed(rows, rows);
  expect(needsYou.map((r) => r.id)).toEqual(['2']);
  expect(others.map((r) => r.id)).toEqual(['3', '4', '1']);
});

it('D-22 shows what the filter lets through, and hides nobody by it who waits for a person', () => {
  const closed = { ...row('5', 'CLOSED', '2026-01-05'), lifecycle: 'CLOSED' } as const;
  const { needsYou, others } = listed(rows, [closed]);
  expect(others.map((r) => r.id)).toEqual(['5']);
  expect(needsYou.map((r) => r.id)).toEqual(['2']);
  // One that only the filtered list has read.
  expect(listed([], rows).needsYou.map((r) => r.id)).toEqual(['2']);
});

it('says what can be selected while there are older ones', () => {
  expect(coverWords(12, true)).toBe('Of the 12 open ones that are shown. There are older ones.');
  expect(coverWords(12, false)).toBe('');
});

it('says aloud only what needs a person newly, and nothing any more when nothing does', () => {
  const needs = rows.slice(1, 2);
  expect(announcement([], needs, '')).toBe('Needs you: T2');
  expect(announcement(needs, needs, 'as before')).toBe('as before');
  expect(announcement(needs, [], 'Needs you: T2')).toBe('');
});
