/** Owns: a real server with more workstreams than the live list begins with: nothing of them is out of reach. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { newKey, type Api } from '../../../e2e/support/api.ts';
import { setBench, type Bench } from './support.ts';

let bench: Bench;
let api: Api;

beforeAll(async () => {
  bench = await setBench();
  ({ api } = await bench.join());
});
afterAll(() => bench.end());

interface Row {
  readonly id: string;
  readonly state: string;
  readonly lifecycle: string;
}
interface Item {
  readonly workstreamStates: {
    readonly __typename: string;
    readonly workstreams?: readonly Row[];
    readonly older?: { readonly after: string; readonly open: boolean; readonly closed: boolean } | null;
    readonly workstream?: Row;
  };
}

const states = `subscription { workstreamStates { __typename
  ... on StatesSnapshot { workstreams { id state lifecycle } older { after open closed } }
  ... on StateChanged { workstream { id state lifecycle } } } }`;

async function lifecycle(verb: 'close' | 'open', id: string): Promise<void> {
  const Verb = verb === 'close' ? 'CloseWorkstreamInput' : 'OpenWorkstreamInput';
  const { data } = await api.query<{ answer: { readonly code?: string } }>(
    `mutation ($input: ${Verb}!) { answer: ${verb}Workstream(input: $input) { ... on Rejection { code } } }`,
    { input: { key: newKey(), workstreamId: id } },
  );
  expect(data?.answer).toEqual({});
}

async function page(filter: 'OPEN' | 'CLOSED' | null, after: string) {
  const { data } = await api.query<{
    workstreams: {
      readonly edges: readonly { readonly node: Row }[];
      readonly pageInfo: { readonly hasNextPage: boolean };
    };
  }>(
    `query ($after: String, $lifecycle: Lifecycle) { workstreams(first: 200, after: $after, filter: { lifecycle: $lifecycle }) {
       edges { node { id state lifecycle } } pageInfo { hasNextPage } } }`,
    { after, lifecycle: filter },
  );
  expect(data!.workstreams.pageInfo.hasNextPage).toBe(false);
  return data!.workstreams.edges.map((edge) => edge.node.id);
}

it('begins the list with the newest 200 and everybody who lives, leads to the rest, and tells of it when it changes', async () => {
  bench.provider.script([
    { stream: ['I ask. ', { call: { name: 'shell', arguments: { command: 'echo hi' } } }] },
  ]);
  const waiting = await api.create({ title: 'Waits' });
  await api.send(waiting, 'Ask me.');
  await api.questions(waiting);
  const closed = await api.create({ title: 'Closed' });
  await lifecycle('close', closed);
  const idle = await api.create({ title: 'Idle' });
  const newer: string[] = [];
  for (let i = 0; i < 202; i += 1) newer.push(await api.create({ title: `Newer ${i}` }));

  const list = api.subscribe<Item>(states);
  const [first] = await list.until((came) => came.length > 0, 'the snapshot');
  const { workstreams, older } = first!.workstreamStates;
  expect(workstreams!.map((row) => row.id)).toEqual([...newer.slice(-200).toReversed(), waiting]);
  expect(workstreams!.at(-1)!.state).toBe('ATTENTION');
  expect(older).toMatchObject({ open: true, closed: true });
  expect(await page('CLOSED', older!.after)).toEqual([closed]);
  expect(await page('OPEN', older!.after)).toEqual([newer[1], newer[0], idle, waiting]);
  expect(await page(null, older!.after)).toEqual([newer[1], newer[0], idle, closed, waiting]);

  await lifecycle('open', closed);
  const told = (came: readonly Item[]) => came.find((i) => i.workstreamStates.workstream?.id === closed);
  const came = await list.until((all) => told(all) !== undefined, 'the one that was opened');
  expect(told(came)!.workstreamStates.workstream).toMatchObject({ lifecycle: 'OPEN' });
  list.stop();

  const again = api.subscribe<Item>(states);
  const [next] = await again.until((all) => all.length > 0, 'another snapshot');
  expect(next!.workstreamStates.older).toMatchObject({ open: true, closed: false });
  again.stop();
  await api.stop(waiting);
  bench.provider.assertDone();
});
