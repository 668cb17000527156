/**
 * Owns: up to where a conversation is summarised (D-40), example by example and over random conversations.
 */
import fc from 'fast-check';
import {
  compactionAdvice,
  type Author,
  type CompactionTrigger,
  type Entry,
  type EntryBody,
  type EntryOf,
} from 'schema/projection';
import { describe, expect, it } from 'vitest';
import { tokensOf } from '../../src/core/context/tokens.ts';
import { cutOf, type Cut } from '../../src/core/context/watermark.ts';
import { lower } from '../../src/core/conversation/lower.ts';
import { ann, bob, place } from './support/world.ts';

type Said = EntryBody;
const words = (n: number): string => 'word '.repeat(n).trim();
const user = (text: string, over: Partial<EntryOf<'USER'>> = {}): Said => ({
  kind: 'USER',
  text,
  author: ann,
  source: 'MESSAGE',
  ...over,
});
const answer = (text: string, ...callIds: readonly string[]): Said => ({
  kind: 'ASSISTANT',
  text,
  reasoning: '',
  calls: callIds.map((callId) => ({ callId, providerId: 'p', name: 'read', arguments: '{}' })),
  finish: 'STOP',
  model: 'm',
  usage: null,
  discarded: [],
});
const tool = (callId: string, content = 'done'): Said => ({
  kind: 'TOOL',
  callId,
  name: 'read',
  outcome: 'OK',
  effect: 'NONE',
  content,
});
const system = (source: string, text = 'note'): Said => ({ kind: 'SYSTEM', text, source });
const advice = system(compactionAdvice, words(60));
const resume = user('Go on.', { source: 'COMPACTION_RESUME' });
const summary = (text: string, request: string | null, author: Author = ann): Said => ({
  kind: 'CHECKPOINT',
  summary: text,
  watermark: 0,
  request: request === null ? null : { messageId: 'm0', text: request, author },
  trigger: 'MANUAL',
  before: 0,
  after: 0,
  model: 'm',
  alias: 'm',
  context: { told: 0, counted: null, scale: 1, overhead: 0, window: null },
});

/** As they are told, each with its tokens. */
const told = (...bodies: readonly Said[]): readonly Entry[] =>
  bodies.map((body, i) => place(i + 1, body, { tokens: tokensOf(body) }));

const cut = (
  entries: readonly Entry[],
  trigger: CompactionTrigger = 'MANUAL',
  over: { readonly window?: number | null; readonly resume?: boolean } = {},
): Cut | null => cutOf(entries, { trigger, window: 8_000, resume: false, ...over });

describe('what is summarised', () => {
  it('is by hand all that is over; by itself what is recent stays: a tenth of the window, or a twentieth', () => {
    const entries = told(
      ...Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? user(words(96)) : answer(words(96)))),
    );
    expect(cut(entries)?.kept).toEqual([]);
    expect(cut(entries, 'END_OF_TURN')?.kept).toHaveLength(8);
    expect(cut(entries, 'OVERFLOW')?.kept).toHaveLength(4);
    expect(cut(entries, 'OVERFLOW')?.watermark).toBe(16);
  });

  it('begins with the summary before, and is never that alone (G3)', () => {
    const entries = told(summary('Before.', null), user('more'), answer('yes'));
    expect(cut(entries)?.summarised).toEqual(entries);
    expect(cut(entries)?.watermark).toBe(3);
    expect(cut(told(summary('Before.', null)))).toBeNull();
    expect(cut(told(summary('Before.', null), user('unheard')))).toBeNull();
  });

  it('is nothing where there is nothing that is over', () => {
    expect(cut([])).toBeNull();
    expect(cut(told(user('unheard')))).toBeNull();
    expect(cut(told(user('a'), answer('', 'c1')), 'TOOLS')).toBeNull();
  });

  it('is nothing by itself where that would make little room, and is all the same where it must be', () => {
    const entries = told(user(words(300)), answer(words(380)));
    expect(cut(entries, 'END_OF_TURN', { window: 4_000 })).toBeNull();
    expect(cut(told(user(words(300)), answer('', 'c1')), 'TOOLS', { window: 4_000 })).toBeNull();
    expect(cut(entries, 'OVERFLOW', { window: 4_000 })).not.toBeNull();
    expect(cut(entries, 'MANUAL', { window: 4_000 })).not.toBeNull();
  });

  it('is all that may be where what did not fit would otherwise all stay: the window may be smaller than is known', () => {
    const entries = told(user('a'), answer('b'), user('c'));
    expect(cut(entries, 'OVERFLOW', { window: null })?.kept).toEqual([entries[2]]);
  });

  it('is weighed where an earlier build did not say how many tokens it is', () => {
    const entries = told(user(words(1_000)), answer(words(1_000)), user('c')).map(({ tokens: _, ...e }) => e);
    expect(cut(entries, 'OVERFLOW', { window: 2_000 })?.watermark).toBe(2);
    expect(
      cut(
        told(user(words(900)), answer(words(900))).map(({ tokens: _, ...e }) => e),
        'END_OF_TURN',
      ),
    ).not.toBeNull();
  });
});

describe('what is never summarised', () => {
  it('is an answer with open calls, whole (G6)', () => {
    const entries = told(user('a'), answer('', 'c1'), tool('c1', words(2_000)), answer('', 'c2', 'c3'));
    expect(cut(entries, 'TOOLS')?.kept[0]).toBe(entries[3]);
    expect(cut(entries, 'MANUAL')?.kept).toEqual([entries[3]]);
  });

  it('is the input that nobody has answered, with all that was said since', () => {
    const entries = told(user('a'), answer('b'), user('c'), user('d', { source: 'STEER' }), system('NOTE'));
    expect(cut(entries, 'OVERFLOW', { window: 10 })?.kept).toEqual(entries.slice(2));
  });

  it('is a result without its call: both stay or both go', () => {
    const entries = told(user('a'), answer(words(500), 'c1'), tool('c1', words(300)), answer('b'));
    for (const window of [1_000, 3_500, 8_500, 20_000])
      expect(cut(entries, 'END_OF_TURN', { window })?.kept[0]?.kind).not.toBe('TOOL');
  });

  it('is not the advice to wind down, which would be heard again when there is room', () => {
    const entries = told(user(words(2_000)), answer('', 'c1'), tool('c1'), advice);
    // With results that nobody has read it stays, and is taken back by who goes on (`compaction.test.ts`).
    expect(cut(entries, 'OVERFLOW')?.kept).toEqual(entries.slice(1));
    const read = told(
      user(words(2_000)),
      answer('', 'c1'),
      tool('c1'),
      advice,
      answer('I see.'),
      user('rather'),
    );
    expect(cut(read, 'OVERFLOW')?.kept).toEqual(read.slice(4));
    const next = told(user(words(2_000)), answer('', 'c1'), tool('c1'), advice, answer('', 'c2'));
    expect(cut(next, 'TOOLS')?.kept).toEqual([next[4]]);
  });
});

describe('the request that is worked on', () => {
  const worked = (request: Said): readonly Said[] => [
    request,
    answer('', 'c1'),
    tool('c1', words(3_000)),
    answer('', 'c2'),
    tool('c2'),
  ];

  it('crosses word for word where its message is summarised (G2)', () => {
    const text = 'Fix the parser, and do not touch  the "tests"\n— not one.';
    expect(cut(told(...worked(user(text))), 'OVERFLOW')?.request).toMatchObject({ text, author: ann });
  });

  it('is not told twice where its message stays', () => {
    const entries = told(user('a'), answer(words(3_000)), user('b'), answer('', 'c1'));
    expect(cut(entries, 'TOOLS')?.request).toBeNull();
  });

  it('is none where the last answer has closed the matter', () => {
    expect(cut(told(user('a'), answer(words(3_000))))?.request).toBeNull();
  });

  it('goes on with what was said while it was worked on, in order', () => {
    const entries = told(
      ...worked(user('first')),
      user('second', { source: 'STEER' }),
      answer('', 'c3'),
      tool('c3'),
    );
    expect(cut(entries)?.request?.text).toBe('first\n\nsecond');
  });

  it('crosses again from one summary to the next, and what is said since is added', () => {
    const again = told(summary('Before.', 'first'), answer('', 'c1'), tool('c1', words(3_000)));
    expect(cut(again, 'OVERFLOW')?.request).toMatchObject({ text: 'first', author: ann });
    const more = told(
      summary('Before.', 'first'),
      user('second'),
      answer('', 'c1'),
      tool('c1', words(3_000)),
    );
    expect(cut(more, 'OVERFLOW')?.request?.text).toBe('first\n\nsecond');
  });

  it('does not cross where an answer closed it since', () => {
    const entries = told(
      summary('Before.', 'first'),
      answer('done'),
      user('second'),
      answer('', 'c1'),
      tool('c1', words(3_000)),
    );
    expect(cut(entries, 'OVERFLOW')?.request?.text).toBe('second');
  });

  it('crosses an answer that only wound down on advice, now and at every summary after it (D-40)', () => {
    const wound = told(...worked(user('first')), advice, answer('Left: the rest.'));
    expect(cut(wound, 'END_OF_TURN', { resume: true })?.request?.text).toBe('first');
    expect(cut(wound, 'END_OF_TURN')?.request).toBeNull();
    const later = told(
      summary('Before.', 'first'),
      answer('Left: the rest.'),
      resume,
      answer('', 'c3'),
      tool('c3', words(3_000)),
    );
    expect(cut(later, 'OVERFLOW')?.request?.text).toBe('first');
  });

  it('is of who asked last, whose turn it is (D-12)', () => {
    const entries = told(
      user('of ann'),
      user('of bob', { author: bob }),
      answer('', 'c1'),
      tool('c1', words(3_000)),
    );
    expect(cut(entries, 'OVERFLOW')?.request?.author).toBe(bob);
    const carried = told(
      summary('Before.', 'of ann'),
      user('of bob', { author: bob }),
      answer('', 'c1'),
      tool('c1', words(3_000)),
    );
    expect(cut(carried, 'OVERFLOW')?.request).toMatchObject({ text: 'of ann\n\nof bob', author: bob });
  });

  it('is cut in the middle only where it takes a quarter of the window', () => {
    const request = (length: number): string | undefined =>
      cut(told(...worked(user('x'.repeat(length)))), 'OVERFLOW', { window: 4_000 })?.request?.text;
    expect(request(3_000)).toBe('x'.repeat(3_000));
    expect(request(9_000)).toMatch(/^x{1500}\n\[… 6000 characters are left out here …\]\nx{1500}$/);
  });
});

describe('in any conversation', () => {
  /** Questions, answers, rounds of calls, advice and notes, the last round perhaps open. */
  const round = fc.oneof(
    fc.record({ kind: fc.constant('said' as const), words: fc.nat(300), closed: fc.boolean() }),
    fc.record({
      kind: fc.constant('calls' as const),
      calls: fc.integer({ min: 1, max: 3 }),
      words: fc.nat(300),
    }),
    fc.constantFrom({ kind: 'advice' as const }, { kind: 'note' as const }, { kind: 'broken' as const }),
  );
  const conversation = fc
    .record({ rounds: fc.array(round, { maxLength: 14 }), before: fc.boolean(), open: fc.boolean() })
    .map(({ rounds, before, open }) => {
      const bodies: Said[] = before ? [summary('Before.', 'carried')] : [];
      rounds.forEach((r, i) => {
        if (r.kind === 'said') bodies.push(user(`m${i};${words(r.words)}`));
        if (r.kind === 'said' && r.closed) bodies.push(answer(words(r.words)));
        if (r.kind === 'advice') bodies.push(advice);
        if (r.kind === 'note') bodies.push(system('NOTE'));
        if (r.kind === 'broken')
          bodies.push({ kind: 'CANCELLATION', text: 'half', reasoning: '', reason: 'STOPPED' });
        if (r.kind !== 'calls') return;
        const ids = Array.from({ length: r.calls }, (_, n) => `c${i}.${n}`);
        bodies.push(answer('', ...ids), ...ids.map((id) => tool(id, words(r.words))));
      });
      if (open) bodies.push(answer('', 'open'));
      return told(...bodies);
    });
  const how = fc.record({
    trigger: fc.constantFrom<CompactionTrigger[]>('TOOLS', 'END_OF_TURN', 'OVERFLOW', 'MANUAL'),
    window: fc.constantFrom(null, 300, 1_000, 4_000, 100_000),
    resume: fc.boolean(),
  });

  it('what goes and what stays is all there is, in order, and no result is parted from its call', () => {
    fc.assert(
      fc.property(conversation, how, (entries, options) => {
        const made = cutOf(entries, options);
        if (!made) return;
        expect([...made.summarised, ...made.kept]).toEqual(entries);
        expect(made.summarised.some((e) => e.kind !== 'CHECKPOINT')).toBe(true);
        expect(made.summarised.every((e) => e.kind === 'CHECKPOINT' || e.revision <= made.watermark)).toBe(
          true,
        );
        expect(made.kept.every((e) => e.revision > made.watermark)).toBe(true);
        let waiting = 0;
        for (const message of lower('', made.kept)) {
          if (message.role === 'tool') expect((waiting -= 1)).toBeGreaterThanOrEqual(0);
          if (message.role === 'assistant') waiting = message.calls.length;
        }
        const heard = entries.findLastIndex((e) => e.kind !== 'USER');
        for (const unheard of entries.slice(heard + 1)) expect(made.kept).toContain(unheard);
      }),
      { numRuns: 500 },
    );
  });

  it('what was said since the last answer that closed anything stays or crosses', () => {
    fc.assert(
      fc.property(conversation, how, (entries, options) => {
        const made = cutOf(entries, { ...options, window: 100_000, trigger: 'MANUAL', resume: false });
        if (!made) return;
        const closed = entries.findLastIndex((e) => e.kind === 'ASSISTANT' && e.calls.length === 0);
        for (const e of entries.slice(closed + 1))
          if (e.kind === 'USER' && !made.kept.includes(e)) expect(made.request?.text).toContain(e.text);
      }),
      { numRuns: 300 },
    );
  });
});

describe('results that the model has not read', () => {
  it('stay, with the answer that asked for them, when what was before makes room enough (broke: they were summarised unseen, and asked for again without end)', () => {
    const entries = told(
      user(words(3_000)),
      answer('ok'),
      user('read it'),
      answer('', 'c1'),
      tool('c1', words(2_000)),
    );
    const made = cut(entries, 'OVERFLOW');
    expect(made?.kept).toEqual(entries.slice(1));
    expect(made?.unread).toBe(false);
  });

  it('are summarised where there is no room for them even alone, and that is said', () => {
    const entries = told(user('read it'), answer('', 'c1'), tool('c1', words(9_000)));
    const made = cut(entries, 'OVERFLOW');
    expect(made?.kept).toEqual([]);
    expect(made?.unread).toBe(true);
  });
});
