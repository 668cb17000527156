/** Owns: that nothing set apart can end its fence. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { setApart } from '../../src/core/kit/set-apart.ts';

it('a text that is set apart is found again between its fences, whatever is in it', () => {
  const texts = fc.array(fc.constantFrom('~', '~~~', '\n', 'x', '~~~~~\n'), { maxLength: 30 });
  fc.assert(
    fc.property(texts, (parts) => {
      const text = parts.join('');
      const lines = setApart(text).split('\n');
      const [fence] = lines;
      expect(fence).toMatch(/^~{3,}$/);
      expect(lines.filter((line) => line === fence)).toHaveLength(2);
      expect(lines.slice(1, -1).join('\n')).toBe(text);
    }),
    { seed: 20_261_130 },
  );
});
