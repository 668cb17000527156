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
    projection: { revision: 8, turn: { id: 't1' }, superseded: [], checkpoint: null },
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
    workstream['projection'] = { revision: 10, turn: { id: 't2' }, superseded, checkpoint: null };
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

it('D-40 brings what was written to the composer when its message was summarised meanwhile', () => {
  const { back, brought, become } = edit('new');
  expect(back.isSummarised(message)).toBe(false);
  back.ask(message);
  become({
    projection: {
      revision: 9,
      turn: null,
      superseded: [],
      checkpoint: { id: 'c', revision: 9, watermark: 3 },
    },
  });
  back.rescue();
  expect(back.isSummarised(message)).toBe(true);
  expect([brought, back.editing, back.asking]).toEqual([['new'], null, null]);
  expect(back.notice).toMatch(/^The message was summarised meanwhile/);
});

it('D-40 shows why a message could not be gone back to, and lets it stand', async () => {
  const { back, brought, answer } = open();
  back.ask(message);
  const going = back.rewind();
  answer({
    type: 'Rejected',
    code: 'MESSAGE_NOT_FOUND',
    message: 'It is summarised: fork there instead.',
    field: null,
    facts: { watermark: 3 },
  });
  await going;
  expect(back.rewinding.problem?.message).toBe('It is summarised: fork there instead.');
  expect([brought, back.asking]).toEqual([[], message]);
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
  const ended = (
    entries: readonly Entry[],
    turn: unknown,
    superseded: readonly Span[] = [],
    checkpoint: unknown = null,
  ) => {
    const page = open();
    page.become({ entries, projection: { revision: 9, turn, superseded, checkpoint } });
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

  it('D-40 not about a message that is summarised, nor for the end of a turn that only made a summary', () => {
    const summary = (watermark: number) => ({ id: 'c', revision: watermark + 1, watermark });
    const compacted = { id: 't2', kind: 'COMPACT', outcome: { type: 'COMPLETED' } };
    expect(ended([said(1), answer(2)], compacted, [], summary(2))).toBeNull();
    expect(ended([said(1), answer(2)], over('COMPLETED'), [], summary(1))).toBeNull();
    expect(ended([said(1), answer(2), said(3)], compacted, [], summary(2))).toMatchObject({
      answered: false,
    });
    const failed = { ...compacted, outcome: { type: 'FAILED' } };
    expect(ended([said(1), answer(2)], failed)).toMatchObject({ answered: true });
  });

  it('D-40 what calls gave is kept where only the message is summarised, and the message is not asked again', () => {
    const tool = { kind: 'TOOL', id: 'e2', revision: 2, callId: 'c' } as unknown as Entry;
    const carried = (author: typeof me) =>
      ({ kind: 'CHECKPOINT', id: 'c', revision: 3, request: { text: 'q', author } }) as unknown as Entry;
    const summary = { id: 'c', revision: 3, watermark: 1 };
    const offer = ended([said(1), tool, carried(me)], over('FAILED'), [], summary);
    expect(offer).toMatchObject({ answered: false, keeps: false, unable: null });
    const bobs = ended([said(1), tool, carried({ id: 'bob', name: 'Bob' })], over('FAILED'), [], summary);
    expect(bobs?.unable).toMatch(/^Only Bob may/);
  });

  it('not where nothing was said, while it is being answered, or to another than who said it (D-12)', () => {
    expect(ended([], null)).toBeNull();
    expect(ended([said(1)], null, [{ after: 0, through: 1 }])).toBeNull();
    expect(ended([said(1)], { id: 't1', outcome: null })).toBeNull();
    expect(ended([said(1, { id: 'bob', name: 'Bob' })], null)?.unable).toMatch(/^Only Bob may/);
  });
});
