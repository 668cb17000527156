import { expect, it } from 'vitest';
import { blocksOfMarkdown, escape, htmlOf } from './markdown.ts';

it('tells the blocks of a text apart, so that only the last one changes while it streams', () => {
  const text = '# One\n\nTwo *two*\n\n```js\nthree\n```\n\n- four\n- five\n';
  const whole = blocksOfMarkdown(text).map((t) => t.raw.trim());
  expect(whole).toEqual(['# One', 'Two *two*', '```js\nthree\n```', '- four\n- five']);
  const cut = blocksOfMarkdown(text.slice(0, 24)).map((t) => t.raw.trim());
  expect(cut.slice(0, 2)).toEqual(whole.slice(0, 2));
});

it('shows nothing where it cannot sanitise', () => {
  expect(htmlOf(blocksOfMarkdown('<script>alert(1)</script>')[0]!)).toBe('');
});

it('makes text of markup', () => {
  expect(escape(`<a href="x" onclick='y'>&`)).toBe('&#60;a href=&#34;x&#34; onclick=&#39;y&#39;&#62;&#38;');
});
