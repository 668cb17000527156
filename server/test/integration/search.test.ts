/**
 * Owns: search on a real server, from a message that was sent to the place in history that is jumped to. Does not own:
 * what a text finds (`contracts/search.ts`).
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { newerQuery, olderQuery, searchQuery } from 'schema/client-kit';
import type { Api } from '../../../e2e/support/api.ts';
import { setBench, type Bench } from './support.ts';

let bench: Bench;
let api: Api;

beforeAll(async () => {
  bench = await setBench();
  ({ api } = await bench.join());
});
afterAll(() => bench.end());

it('finds what was said and answered once it is durable, on every server, and leads to its place', async () => {
  const id = await api.create({ title: 'Äpfel' });
  bench.provider.script([{ stream: ['Die Größe der Äpfel ist 東京都.'] }]);
  await api.send(id, 'How large are the apples?');
  await api.waitForState(id, 'IDLE');
  const { api: other } = await bench.join();
  const find = async (text: string) => {
    const answer = await other.transport.request(searchQuery, { text, first: 10, workstreamId: id });
    if (!answer.ok) throw new Error(answer.failure.message);
    return answer.data.search.edges.map((edge) => edge.node);
  };
  expect(await find('apples')).toMatchObject([{ title: 'Äpfel', entry: { __typename: 'UserEntry' } }]);
  const [found, ...more] = await find('grosse 京都');
  expect(more).toEqual([]);
  expect(found).toMatchObject({
    workstreamId: id,
    superseded: false,
    entry: { __typename: 'AssistantEntry' },
  });
  expect(found!.snippet.filter((piece) => piece.hit).map((piece) => piece.text)).toEqual(['Größe', '京都']);
  const place = found!.historyCursor;
  const older = await other.transport.request(olderQuery, { id, last: 100, before: place });
  const newer = await other.transport.request(newerQuery, { id, first: 100, after: place });
  const [before, after] = [older, newer].map((answer) => {
    if (!answer.ok) throw new Error(answer.failure.message);
    return answer.data.workstream!.history.edges.map((edge) => edge.node.revision);
  });
  const all = (await api.history(id)).map((entry) => entry.revision);
  expect([...before!, found!.entry.revision, ...after!]).toEqual(all);
});
