/** Search as a client asks for it. What a text finds is the contract of storage (`contracts/search.ts`). */
import { describe, expect, it } from 'vitest';
import type { Entry } from 'schema/projection';
import { serve, workstreamId } from './harness.ts';

const search = /* GraphQL */ `
  query ($text: String!, $in: ID, $first: Int, $after: String) {
    search(text: $text, workstreamId: $in, first: $first, after: $after) {
      edges {
        cursor
        node {
          workstreamId
          title
          superseded
          historyCursor
          snippet {
            text
            hit
          }
          entry {
            __typename
            revision
            durability
          }
        }
      }
      pageInfo {
        hasNextPage
        hasPreviousPage
        endCursor
      }
    }
  }
`;

interface Found {
  readonly edges: readonly {
    readonly cursor: string;
    readonly node: { readonly historyCursor: string; readonly entry: { readonly revision: number } };
  }[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

const said = (revision: number): Entry => ({
  id: `e${revision}`,
  revision,
  epoch: 1,
  generation: 1,
  lane: null,
  turnId: null,
  at: '2026-11-30T09:52:03.120Z',
  kind: 'USER',
  text: `message ${revision}`,
  author: { id: 'a', name: 'Ann' },
  source: 'MESSAGE',
});

async function served() {
  const served = await serve();
  const entries = [1, 2, 3, 4, 5].map(said);
  served.fake.workstreams.set('w1', { id: 'w1', entries, durableThrough: 5 });
  const find = async (variables: Readonly<Record<string, unknown>>) =>
    ((await served.post(search, variables)).body as { data: { search: Found } }).data.search;
  return { ...served, find };
}

describe('search', () => {
  it('gives what was found, where, and whether it still counts', async () => {
    const { find } = await served();
    const found = await find({ text: 'message', in: workstreamId('w1'), first: 2 });
    expect(found.edges[0]!.node).toMatchObject({
      workstreamId: workstreamId('w1'),
      superseded: false,
      snippet: [{ text: 'message 1', hit: true }],
      entry: { __typename: 'UserEntry', revision: 1, durability: 'DURABLE' },
    });
    expect(found.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: false });
  });

  it('gives a cursor with which history is read on both sides of what was found', async () => {
    const { find, post } = await served();
    const { node } = (await find({ text: 'message' })).edges[2]!;
    const around = await post(
      /* GraphQL */ `
        query ($id: ID!, $place: String!) {
          workstream(id: $id) {
            older: history(last: 9, before: $place) {
              edges {
                node {
                  revision
                }
              }
            }
            newer: history(first: 9, after: $place) {
              edges {
                node {
                  revision
                }
              }
            }
          }
        }
      `,
      { id: workstreamId('w1'), place: node.historyCursor },
    );
    const edges = (revisions: readonly number[]) => ({
      edges: revisions.map((revision) => ({ node: { revision } })),
    });
    expect(node.entry.revision).toBe(3);
    expect(around.body).toEqual({ data: { workstream: { older: edges([1, 2]), newer: edges([4, 5]) } } });
  });

  it('hands a cursor back as the place it stands for', async () => {
    const { find, fake } = await served();
    const { pageInfo } = await find({ text: 'message', first: 2 });
    await find({ text: 'message', after: pageInfo.endCursor });
    expect(fake.calls.filter((call) => call.verb === 'search').map((call) => call.input)).toMatchObject([
      { after: null },
      { after: { at: '2026-11-30T09:52:03.120Z', revision: 2, workstreamId: 'w1' } },
    ]);
  });

  it.each([workstreamId('gone'), 'nonsense', ''])('finds nothing in the workstream %j', async (id) => {
    const { find } = await served();
    expect((await find({ text: 'message', in: id })).edges).toEqual([]);
  });

  it.each([
    ['text', { text: '' }],
    ['after', { text: 'x', after: 'nonsense' }],
    ['first', { text: 'x', first: 0 }],
    ['first', { text: 'x', first: 201 }],
  ])('names the argument `%s` when it is %j', async (argument, variables) => {
    const { post } = await served();
    const { errors } = await post(search, variables);
    expect(errors[0]!.extensions).toMatchObject({ code: 'BAD_USER_INPUT', argument });
  });

  it.each([
    '2026-99-99T99:99:99.999Z 1 w1',
    '2026-11-31T09:52:03.120Z 1 w1',
    '0000-01-01T00:00:00.000Z 1 w1',
    '2026-11-30T24:00:00.000Z 1 w1',
    '2026-11-30T09:52:03.120Z 1 w1 and more',
    '2026-11-30T09:52:03.120Z 9999999999999999 w1',
  ])('takes no cursor of a place that cannot be: %s', async (place) => {
    const { post, fake } = await served();
    const after = Buffer.from(`s${place}`).toString('base64url');
    const { errors } = await post(search, { text: 'x', after });
    expect(errors[0]!.extensions).toMatchObject({ code: 'BAD_USER_INPUT', argument: 'after' });
    expect(fake.calls).toEqual([]);
  });

  it('says that it took too long, and what to do', async () => {
    const { post } = await served();
    const { errors } = await post(search, { text: 'a' });
    expect(errors[0]).toMatchObject({ message: 'Narrow it.', extensions: { code: 'SEARCH_TOO_BROAD' } });
  });

  it('costs what its page may hold', async () => {
    const { post } = await served();
    const page = (n: number) =>
      `p${n}: search(text: "x", first: 200) { edges { node { snippet { text hit } title } } }`;
    const { errors } = await post(`{ ${Array.from({ length: 60 }, (_, n) => page(n)).join(' ')} }`);
    expect(errors[0]!.extensions).toMatchObject({ code: 'OPERATION_TOO_LARGE' });
  });
});
