import { expect, it } from 'vitest';
import { Kept } from '../../lib/kept.ts';
import { memoryTab } from '../../lib/memory-tab.ts';
import {
  broughtBack,
  keep,
  keptIn,
  nothing,
  read,
  split,
  taken,
  unsendable,
  type Message,
} from './outgoing.ts';

const a: Message = { key: 'a', text: 'one' };
const b: Message = { key: 'b', text: 'two\n\nhalves' };

it('keeps what is unsent of each workstream, and nothing once all is sent', () => {
  const store = new Kept(memoryTab(), 'me');
  keep(store, '1', { ...nothing, text: 'draft' });
  keep(store, '2', { text: '', sending: [a], returned: [] });
  store.keep('else', {});
  expect(read(store, '1').text).toBe('draft');
  expect(read(store, '2').sending).toEqual([a]);
  expect(read(store, '3')).toEqual(nothing);
  expect(keptIn(store)).toEqual(['1', '2']);
  keep(store, '2', nothing);
  expect(keptIn(store)).toEqual(['1']);
});

it.each([
  '',
  'draft',
  'null',
  '{}',
  '{"text":"x","sending":[{}],"returned":[]}',
  '{"text":"x","sending":[{"key":"k","text":null}],"returned":[]}',
  '[]',
])('takes nothing from what it did not write: %j', (kept) => {
  const held = new Map<string, string>();
  const store = new Kept(memoryTab(held), 'me');
  keep(store, '1', { ...nothing, text: 'x' });
  for (const key of held.keys()) held.set(key, kept);
  expect(read(store, '1')).toEqual(nothing);
});

it('puts what comes back in front of what was typed meanwhile, and tells the messages apart again (D-60)', () => {
  const back = broughtBack({ ...nothing, text: 'three' }, [a, b]);
  expect(back.text).toBe('one\n\ntwo\n\nhalves\n\nthree');
  expect(split(back.text, back.returned)).toEqual({ same: [a, b], rest: 'three' });
  expect(taken(back, () => 'new').sending).toEqual([
    { ...a, steers: null },
    { ...b, steers: null },
    { key: 'new', text: 'three', steers: null },
  ]);
});

it('leaves what may have been sent to go out as it was, and lets the way of the rest be chosen (D-60, D-63)', () => {
  const sent: Message = { ...a, steers: 't1' };
  const waits: Message = { ...a, key: 'w', text: 'wait', steers: null };
  const back = broughtBack({ ...nothing, text: 'three' }, [sent, waits, b]);
  expect(taken(back, () => 'new', 't2').sending.map(({ key, steers }) => [key, steers])).toEqual([
    ['a', 't1'],
    ['w', null],
    ['b', 't2'],
    ['new', 't2'],
  ]);
});

it('what is changed is another message, and what stands before it is not', () => {
  expect(split('one\n\ntwo\n\nhalves!', [a, b])).toEqual({ same: [a], rest: 'two\n\nhalves!' });
  expect(split('one more', [a])).toEqual({ same: [], rest: 'one more' });
  expect(split('one\n', [a])).toEqual({ same: [a], rest: '' });
  expect(split(' \n', [])).toEqual({ same: [], rest: '' });
});

it('says why a text cannot be sent', () => {
  for (const text of ['', ' \n', '\u200b\u2060 \u3164'])
    expect(unsendable(text)).toBe('Write something first.');
  expect(unsendable('ü'.repeat(500_001))).toMatch(/1 MB/);
  expect(unsendable('ü'.repeat(500_000))).toBeNull();
});
