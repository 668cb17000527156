/**
 * Owns: two real servers on one database: who may command what, and what becomes of one that was overtaken (D-4, D-50,
 * D-100, D-101). Does not own: the SQL of the fence (`adapters/storage`).
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { newKey, type Api } from '../../../e2e/support/api.ts';
import { brokenLaws, ofKind } from '../../../e2e/support/journal-laws.ts';
import type { Weir } from '../../../e2e/support/weir.ts';
import { setBench, type Bench } from './support.ts';

let bench: Bench;
let first: { readonly weir: Weir; readonly api: Api };
let second: { readonly weir: Weir; readonly api: Api };

beforeAll(async () => {
  bench = await setBench();
  [first, second] = await Promise.all([bench.join(), bench.join()]);
}, 120_000);
afterAll(() => bench.end());

/** The database id inside a global id. */
const rowOf = (id: string): string => Buffer.from(id, 'base64').toString().split(':')[1]!;

/** A session that is as alive as a row can be, for taking something over by hand. */
async function strangerSession(): Promise<string> {
  const id = `stranger-${newKey()}`;
  await bench.database.sql(
    `insert into node_session (id, node_id, host, started_at, heartbeat_at, expires_at)
     values ($1, $1, 'elsewhere', now(), now(), now() + interval '1 hour')`,
    [id],
  );
  return id;
}

it('answers a command for a workstream that another live server runs OWNER_ELSEWHERE, retryable, and changes nothing (D-101)', async () => {
  const id = await first.api.create();
  bench.provider.script([{ stream: ['I ', { gate: 'mine' }, 'run here.'] }]);
  await first.api.send(id, 'Run.');
  await first.api.waitFor(id, (v) => v.overlay.message?.text === 'I ', 'the first piece');
  const before = await first.api.history(id);
  for (const answer of [
    await second.api.send(id, 'And here?'),
    await second.api.stop(id),
    await second.api.resumeQueue(id),
  ])
    expect(answer).toMatchObject({ code: 'OWNER_ELSEWHERE', retryable: true });
  expect(await first.api.history(id)).toEqual(before);
  expect(await second.api.history(id)).toEqual(before);

  bench.provider.release('mine');
  const { view } = await first.api.waitForState(id, 'IDLE');
  expect(view.projection.turn?.outcome).toMatchObject({ type: 'COMPLETED' });
  expect(view.projection.epoch).toBe(1);
  expect(await second.api.history(id)).toEqual(await first.api.history(id));
  bench.provider.assertDone();
});

it('deposes an owner that was overtaken: its command is not accepted, its feeds can be resumed, nothing it says lands (D-4, D-50)', async () => {
  const id = await first.api.create();
  bench.provider.script([{ stream: ['Before ', { gate: 'overtaken' }, 'the fall.'] }]);
  const sent = await first.api.send(id, 'Run.');
  await first.api.waitFor(id, (v) => v.overlay.message?.text === 'Before ', 'the first piece');
  const { cursor } = await first.api.snapshot(id);
  const feed = first.api.follow(id, cursor);
  await feed.until((came) => came.some((e) => e.item.type === 'Synchronized'), 'Synchronized');
  const before = await first.api.history(id);

  const stranger = await strangerSession();
  await bench.database.sql('update workstream set epoch = epoch + 1, owner_session_id = $2 where id = $1', [
    rowOf(id),
    stranger,
  ]);
  const key = newKey();
  const refused = await first.api.send(id, 'Am I still the owner?', key);
  expect(refused).toMatchObject({ code: 'OWNER_LOST', retryable: true });
  const ended = await feed.until((came) => came.some((e) => e.item.type === 'Ended'), 'the end of the feed');
  expect(ended.at(-1)!.item).toMatchObject({ type: 'Ended', resumable: true });
  await bench.provider.waitForAbort(bench.provider.requests.length);
  expect(await first.api.history(id)).toEqual(before);

  // While the other lives, the same key is turned away; once it has ended, the command is done once.
  expect(await first.api.send(id, 'Am I still the owner?', key)).toMatchObject({
    code: 'OWNER_ELSEWHERE',
    retryable: true,
  });
  await bench.database.sql('update node_session set ended_at = now() where id = $1', [stranger]);
  bench.provider.script([{ stream: [{ gate: 'queued' }, 'Again.'] }, { stream: ['You are.'] }]);
  const accepted = await first.api.send(id, 'Am I still the owner?', key);
  expect(accepted).toMatchObject({ durability: 'DURABLE', disposition: 'QUEUED' });
  bench.provider.release('queued');
  await first.api.waitForState(id, 'IDLE');
  const history = await first.api.history(id);
  expect(history.slice(0, before.length)).toEqual(before);
  expect(ofKind(history, 'USER').map((e) => e.text)).toEqual(['Run.', 'Am I still the owner?']);
  expect(ofKind(history, 'USER')[0]!.id).toBe(sent.messageId);
  expect(ofKind(history, 'ASSISTANT').map((e) => e.text)).toEqual(['Again.', 'You are.']);
  expect(brokenLaws(history, { settled: true })).toEqual([]);
  bench.provider.assertDone();
});

it('takes over, with the next command, what a dead server ran, and carries its turn on (D-22, D-102)', async () => {
  const id = await second.api.create();
  bench.provider.script([{ stream: ['Never ', { gate: 'never' }, 'heard.'] }]);
  await second.api.send(id, 'Run.');
  await bench.provider.waitForGate('never');
  const key = newKey();
  expect(await first.api.send(id, 'Who is there?', key)).toMatchObject({ code: 'OWNER_ELSEWHERE' });

  await second.weir.kill('SIGKILL');
  // What 20 s without a heartbeat would say, said now.
  await bench.database.sql(
    `update node_session set expires_at = now() - interval '1 second'
     where id = (select owner_session_id from workstream where id = $1)`,
    [rowOf(id)],
  );
  bench.provider.script([{ stream: ['First this.'] }, { stream: ['Me.'] }]);
  expect(await first.api.send(id, 'Who is there?', key)).toMatchObject({ durability: 'DURABLE' });
  const { entries, view } = await first.api.waitForState(id, 'IDLE');
  expect(view.projection.epoch).toBe(2);
  expect(ofKind(entries, 'RECOVERY')).toHaveLength(1);
  expect(ofKind(entries, 'ASSISTANT').map((e) => e.text)).toEqual(['First this.', 'Me.']);
  expect(brokenLaws(entries, { settled: true })).toEqual([]);
  bench.provider.assertDone();
});
