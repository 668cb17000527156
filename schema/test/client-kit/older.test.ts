/** What the list of workstreams shows beyond its snapshot, when what is there moves while it is read. */
import { expect, it } from 'vitest';
import { OLDER_PAGE } from '../../src/client-kit/older.ts';
import { followStates, listedIn, noStates, rowIn, type States } from '../../src/client-kit/states.ts';
import type { WorkstreamStateItem, WorkstreamSummaryModel } from '../../src/model/index.ts';
import { workstreamGlobalId } from '../../src/types/global-id.ts';
import { createInProcess, hastyPace, until } from './support/in-process.ts';

type Lifecycle = WorkstreamSummaryModel['lifecycle'];

const newest = 3;

/** A server with so many workstreams, the newest open and `w0`, every second older one closed. */
function serving(count: number) {
  let rows: readonly WorkstreamSummaryModel[] = Array.from({ length: count }, (_, i) => ({
    id: `w${i}`,
    title: `T${i}`,
    state: 'IDLE',
    stopping: false,
    lifecycle: i >= newest && i % 2 === 1 ? 'CLOSED' : 'OPEN',
    model: 'demo',
    revision: 4,
    persistence: 'HEALTHY',
    // Three of each moment: the id decides.
    createdAt: new Date(Date.UTC(2026, 10, 30) - Math.floor(i / 3) * 1000).toISOString(),
    updatedAt: '2026-11-30T09:52:03.120Z',
  }));
  rows = rows.toSorted((a, b) => (before(a, b) ? 1 : -1));
  let listeners: ((item: WorkstreamStateItem) => void)[] = [];
  const say = (item: WorkstreamStateItem) => {
    for (const listener of listeners) listener(item);
  };
  /** What is waited for before the next page is answered. */
  let gate = Promise.resolve();
  const pages: (Lifecycle | null)[] = [];
  const transport = createInProcess({
    workstreams: {
      async list({ first, after }, { lifecycle }) {
        pages.push(lifecycle);
        const there = rows.filter(
          (row) =>
            (lifecycle === null || row.lifecycle === lifecycle) &&
            (after === null || before(row, { createdAt: after.at, id: after.id })),
        );
        await gate;
        return { items: there.slice(0, first), hasNext: there.length > first, totalCount: 0 };
      },
      async *states(signal) {
        const items: WorkstreamStateItem[] = [];
        let wake = (): void => undefined;
        listeners = [
          (item) => {
            items.push(item);
            wake();
          },
        ];
        const [last, rest] = [rows[newest - 1]!, rows.slice(newest)];
        yield {
          type: 'StatesSnapshot',
          workstreams: rows.slice(0, newest),
          older: {
            after: { at: last.createdAt, id: last.id },
            open: rest.some((row) => row.lifecycle === 'OPEN'),
            closed: rest.some((row) => row.lifecycle === 'CLOSED'),
          },
        };
        signal.addEventListener('abort', () => {
          wake();
        });
        while (!signal.aborted) {
          const item = items.shift();
          if (item) yield item;
          else await new Promise<void>((resolve) => (wake = resolve));
        }
      },
    },
  });
  let last: States = noStates;
  const seen: States[] = [];
  const list = followStates({ transport, pace: hastyPace() }, (states) => {
    last = states;
    seen.push(states);
  });
  return {
    list,
    transport,
    pages,
    seen,
    now: () => last,
    /** Ids that this list shows, and those that the server would list. */
    shows: (listing: 'OPEN' | 'CLOSED' | 'ALL') => sortedIds(listedIn(last, listing).map((row) => row.id)),
    has: (listing: 'OPEN' | 'CLOSED' | 'ALL') =>
      sortedIds(
        rows
          .filter((row) => listing === 'ALL' || row.lifecycle === listing)
          .map((row) => workstreamGlobalId(row.id)),
      ),
    /** What happened to a workstream; told of it unless nobody hears. */
    becomes(id: string, lifecycle: Lifecycle) {
      rows = rows.map((row) => (row.id === id ? { ...row, lifecycle, revision: row.revision + 1 } : row));
      say({ type: 'StateChanged', workstream: rows.find((row) => row.id === id)! });
    },
    delete(id: string) {
      rows = rows.filter((row) => row.id !== id);
      say({ type: 'WorkstreamDeleted', workstreamId: id });
    },
    hold() {
      let open = (): void => undefined;
      gate = new Promise((resolve) => (open = resolve));
      return () => {
        open();
      };
    },
    async reads(listing: 'OPEN' | 'CLOSED' | 'ALL') {
      list.loadOlder(listing);
      await until(`${listing} is read`, () => ['MORE', 'END'].includes(last.older[listing].status));
    },
  };
}

/** Whether a row comes after another one where the newest is first. */
function before(
  row: Pick<WorkstreamSummaryModel, 'createdAt' | 'id'>,
  other: Pick<WorkstreamSummaryModel, 'createdAt' | 'id'>,
): boolean {
  return row.createdAt === other.createdAt ? row.id < other.id : row.createdAt < other.createdAt;
}

const sortedIds = (ids: readonly string[]) => ids.toSorted();

it('reads each list to its end, page by page, and has each workstream once', async () => {
  const server = serving(5 * OLDER_PAGE);
  await until('the snapshot is there', () => server.now().workstreams !== null);
  expect(server.shows('ALL')).toHaveLength(newest);
  for (const listing of ['CLOSED', 'OPEN', 'ALL'] as const) {
    expect(server.now().older[listing].status).toBe('MORE');
    while (server.now().older[listing].status === 'MORE') await server.reads(listing);
    expect(server.shows(listing)).toEqual(server.has(listing));
  }
  const read = server.pages.length;
  server.list.loadOlder('ALL');
  expect(server.now().older.ALL.status).toBe('END');
  server.list.stop();
  expect([read, server.pages.length]).toEqual([11, 11]);
});

it('has what moved between two pages where it is now, and nothing twice', async () => {
  const server = serving(5 * OLDER_PAGE);
  await until('the snapshot is there', () => server.now().workstreams !== null);
  await server.reads('CLOSED');
  // Some that were read, some that were not: each would shift a page that is counted.
  for (const id of ['w5', 'w7', 'w401', 'w403']) server.becomes(id, 'OPEN');
  for (const id of ['w6', 'w8', 'w400', 'w402', 'w404']) server.becomes(id, 'CLOSED');
  for (const id of ['w9', 'w405']) server.delete(id);
  while (server.now().older.CLOSED.status !== 'END') await server.reads('CLOSED');
  await until('all is told', () => String(server.shows('CLOSED')) === String(server.has('CLOSED')));
  while (server.now().older.ALL.status !== 'END') await server.reads('ALL');
  server.list.stop();
  expect(server.shows('CLOSED')).toEqual(server.has('CLOSED'));
  expect(server.shows('ALL')).toEqual(server.has('ALL'));
  expect(server.shows('OPEN')).toContain(workstreamGlobalId('w401'));
});

it('D-25 does not show what was deleted while its page was on its way', async () => {
  const server = serving(50);
  await until('the snapshot is there', () => server.now().workstreams !== null);
  const open = server.hold();
  server.list.loadOlder('ALL');
  server.delete('w20');
  server.becomes('w0', 'CLOSED');
  const told = () => server.now().workstreams?.get(workstreamGlobalId('w0'))?.lifecycle === 'CLOSED';
  await until('it was told', told);
  open();
  await until('the page is there', () => server.now().older.ALL.status === 'END');
  server.list.stop();
  expect(server.shows('ALL')).toEqual(server.has('ALL'));
});

it('reads again as far as it was after another snapshot, and shows what it had until then', async () => {
  const server = serving(5 * OLDER_PAGE);
  await until('the snapshot is there', () => server.now().workstreams !== null);
  await server.reads('OPEN');
  await server.reads('OPEN');
  const had = server.shows('OPEN').length;
  const from = server.seen.length;
  server.transport.down = true;
  server.transport.cut();
  server.becomes('w10', 'CLOSED');
  server.delete('w12');
  server.becomes('w11', 'OPEN');
  server.transport.connect();
  const since = () => server.seen.slice(from).map(({ older }) => older.OPEN.status);
  await until('it has read again', () => since().includes('LOADING') && since().at(-1) === 'MORE');
  for (const states of server.seen.slice(from))
    expect(listedIn(states, 'OPEN').length).toBeGreaterThanOrEqual(had - 2);
  const ids = server.shows('OPEN');
  expect(ids).not.toContain(workstreamGlobalId('w10'));
  expect(ids).not.toContain(workstreamGlobalId('w12'));
  expect(ids).toContain(workstreamGlobalId('w11'));
  while (server.now().older.OPEN.status !== 'END') await server.reads('OPEN');
  server.list.stop();
  expect(server.shows('OPEN')).toEqual(server.has('OPEN'));
});

it('says why a page could not be read, keeps what it has, and reads it when asked again', async () => {
  const server = serving(3 * OLDER_PAGE);
  await until('the snapshot is there', () => server.now().workstreams !== null);
  await server.reads('ALL');
  const had = server.shows('ALL');
  server.transport.down = true;
  server.list.loadOlder('ALL');
  await until('it failed', () => server.now().older.ALL.status === 'FAILED');
  expect(server.now().older.ALL.failure?.message).toBe('The connection to the server was lost.');
  expect(server.shows('ALL')).toEqual(had);
  server.transport.down = false;
  while (server.now().older.ALL.status !== 'END') await server.reads('ALL');
  server.list.stop();
  expect(server.now().older.ALL.failure).toBeNull();
  expect(server.shows('ALL')).toEqual(server.has('ALL'));
});

it('says that there is no such workstream only once it has read them all', async () => {
  const server = serving(50);
  const never = workstreamGlobalId('never');
  expect(rowIn(server.now(), never)).toBeUndefined();
  await until('the snapshot is there', () => server.now().workstreams !== null);
  expect(rowIn(server.now(), never)).toBeUndefined();
  expect(rowIn(server.now(), workstreamGlobalId('w0'))).toMatchObject({ title: 'T0' });
  await server.reads('ALL');
  server.list.stop();
  expect(rowIn(server.now(), workstreamGlobalId('w40'))).toMatchObject({ title: 'T40' });
  expect(rowIn(server.now(), never)).toBeNull();
});
