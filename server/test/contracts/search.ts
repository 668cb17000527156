/** Owns: what the app relies on in finding entries; a part of the contract of storage. */
import type { EntryBody } from 'schema/projection';
import { describe, expect, it } from 'vitest';
import type { Storage } from '../../src/adapters/storage/index.ts';
import { readQuery, type SearchQuery } from '../../src/core/journal/search-query.ts';
import type { Session } from '../../src/ports/ownership.ts';
import type { FoundEntry, SearchPlace } from '../../src/ports/search.ts';
import {
  ada,
  after,
  batchOf,
  message,
  openWorkstream,
  randomId,
  type Made,
} from '../adapters/storage/fixtures.ts';

export const queryOf = (text: string): SearchQuery => {
  const read = readQuery(text);
  if (read.type === 'invalid') throw new Error(read.problem);
  return read.query;
};

export const answerOf = (text: string): EntryBody => ({
  kind: 'ASSISTANT',
  text,
  reasoning: '',
  calls: [],
  finish: 'STOP',
  model: 'demo',
  usage: null,
  discarded: [],
});

export function searchContract(open: () => { readonly storage: Storage; readonly session: Session }): void {
  const workstream = (title?: string) => openWorkstream(open().storage, open().session, title);

  async function commit(made: Made, bodies: readonly EntryBody[], at?: string): Promise<Made> {
    const batch = batchOf(made, bodies);
    const dated = at === undefined ? batch : { ...batch, entries: batch.entries.map((e) => ({ ...e, at })) };
    expect(await open().storage.journal.commit(dated)).toEqual({ type: 'committed' });
    return after(made, dated);
  }

  async function page(
    text: string,
    range: { workstreamId?: string | null; first?: number; after?: SearchPlace | null } = {},
  ) {
    const answer = await open().storage.search.find(queryOf(text), {
      workstreamId: null,
      first: 50,
      after: null,
      ...range,
    });
    if (answer.type !== 'found') throw new Error(answer.type);
    return answer;
  }

  const revisions = (items: readonly FoundEntry[]) => items.map((item) => item.entry.revision);
  const placeOf = ({ workstreamId, entry }: FoundEntry): SearchPlace => ({
    workstreamId,
    at: entry.at,
    revision: entry.revision,
  });

  describe('Search', () => {
    it('cuts a page of long entries short, and goes on after it: each comes once', async () => {
      const long = Array.from({ length: 12 }, (_, i) => message(`giant ${i} ${'x'.repeat(900_000)}`));
      const made = await commit(await workstream(), long);
      const first = await page('giant', { workstreamId: made.id });
      expect(first.items.length).toBeLessThan(12);
      expect(first.hasNext).toBe(true);
      const seen = [...revisions(first.items)];
      for (let { items, hasNext } = first; hasNext;) {
        ({ items, hasNext } = await page('giant', {
          workstreamId: made.id,
          after: placeOf(items.at(-1)!),
        }));
        seen.push(...revisions(items));
      }
      expect(seen).toEqual(seen.toSorted((a, b) => b - a));
      expect(new Set(seen).size).toBe(12);
      expect(seen).toHaveLength(12);
    });

    it('finds what people, models, tools and the system said, and what was cut off; not what a model thought', async () => {
      const made = await commit(await workstream('Words'), [
        message('one needle'),
        { ...answerOf('two needle'), reasoning: 'thought' } as EntryBody,
        {
          kind: 'TOOL',
          callId: randomId(),
          name: 'shell',
          outcome: 'OK',
          effect: 'NONE',
          content: 'three needle',
        },
        { kind: 'SYSTEM', text: 'four needle', source: 'TEST' },
        { kind: 'CANCELLATION', text: 'five needle', reasoning: 'thought', reason: 'STOPPED' },
        { kind: 'RECOVERY', reason: 'TEST', message: 'needle' },
      ]);
      const { items, hasNext } = await page('needle', { workstreamId: made.id });
      expect(revisions(items)).toEqual([7, 6, 5, 4, 3]);
      expect(hasNext).toBe(false);
      expect(items[4]).toMatchObject({
        workstreamId: made.id,
        title: 'Words',
        superseded: false,
        snippet: [
          { text: 'one ', hit: false },
          { text: 'needle', hit: true },
        ],
      });
      const stored = await open().storage.journal.read(made.id, { after: 2, through: 7, limit: 9 });
      expect(items.map((item) => item.entry).toReversed()).toEqual(stored);
      expect((await page('thought', { workstreamId: made.id })).items).toEqual([]);
    });

    it.each([
      ['Die Größe der Äpfel überrascht', ['größe', 'GROSSE', 'apfel', 'über', 'uberrascht'], ['ueber']],
      ['我们在讨论全文搜索的实现', ['全文', '搜索的', '文', '实现', '我'], ['搜全', '索搜']],
      ['東京都のデータベースを検索した', ['京都', 'データ', 'ベース', 'した', 'ﾃﾞｰﾀ'], ['都京']],
      ['ฉันรักภาษาไทยมาก', ['ภาษา', 'ไทย', 'รักภาษา'], ['ไทยรัก']],
      ['قُرْآن كريم والكتاب', ['قران', 'كريم', 'والكت'], ['كتابة']],
      ['Ελλάδα και λόγος', ['ΕΛΛΑΔΑ', 'λογοσ'], ['αδα']],
      ['Привет, ёлка', ['привет', 'елка'], ['вет']],
      ['한국어 검색', ['한국', '검색'], ['국어']],
      [
        'call foo_bar.baz(42) now',
        ['foo_bar.baz', 'bar', 'foo_b', 'baz(42)', '42', 'foo bar'],
        ['foo_baz', 'oo_bar'],
      ],
      [
        'see https://example.org/a/b?c=d#e',
        ['https://example.org/a', 'example.org', 'org/a/b?c=d'],
        ['example.com'],
      ],
      ['version 1.24.7 on port 4000', ['1.24.7', '1.24', '4000', '"24"'], ['"1.2"', '24.1']],
      ['pass --force to git-push', ['--force', 'git-push', 'push'], ['force-git']],
      ['𠮷野家 and 👩‍💻 𝐀𝐁', ['𠮷野', '野家', 'ab'], ['吉野']],
    ])('finds the words of %j and no others', async (text, finding, missing) => {
      const { id } = await commit(await workstream(), [message(text)]);
      const found = async (asked: readonly string[]) =>
        (
          await Promise.all(
            asked.map(async (q) => ((await page(q, { workstreamId: id })).items.length > 0 ? [q] : [])),
          )
        ).flat();
      expect([await found(finding), await found(missing)]).toEqual([finding, []]);
    });

    it('wants all words, by their beginnings; a phrase in its order, whole; nothing of what is left out', async () => {
      const { id } = await commit(await workstream(), [
        message('alpha beta gamma'),
        message('beta alpha gammas'),
        message('alpha delta'),
      ]);
      const found = async (text: string) => revisions((await page(text, { workstreamId: id })).items);
      expect(await found('alpha gam')).toEqual([4, 3]);
      expect(await found('alpha -delta')).toEqual([4, 3]);
      expect(await found('alpha -delt')).toEqual([5, 4, 3]);
      expect(await found('"alpha beta"')).toEqual([3]);
      expect(await found('"alpha bet"')).toEqual([]);
      expect(await found('gamma')).toEqual([4, 3]);
      expect(await found('"gamma"')).toEqual([3]);
      expect(await found('alpha -"beta alpha" -delta')).toEqual([3]);
    });

    it('marks what a rewind took out of the conversation (D-59)', async () => {
      const made = await commit(await workstream(), [message('kept word'), message('taken word')]);
      const rewound = await commit(made, [{ kind: 'REWIND', after: 3, reason: 'REWIND', by: ada }]);
      await commit(rewound, [message('later word')]);
      const { items } = await page('word', { workstreamId: made.id });
      expect(items.map((item) => [item.entry.revision, item.superseded])).toEqual([
        [6, false],
        [4, true],
        [3, false],
      ]);
    });

    it('gives pages that new entries do not move, each entry once, over all workstreams', async () => {
      const word = `w${randomId()}`;
      let [a, b] = [await workstream(), await workstream()];
      for (let i = 0; i < 4; i++) {
        // Times repeat, within a workstream and between them.
        const at = `2026-11-30T10:00:0${i >> 1}.000Z`;
        a = await commit(a, [message(`${word} a`)], at);
        b = await commit(b, [message(`${word} b`)], at);
      }
      const whole = (await page(word)).items.map(placeOf);
      const seen: SearchPlace[] = [];
      for (let more = true; more;) {
        const got = await page(word, { first: 3, after: seen.at(-1) ?? null });
        seen.push(...got.items.map(placeOf));
        more = got.hasNext;
        a = await commit(a, [message(`${word} new`)], '2026-11-30T11:00:00.000Z');
      }
      expect(seen).toEqual(whole);
      expect(whole).toHaveLength(8);
      expect(whole.map((p) => p.at)).toEqual(
        whole
          .map((p) => p.at)
          .toSorted()
          .toReversed(),
      );
    });

    it('finds nothing in a workstream that is not there', async () => {
      expect((await page('word', { workstreamId: 'nowhere' })).items).toEqual([]);
    });

    it.each([
      `'`,
      `''`,
      `foo' & !'`,
      `a\\'b`,
      ':*',
      'a:*',
      '!(a|b)&<->',
      '"',
      '-"',
      '-',
      'a -',
      '( ) | & ! : *',
      "x'); drop table entry; --",
      '\0\ud800a\udc00',
      '%_%',
      '?::tsquery ?',
      'а́ '.repeat(300),
      '文'.repeat(900),
      '"a" '.repeat(200),
    ])('answers %j or says what to ask, and never breaks', async (text) => {
      const read = readQuery(text);
      const asked = { workstreamId: null, first: 1, after: null };
      if (read.type === 'query')
        expect((await open().storage.search.find(read.query, asked)).type).toBe('found');
      else expect(read.problem).toMatch(/^Name at least one word/);
    });

    it('shows hostile text as the text it is', async () => {
      const text = `<img src=x onerror="alert(1)"> & needle \u0001\u0002 ]]> </b> {{x}}`;
      const { id } = await commit(await workstream(), [message(text)]);
      const { items } = await page('needle', { workstreamId: id });
      expect(items[0]!.snippet.map((piece) => piece.text).join('')).toBe(text);
      expect(items[0]!.snippet.filter((piece) => piece.hit)).toEqual([{ text: 'needle', hit: true }]);
    });

    it('finds what stands within the first 256 KiB of an entry, and keeps all of it (D-51)', async () => {
      const filler = `${'ä'.repeat(9)} `.repeat(((256 - 1) * 1024) / 19);
      const text = `${filler} within ${'x '.repeat(1024)} beyond`;
      const { id } = await commit(await workstream(), [message(text)]);
      const { items } = await page('within', { workstreamId: id });
      expect(items.map((item) => item.entry)).toMatchObject([{ text }]);
      expect((await page('beyond', { workstreamId: id })).items).toEqual([]);
    });
  });
}
