/**
 * Owns: two real servers on one database: what one does is heard of from the other, on its feeds and its list (D-26,
 * D-101). Does not own: what a look at the database finds (`adapters/storage`), or what is told of it (`app`).
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { newKey, type Api, type Collected } from '../../../e2e/support/api.ts';
import { setBench, type Bench } from './support.ts';

let bench: Bench;
/** Where everything is done, and where it is heard of. */
let there: Api;
let here: Api;
let list: Collected<Told>;

interface Told {
  readonly workstreamStates: {
    readonly __typename: string;
    readonly workstreamId?: string;
    readonly workstream?: {
      readonly id: string;
      readonly title: string;
      readonly state: string;
      readonly lifecycle: string;
    };
  };
}

beforeAll(async () => {
  bench = await setBench();
  [there, here] = (await Promise.all([bench.join(), bench.join()]).then((all) =>
    all.map(({ api }) => api),
  )) as [Api, Api];
  list = here.subscribe<Told>(`subscription {
    workstreamStates {
      __typename
      ... on StateChanged { workstream { id title state lifecycle } }
      ... on WorkstreamDeleted { workstreamId }
    }
  }`);
  await list.until(
    (came) => came.some((e) => e.workstreamStates.__typename === 'StatesSnapshot'),
    'the snapshot',
  );
}, 120_000);
afterAll(() => bench.end());

/** What the list here was told of a workstream, a word each. */
const told = (id: string): readonly string[] =>
  list.events.flatMap(({ workstreamStates: item }) => {
    if (item.workstreamId === id) return ['deleted'];
    if (item.workstream?.id !== id) return [];
    const { lifecycle, state, title } = item.workstream;
    return [`${lifecycle === 'CLOSED' ? lifecycle : state} ${title}`.toLowerCase()];
  });
const hear = (id: string, word: string) => list.until(() => told(id).at(-1) === word, `"${word}" of it`);

async function command(name: string, input: Record<string, unknown>): Promise<void> {
  const type = `${name[0]!.toUpperCase()}${name.slice(1)}Input`;
  const { data, errors } = await there.query<{ readonly done: { readonly __typename: string } }>(
    `mutation ($input: ${type}!) { done: ${name}(input: $input) { __typename ... on Rejection { code message } } }`,
    { input: { key: newKey(), ...input } },
  );
  expect(errors).toEqual([]);
  expect(data?.done.__typename).toMatch(/Payload$/);
}

it('is heard of on the list of the other, each once, the making first: made, renamed, run, closed, opened, deleted (D-26, D-101)', async () => {
  const id = await there.create({ title: 'Made' });
  await hear(id, 'idle made');
  await command('configureWorkstream', { workstreamId: id, title: 'Renamed' });
  await hear(id, 'idle renamed');
  bench.provider.script([{ stream: ['Well', { gate: 'running' }, '.'] }]);
  await there.send(id, 'Run.');
  await hear(id, 'thinking renamed');
  bench.provider.release('running');
  await hear(id, 'idle renamed');
  await command('closeWorkstream', { workstreamId: id });
  await hear(id, 'closed renamed');
  await command('openWorkstream', { workstreamId: id });
  await hear(id, 'idle renamed');
  await command('deleteWorkstream', { workstreamId: id });
  await hear(id, 'deleted');
  const words = told(id);
  expect(words[0]).toBe('idle made');
  expect(words.filter((word) => word.startsWith('closed'))).toHaveLength(1);
  expect(words.filter((word) => word === 'deleted')).toHaveLength(1);
  // A list that begins now knows no more of it, and one that was there hears no more of it.
  const later = await there.create({ title: 'Later' });
  await hear(later, 'idle later');
  expect(told(id)).toEqual(words);
});

it('carries every entry on the feed of the other, durable, once and in order, and ends with the deletion (D-101)', async () => {
  const id = await there.create();
  const { cursor } = await here.snapshot(id);
  const feed = here.follow(id, cursor);
  await feed.until((came) => came.some((e) => e.item.type === 'Synchronized'), 'Synchronized');
  bench.provider.script([{ stream: ['One.'] }, { stream: ['Two.'] }]);
  for (const text of ['First.', 'Second.']) {
    await there.send(id, text);
    await there.waitForState(id, 'IDLE');
  }
  const stored = (await there.history(id)).slice(2);
  await feed.until(
    (came) => came.filter((e) => e.item.type === 'EntryAdmitted').length >= stored.length,
    'all that was stored',
  );
  const admitted = feed.events.flatMap(({ item }) => (item.type === 'EntryAdmitted' ? [item] : []));
  expect(admitted.map((item) => item.entry)).toEqual(stored);
  expect(admitted.every((item) => item.durable)).toBe(true);
  await command('deleteWorkstream', { workstreamId: id });
  const ended = await feed.until((came) => came.some((e) => e.item.type === 'Ended'), 'the end');
  expect(ended.at(-1)!.item).toMatchObject({ type: 'Ended', resumable: false });
  bench.provider.assertDone();
});
