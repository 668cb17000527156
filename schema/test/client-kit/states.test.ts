import { expect, it } from 'vitest';
import { followStates, type States } from '../../src/client-kit/states.ts';
import type { WorkstreamStateItem, WorkstreamSummaryModel } from '../../src/model/index.ts';
import { workstreamGlobalId } from '../../src/types/global-id.ts';
import { createInProcess, hastyPace, until } from './support/in-process.ts';

const row: WorkstreamSummaryModel = {
  id: 'w1',
  title: 'T',
  state: 'IDLE',
  stopping: false,
  lifecycle: 'OPEN',
  model: 'demo',
  revision: 4,
  persistence: 'HEALTHY',
  createdAt: '2026-11-30T09:52:03.120Z',
  updatedAt: '2026-11-30T09:52:03.120Z',
};

/** Follows a list that says these items and then stays open. */
const following = (...items: readonly WorkstreamStateItem[]) => subscribing(items);

/** The same, where each subscription says its own items. */
function subscribing(...subscriptions: (readonly WorkstreamStateItem[])[]) {
  const transport = createInProcess({
    workstreams: {
      async *states(signal) {
        yield* subscriptions.shift() ?? [];
        await new Promise((resolve) => {
          signal.addEventListener('abort', resolve);
        });
      },
    },
  });
  const seen: States[] = [];
  const following = followStates({ transport, pace: hastyPace() }, (states) => seen.push(states));
  return { seen, following, transport };
}

it('D-51 shows at once that the server cannot store, and which workstreams are in trouble', async () => {
  const away = {
    status: 'RETRYING',
    nextAttemptAt: '2026-11-30T09:53:00.000Z',
    message: 'Away.',
  } as const;
  const { seen, following: list } = following(
    { type: 'StatesSnapshot', workstreams: [row], older: null },
    { type: 'ServerPersistenceChanged', persistence: { status: 'HEALTHY' } },
    { type: 'ServerPersistenceChanged', persistence: away },
    { type: 'StateChanged', workstream: { ...row, persistence: 'RETRYING' } },
  );
  const id = workstreamGlobalId('w1');
  await until('the row says so', () => seen.at(-1)?.workstreams?.get(id)?.persistence === 'RETRYING');
  list.stop();
  expect(seen[0]!.persistence).toBeNull();
  expect(seen.map((s) => s.persistence?.status)).toContain('HEALTHY');
  expect(seen.at(-1)!.persistence).toEqual(away);
});

it('keeps the row of a snapshot before one that the snapshot has overtaken', async () => {
  const { seen, following: list } = following(
    { type: 'StatesSnapshot', workstreams: [row], older: null },
    { type: 'StateChanged', workstream: { ...row, revision: 3, title: 'older' } },
    { type: 'ServerPersistenceChanged', persistence: { status: 'PENDING' } },
  );
  await until('all was said', () => seen.at(-1)?.persistence?.status === 'PENDING');
  list.stop();
  expect(seen.at(-1)!.workstreams?.get(workstreamGlobalId('w1'))).toMatchObject({ revision: 4, title: 'T' });
});

it('D-51 takes a lower revision for news once something was told since the snapshot: the rest was discarded', async () => {
  const { seen, following: list } = following(
    { type: 'StatesSnapshot', workstreams: [row], older: null },
    { type: 'StateChanged', workstream: { ...row, revision: 7, persistence: 'CONFLICT' } },
    { type: 'StateChanged', workstream: { ...row, revision: 5, title: 'discarded' } },
    { type: 'ServerPersistenceChanged', persistence: { status: 'PENDING' } },
  );
  await until('all was said', () => seen.at(-1)?.persistence?.status === 'PENDING');
  list.stop();
  expect(seen.at(-1)!.workstreams?.get(workstreamGlobalId('w1'))).toMatchObject({
    revision: 5,
    title: 'discarded',
    persistence: 'HEALTHY',
  });
});

it('says of each workstream whether it is open', async () => {
  const { seen, following: list } = following(
    { type: 'StatesSnapshot', workstreams: [row], older: null },
    { type: 'StateChanged', workstream: { ...row, revision: 5, state: 'CLOSED', lifecycle: 'CLOSED' } },
  );
  const lifecycle = () => seen.at(-1)?.workstreams?.get(workstreamGlobalId('w1'))?.lifecycle;
  await until('it is closed', () => lifecycle() === 'CLOSED');
  list.stop();
  expect(seen.flatMap((s) => [...(s.workstreams?.values() ?? [])].map((w) => w.lifecycle))).toContain('OPEN');
});

const other = { ...row, id: 'w2' };
const idsOf = (states: States | undefined) => [...(states?.workstreams?.keys() ?? [])];

it('D-25 drops a deleted workstream, and a change that is told late does not bring it back', async () => {
  const { seen, following: list } = following(
    { type: 'StatesSnapshot', workstreams: [row, other], older: null },
    { type: 'WorkstreamDeleted', workstreamId: 'w1' },
    { type: 'StateChanged', workstream: { ...row, revision: 9 } },
    { type: 'StatesSnapshot', workstreams: [row, other], older: null },
    { type: 'ServerPersistenceChanged', persistence: { status: 'PENDING' } },
  );
  await until('all was said', () => seen.at(-1)?.persistence?.status === 'PENDING');
  list.stop();
  const shown = seen.map((states) => String(idsOf(states))).filter((ids) => ids !== '');
  const [w1, w2] = [workstreamGlobalId('w1'), workstreamGlobalId('w2')];
  expect(shown.filter((ids, i) => ids !== shown[i - 1])).toEqual([`${w1},${w2}`, w2]);
});

it('D-25 a deleted workstream stays away after a reconnect, and one that was deleted meanwhile goes', async () => {
  const {
    seen,
    following: list,
    transport,
  } = subscribing(
    [
      { type: 'StatesSnapshot', workstreams: [row, other], older: null },
      { type: 'WorkstreamDeleted', workstreamId: 'w1' },
    ],
    [
      { type: 'StatesSnapshot', workstreams: [row], older: null },
      { type: 'ServerPersistenceChanged', persistence: { status: 'PENDING' } },
    ],
  );
  await until('one is gone', () => idsOf(seen.at(-1)).length === 1);
  transport.cut();
  await until('the second list was told', () => seen.at(-1)?.persistence?.status === 'PENDING');
  list.stop();
  expect(idsOf(seen.at(-1))).toEqual([]);
});

it('D-25 what is deleted before the first list came is not in it', async () => {
  const { seen, following: list } = following(
    { type: 'WorkstreamDeleted', workstreamId: 'w1' },
    { type: 'StatesSnapshot', workstreams: [row, other], older: null },
  );
  await until('the list is there', () => idsOf(seen.at(-1)).length > 0);
  list.stop();
  expect(idsOf(seen.at(-1))).toEqual([workstreamGlobalId('w2')]);
});
