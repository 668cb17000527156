/**
 * Owns: search on a real server, from a message that was sent to the place in history that is jumped to. Does not own:
 * what a text finds (`contracts/search.ts`).
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { aroundQuery, searchQuery } from '../../../schema/src/client-kit/operations.ts';
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
  const around = await other.transport.request(aroundQuery, {
    id,
    place: found!.historyCursor,
    before: 100,
    after: 100,
  });
  if (!around.ok) throw new Error(around.failure.message);
  const revisions = (side: 'older' | 'newer') =>
    around.data.workstream![side].edges.map((edge) => edge.node.revision);
  const all = (await api.history(id)).map((entry) => entry.revision);
  expect([...revisions('older'), found!.entry.revision, ...revisions('newer')]).toEqual(all);
});
