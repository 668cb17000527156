/**
 * Owns: how full a context is said to be (D-39), example by example: what a provider counted, an estimate of the rest,
 * and what is not believed.
 */
import {
  emptyProjection,
  isEstimated,
  usedOf,
  type Context,
  type Entry,
  type Usage,
} from 'schema/projection';
import { describe, expect, it } from 'vitest';
import {
  isOverHard,
  isOverSoft,
  markOfAnswer,
  markOfOverflow,
  markOfSummary,
  mayFit,
  roomIn,
  withRoom,
} from '../../src/core/context/meter.ts';
import { thoughtsOf, weightOfAll } from '../../src/core/context/tokens.ts';
import { all, last } from './support/telling.ts';
import { createWorld, worldOf, type World } from './support/world.ts';

const context = (over: Partial<Context>): Context => ({ ...emptyProjection.context, ...over });
const usage = (inputTokens: number, outputTokens = 0, more: Partial<Usage> = {}): Usage => ({
  inputTokens,
  outputTokens,
  ...more,
});

/** After an answer of 10 tokens to so much, with this usage. */
const answered = (before: Partial<Context>, counted: Usage | null, tokens = 10): Context => {
  const { window, overhead } = context(before);
  return context(markOfAnswer(context(before), { window, overhead }, counted, tokens));
};

describe('what the context holds', () => {
  it('is estimated until a provider has counted it: system prompt, tools and all that is told (G8)', () => {
    const before = context({ told: 900, overhead: 100, window: 1_000 });
    expect(usedOf(before)).toBe(1_000);
    expect(isEstimated(before)).toBe(true);
  });

  it('is what the provider read and wrote, exactly, until something comes after it', () => {
    const after = answered({ told: 900, overhead: 100, window: 70_000 }, usage(1_234, 15));
    expect(usedOf(after)).toBe(1_249);
    expect(isEstimated(after)).toBe(false);
  });

  it('is that and an estimate of what came since, by the same measure as the provider counts', () => {
    const after = answered({ told: 900, overhead: 100, window: 70_000 }, usage(2_000, 20));
    expect(after.scale).toBe(2);
    expect(usedOf({ ...after, told: after.told + 50 })).toBe(2_020 + 2 * 50);
    expect(isEstimated({ ...after, told: after.told + 50 })).toBe(true);
  });

  it('does not count cached tokens again, which are in what was read: 39,096 of 70,000 is not nearly full (G7)', () => {
    const after = answered(
      { told: 38_000, overhead: 150, window: 70_000 },
      usage(38_196, 900, { cachedInputTokens: 38_153 }),
      900,
    );
    expect(usedOf(after)).toBe(39_096);
    expect(isOverSoft(after)).toBe(false);
  });

  it('does not hold the thoughts of an answer, which are not told again, whether they are counted apart or not', () => {
    const apart = answered(
      { told: 900, overhead: 100, window: 70_000 },
      usage(1_000, 5_010, { reasoningTokens: 5_000 }),
    );
    expect(usedOf(apart)).toBe(1_010);
    const hidden = answered({ told: 900, overhead: 100, window: 70_000 }, usage(1_000, 5_010));
    expect(usedOf(hidden)).toBeLessThan(1_200);
  });
});

describe('a count', () => {
  it.each([null, usage(0, 0), usage(-5, 3)])(
    'that is missing or nothing is unknown, not empty: the estimate grows on (G8)',
    (counted) => {
      const after = answered({ told: 900, overhead: 100, window: 70_000 }, counted);
      expect(after.counted).toBeNull();
      expect(usedOf(after)).toBe(1_010);
    },
  );

  it('above the window is not believed, and the count before it stands (G9)', () => {
    const first = answered({ told: 20_000, overhead: 1_000, window: 64_000 }, usage(21_000, 10));
    const second = answered({ ...first, told: first.told + 12 }, usage(4 * 21_010, 10));
    expect(second.counted).toEqual(first.counted);
    expect(isOverSoft(second)).toBe(false);
  });

  it.each([2, 4])(
    'that leaps to %i times what was there, for one short message, is not believed (G9)',
    (times) => {
      const first = answered({ told: 65_000, overhead: 1_000, window: 200_000 }, usage(66_000, 10));
      const second = answered({ ...first, told: first.told + 12 }, usage(times * 66_010, 10));
      expect(second.counted).toEqual(first.counted);
      expect(isOverSoft(second)).toBe(false);
    },
  );

  it('that grows with what was told is believed, also by other rules than those of the estimate', () => {
    const first = answered({ told: 5_000, overhead: 1_000, window: 200_000 }, usage(9_000, 10));
    const second = answered({ ...first, told: first.told + 30_000 }, usage(60_000, 10));
    expect(second.counted?.tokens).toBe(60_010);
  });

  it('of what was not read from a cache only is not believed', () => {
    const first = answered({ told: 80_000, overhead: 1_000, window: 200_000 }, usage(81_000, 10));
    const second = answered({ ...first, told: first.told + 12 }, usage(43, 10));
    expect(second.counted).toEqual(first.counted);
  });

  it.each([usage(1e12, 10), usage(1_000, 1e12), usage(1e12, 1e12), usage(1, 1)])(
    'that was believed wrongly where nothing is known of the window shuts out no right one after it (%o)',
    (absurd) => {
      const first = answered({ told: 900, overhead: 100 }, absurd);
      const second = answered({ ...first, told: first.told + 1_000, window: 64_000 }, usage(2_100, 10));
      expect(second.counted?.tokens).toBe(2_110);
    },
  );

  it.each([usage(1, 1), usage(250_000, 0)])(
    'makes no estimate smaller than half or larger than four times (%o)',
    (of) => {
      const { scale } = answered({ told: 900, overhead: 100, window: 300_000 }, of);
      expect(scale).toBeGreaterThanOrEqual(0.5);
      expect(scale).toBeLessThanOrEqual(4);
    },
  );
});

describe('a count that leaps', () => {
  const first = answered({ told: 2_000, overhead: 1_000, window: 200_000 }, usage(3_000, 10));
  const after = (before: Context, told: number, count: number): Context =>
    answered({ ...before, told: before.told + told }, usage(count, 10));

  it('is believed when the next one grows from it as what is told does: something is told that we do not know of (broke: no right count was believed any more, and the window overflowed)', () => {
    const second = after(first, 12, 40_000);
    expect(second.counted).toEqual(first.counted);
    expect(after(second, 12, 40_022).counted?.tokens).toBe(40_032);
    // Also when an answer between them was not counted.
    const uncounted = answered({ ...second, told: second.told + 12 }, null);
    expect(after(uncounted, 12, 40_044).counted?.tokens).toBe(40_054);
  });

  it('is not believed when the next one leaps as well, or falls back', () => {
    const second = after(first, 12, 40_000);
    expect(after(second, 12, 80_000).counted).toEqual(first.counted);
    expect(after(second, 12, 3_040).counted?.tokens).toBe(3_050);
  });

  it('above the window is never believed (G9)', () => {
    const small = { ...first, window: 8_000 };
    expect(after(after(small, 12, 9_000), 12, 9_020).counted).toEqual(first.counted);
  });
});

describe('what stands beside the conversation', () => {
  const counted = answered({ told: 900, overhead: 100, window: 10_000 }, usage(1_000, 10));

  it('is estimated where it grew since the count, and is less where it shrank (broke: a longer prompt was sent without looking)', () => {
    expect(usedOf(withRoom(counted, { window: 10_000, overhead: 5_100 }))).toBe(1_010 + 5_000);
    expect(usedOf(withRoom(counted, { window: 10_000, overhead: 40 }))).toBe(1_010 - 60);
    expect(isOverHard(withRoom(counted, { window: 10_000, overhead: 8_200 }))).toBe(true);
  });

  it('is taken for no less than its estimate, where the text before it counted less', () => {
    const code = answered({ told: 4_000, overhead: 0, window: 10_000 }, usage(2_000));
    expect(usedOf(withRoom(code, { window: 10_000, overhead: 1_000 }))).toBe(2_000 + 1_000);
  });

  it('makes no leap of the count that has it', () => {
    const longer = markOfAnswer(
      { ...counted, told: counted.told + 10 },
      { window: 100_000, overhead: 9_100 },
      usage(14_000, 10),
      10,
    );
    expect(longer.counted?.tokens).toBe(14_010);
  });

  it('is looked at again after a rewind to before it grew (broke: no summary was ever short enough)', () => {
    const w = counting();
    w.provider = { window: 50_000, overhead: 9_200, factor: 1, counts: 'HONESTLY' };
    w.send('third');
    w.store();
    w.answer({ text: 'the third answer' });
    w.store();
    const [, second] = all(w, 'ASSISTANT');
    w.rewind(all(w, 'USER')[2]!.id);
    expect(usedOf(contextNow(w))).toBeGreaterThan(second!.context!.counted!.tokens + 9_000);
  });
});

describe('thoughts', () => {
  const thought = 'I wonder whether it is so. '.repeat(400);
  const own = thoughtsOf({ reasoning: thought, usage: null });
  const before = (more: Partial<Context> = {}): Context =>
    context({ told: 500, overhead: 1_000, window: 20_000, counted: { tokens: 1_510, told: 500 }, ...more });
  const of = (mark: Context, count: Usage, told = 0, since = own): Context => {
    const { window, overhead } = mark;
    return context(markOfAnswer(mark, { window, overhead }, count, 10, { own, since, told }));
  };

  it('that are told again are found by the count, which is believed, and those of this answer are counted (broke: the meter stood still and the window overflowed)', () => {
    const mark = of(before(), usage(1_500 + own, own + 10, { reasoningTokens: own }));
    expect(mark.replayed).toBe(true);
    expect(mark.counted?.tokens).toBe(1_500 + own + own + 10);
    expect(mark.told).toBe(500 + 10 + own);
    expect(mark.scale).toBeLessThan(1.5);
  });

  it('that are not told again are counted in nothing', () => {
    const mark = of(before(), usage(1_515, own + 10, { reasoningTokens: own }));
    expect(mark.replayed).toBeUndefined();
    expect(mark).toMatchObject({ told: 510, counted: { tokens: 1_525 } });
  });

  it('that are told no more are counted no more, though much less is told than was weighed', () => {
    // 12,000 of what is told are thoughts, of which the provider tells the model nothing from this turn on.
    const full = before({ told: 12_500, counted: { tokens: 13_510, told: 12_500 }, replayed: true });
    const mark = of(full, usage(1_530, 10), 12_000, 12_000);
    expect(mark.replayed).toBeUndefined();
    expect(mark.counted?.tokens).toBe(1_540);
  });

  it('are found in a conversation, weighed with their answers, and are what makes room for them when they are summarised', () => {
    const w = createWorld();
    w.provider = { window: 50_000, overhead: 200, factor: 1, counts: 'NOTHING' };
    let read = 210;
    for (const text of ['first', 'second', 'third']) {
      w.send(text);
      w.store();
      w.answer({ text: 'Yes.', reasoning: thought, usage: usage(read, own + 5) });
      w.store();
      read += own + 20;
    }
    expect(all(w, 'ASSISTANT').map((e) => e.context?.replayed)).toEqual([undefined, true, true]);
    expect(last(w, 'ASSISTANT').tokens).toBeGreaterThan(own);
    expect(contextNow(w).told).toBe(weightOfAll(w.state.conversation));
    w.compact();
    w.store();
    w.summarised('In short.');
    w.store();
    expect(contextNow(w)).toMatchObject({ replayed: true, told: weightOfAll(w.state.conversation) });
    w.choose({ alias: 'other', temperature: null, effort: null });
    expect(contextNow(w).replayed).toBeUndefined();
  });
});

describe('a threshold', () => {
  it('is crossed at 80 % and at 90 % of the window, by what comes as well (D-39)', () => {
    const at = (told: number): Context => context({ told, window: 1_000 });
    expect([isOverSoft(at(800)), isOverSoft(at(801)), isOverSoft(at(700), 101)]).toEqual([false, true, true]);
    expect([isOverHard(at(900)), isOverHard(at(901)), isOverHard(at(700), 201)]).toEqual([false, true, true]);
    expect([mayFit(at(1_000)), mayFit(at(1_001))]).toEqual([true, false]);
  });

  it('is nowhere where the window is not known', () => {
    const unknown = context({ told: 1e9 });
    expect([isOverSoft(unknown), isOverHard(unknown), mayFit(unknown)]).toEqual([false, false, true]);
    expect(roomIn(unknown)).toBe(Number.POSITIVE_INFINITY);
  });

  it('leaves room below the hard one, and never less than nothing', () => {
    expect(roomIn(context({ told: 100, window: 1_000 }))).toBe(800);
    expect(roomIn(context({ told: 5_000, window: 1_000 }))).toBe(0);
  });

  it('goes by the estimate where a summary took much away and the count did not fall, until one falls (D-39)', () => {
    /** 6,000 estimated and 9,000 counted, of which a summary leaves 1,500; then the first count after it. */
    const then = (inputTokens: number): Context => {
      const full = context({
        told: 5_900,
        counted: { tokens: 9_000, told: 5_900 },
        scale: 1.5,
        overhead: 100,
        window: 10_000,
      });
      const left = context(markOfSummary(full, 1_400));
      return answered(left, usage(inputTokens));
    };
    // So little is no honest count of what was taken, by whatever measure.
    const [lied, fell] = [then(8_000), then(7_500)];
    expect([lied.unmoved, fell.unmoved]).toEqual([true, undefined]);
    expect([isOverSoft(lied), isOverHard(lied, 7_000), roomIn(lied)]).toEqual([false, false, 7_490]);
    expect([isOverSoft(lied, 6_600), isOverHard(lied, 7_600)]).toEqual([true, true]);
    // It stays so until there is another summary, and a count after it.
    const later = answered({ ...lied, told: 3_000 }, usage(8_500));
    expect([later.unmoved, later.before]).toEqual([true, undefined]);
    const again = context(markOfSummary(later, 1_000));
    expect(again.unmoved).toBe(true);
    expect(answered(again, usage(1_500)).unmoved).toBeUndefined();
  });

  it('goes by the count where one falls as what is told does, whatever is told beside it that we do not know of', () => {
    for (const scale of [0.5, 1, 2, 4]) {
      const hidden = 7_000;
      const count = (told: number): number => Math.round(hidden + told * scale);
      const full = context({
        told: 2_000,
        counted: { tokens: count(2_000), told: 2_000 },
        scale: 4,
        window: 16_000,
      });
      const left = context(markOfSummary(full, 800));
      expect(answered(left, usage(count(800))).unmoved).toBeUndefined();
    }
  });
});

/** Ann asks and is answered, and the provider counts 1.5 tokens for each of the estimate. */
function counting(): World {
  const w = createWorld();
  w.provider = { window: 50_000, overhead: 200, factor: 1.5, counts: 'HONESTLY' };
  for (const text of ['first', 'second']) {
    w.send(text);
    w.store();
    w.answer({ text: `the ${text} answer` });
    w.store();
  }
  return w;
}
const contextNow = (w: World): Context => w.state.projection.context;

describe('in a conversation', () => {
  it('the count is of the last answer, and what is said after it is estimated beside it', () => {
    const w = counting();
    const { counted, told } = contextNow(w);
    expect(counted).toEqual(last(w, 'ASSISTANT').context?.counted);
    expect(counted?.told).toBe(told);
    w.send('third');
    expect(contextNow(w).told).toBeGreaterThan(told);
    expect(contextNow(w).counted).toEqual(counted);
  });

  it('a rewind restores the count of the answer that is the last one again (D-59)', () => {
    const w = counting();
    const [first] = all(w, 'ASSISTANT');
    w.rewind(all(w, 'USER')[1]!.id);
    expect(contextNow(w)).toMatchObject({ told: first!.context!.told, counted: first!.context!.counted });
    expect(isEstimated(contextNow(w))).toBe(false);
  });

  it('a rewind to the beginning leaves nothing that was counted', () => {
    const w = counting();
    w.rewind(all(w, 'USER')[0]!.id);
    expect(contextNow(w)).toMatchObject({ told: 0, counted: null, window: 50_000 });
  });

  it('another model drops the count and the window: it counts by its own rules', () => {
    const w = counting();
    w.choose({ alias: 'other', temperature: null, effort: null });
    expect(contextNow(w)).toMatchObject({ counted: null, window: null });
  });

  it('what another model counted is not taken up again by a rewind', () => {
    const w = counting();
    w.choose({ alias: 'other', temperature: null, effort: null });
    w.send('third');
    w.store();
    w.answer({ text: 'the third', alias: 'other' });
    expect(contextNow(w).counted).not.toBeNull();
    w.rewind(all(w, 'USER')[2]!.id);
    expect(contextNow(w).counted).toBeNull();
  });

  it('an answer of the model that was left while it answered counts for nothing in the one that was chosen', () => {
    const w = counting();
    w.send('third');
    w.store();
    w.choose({ alias: 'other', temperature: null, effort: null });
    w.answer({ text: 'of the old one' });
    expect(contextNow(w)).toMatchObject({ counted: null, window: null });
  });

  it('a summary drops the count, which was of all that it stands for, and keeps how the model counts (broke: results were sized as we count)', () => {
    const w = counting();
    w.compact();
    w.store();
    w.summarised('In short.');
    expect(contextNow(w)).toMatchObject({ counted: null, told: last(w, 'CHECKPOINT').context.told });
    const { scale } = last(w, 'CHECKPOINT').context;
    expect(scale).toBeGreaterThan(1);
    expect(usedOf(contextNow(w))).toBe(Math.round((200 + weightOfAll(w.state.conversation)) * scale));
  });

  it('a rewind above a summary goes back to no count of before it', () => {
    const w = counting();
    w.send('third');
    w.store();
    w.overflow('THERE');
    w.store();
    w.summarised('In short.');
    w.store();
    w.answer({ text: 'the third answer' });
    w.store();
    w.rewind(all(w, 'USER')[2]!.id);
    expect(w.state.conversation.map((e) => e.kind)).toEqual(['CHECKPOINT']);
    expect(contextNow(w)).toMatchObject({ counted: null, told: weightOfAll(w.state.conversation) });
  });

  it('what an earlier build wrote, which said nothing of tokens, is weighed at the first answer', () => {
    const old: Entry[] = counting().durable.map((entry) => {
      const { tokens: _, ...rest } = entry;
      if (rest.kind !== 'ASSISTANT') return rest;
      const { context: _context, ...answer } = rest;
      return answer;
    });
    const w = worldOf(old);
    expect(contextNow(w).told).toBe(0);
    w.provider = { window: 50_000, overhead: 0, factor: 1, counts: 'NOTHING' };
    w.send('third');
    w.store();
    w.answer({ text: 'the third answer' });
    expect(contextNow(w).told).toBe(weightOfAll(w.state.conversation));
    w.send('fourth');
    w.store();
    w.overflow('THERE');
    w.store();
    expect(w.summaries[0]?.entries.length).toBeGreaterThan(2);
  });
});

describe('what nobody has counted', () => {
  /** Half a token for each that we took it for: code, or digits. */
  const code = context({
    told: 4_000,
    overhead: 0,
    window: 8_000,
    counted: { tokens: 2_000, told: 4_000 },
    scale: 0.5,
  });

  it('has room made for it as estimated, although what was counted is less than that (D-39; broke: prose after code was refused)', () => {
    expect(roomIn({ ...code, told: 8_000 })).toBe(7_200 - 2_000 - 4_000);
    expect(isOverHard(code, 5_100)).toBe(false);
    expect(isOverHard(code, 5_300)).toBe(true);
    expect(roomIn({ ...code, counted: null, told: 3_000 })).toBe(7_200 - 3_000);
  });

  it('is shown as it is likely to be', () => {
    expect(usedOf({ ...code, told: 5_000 })).toBe(2_500);
  });

  it('fills the window where its endpoint calls it longer than that, whatever it was taken for', () => {
    const refused = markOfOverflow(code);
    expect(usedOf(refused)).toBe(8_000);
    expect(refused).toMatchObject({ told: 4_000, counted: null, scale: 2 });
  });

  it('is taken for less again with each answer, where nobody counts: the refusal may have been a mistake', () => {
    let mark = context({ ...markOfOverflow(context({ told: 2_000, window: 8_000 })) });
    expect(mark.scale).toBe(4);
    for (let answers = 0; answers < 20; answers += 1) mark = answered(mark, null);
    expect(mark.scale).toBe(1);
    const small = context({ told: 2_000, window: 8_000, scale: 0.7 });
    expect(answered(small, null).scale).toBe(0.7);
  });

  it('is not taken for more than four times what it seems to be, nor for less than before', () => {
    expect(markOfOverflow({ ...code, told: 100 }).scale).toBe(4);
    const full = context({ told: 9_000, window: 8_000 });
    expect(markOfOverflow(full)).toBe(full);
    const unknown = context({ told: 9_000, window: null });
    expect(markOfOverflow(unknown)).toBe(unknown);
  });
});
