/** A client can build the shared projection from the API without loss (D-58). */
import { graphql } from 'graphql';
import { describe, expect, it } from 'vitest';
import { createFakeServices, viewer } from '../../server/test/support/fake-services.ts';
import {
  applyEntries,
  emptyProjection,
  viewOf,
  type Entry,
  type Overlay,
  type Projection,
} from '../src/projection/index.ts';
import { schema } from '../src/schema.ts';
import { asSeen, foldAsSeen } from './as-seen.ts';
import { sampleEntries } from './sample-entries.ts';
import { selectAll } from './select-all.ts';

type Json = Record<string, unknown>;

/** What any client does with an answer: drop `__typename`, take `entryId` and `watchId` for the id of an entry and a watch, and name all as the fold does. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  const { __typename: _, ...rest } = value as Json;
  const fields = Object.fromEntries(Object.entries(rest).map(([k, v]) => [k, plain(v)]));
  if ('lastFire' in fields) {
    const { watchId: id, ...watch } = fields;
    return { ...watch, id };
  }
  if (!('entryId' in fields)) return fields;
  const { entryId, durability: __, tokensBefore: before, tokensAfter: after, ...entry } = fields;
  return { ...entry, id: entryId, ...(before !== undefined && { before, after }) };
}

function setup() {
  const fake = createFakeServices();
  fake.workstreams.set('w1', { id: 'w1', entries: sampleEntries, durableThrough: 10 });
  const id = Buffer.from('Workstream:w1').toString('base64url');
  const run = async (source: string, variableValues: Json = {}): Promise<Json> => {
    const result = await graphql({
      schema,
      source,
      variableValues,
      contextValue: {
        services: fake.services,
        viewer: viewer('good'),
        caller: new AbortController().signal,
      },
    });
    expect(result.errors).toBeUndefined();
    return result.data as Json;
  };
  return { fake, id, run };
}

const all = selectAll(schema, schema.getType('Workstream')!);

describe('a workstream over the API', () => {
  it('gives every kind of entry with all of its parts (D-58)', async () => {
    const { id, run } = setup();
    const { workstream } = await run(`query ($id: ID!) { workstream(id: $id) ${all} }`, { id });
    const { history } = workstream as { history: { edges: { node: Json }[] } };
    expect(history.edges.map((e) => plain(e.node))).toEqual(sampleEntries.map(asSeen));
    expect(history.edges.map((e) => e.node['durability'])).toEqual(
      sampleEntries.map((e) => (e.revision <= 10 ? 'DURABLE' : 'PENDING')),
    );
  });

  it('gives the durable fold and the pending entries from which a follower starts (D-55, D-58)', async () => {
    const { id, run } = setup();
    const { workstream } = await run(`query ($id: ID!) { workstream(id: $id) ${all} }`, { id });
    const w = plain(workstream) as Json & {
      durable: Projection;
      pending: Entry[];
      overlay: Json;
      epoch: number;
    };
    const overlay: Overlay = {
      message: w.overlay['message'] as Overlay['message'],
      tools: Object.fromEntries(
        (w.overlay['tools'] as { callId: string; offset: number; text: string }[]).map(
          ({ callId, ...output }) => [callId, output],
        ),
      ),
    };
    expect(w.durable).toEqual(applyEntries(emptyProjection, sampleEntries.slice(0, 10)));
    expect(w.pending).toEqual(sampleEntries.slice(10).map(asSeen));
    expect(w).toMatchObject({ titleSource: 'PERSON', origin: { title: 'Source', revision: 7 } });
    expect(w['superseded']).toEqual([{ after: 1, through: 2 }]);
    const view = viewOf(w.durable, w.pending, w.epoch, overlay);
    expect(view.projection).toEqual(foldAsSeen(applyEntries(emptyProjection, sampleEntries)));
    expect(view.overlay.tools).toEqual({ k1: { offset: 5, text: 'tail' } });
    expect(w['revision']).toBe(view.projection.revision);
    expect(w['durableThrough']).toBe(view.base.revision);
  });

  it('gives no entry above its own revision when one is accepted between two reads of one operation (D-58)', async () => {
    const { fake, id, run } = setup();
    const workstream = fake.workstreams.get('w1')!;
    const page = fake.services.history.page.bind(fake.services.history);
    const later: Entry = { ...sampleEntries[3]!, id: 'e18', revision: 18 };
    fake.services.history.page = (...args) => {
      workstream.entries = [...sampleEntries, later];
      return page(...args);
    };
    const result = await run(
      `query ($id: ID!) { workstream(id: $id) { revision feedCursor
         newest: history(last: 2) { revision cursor edges { node { revision } } pageInfo { hasNextPage } }
         forward: history(first: 200) { edges { node { revision } } pageInfo { hasNextPage } } } }`,
      { id },
    );
    const w = result['workstream'] as Record<string, Json & { edges: { node: { revision: number } }[] }>;
    expect(w['newest']!.edges.map((e) => e.node.revision)).toEqual([16, 17]);
    for (const connection of [w['newest']!, w['forward']!]) {
      expect(connection.edges.at(-1)!.node.revision).toBe(17);
      expect(connection['pageInfo']).toEqual({ hasNextPage: false });
    }
    expect(w['newest']!['cursor']).toBe(w['feedCursor']);
  });

  it('pages history both ways, oldest first, each entry once (D-53)', async () => {
    const { id, run } = setup();
    const seen: number[] = [];
    let before: string | null = null;
    do {
      const { workstream } = (await run(
        `query ($id: ID!, $before: String) { workstream(id: $id) { history(last: 5, before: $before) {
           edges { node { revision } } pageInfo { hasPreviousPage startCursor } } } }`,
        { id, before },
      )) as { workstream: { history: { edges: { node: { revision: number } }[]; pageInfo: Json } } };
      seen.unshift(...workstream.history.edges.map((e) => e.node.revision));
      before = workstream.history.pageInfo['hasPreviousPage']
        ? (workstream.history.pageInfo['startCursor'] as string)
        : null;
    } while (before !== null);
    expect(seen).toEqual(sampleEntries.map((e) => e.revision));
  });

  it('finds workstreams and entries by their global ids, and nothing by any other text', async () => {
    const { id, run } = setup();
    const { workstream } = (await run(
      `query ($id: ID!) { workstream(id: $id) { history(first: 1) { edges { node { id } } } } }`,
      { id },
    )) as { workstream: { history: { edges: { node: { id: string } }[] } } };
    const entryId = workstream.history.edges[0]!.node.id;
    const gone = Buffer.from('Entry:w1:1:other').toString('base64url');
    const { nodes } = await run(
      `query ($ids: [ID!]!) { nodes(ids: $ids) { __typename id ... on Entry { entryId } } }`,
      { ids: [id, entryId, gone, '', '💥', 'x'.repeat(1_000), Buffer.from('Turn:t1').toString('base64url')] },
    );
    expect(nodes).toEqual([
      { __typename: 'Workstream', id },
      { __typename: 'LifecycleEntry', id: entryId, entryId: 'e1' },
      null,
      null,
      null,
      null,
      null,
    ]);
  });
});
