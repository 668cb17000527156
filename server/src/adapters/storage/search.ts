/**
 * Owns: finding entries by their words: the index of words first, then the rows of one page, then what is shown of them.
 *
 * Invariants: a search cannot keep the others from the database, however many match: it is cut off after two seconds,
 * and three run at a time. Making snippets lets the rest of the process go on between two entries, and ends after two
 * more seconds; a page reads no more than `pageBytes` and a few entries. In both cases it is shorter than asked for, and
 * there is a next one.
 */
import { setImmediate } from 'node:timers/promises';
import { emptyProjection, isSuperseded, type Span } from 'schema/projection';
import { snippetOf, type SearchQuery } from '../../core/journal/search-query.ts';
import { searchText } from '../../core/journal/search-text.ts';
import { pageBytes } from '../../ports/journal.ts';
import type { FoundEntry, Search, SearchAnswer, SearchPlace } from '../../ports/search.ts';
import { EntryRow } from './entities/entry.ts';
import { available } from './faults.ts';
import type { Orm } from './orm.ts';
import { entryOf } from './rows.ts';
import { searchCondition } from './search-vector.ts';

const timeLimitMs = 2_000;
const atOnce = 3;
/** Entries: each may be as long as a page. */
const readAtOnce = 5;
/** What PostgreSQL says when it has cut a statement off. */
const canceled = '57014';

type Range = Parameters<Search['find']>[1];

interface Match {
  readonly id: string;
  readonly title: string;
  readonly superseded: readonly Span[] | null;
}

/** `snippetsLimitMs`: milliseconds that may go into what is shown of one page. */
export function createSearch(orm: Orm, snippetsLimitMs = timeLimitMs): Search {
  const inTurn = limited(atOnce);
  return {
    find: (query, range) =>
      available(() =>
        inTurn(async (): Promise<SearchAnswer> => {
          try {
            return await found(orm, query, range, snippetsLimitMs);
          } catch (error) {
            if ((error as { code?: unknown }).code === canceled) return { type: 'tooBroad' };
            throw error;
          }
        }),
      ),
  };
}

async function found(
  orm: Orm,
  query: SearchQuery,
  range: Range,
  snippetsLimitMs: number,
): Promise<SearchAnswer> {
  const { shown, rows, isAll } = await orm.em.fork().transactional(async (em) => {
    await em.execute(`set local statement_timeout = ${timeLimitMs}`);
    const { sql, values } = statement(query, range);
    const matches = await em.execute<Match[]>(sql, values);
    const rows: EntryRow[] = [];
    let size = 0;
    let end = 0;
    const page = matches.slice(0, range.first);
    while (end < page.length && size < pageBytes) {
      const some = page.slice(end, (end += readAtOnce)).map((match) => match.id);
      const read = await em.find(EntryRow, { id: { $in: some } }, { disableIdentityMap: true });
      rows.push(...read);
      size += read.reduce((sum, row) => sum + JSON.stringify(row.payload).length, 0);
    }
    const shown = page.slice(0, end);
    return { shown, rows, isAll: matches.length === shown.length };
  });
  const rowById = new Map(rows.map((row) => [row.id, row]));
  const items: FoundEntry[] = [];
  const shownUntil = performance.now() + snippetsLimitMs;
  for (const { id, title, superseded } of shown) {
    const row = rowById.get(id);
    if (!row) continue;
    if (items.length > 0 && performance.now() > shownUntil) return { type: 'found', items, hasNext: true };
    const entry = entryOf(row);
    await setImmediate();
    items.push({
      workstreamId: row.workstream,
      title,
      entry,
      superseded: isSuperseded({ ...emptyProjection, superseded: superseded ?? [] }, entry.revision),
      snippet: snippetOf(searchText(entry) ?? '', query),
    });
  }
  return { type: 'found', items, hasNext: !isAll };
}

/** Which entries are on the page, in order, and one more when there is one. */
export function statement(
  query: SearchQuery,
  { workstreamId, first, after }: Range,
): { readonly sql: string; readonly values: readonly unknown[] } {
  const within = workstreamId === null ? '' : 'and e.workstream_id = ?';
  const beyond = after === null ? '' : 'and (e.at, e.workstream_id, e.revision) < (?::timestamptz, ?, ?)';
  return {
    sql: `select e.id, w.title, w.projection -> 'superseded' as superseded
          from entry e join workstream w on w.id = e.workstream_id
          where e.search @@ ?::tsquery and w.lifecycle <> 'CREATING' ${within} ${beyond}
          order by e.at desc, e.workstream_id desc, e.revision desc limit ?`,
    values: [
      searchCondition(query),
      ...(workstreamId === null ? [] : [workstreamId]),
      ...(after === null ? [] : placeValues(after)),
      first + 1,
    ],
  };
}

const placeValues = ({ at, workstreamId, revision }: SearchPlace): readonly unknown[] => [
  at,
  workstreamId,
  revision,
];

/** Runs what it is given, at most `count` at a time; the others wait, first come, first served. */
function limited(count: number) {
  let free = count;
  const waiting: (() => void)[] = [];
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    }
  };
}
