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
  model: 'demo',
  revision: 4,
  persistence: 'HEALTHY',
  createdAt: '2026-11-30T09:52:03.120Z',
  updatedAt: '2026-11-30T09:52:03.120Z',
};

/** Follows a list that says these items and then stays open. */
function following(...items: readonly WorkstreamStateItem[]) {
  const transport = createInProcess({
    workstreams: {
      async *states(signal) {
        yield* items;
        await new Promise((resolve) => {
          signal.addEventListener('abort', resolve);
        });
      },
    },
  });
  const seen: States[] = [];
  const following = followStates({ transport, pace: hastyPace() }, (states) => seen.push(states));
  return { seen, following };
}

it('D-51 shows at once that the server cannot store, and which workstreams are in trouble', async () => {
  const away = {
    status: 'RETRYING',
    nextAttemptAt: '2026-11-30T09:53:00.000Z',
    message: 'Away.',
  } as const;
  const { seen, following: list } = following(
    { type: 'StatesSnapshot', workstreams: [row] },
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

it('keeps of two rows of one workstream the one of the higher revision', async () => {
  const { seen, following: list } = following(
    { type: 'StatesSnapshot', workstreams: [row] },
    { type: 'StateChanged', workstream: { ...row, revision: 3, title: 'older' } },
    { type: 'ServerPersistenceChanged', persistence: { status: 'PENDING' } },
  );
  await until('all was said', () => seen.at(-1)?.persistence?.status === 'PENDING');
  list.stop();
  expect(seen.at(-1)!.workstreams?.get(workstreamGlobalId('w1'))).toMatchObject({ revision: 4, title: 'T' });
});
