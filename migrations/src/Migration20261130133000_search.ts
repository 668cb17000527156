import { Migration } from '@mikro-orm/migrations';

/**
 * Adds the words of entries, and finds them for the entries there are. SQL alone cannot: a database in the locale C
 * knows neither upper case nor accents, and PostgreSQL has no pairs of letters for scripts without spaces. So the rows
 * pass through here, few at a time, none of the statements long. What makes words of a text is the code of the day this
 * was written, and stays so.
 */
export class Migration20261130133000_search extends Migration {
  override name = 'Migration20261130133000_search';

  override async up(): Promise<void> {
    await this.execute(`alter table "entry" add column "search" tsvector null`);
    await this.execute(`create index "entry_search" on "entry" using gin ("search")`);
    let last: Place | undefined = { workstream: '', revision: '0' };
    while (last) {
      const rows = (await this.execute(
        `select id, workstream_id as workstream, revision::text as revision,
           left(case kind when 'TOOL' then payload ->> 'content' else payload ->> 'text' end, ${maxBytes}) as text
         from entry
         where kind in ('USER', 'ASSISTANT', 'TOOL', 'SYSTEM', 'CANCELLATION')
           and (workstream_id, revision) > (?, ?::bigint)
         order by entry.workstream_id, entry.revision limit 100`,
        [last.workstream, last.revision],
      )) as (Place & { readonly id: string; readonly text: string | null })[];
      const found = rows.flatMap(({ id, text }) => {
        const search = vector(text ?? '');
        return search === '' ? [] : [{ id, search }];
      });
      await this.execute(
        `update entry set search = found.search::tsvector
         from jsonb_to_recordset(?::jsonb) as found(id text, search text) where entry.id = found.id`,
        [JSON.stringify(found)],
      );
      last = rows.at(-1);
    }
  }

  override down(): void {
    this.addSql(`drop index "entry_search"`);
    this.addSql(`alter table "entry" drop column "search"`);
  }
}

interface Place {
  readonly workstream: string;
  readonly revision: string;
}

const maxBytes = 256 * 1024;
const runs = /[\p{L}\p{N}\p{M}]+/gv;
const parts =
  /([[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]&&[\p{L}\p{N}\p{M}]]+)|[[\p{L}\p{N}\p{M}]--[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]]+/gv;
const optionalMarks = /[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670]|\u0640/gu;

/** The words of a text as the text of a tsvector. */
function vector(text: string): string {
  const words: string[] = [];
  let left = 1_048_575;
  for (const word of wordsOf(cutToBytes(text))) {
    left -= new TextEncoder().encode(word).length + 5;
    if (left < 0) break;
    words.push(`${word}:${(words.length % 16_383) + 1}`);
  }
  return words.join(' ');
}

function* wordsOf(text: string): Generator<string, void> {
  for (const [run] of text.matchAll(runs)) {
    for (const [part, unspaced] of fold(run).matchAll(parts)) {
      if (unspaced === undefined) {
        yield part.length <= 200 ? part : part.slice(0, 200).replace(/[\uD800-\uDBFF]$/, '');
        continue;
      }
      const letters = [...part];
      yield* letters.map((letter, i) => letter + (letters[i + 1] ?? ''));
    }
  }
}

const fold = (run: string): string =>
  run
    .normalize('NFKD')
    .replace(optionalMarks, '')
    .toUpperCase()
    .toLowerCase()
    .replaceAll('ς', 'σ')
    .normalize('NFKC');

function cutToBytes(text: string): string {
  let left = maxBytes;
  for (let i = 0; i < text.length;) {
    const point = text.codePointAt(i)!;
    left -= point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    if (left < 0) return text.slice(0, i);
    i += point > 0xffff ? 2 : 1;
  }
  return text;
}
