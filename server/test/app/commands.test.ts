import { activityOf, openItems } from 'schema/projection';
import { beforeEach, describe, expect, it } from 'vitest';
import { receiptKeysLoaded } from '../../src/ports/journal.ts';
import { batchOf, receipt } from '../adapters/storage/fixtures.ts';
import { ada, bob, createWorld, newKey, settled, until, type World } from './support/world.ts';

let world: World;
let id: string;
beforeEach(async () => {
  world = await createWorld();
  id = await world.open();
});

const texts = () => world.storage.entries(id).flatMap((e) => (e.kind === 'USER' ? [e.text] : []));
const projection = () => world.registry.peek(id)!.state().projection;
/** So many keys are recorded that no actor knows them all. */
async function crowdKeys(): Promise<void> {
  const claimed = await world.storage.ownership.claim(id, world.sessionId);
  if (claimed.type !== 'claimed') throw new Error(claimed.type);
  const receipts = Array.from({ length: receiptKeysLoaded + 1 }, () => receipt(`ada/${id}`, newKey()));
  await world.storage.journal.commit(batchOf(claimed.workstream, [], { receipts }));
}
/** A turn that asks a person about `count` calls. */
async function asked(count = 1) {
  await world.send(id, 'do it');
  const calls = Array.from({ length: count }, (_, i) => ['shell', `call ${i}`] as const);
  (await until(() => world.model.calls.at(-1))).callTools(...calls);
  await until(() => openItems(projection()).length === count);
  await until(() => world.registry.peek(id)!.state().pending.length === 0);
  return projection().cycles.at(-1)!;
}
const decide = (
  cycle: Awaited<ReturnType<typeof asked>>,
  verdict: 'APPROVED' | 'DENIED',
  more: { by?: typeof ada; n?: number; hash?: string; key?: string; feedback?: string } = {},
) => {
  const item = cycle.items[more.n ?? 0]!;
  return world.services.approvals.decide(more.by ?? ada, {
    key: more.key ?? newKey(),
    workstreamId: id,
    cycleId: cycle.id,
    callId: item.callId,
    argumentsHash: more.hash ?? item.argumentsHash,
    verdict,
    feedback: more.feedback ?? null,
  });
};

describe('Sending', () => {
  it('answers when the message is durable, and says what became of it (D-61)', async () => {
    const sent = await world.send(id, 'hello');
    expect(sent).toMatchObject({
      type: 'Accepted',
      durability: 'DURABLE',
      disposition: 'STARTED',
      revision: 4,
    });
    expect(texts()).toEqual(['hello']);
    expect(await world.send(id, 'more')).toMatchObject({ disposition: 'QUEUED', durability: 'DURABLE' });
  });

  it.each([
    ['nothing', ''],
    ['blanks', ' \n\t '],
    ['what nobody can see', '\u200b \u2066\ufe0f\0\u3164'],
    ['a byte over a megabyte', 'x'.repeat(1_000_001)],
    ['a megabyte of two-byte letters', 'é'.repeat(500_001)],
  ])('%s is refused and changes nothing (D-11)', async (_, text) => {
    expect(await world.send(id, text)).toMatchObject({
      type: 'Rejected',
      code: 'INVALID_INPUT',
      field: 'text',
      retryable: false,
    });
    expect(world.storage.attempts).toEqual([]);
  });

  it('a megabyte exactly, and text no database can hold, is accepted (D-51)', async () => {
    expect(await world.send(id, 'x'.repeat(1_000_000))).toMatchObject({ durability: 'DURABLE' });
    await world.stop(id);
    await until(() => !activityOf(projection()));
    expect(await world.send(id, 'NUL \0 half \ud800')).toMatchObject({ durability: 'DURABLE' });
    expect(texts().at(-1)).toBe('NUL \ufffd half \ufffd');
  });

  it('to what is not there is refused', async () => {
    expect(await world.send('nothing', 'hello')).toMatchObject({ code: 'WORKSTREAM_NOT_FOUND' });
  });

  it('more than twenty behind a turn is refused with the capacity, for now (D-63)', async () => {
    await world.send(id, 'go');
    await Promise.all(Array.from({ length: 20 }, (_, i) => world.send(id, `${i}`)));
    expect(await world.send(id, 'one too many')).toMatchObject({
      code: 'QUEUE_FULL',
      capacity: 20,
      retryable: true,
    });
  });
});

describe('A key', () => {
  it('used again with the same input answers the same and does nothing twice (D-60)', async () => {
    const key = newKey();
    const all = await Promise.all(Array.from({ length: 10 }, () => world.send(id, 'once', ada, key)));
    expect(new Set(all.map((o) => JSON.stringify(o))).size).toBe(1);
    expect(await world.send(id, 'once', ada, key)).toEqual(all[0]);
    expect(texts()).toEqual(['once']);
  });

  it('is remembered by the next process (D-60)', async () => {
    const key = newKey();
    const first = await world.send(id, 'once', ada, key);
    await world.registry.stop(1_000);
    world = await world.restart();
    expect(await world.send(id, 'once', ada, key)).toEqual(first);
    expect(texts()).toEqual(['once']);
  });

  it('used again with other input is refused, in this process and the next (D-60)', async () => {
    const key = newKey();
    await world.send(id, 'one', ada, key);
    const reused = { type: 'Rejected', code: 'KEY_REUSED', retryable: false };
    expect(await world.send(id, 'two', ada, key)).toMatchObject(reused);
    expect(
      await world.services.turns.stop(ada, { key, workstreamId: id, turnId: null, force: false }),
    ).toMatchObject(reused);
    await world.registry.stop(1_000);
    world = await world.restart();
    expect(await world.send(id, 'two', ada, key)).toMatchObject(reused);
    expect(texts()).toEqual(['one']);
  });

  it('is a person’s own, for one workstream (D-60)', async () => {
    const key = newKey();
    await world.send(id, 'hers', ada, key);
    expect(await world.send(id, 'his', bob, key)).toMatchObject({ type: 'Accepted', disposition: 'QUEUED' });
    const other = await world.open();
    expect(await world.send(other, 'elsewhere', ada, key)).toMatchObject({ disposition: 'STARTED' });
  });

  it('of a refusal that may pass can be tried again (D-60)', async () => {
    await world.send(id, 'go');
    await Promise.all(Array.from({ length: 20 }, (_, i) => world.send(id, `${i}`)));
    const key = newKey();
    expect(await world.send(id, 'later', ada, key)).toMatchObject({ code: 'QUEUE_FULL' });
    (await until(() => world.model.calls[0])).answer();
    await until(() => projection().queue.items.length === 0);
    expect(await world.send(id, 'later', ada, key)).toMatchObject({ type: 'Accepted' });
  });
});

describe('While the database is away', () => {
  /** The database goes away after the key was looked up and before the batch is stored. */
  async function sendIntoTheVoid(key: string, text = 'hello') {
    await world.load(id);
    const sending = world.send(id, text, ada, key);
    await until(() => world.registry.peek(id)!.state().pending.length > 0);
    world.storage.goAway();
    await settled();
    return sending;
  }

  it('a command answers PENDING after 5 s, DURABLE when repeated later, and is done once (D-61)', async () => {
    const key = newKey();
    const sending = sendIntoTheVoid(key);
    await settled();
    await settled();
    let answered = false;
    void sending.then(() => (answered = true));
    await world.clock.advance(4_999);
    expect(answered).toBe(false);
    await world.clock.advance(1);
    const first = await sending;
    expect(first).toMatchObject({ type: 'Accepted', durability: 'PENDING', disposition: 'STARTED' });
    // Repeated while it is still away: it joins the first (D-60).
    const again = world.send(id, 'hello', ada, key);
    await settled();
    await world.clock.advance(5_000);
    expect(await again).toEqual(first);
    world.storage.comeBack();
    await world.clock.advance(60_000);
    expect(await world.send(id, 'hello', ada, key)).toEqual({ ...first, durability: 'DURABLE' });
    expect(texts()).toEqual(['hello']);
  });

  it('a command that was pending when the process died is done afresh by its repeat (D-61)', async () => {
    const key = newKey();
    const sending = sendIntoTheVoid(key);
    await settled();
    await world.clock.advance(5_000);
    expect(await sending).toMatchObject({ durability: 'PENDING' });
    world.storage.expire(world.sessionId);
    const next = await world.restart().catch(() => null);
    expect(next).toBeNull();
    world.registry.deposeAll();
    world.storage.comeBack();
    world = await world.restart();
    expect(texts()).toEqual([]);
    expect(await world.send(id, 'hello', ada, key)).toMatchObject({ durability: 'DURABLE' });
    expect(texts()).toEqual(['hello']);
  });

  it('a new command is accepted and pending, since its key is known to be new once the keys were read behind the load (D-61)', async () => {
    await world.load(id);
    await settled();
    world.storage.goAway();
    const key = newKey();
    const sending = world.send(id, 'hello', ada, key);
    await settled();
    await world.clock.advance(5_000);
    expect(await sending).toMatchObject({ type: 'Accepted', durability: 'PENDING' });
    world.storage.comeBack();
    await world.clock.advance(60_000);
    expect(await world.send(id, 'hello', ada, key)).toMatchObject({ durability: 'DURABLE' });
    expect(texts()).toEqual(['hello']);
  });

  it('a new command is refused for now when nobody knows whether its key was used (D-60)', async () => {
    await crowdKeys();
    await world.load(id);
    world.storage.goAway();
    const key = newKey();
    expect(await world.send(id, 'hello', ada, key)).toMatchObject({
      code: 'STORAGE_UNAVAILABLE',
      retryable: true,
    });
    expect(world.registry.peek(id)!.state().pending).toEqual([]);
    world.storage.comeBack();
    expect(await world.send(id, 'hello', ada, key)).toMatchObject({ durability: 'DURABLE' });
  });

  it('a database that never answers is as good as away, after 5 s', async () => {
    await crowdKeys();
    await world.load(id);
    world.storage.hold();
    const sending = world.send(id, 'hello');
    await settled();
    await world.clock.advance(5_000);
    expect(await sending).toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
    world.storage.release();
    await settled();
    expect(texts()).toEqual([]);
  });

  it.each(['refuses', 'hangs'])(
    'Stop gets through when it %s: at once, PENDING, and once (D-1)',
    async (how) => {
      await world.send(id, 'go');
      const call = await until(() => world.model.calls[0]);
      if (how === 'hangs') world.storage.hold();
      else world.storage.goAway();
      const input = { key: newKey(), workstreamId: id, turnId: null, force: false };
      const stopping = world.services.turns.stop(ada, input);
      await settled();
      await world.clock.advance(500);
      expect(call.signal.aborted).toBe(true);
      expect(projection().turn?.phase).toBe('CANCELED');
      await world.clock.advance(5_000);
      const stopped = await stopping;
      expect(stopped).toMatchObject({ type: 'Accepted', durability: 'PENDING', nothingToStop: false });
      world.storage.comeBack();
      world.storage.release();
      const again = world.services.turns.stop(ada, input);
      await settled();
      await world.clock.advance(60_000);
      expect(await again).toEqual({ ...stopped, durability: 'DURABLE' });
      // What runs by now is not what was to be stopped.
      await world.send(id, 'something else');
      expect(await world.services.turns.stop(ada, input)).toEqual({ ...stopped, durability: 'DURABLE' });
      expect(activityOf(projection())).toBe('MODEL');
      await world.registry.stop(1_000);
      world = await world.restart();
      expect(await world.services.turns.stop(ada, input)).toEqual({ ...stopped, durability: 'DURABLE' });
    },
  );
});

describe('A Stop that could not look whether it was done before', () => {
  beforeEach(() => crowdKeys());

  const stop = (key: string, turnId: string | null = null) =>
    world.services.turns.stop(ada, { key, workstreamId: id, turnId, force: false });

  /** Stops while the database is away, and lets it come back. */
  async function stopBlindly(key: string, turnId: string | null = null) {
    await world.load(id);
    world.storage.goAway();
    const stopping = stop(key, turnId);
    await settled();
    await world.clock.advance(500);
    world.storage.comeBack();
    await world.clock.advance(60_000);
    return stopping;
  }

  it('lands also when one of an earlier epoch could not look either (broke: the second receipt was a CONFLICT, D-51)', async () => {
    const key = newKey();
    expect(await stopBlindly(key)).toMatchObject({ nothingToStop: true, durability: 'DURABLE' });
    world.storage.expire(world.sessionId);
    world = await world.restart();
    await world.send(id, 'go');
    expect(await stopBlindly(key)).toMatchObject({ nothingToStop: false, durability: 'DURABLE' });
    expect(world.registry.peek(id)!.persistence()).toEqual({ status: 'HEALTHY' });
    expect(world.registry.peek(id)!.state()).toMatchObject({
      pending: [],
      projection: { turn: { phase: 'CANCELED' } },
    });
    expect(await stop(key)).toMatchObject({ nothingToStop: false });
  });

  it('has used its key (broke: another command was taken under it, D-60)', async () => {
    const key = newKey();
    await stopBlindly(key);
    expect(await world.send(id, 'hello', ada, key)).toMatchObject({ code: 'KEY_REUSED' });
    world.storage.expire(world.sessionId);
    world = await world.restart();
    expect(await world.send(id, 'hello', ada, key)).toMatchObject({ code: 'KEY_REUSED' });
    expect(texts()).toEqual([]);
  });

  it('is not refused for good (broke: one that was recorded was called STALE_TURN, D-60)', async () => {
    await world.send(id, 'go');
    const key = newKey();
    const first = await stop(key, projection().turn!.id);
    world.storage.expire(world.sessionId);
    world = await world.restart();
    await world.send(id, 'something else');
    const turnId = first.type === 'Accepted' ? first.stopped[0]! : '';
    expect(await stopBlindly(key, turnId)).toMatchObject({ code: 'STORAGE_UNAVAILABLE', retryable: true });
    expect(await stop(key, turnId)).toEqual(first);
  });
});

describe('Stopping', () => {
  it('when nothing runs is a calm answer (D-65)', async () => {
    expect(await world.stop(id)).toMatchObject({ type: 'Accepted', stopped: [], nothingToStop: true });
  });

  it('another turn than the one that runs is refused with that one, and stops nothing (D-62)', async () => {
    await world.send(id, 'go');
    const current = projection().turn!.id;
    const input = { key: newKey(), workstreamId: id, turnId: 'an older one', force: false };
    expect(await world.services.turns.stop(ada, input)).toMatchObject({
      code: 'STALE_TURN',
      currentTurnId: current,
    });
    expect(projection().turn?.phase).toBe('RUNNING');
  });
});

describe('Deciding', () => {
  it('approved runs what was shown, with its basis; denied does not run (D-64, I40)', async () => {
    const cycle = await asked(2);
    expect(await decide(cycle, 'APPROVED')).toMatchObject({ type: 'Accepted', durability: 'DURABLE' });
    expect(await decide(cycle, 'DENIED', { n: 1, feedback: 'not that' })).toMatchObject({
      type: 'Accepted',
      cycle: { status: 'SETTLED' },
    });
    const run = await until(() => world.tools.runs[0]);
    expect(run.call).toMatchObject({ callId: cycle.items[0]!.callId, basis: cycle.items[0]!.basis });
    run.end();
    const next = await until(() => world.model.calls[1]);
    expect(next.request.messages.at(-1)).toEqual({ role: 'user', text: 'not that' });
    expect(world.tools.runs).toHaveLength(1);
  });

  it('is won by the first of many; the others get that decision (D-64)', async () => {
    const cycle = await asked();
    const outcomes = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        decide(cycle, i % 2 === 0 ? 'APPROVED' : 'DENIED', { by: i % 2 === 0 ? ada : bob }),
      ),
    );
    expect(outcomes.filter((o) => o.type === 'Accepted')).toHaveLength(1);
    expect(outcomes[1]).toMatchObject({
      code: 'ALREADY_DECIDED',
      decision: { verdict: 'APPROVED', by: { id: 'ada' } },
    });
  });

  it('on a cycle long settled gets the decision that was taken, in the next process too (D-64)', async () => {
    const cycle = await asked();
    await decide(cycle, 'DENIED');
    (await until(() => world.model.calls[1])).answer();
    await until(() => projection().turn?.phase === 'COMPLETED');
    await until(() => world.registry.peek(id)!.state().pending.length === 0);
    const already = { code: 'ALREADY_DECIDED', decision: { verdict: 'DENIED', by: { id: 'ada' } } };
    expect(await decide(cycle, 'APPROVED', { by: bob })).toMatchObject(already);
    await world.registry.stop(1_000);
    world = await world.restart();
    expect(await decide(cycle, 'APPROVED', { by: bob })).toMatchObject(already);
  });

  it('what was superseded by a stop is gone, and nothing runs (I41, I42)', async () => {
    const cycle = await asked();
    await world.stop(id);
    await until(() => projection().turn?.phase === 'CANCELED');
    expect(await decide(cycle, 'APPROVED')).toMatchObject({ code: 'APPROVAL_GONE', currentCycleIds: [] });
    expect(world.tools.runs).toEqual([]);
  });

  it('on what was not shown is refused with what would run (D-62)', async () => {
    const cycle = await asked();
    expect(await decide(cycle, 'APPROVED', { hash: 'another' })).toMatchObject({
      code: 'ARGUMENTS_CHANGED',
      currentHash: cycle.items[0]!.argumentsHash,
    });
    expect(world.tools.runs).toEqual([]);
  });

  it('with feedback of more than 10,000 characters is refused (D-11)', async () => {
    const cycle = await asked();
    expect(await decide(cycle, 'DENIED', { feedback: 'x'.repeat(10_001) })).toMatchObject({
      code: 'INVALID_INPUT',
      field: 'feedback',
    });
    expect(await decide(cycle, 'DENIED', { feedback: 'x'.repeat(10_000) })).toMatchObject({
      type: 'Accepted',
    });
  });

  it('is listed for a person while it is open, and not after', async () => {
    const cycle = await asked();
    const list = () => world.services.approvals.list({ first: 10, after: null });
    expect(await list()).toMatchObject({
      items: [{ workstreamId: id, cycle: { id: cycle.id } }],
      totalCount: 1,
    });
    await decide(cycle, 'DENIED');
    expect(await list()).toMatchObject({ items: [], totalCount: 0 });
  });
});

describe('A held queue', () => {
  it('goes on when it is resumed, and a resume with nothing to do is calm (D-63)', async () => {
    await world.send(id, 'go');
    await world.send(id, 'next');
    await world.stop(id);
    await until(() => projection().queue.held);
    const resume = () => world.services.messages.resumeQueue(ada, { key: newKey(), workstreamId: id });
    expect(await resume()).toMatchObject({ type: 'Accepted', turnId: projection().turn!.id });
    const call = await until(() => world.model.calls.find((c) => !c.signal.aborted));
    expect(call.request.messages.at(-1)?.text).toBe('next');
    call.answer();
    await until(() => projection().turn?.phase === 'COMPLETED');
    expect(await resume()).toMatchObject({ type: 'Accepted', turnId: null });
  });
});
