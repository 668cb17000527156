/** What only a real database can show of search: its index, its limits, and the entries that were there before it. */
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EntryRow } from '../../../src/adapters/storage/entities/entry.ts';
import type { Storage } from '../../../src/adapters/storage/index.ts';
import { createSearch, statement } from '../../../src/adapters/storage/search.ts';
import type { FoundEntry, SearchPlace } from '../../../src/ports/search.ts';
import { answerOf, queryOf } from '../../contracts/search.ts';
import { createDatabase, type TestDatabase } from '../../support/database.ts';
import { batchOf, beginSession, message, openWorkstream, randomId, type Made } from './fixtures.ts';

let database: TestDatabase;
let storage: Storage;

beforeAll(async () => {
  database = await createDatabase();
  storage = await database.openStorage();
});
afterAll(() => database.drop());

/** Of a session of its own: terms end by the clock of the database, and a test may take long. */
const workstream = async (): Promise<Made> => openWorkstream(storage, await beginSession(storage));

const everywhere = { workstreamId: null, first: 50, after: null };

async function write(made: Made, ...texts: readonly string[]): Promise<void> {
  expect(await storage.journal.commit(batchOf(made, texts.map(message)))).toEqual({ type: 'committed' });
}

/** Nobody reads or writes entries until `open` is called. */
async function lockEntries() {
  const client = new pg.Client(database.url);
  await client.connect();
  await client.query('begin; lock table entry in access exclusive mode');
  return {
    async open() {
      await client.query('rollback');
      await client.end();
    },
  };
}

describe('Search in PostgreSQL', () => {
  it('of 100,000 entries goes by the index', async () => {
    const made = await workstream();
    await database.sql(
      `insert into entry (workstream_id, revision, id, kind, epoch, generation, commit_key, payload, at, search)
       select $1, n + 100, 'many-' || n, 'USER', 1, 1, 'many-' || n, '{"text":""}',
         timestamptz '2026-11-30' + n * interval '1 second',
         array_to_tsvector(array['common', 'k' || n % 1000, 'rare' || n])
       from generate_series(1, 100000) n`,
      [made.id],
    );
    await database.sql('analyze entry');
    const plan = async (text: string) => {
      const { sql, values } = statement(queryOf(text), everywhere);
      let n = 0;
      const numbered = sql.replaceAll('?', () => `$${(n += 1)}`);
      const rows = await database.sql<Record<'QUERY PLAN', string>>(`explain ${numbered}`, [...values]);
      return rows.map((row) => row['QUERY PLAN']).join('\n');
    };
    expect(await plan('rare77777')).toMatch(/Bitmap Index Scan on entry_search/);
    expect(await plan('k77 common')).toMatch(/Bitmap Index Scan on entry_search/);
    expect(await plan('common -k77 "k78"')).toMatch(/Bitmap Index Scan on entry_search/);
    const found = await storage.search.find(queryOf('common rare7777'), everywhere);
    expect(found.type === 'found' && found.items.map((item) => item.entry.id)).toEqual([
      ...Array.from({ length: 10 }, (_, i) => `many-${77_779 - i}`),
      'many-7777',
    ]);
  });

  it('that takes too long is cut off and says so, and the others have the database meanwhile', async () => {
    const lock = await lockEntries();
    const searches = Array.from({ length: 12 }, () => storage.search.find(queryOf('word'), everywhere));
    // Ten connections there are; these would hang if the searches held all of them.
    const others = await Promise.all(Array.from({ length: 5 }, () => storage.catalog.get('nowhere')));
    expect(others).toEqual([null, null, null, null, null]);
    expect(await Promise.all(searches.slice(0, 3))).toEqual(
      Array.from({ length: 3 }, () => ({ type: 'tooBroad' })),
    );
    await lock.open();
    expect((await Promise.all(searches.slice(6))).map((answer) => answer.type)).toEqual(
      Array.from({ length: 6 }, () => 'found'),
    );
    // The limit was the search's own: the connection has its old one again.
    expect(await storage.journal.head('nowhere')).toBeNull();
  });

  it.each([
    [
      'different Chinese letters',
      Array.from({ length: 87_000 }, (_, i) => String.fromCodePoint(0x4e00 + ((i * 7919) % 20_000))).join(''),
    ],
    ['different short words', Array.from({ length: 60_000 }, (_, i) => i.toString(36)).join(' ')],
    ['ligatures that are folded into many letters', 'ﷺ'.repeat(87_000)],
    ['letters beyond the first plane', '𠮷野𠀋'.repeat(22_000)],
    ['one word', 'x'.repeat(300_000)],
    ['one word again and again', 'x '.repeat(150_000)],
  ])('takes an entry of 256 KiB of %s', async (_, text) => {
    const made = await workstream();
    await write(made, `${text} end`, `needle${made.id}`);
    const found = await storage.search.find(queryOf(`needle${made.id}`), everywhere);
    expect(found.type === 'found' && found.items).toHaveLength(1);
  });

  it('gives a shorter page, and the rest on the next ones, when showing what it found takes too long', async () => {
    const made = await workstream();
    const word = `hit${made.id}`;
    await write(made, ...Array.from({ length: 5 }, (_, i) => `${word} ${i}`));
    const search = createSearch(await database.openOrm(), 0);
    const found: string[] = [];
    let after: SearchPlace | null = null;
    for (;;) {
      const page = await search.find(queryOf(word), { workstreamId: null, first: 3, after });
      if (page.type !== 'found') throw new Error(page.type);
      expect(page.items).toHaveLength(1);
      const [{ entry, workstreamId, snippet }] = page.items as [FoundEntry];
      found.push(snippet.map((piece) => piece.text).join(''));
      after = { at: entry.at, workstreamId, revision: entry.revision };
      if (!page.hasNext) break;
    }
    expect(found).toEqual([4, 3, 2, 1, 0].map((i) => `${word} ${i}`));
  });

  it('finds a phrase far into a long entry', async () => {
    const made = await workstream();
    const filler = Array.from({ length: 20_000 }, (_, i) => `f${i}`).join(' ');
    await write(made, `${filler} here it stands`);
    const found = await storage.search.find(queryOf('"here it stands"'), {
      ...everywhere,
      workstreamId: made.id,
    });
    expect(found.type === 'found' && found.items).toHaveLength(1);
  });

  it('finds nothing in a workstream that is being made (D-20)', async () => {
    const made = await workstream();
    await write(made, `word${made.id}`);
    const found = async () => {
      const answer = await storage.search.find(queryOf(`word${made.id}`), everywhere);
      return answer.type === 'found' && answer.items.length;
    };
    expect(await found()).toBe(1);
    await database.sql(`update workstream set lifecycle = 'CREATING' where id = $1`, [made.id]);
    expect(await found()).toBe(0);
  });

  it('is not read with the entries', async () => {
    const made = await workstream();
    await write(made, 'word');
    const orm = await database.openOrm();
    const [row] = await orm.em.fork().find(EntryRow, { workstream: made.id }, { disableIdentityMap: true });
    expect(row).toHaveProperty('payload');
    expect(row?.search).toBeUndefined();
  });
});

describe('Entries from before there was search', () => {
  it('are given the words they would have been stored with', async () => {
    const old = await createDatabase();
    const before = await old.openStorage();
    const made = await openWorkstream(before, await beginSession(before));
    const texts = [
      'Die Größe der ÄPFEL, ＡＢ ﬁ ΟΔΟΣ',
      '東京都のデータベース base 𠮷野家',
      'ฉันรักภาษาไทยมาก قُرْآن हिन्दी',
      'foo_bar.baz https://a.example/b?c=1 1.2.3',
      ` -- ${'x'.repeat(500)} é${'y'.repeat(500)}`,
      '文'.repeat(100_000),
      `ä${'ö'.repeat(200_000)} beyond`,
      '!',
      'ﷺ'.repeat(87_000),
      ...Array.from({ length: 230 }, (_, i) => `number ${i}`),
    ];
    const bodies = [...texts.map(message), answerOf('an answer'), answerOf('')];
    const batch = batchOf(made, [
      ...bodies,
      { kind: 'TOOL', callId: randomId(), name: 'x', outcome: 'OK', effect: 'NONE', content: 'its result' },
    ]);
    expect(await before.journal.commit(batch)).toEqual({ type: 'committed' });
    await before.close();
    const vectors = () =>
      old.sql('select revision, search::text as search from entry order by workstream_id, revision');
    const written = await vectors();
    expect(written.filter((row) => row['search'] !== null)).toHaveLength(texts.length + 1);
    await old.sql('drop index entry_search; alter table entry drop column search');
    await old.sql(`delete from weir_migration where name like '%_search'`);
    await old.openStorage();
    expect(await vectors()).toEqual(written);
    await old.drop();
  });
});
