/**
 * Owns: which words a text has, and what a search means and shows (D-51), without a database. That stored entries are
 * found by them is the contract of storage (`contracts/search.ts`).
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Entry } from 'schema/projection';
import {
  endsAt,
  maxQueryLength,
  maxTerms,
  readQuery,
  snippetOf,
} from '../../src/core/journal/search-query.ts';
import { cutToBytes, maxSearchBytes, searchText, wordsOf } from '../../src/core/journal/search-text.ts';

const words = (text: string): readonly string[] => [...wordsOf(text)].map((word) => word.text);

function queryOf(text: string) {
  const read = readQuery(text);
  if (read.type === 'invalid') throw new Error(read.problem);
  return read.query;
}

const problemOf = (read: ReturnType<typeof readQuery>): string =>
  read.type === 'invalid' ? read.problem : '';

const marked = (text: string, query: string): string =>
  snippetOf(text, queryOf(query))
    .map((piece) => (piece.hit ? `[${piece.text}]` : piece.text))
    .join('');

/** Letters of many scripts, marks, digits, signs and halves of characters. */
const anyText = fc.array(
  fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom(
      'ß',
      'İ',
      'ﬁ',
      'が',
      'か\u3099',
      'ไทย',
      '文',
      '𠮷',
      '\ud800',
      'é',
      'e\u0301',
      'ﷺ',
      ' ',
      '_',
      '①',
      'ΟΣ',
    ),
  ),
  { maxLength: 20 },
);

describe('The words of a text', () => {
  it.each([
    ['Größe ÄPFEL İstanbul', ['grosse', 'apfel', 'istanbul']],
    ['ΟΔΟΣ λόγος', ['οδοσ', 'λογοσ']],
    ['foo_bar.baz(42)', ['foo', 'bar', 'baz', '42']],
    ['https://a.example/b?c=1', ['https', 'a', 'example', 'b', 'c', '1']],
    ['قُرْآن ـ', ['قران']],
    ['हिन्दी', ['हिन्दी']],
    ['ＡＢ 𝐀𝐁 ﬁ', ['ab', 'ab', 'fi']],
    ['東京都', ['東京', '京都', '都']],
    ['データbase', ['デー', 'ータ', 'タ', 'base']],
    ['が か\u3099', ['が', 'が']],
    ['𠮷野', ['𠮷野', '野']],
    ['ไทย', ['ไท', 'ทย', 'ย']],
    [' \0\ud800 -- !', []],
  ])('%j are %j', (text, expected) => {
    expect(words(text)).toEqual(expected);
  });

  it('of any text are letters, digits and marks only, and folding them again changes nothing', () => {
    fc.assert(
      fc.property(anyText, (pieces) => {
        for (const word of wordsOf(pieces.join(''))) {
          expect(word.text).toMatch(/^[\p{L}\p{N}\p{M}]+$/u);
          if (word.kind !== 'WORD') continue;
          expect(words(word.text).join('')).toBe(word.text);
        }
      }),
    );
  });

  it('stand where they say', () => {
    fc.assert(
      fc.property(anyText, (pieces) => {
        const text = pieces.join('');
        let last = 0;
        for (const { start, end } of wordsOf(text)) {
          expect(start).toBeGreaterThanOrEqual(last);
          expect(end).toBeGreaterThan(start);
          expect(text.slice(start, end)).toMatch(/^[\p{L}\p{N}\p{M}]+$/u);
          last = start;
        }
      }),
    );
  });

  it('that are too long for a word count by their first 200 letters', () => {
    expect(words('x'.repeat(5_000))).toEqual(['x'.repeat(200)]);
    expect(words(`é${'x'.repeat(5_000)}`)).toEqual([`e${'x'.repeat(199)}`]);
  });
});

describe('What of an entry can be found', () => {
  const place = { id: 'e', revision: 1, epoch: 1, generation: 1, lane: null, turnId: null, at: '' };
  const user = (text: string): Entry => ({
    ...place,
    kind: 'USER',
    text,
    author: { id: 'a', name: 'Ann' },
    source: 'MESSAGE',
  });

  it.each(['x', 'ä', '文', '𠮷'])('is cut to 256 KiB, never within a character: %s (D-51)', (letter) => {
    const text = `.${letter.repeat(maxSearchBytes)}`;
    const kept = searchText(user(text))!;
    const bytes = Buffer.byteLength(kept);
    expect(text.startsWith(kept) && kept.isWellFormed()).toBe(true);
    expect(bytes).toBeLessThanOrEqual(maxSearchBytes);
    expect(bytes).toBeGreaterThan(maxSearchBytes - Buffer.byteLength(letter));
  });

  it('is all of it up to that size, also where it cannot be told from the length alone', () => {
    const text = 'x'.repeat(maxSearchBytes);
    expect(cutToBytes(text, maxSearchBytes)).toBe(text);
  });

  it('is nothing for a control entry or an empty one', () => {
    expect(searchText(user(''))).toBeNull();
    expect(searchText({ ...place, kind: 'RECOVERY', reason: 'R', message: 'text' })).toBeNull();
  });
});

describe('A search', () => {
  it('is words by their beginnings, phrases, and what is left out', () => {
    expect(queryOf('Foo.bar "Exact One" -no -"two x" --force "unclosed')).toEqual({
      wanted: [
        { words: ['foo', 'bar'], prefix: true },
        { words: ['exact', 'one'], prefix: false },
        { words: ['force'], prefix: true },
        { words: ['unclosed'], prefix: false },
      ],
      unwanted: [
        { words: ['no'], prefix: false },
        { words: ['two', 'x'], prefix: false },
      ],
    });
  });

  it('of a script without spaces is its pairs, which may go on', () => {
    expect(queryOf('東京都').wanted).toEqual([{ words: ['東京', '京都'], prefix: false }]);
    expect(queryOf('京').wanted).toEqual([{ words: ['京'], prefix: true }]);
    expect(queryOf('東京base').wanted).toEqual([{ words: ['東京', '京', 'base'], prefix: true }]);
  });

  it.each(['', '   ', '!?', '-', '""', '-""', '\0'])('of %j is told to name a word', (text) => {
    expect(problemOf(readQuery(text))).toMatch(/^Name at least one word or/);
  });

  it('that only leaves out, or is too long, is told so', () => {
    expect(problemOf(readQuery('-a -"b c"'))).toMatch(/beside those to leave out/);
    expect(readQuery('x'.repeat(maxQueryLength)).type).toBe('query');
    expect(problemOf(readQuery('x'.repeat(maxQueryLength + 1)))).toMatch(/1000/);
  });

  it('is each word once, and none that another one says already', () => {
    expect(queryOf('zz '.repeat(333)).wanted).toEqual([{ words: ['zz'], prefix: true }]);
    expect(queryOf('conf configuration foo "a foo b" Foo "a foo b" -x -x -xy')).toEqual({
      wanted: [
        { words: ['configuration'], prefix: true },
        { words: ['a', 'foo', 'b'], prefix: false },
      ],
      unwanted: [
        { words: ['x'], prefix: false },
        { words: ['xy'], prefix: false },
      ],
    });
    expect(queryOf('"one two" "one" two').wanted).toEqual([
      { words: ['one', 'two'], prefix: false },
      { words: ['one'], prefix: false },
    ]);
  });

  it('of more different words than it may have is told to be of fewer', () => {
    const different = (count: number) => Array.from({ length: count }, (_, i) => `w${i + 10}`).join(' ');
    expect(readQuery(different(maxTerms)).type).toBe('query');
    expect(problemOf(readQuery(different(maxTerms + 1)))).toMatch(/at most 32 different words/);
    expect(problemOf(readQuery(`${different(maxTerms)} -no`))).toMatch(/search for fewer/);
  });

  it('for a piece of a text finds that text: any words of it, and any part of a run without spaces', () => {
    const finds = (text: string, query: string): boolean => {
      const read = readQuery(query);
      if (read.type === 'invalid') return true;
      const all = [...wordsOf(text)];
      return read.query.wanted.every((term) => all.some((_, i) => endsAt(all, i + 1, term)));
    };
    fc.assert(
      fc.property(anyText, fc.nat(), fc.nat(), (pieces, a, b) => {
        const text = pieces.join('').replaceAll(/["-]/gu, ' ');
        const found = [...wordsOf(text)];
        if (found.length === 0) return;
        const [from, to] = [found[a % found.length]!, found[b % found.length]!].toSorted(
          (x, y) => x.start - y.start,
        ) as [(typeof found)[0], (typeof found)[0]];
        expect(finds(text, `"${text.slice(from.start, to.end)}"`)).toBe(true);
        expect(finds(text, from.text)).toBe(true);
      }),
    );
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...'東京都データ文𠮷'), { minLength: 1, maxLength: 12 }),
        fc.nat(),
        fc.nat(),
        (run, a, b) => {
          const [from, to] = [a % run.length, b % run.length].toSorted((x, y) => x - y) as [number, number];
          expect(finds(`x ${run.join('')} y`, run.slice(from, to + 1).join(''))).toBe(true);
        },
      ),
    );
  });
});

describe('A snippet', () => {
  it('marks every hit around the first', () => {
    expect(marked('The Größe of Foo  Bar, grosser', 'grosse "foo bar"')).toBe(
      'The [Größe] of [Foo  Bar], [grosser]',
    );
    expect(marked('データベース検索と検索', '検索')).toBe('データベース[検索]と[検索]');
    expect(marked('東京都', '東京都')).toBe('[東京都]');
    expect(marked('全文搜索', '全文 文搜')).toBe('[全文搜]索');
    expect(marked('see foo_bar.baz()', 'foo_b')).toBe('see [foo_bar].baz()');
  });

  it('is cut on both sides, says so, and is the beginning where nothing is found', () => {
    const text = `${'😀'.repeat(300)} needle ${'😀'.repeat(300)}`;
    const shown = marked(text, 'needle');
    expect(shown).toMatch(/^…(😀)+ \[needle\] (😀)+…$/u);
    expect(shown.length).toBeLessThan(300);
    expect(marked(text, 'nothing')).toMatch(/^(😀)+…$/u);
    expect(marked('', 'nothing')).toBe('');
  });

  it('is the beginning when finding the place is too much work', () => {
    const [near, far] = [10, 120_000].map((count) => `${'a '.repeat(count)}b a`);
    const phrase = (count: number) => `"${'a '.repeat(count)}b a"`;
    expect(marked(near!, phrase(5))).toContain('[a a a a a b a]');
    expect(marked(far!, 'b')).toContain('[b]');
    expect(marked(far!, phrase(400))).toMatch(/^(a )+…$/);
  });

  it('of any text and any search is a part of the text, in one piece', () => {
    fc.assert(
      fc.property(anyText, fc.nat(), (pieces, i) => {
        const text = pieces.join('').replaceAll('…', '.').toWellFormed();
        const found = words(text);
        if (found.length === 0) return;
        const shown = snippetOf(text, queryOf(found[i % found.length]!));
        expect(shown.some((piece) => piece.hit)).toBe(true);
        const whole = shown.map((piece) => piece.text).join('');
        expect(text).toContain(whole.replace(/^…/, '').replace(/…$/, ''));
      }),
    );
  });
});
