/** Owns: that what is kept of the telling from call to call is what `lower` tells, and the same messages. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Entry, EntryBody } from 'schema/projection';
import { createTelling } from '../../src/app/actor/telling.ts';
import { lower, nobody, withSender } from '../../src/core/conversation/lower.ts';

const body: fc.Arbitrary<EntryBody> = fc.oneof(
  fc.tuple(fc.string(), fc.constantFrom('a', 'a', 'b')).map(([text, id]): EntryBody => ({
    kind: 'USER',
    text,
    author: { id, name: id.toUpperCase() },
    source: 'MESSAGE',
  })),
  fc.constantFrom('', 'so').map((text): EntryBody => ({
    kind: 'ASSISTANT',
    text,
    reasoning: '',
    calls: [],
    finish: 'STOP',
    model: 'm1',
    alias: 'm1',
    usage: null,
    discarded: [],
  })),
);

/** A summary of these entries. */
const summary = (text: string, of: readonly Entry[]): EntryBody => ({
  kind: 'CHECKPOINT',
  summary: text,
  watermark: 1,
  request: null,
  senders: of.reduce(withSender, nobody),
  trigger: 'MANUAL',
  before: 2,
  after: 1,
  model: 'm1',
  alias: 'm1',
  context: { told: 0, counted: null, scale: 1, overhead: 0, window: null },
});

const steps = fc.array(
  fc.record({
    back: fc.oneof(fc.constant(0), fc.nat({ max: 5 })),
    said: fc.array(body, { maxLength: 4 }),
    /** Of the beginning, what a summary takes the place of. */
    summarised: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: 3 })),
    system: fc.constantFrom('be brief', 'be brief', 'be kind'),
  }),
  { maxLength: 10 },
);

const entryOf = (body: EntryBody, revision: number): Entry => ({
  ...body,
  id: `e${revision}`,
  revision,
  epoch: 1,
  generation: 1,
  lane: null,
  turnId: null,
  at: '2026-01-01T00:00:00.000Z',
});

test('D-34, D-59: a model is told what the conversation says as it stands, and each standing entry as the same message', () => {
  fc.assert(
    fc.property(steps, (list) => {
      const tell = createTelling();
      let revision = 0;
      let conversation: readonly Entry[] = [];
      let before: { readonly system: string; readonly told: ReturnType<typeof lower> } | null = null;
      for (const { back, said, summarised, system } of list) {
        const left = conversation.slice(0, Math.max(0, conversation.length - back));
        const added = said.map((one) => entryOf(one, (revision += 1)));
        const isSummarised = summarised > 0 && left.length >= summarised;
        const short = entryOf(summary(`short ${(revision += 1)}`, left.slice(0, summarised)), revision);
        conversation = isSummarised ? [short, ...left.slice(summarised), ...added] : [...left, ...added];
        const standing = isSummarised ? [] : left;
        const told = tell(system, conversation);
        expect(told).toEqual(lower(system, conversation));
        // What a summary leaves is said to be by whom it was said to be before (D-36).
        if (isSummarised)
          expect(told.slice(2)).toEqual(
            lower(system, [...left, ...added]).slice(lower(system, left.slice(0, summarised)).length),
          );
        const same = lower('', standing).length;
        const from = before?.system === system ? 0 : 1;
        if (before) for (let i = from; i < same; i += 1) expect(told[i]).toBe(before.told[i]);
        before = { system, told };
      }
    }),
  );
});
