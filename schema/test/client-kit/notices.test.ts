/** What a follower is told about what it waits for, and until when. */
import { expect, it } from 'vitest';
import { knownAfter, type Known } from '../../src/client-kit/followed.ts';
import {
  emptyOverlay,
  emptyProjection,
  viewOf,
  type EntryBody,
  type FeedItem,
} from '../../src/projection/index.ts';
import { bodies } from './support/bodies.ts';

const waiting: Known = {
  view: viewOf(emptyProjection, [], 1, emptyOverlay),
  entries: [],
  olderCursor: null,
  cursor: 'c',
  quarantine: null,
  notices: [],
};
const notice = (code: string, message: string, level: 'INFO' | 'WARNING' = 'INFO'): FeedItem => ({
  type: 'Notice',
  level,
  code,
  message,
});
const slot = notice('MODEL_WAITING', 'Waiting for a slot.');
const chunk: FeedItem = {
  type: 'StreamChunk',
  messageId: 'm1',
  turnId: 't1',
  channel: 'TEXT',
  offset: 0,
  text: 'At',
};
const entry = (revision: number, body: EntryBody): FeedItem => ({
  type: 'EntryAdmitted',
  durable: false,
  entry: {
    id: `e${revision}`,
    revision,
    epoch: 1,
    generation: 1,
    lane: null,
    turnId: null,
    at: '2026-11-30T09:52:03.120Z',
    ...body,
  },
});
const bodyOf = (kind: EntryBody['kind']): EntryBody => bodies.find((body) => body.kind === kind)!;

const after = (...items: readonly FeedItem[]): Known =>
  items.reduce((known, item) => knownAfter(known, item, null)[0], waiting);
const said = (...items: readonly FeedItem[]) => after(...items).notices.map(({ message }) => message);

it('D-36 says that a slot is waited for until the answer begins', () => {
  expect(after(slot).notices).toEqual([
    { level: 'INFO', code: 'MODEL_WAITING', message: 'Waiting for a slot.' },
  ]);
  expect(said(slot, chunk)).toEqual([]);
  expect(said(slot, entry(1, bodyOf('ASSISTANT')))).toEqual([]);
  expect(said(slot, entry(1, bodyOf('TURN')))).toEqual([]);
});

it('says it on while people queue and choose, for that is not what was waited for', () => {
  const aside = [entry(1, bodyOf('QUEUE')), entry(2, bodyOf('CONFIGURATION'))];
  expect(said(slot, ...aside)).toEqual(['Waiting for a slot.']);
});

it('D-37 says what is waited for now, and beside it who is asked instead and why', () => {
  const fault = notice('MODEL_FALLBACK', 'The key was refused. Asking another model.', 'WARNING');
  const other = notice('MODEL_FALLBACK', '"spare" is asked in place of "main".');
  const again = (n: number) => notice('MODEL_RETRY', `Busy. Trying again (attempt ${n} of 4).`, 'WARNING');
  expect(said(again(2), again(3))).toEqual(['Busy. Trying again (attempt 3 of 4).']);
  const both = ['The key was refused. Asking another model.', '"spare" is asked in place of "main".'];
  expect(said(again(2), fault, other)).toEqual(both);
  expect(said(fault, other, slot)).toEqual([...both, 'Waiting for a slot.']);
  expect(said(fault, other, slot, again(2))).toEqual([...both, 'Busy. Trying again (attempt 2 of 4).']);
  const next = notice('MODEL_FALLBACK', '"last" is asked in place of "main".');
  expect(said(other, next)).toEqual(['"last" is asked in place of "main".']);
});

it('D-36 says nothing from before any more when another model is asked by choice, and goes on saying who it is', () => {
  const fault = notice('MODEL_FALLBACK', 'The key was refused. Asking another model.', 'WARNING');
  const chosen = notice('MODEL_CHOSEN', 'Asking "other" instead, as chosen.');
  expect(said(fault, slot, chosen, entry(1, bodyOf('CONFIGURATION')))).toEqual([
    'Asking "other" instead, as chosen.',
  ]);
  expect(said(chosen, slot)).toEqual(['Asking "other" instead, as chosen.', 'Waiting for a slot.']);
});

it('D-55 says nothing any more when another process takes over, for it waits for nothing yet', () => {
  expect(said(slot, { type: 'EpochStarted', epoch: 2, from: 0 })).toEqual([]);
});
