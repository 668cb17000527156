/**
 * Owns: answering a search: what was meant, what was found, and what to say when neither is of use.
 */
import type { FindEntries, FindEntriesOutcome } from 'schema/services';
import { readQuery } from '../../core/journal/search-query.ts';
import type { Search } from '../../ports/search.ts';

export async function findEntries(
  { search }: { readonly search: Search },
  { text, workstreamId, first, after }: FindEntries,
): Promise<FindEntriesOutcome> {
  const read = readQuery(text);
  if (read.type === 'invalid') return { type: 'Invalid', message: read.problem };
  const answer = await search.find(read.query, { workstreamId, first, after });
  return answer.type === 'found'
    ? { type: 'Found', items: answer.items, hasNext: answer.hasNext }
    : {
        type: 'TooBroad',
        message: 'The search took too long. Narrow it: longer or more words, or one workstream.',
      };
}
