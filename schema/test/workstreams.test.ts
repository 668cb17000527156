/** What the list of workstreams asks of its port. */
import { parse } from 'graphql';
import { describe, expect, it } from 'vitest';
import type { WorkstreamFilter } from '../src/services.ts';
import { createInProcess } from './client-kit/support/in-process.ts';

const list = parse(
  `query ($filter: WorkstreamFilter) { workstreams(first: 1, filter: $filter) { totalCount edges { node { lifecycle } } } }`,
);

function listing() {
  const asked: WorkstreamFilter[] = [];
  const transport = createInProcess({
    workstreams: {
      list: (_range, filter) => {
        asked.push(filter);
        const items = [
          {
            id: 'w1',
            title: 'T',
            state: 'CLOSED',
            stopping: false,
            lifecycle: 'CLOSED',
            model: 'demo',
            revision: 4,
            persistence: 'HEALTHY',
            createdAt: '2026-11-30T09:52:03.120Z',
            updatedAt: '2026-11-30T09:52:03.120Z',
          },
        ] as const;
        return Promise.resolve({ items, hasNext: true, totalCount: 12 });
      },
    },
  });
  return { asked, transport };
}

describe('the list of workstreams', () => {
  it.each([
    ['nothing is named: both', {}, null],
    ['an empty filter: both', { filter: {} }, null],
    ['a null: both', { filter: { lifecycle: null } }, null],
    ['OPEN', { filter: { lifecycle: 'OPEN' } }, 'OPEN'],
    ['CLOSED', { filter: { lifecycle: 'CLOSED' } }, 'CLOSED'],
  ])('hands on which are asked for: %s', async (_name, variables, lifecycle) => {
    const { asked, transport } = listing();
    expect(await transport.request(list, variables)).toEqual({
      ok: true,
      data: { workstreams: { totalCount: 12, edges: [{ node: { lifecycle: 'CLOSED' } }] } },
    });
    expect(asked).toEqual([{ lifecycle }]);
  });

  it('D-20 cannot be asked for workstreams that are being made', async () => {
    const { asked, transport } = listing();
    const answer = await transport.request(list, { filter: { lifecycle: 'CREATING' } });
    expect(answer).toMatchObject({ ok: false, failure: { code: 'BAD_USER_INPUT' } });
    expect(asked).toEqual([]);
  });
});
