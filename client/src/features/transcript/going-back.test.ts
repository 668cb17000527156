import type { Outcome } from 'schema/client-kit';
import type { Entry, Span } from 'schema/projection';
import { describe, expect, it } from 'vitest';
import type { Api } from '../../lib/api.svelte.ts';
import { Kept } from '../../lib/kept.ts';
import { memoryTab } from '../../lib/memory-tab.ts';
import type { Workstream } from '../workstream/workstream.svelte.ts';
import type { UserBlock } from './blocks.ts';
import { GoingBack } from './going-back.svelte.ts';

const me = { id: 'me', name: 'Me' };
const message: UserBlock = {
  type: 'user',
  id: 'e3',
  revision: 3,
  text: 'old',
  author: me,
  feedback: false,
  steered: false,
  at: '',
  durable: true,
};

/** A page of this tab; the test says what the server answers and what the feed brings. */
function open(kept = new Map<string, string>(), author = 'aa') {
  const brought: string[] = [];
  let answer: (outcome: Outcome<unknown>) => void = () => undefined;
  const run = () => new Promise<Outcome<unknown>>((resolve) => (answer = resolve));
  const api = { client: { intend: () => ({ key: 'k', run }) }, info: { viewer: me } } as unknown as Api;
  const workstream: Record<string, unknown> = {
    id: 'w',
    turn: null,
    state: 'IDLE',
    known: {},
    entries: [],
    projection: { revision: 8, turn: { id: 't1' }, superseded: [] },
  };
  const back = new GoingBack(
    api,
    workstream as unknown as Workstream,
    {
      bringBack: (text) => void brought.push(text),
      started: () => undefined,
    },
    new Kept(memoryTab(kept), author),
  );
  const feed = (superseded: readonly Span[], ...said: readonly (readonly [number, string])[]) => {
    workstream['entries'] = said.map(
      ([revision, text]) =>
        ({
          kind: 'USER',
          id: `e${revision}`,
          revision,
          text,
          author: me,
          source: 'MESSAGE',
        }) as unknown as Entry,
    );
    workstream['projection'] = { revision: 10, turn: { id: 't2' }, superseded };
    back.rescue();
  };
  return {
    back,
    brought,
    kept,
    feed,
    become: (known: Record<string, unknown>) => void Object.assign(workstream, known),
    answer: (outcome: Outcome<unknown>) => {
      answer(outcome);
    },
  };
}

/** The same with a message that is being replaced. */
function edit(draft: string) {
  const page = open();
  page.back.edit(message);
  page.back.draft = draft;
  return page;
}

const all: readonly Span[] = [{ after: 2, through: 8 }];

it('takes it for its own doing when the feed is faster than the answer', async () => {
  const { back, brought, feed, answer } = edit('new');
  const sending = back.resend();
  feed(all, [10, 'new']);
  expect(back.editing).toBe(message);
  answer({ type: 'Accepted', payload: {} });
  await sending;
  expect(back.editing).toBeNull();
  expect([brought, back.notice]).toEqual([[], null]);
});

it('brings what was written to the composer when somebody else took the message out, also while it was sent', async () => {
  const { back, brought, feed, answer } = edit('new');
  const sending = back.resend();
  feed(all);
  answer({ type: 'Rejected', code: 'MESSAGE_NOT_FOUND', message: 'It is gone.', field: null, facts: {} });
  await sending;
  expect(brought).toEqual(['new']);
  expect(back.editing).toBeNull();
  expect(back.notice).toMatch(/in the field below/);
  feed(all, [12, 'new']);
  expect(back.notice).toBeNull();
});

it('does not offer again what had arrived though nobody answered', async () => {
  const { back, brought, feed, answer } = edit('new');
  const sending = back.resend();
  answer({ type: 'Failed', message: 'No answer.', failure: null });
  await sending;
  expect(back.editing).toBe(message);
  feed(all, [10, 'new']);
  expect(back.editing).toBeNull();
  expect([brought, back.notice]).toEqual([[], null]);
});

it('keeps what was written as long as its message stands, and what was not changed is no text to keep', () => {
  const kept = edit('new');
  kept.feed([{ after: 5, through: 8 }]);
  expect(kept.back.editing).toBe(message);
  expect(kept.back.draft).toBe('new');
  const unchanged = edit('old');
  unchanged.feed(all);
  expect([unchanged.brought, unchanged.back.notice]).toEqual([[], null]);
});

it('keeps what was written over a reload, and what became of its message meanwhile is dealt with then', () => {
  const { kept } = edit('new');
  const given = new Map(kept);
  const { back } = open(given);
  expect(back.editing).toMatchObject({ id: 'e3', revision: 3, text: 'old' });
  expect(back.draft).toBe('new');
  back.cancel();
  expect(given.size).toBe(0);
  const after = open(kept);
  after.feed(all);
  expect(after.brought).toEqual(['new']);
  expect(kept.size).toBe(0);
});

it('opens no editor with what was written under another token (D-12)', () => {
  const { kept } = edit('new');
  expect(open(kept, 'bb').back.editing).toBeNull();
  expect(open(kept).back.draft).toBe('new');
});

it.each(['{', 'null', '{"draft":"x"}', '{"draft":"x","message":{"id":"e3"}}'])(
  'takes %s in the storage for no edit',
  (stored) => {
    const { kept } = edit('new');
    expect(open(kept).back.editing).not.toBeNull();
    for (const key of kept.keys()) kept.set(key, stored);
    expect(open(kept).back.editing).toBeNull();
  },
);

describe('offers to ask again', () => {
  const said = (revision: number, author = me): Entry =>
    ({
      kind: 'USER',
      id: `e${revision}`,
      revision,
      text: 'q',
      author,
      source: 'MESSAGE',
    }) as unknown as Entry;
  const answer = (revision: number): Entry =>
    ({ kind: 'ASSISTANT', id: `e${revision}`, revision, text: 'a', calls: [] }) as unknown as Entry;
  const over = (type: 'COMPLETED' | 'FAILED') => ({ id: 't1', outcome: { type } });
  const ended = (entries: readonly Entry[], turn: unknown, superseded: readonly Span[] = []) => {
    const page = open();
    page.become({ entries, projection: { revision: 9, turn, superseded } });
    return page.back.ended;
  };

  it.each([
    ['the last answer of a fork, which has had no turn', [said(1), answer(2)], null, []],
    ['what stands last after going back', [said(1), answer(2), said(3)], null, [{ after: 2, through: 3 }]],
    ['the answer of the last turn', [said(1), answer(2)], over('COMPLETED'), []],
  ] as const)('%s', (_, entries, turn, superseded) => {
    expect(ended(entries, turn, superseded)).toMatchObject({ answered: true, unable: null });
  });

  it('a message that nobody answered, in a fork as after a failure', () => {
    expect(ended([said(1)], null)).toMatchObject({ answered: false, again: false, keeps: false });
    expect(ended([said(1)], over('FAILED'))).toMatchObject({ answered: false, again: true });
  });

  it('not where nothing was said, while it is being answered, or to another than who said it (D-12)', () => {
    expect(ended([], null)).toBeNull();
    expect(ended([said(1)], null, [{ after: 0, through: 1 }])).toBeNull();
    expect(ended([said(1)], { id: 't1', outcome: null })).toBeNull();
    expect(ended([said(1, { id: 'bob', name: 'Bob' })], null)?.unable).toMatch(/^Only Bob may/);
  });
});
