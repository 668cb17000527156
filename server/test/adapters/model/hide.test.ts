/** Owns: that a key is hidden also where JSON escapes what need not be escaped. */
import { expect, it } from 'vitest';
import { createHider } from '../../../src/adapters/model/hide.ts';

const key = 'Zq7Rw2Tx9/Lk4Mn8+Pv5"q';

it.each([
  ['as it is', key],
  ['with slashes escaped, as PHP does', key.replaceAll('/', '\\/')],
  ['as a JSON string', JSON.stringify(key).slice(1, -1)],
  ['as a JSON string in a JSON string', JSON.stringify(JSON.stringify(key)).slice(1, -1)],
  ['by numbers, escaped twice', key.replaceAll('/', '\\\\u002f')],
])('a key is hidden %s', (_, written) => {
  const shown = createHider([key])(`The key ${written} is not known.`);
  expect(shown).toContain('[hidden]');
  expect(shown).not.toMatch(/Zq7|Lk4|Pv5/);
});

it('a text without a key stays as it is, backslashes and all', () => {
  expect(createHider([key])('C:\\path\\/to "a" file')).toBe('C:\\path\\/to "a" file');
});
