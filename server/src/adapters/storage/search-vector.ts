/**
 * Owns: words and searches in PostgreSQL's spelling. Pure. Its own text parser is not asked: it takes `foo_bar.baz` for
 * a host and knows no pairs. Does not own: what the words are (`core/journal/search-text.ts`).
 *
 * Words are letters, digits and marks only, so nothing in them has a meaning to the database.
 *
 * Known limits: places are counted in rounds of 16,383 (the highest there is), so a phrase across the end of a round is
 * missed; of one word the first 256 places of an entry are kept, so a phrase may be missed after them.
 */
import type { Entry } from 'schema/projection';
import type { SearchQuery, Term } from '../../core/journal/search-query.ts';
import { searchText, wordsOf } from '../../core/journal/search-text.ts';

const highestPlace = 16_383;
/** A tsvector holds less than 1 MiB: each word, and at most five bytes for where it stands. */
const maxVectorBytes = 1_048_575;
const placeBytes = 5;

/** The words of an entry as the text of a tsvector; null when it has none. */
export function searchVector(entry: Entry): string | null {
  const text = searchText(entry);
  if (text === null) return null;
  const words: string[] = [];
  let left = maxVectorBytes;
  for (const word of wordsOf(text)) {
    left -= Buffer.byteLength(word.text) + placeBytes;
    // Only letters that are folded into several (Arabic ligatures, say) get here before the 256 KiB end.
    if (left < 0) break;
    words.push(`${word.text}:${(words.length % highestPlace) + 1}`);
  }
  return words.length === 0 ? null : words.join(' ');
}

/** The query as the text of a tsquery. */
export const searchCondition = ({ wanted, unwanted }: SearchQuery): string =>
  [...wanted.map(spelled), ...unwanted.map((term) => `!${spelled(term)}`)].join(' & ');

const spelled = ({ words, prefix }: Term): string =>
  `(${words.map((word) => `'${word}'`).join(' <-> ')}${prefix ? ':*' : ''})`;
