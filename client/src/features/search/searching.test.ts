import type { Answer } from 'schema/client-kit';
import { expect, it } from 'vitest';
import type { Api } from '../../lib/api.svelte.ts';
import { Searching } from './searching.svelte.ts';

/** An API whose answers the test gives, in any order. */
function makeApi() {
  const asked: {
    readonly text: string;
    readonly after: string | null;
    answer(answer: Answer<unknown>): void;
  }[] = [];
  const request = (_document: unknown, { text, after }: { text: string; after: string | null }) =>
    new Promise((resolve) => asked.push({ text, after, answer: resolve }));
  const explain = (failure: { readonly message: string }) => failure.message;
  return { asked, api: { client: { request }, explain } as unknown as Api };
}

const page = (ids: readonly string[], endCursor: string | null): Answer<unknown> => ({
  ok: true,
  data: {
    search: {
      edges: ids.map((entryId) => ({ node: { entry: { entryId } } })),
      pageInfo: { hasNextPage: endCursor !== null, endCursor },
    },
  },
});
const failure = (code: string): Answer<unknown> => ({
  ok: false,
  failure: { type: 'Server', code, message: 'The server said no.', correlationId: null },
});
const idsOf = ({ found }: Searching) =>
  found.type === 'hits' ? found.hits.map((hit) => hit.entry.entryId) : found.type;

it('shows what the last question found, whichever answer is last', async () => {
  const { api, asked } = makeApi();
  const searching = new Searching(api);
  const first = searching.ask({ text: 'a', within: null });
  const second = searching.ask({ text: 'ab', within: null });
  asked[1]!.answer(page(['new'], null));
  await second;
  asked[0]!.answer(page(['old'], null));
  await first;
  expect(idsOf(searching)).toEqual(['new']);
  expect(searching.loading).toBe(false);
});

it('adds the next page to what was found, and says why there is none without losing the first', async () => {
  const { api, asked } = makeApi();
  const searching = new Searching(api);
  const begun = searching.ask({ text: 'a', within: null });
  asked[0]!.answer(page(['1', '2'], 'c2'));
  await begun;
  const failing = searching.more();
  asked[1]!.answer(failure('STORAGE_UNAVAILABLE'));
  await failing;
  expect(searching.problem).toBe('The server said no.');
  expect(idsOf(searching)).toEqual(['1', '2']);
  const more = searching.more();
  expect(asked[2]!.after).toBe('c2');
  asked[2]!.answer(page(['3'], null));
  await more;
  expect(idsOf(searching)).toEqual(['1', '2', '3']);
  expect(searching.problem).toBeNull();
});

it('asks nothing when there is nothing to find', async () => {
  const { api, asked } = makeApi();
  const searching = new Searching(api);
  await searching.ask({ text: '  ', within: null });
  expect(idsOf(searching)).toBe('nothing');
  expect(asked).toHaveLength(0);
});

it.each(['SEARCH_TOO_BROAD', 'INTERNAL_SERVER_ERROR'])('says what to do after %s', async (code) => {
  const { api, asked } = makeApi();
  const searching = new Searching(api);
  const begun = searching.ask({ text: 'a', within: null });
  asked[0]!.answer(failure(code));
  await begun;
  const { found } = searching;
  expect(found.type === 'failed' && found.advice).toMatch(/^(Use|Press) /);
});

it('leaves it to the server to say what is wrong with the words, and says no more', async () => {
  const { api, asked } = makeApi();
  const searching = new Searching(api);
  const begun = searching.ask({ text: '-a', within: null });
  asked[0]!.answer(failure('BAD_USER_INPUT'));
  await begun;
  expect(searching.found).toMatchObject({ type: 'failed', advice: '' });
});
