/** Owns: making a text shorter: never longer, never half a character. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cut, cutHead, cutMiddle } from '../../src/core/kit/cut.ts';

const texts = fc.string({ unit: 'binary', maxLength: 400 });
const lengths = fc.nat({ max: 300 });
/** Fixed, so that a failure is the same everywhere; fast-check prints the smallest case. */
const seed = 20_261_130;

describe('A text that is cut', () => {
  it('is whole characters, and no longer than was wanted', () => {
    fc.assert(
      fc.property(texts, lengths, (text, units) => {
        for (const short of [cut(text, units), cutHead(text, units)]) {
          expect(short.length).toBeLessThanOrEqual(Math.max(units, 0));
          expect(short.isWellFormed()).toBe(true);
        }
        expect(text.startsWith(cut(text, units))).toBe(true);
        expect(text.endsWith(cutHead(text, units))).toBe(true);
      }),
      { seed },
    );
  });

  it('in the middle says how much is left out, and is never longer for that (broke: by a mark longer than what it stood for)', () => {
    fc.assert(
      fc.property(texts, lengths, (text, units) => {
        const short = cutMiddle(text, units);
        expect(short.length).toBeLessThanOrEqual(text.length);
        expect(short.isWellFormed()).toBe(true);
        if (short === text) return;
        const gone = Number(/\[… (\d+) characters are left out here …\]/.exec(short)![1]);
        const mark = `\n[… ${gone} characters are left out here …]\n`;
        expect(short.length - mark.length + gone).toBe(text.length);
      }),
      { seed },
    );
  });
});
