/**
 * Owns: closing, opening, deleting, forking, naming and resting workstreams, case by case (D-20 to D-26). What holds in
 * any life is `lifecycle-model.test.ts`.
 */
import type { WorkstreamStateItem } from 'schema/model';
import { liveTurn } from 'schema/projection';
import { beforeEach, describe, expect, it } from 'vitest';
import { titleOfFork } from '../../src/app/services/fork.ts';
import { StorageUnavailableError } from '../../src/ports/storage-unavailable.ts';
import {
  ada,
  attach,
  bob,
  createWorld,
  newKey,
  plain,
  settled,
  unchanged,
  until,
  waits,
  type World,
} from './support/world.ts';

let world: World;
let id: string;
beforeEach(async () => {
  world = await createWorld();
  id = await world.open();
});

const close = (key = newKey(), by = ada) => world.services.workstreams.close(by, { key, workstreamId: id });
const open = (key = newKey()) => world.services.workstreams.open(ada, { key, workstreamId: id });
const remove = (key = newKey(), by = ada) => world.services.workstreams.delete(by, { key, workstreamId: id });
const fork = (revision: number | null = null, of = id) =>
  world.services.workstreams.fork(
    ada,
    { key: newKey(), workstreamId: of, revision, title: null, workspace: null },
    waits,
  );
const rewind = (messageId: string, turnId: string | null) =>
  world.services.messages.rewind(ada, { key: newKey(), workstreamId: id, messageId, turnId });
const projection = () => world.registry.peek(id)!.state().projection;
const call = (n: number) => until(() => world.model.calls[n]);
const kinds = () => world.storage.entries(id).map((e) => e.kind);

/** Says something and is answered. */
async function talk(text: string, answer: string): Promise<string> {
  const n = world.model.calls.length;
  const sent = await world.send(id, text);
  (await call(n)).answer({ text: answer });
  await until(() => liveTurn(projection()) === null && projection());
  await settled();
  return sent.type === 'Accepted' ? sent.messageId : '';
}

function list() {
  const items: WorkstreamStateItem[] = [];
  const controller = new AbortController();
  void (async () => {
    for await (const item of world.services.workstreams.states(controller.signal)) items.push(item);
  })();
  return {
    items,
    of: (wanted: string) =>
      items.flatMap((item) =>
        item.type === 'WorkstreamDeleted' && item.workstreamId === wanted
          ? ['DELETED']
          : item.type === 'StateChanged' && item.workstream.id === wanted
            ? [item.workstream.lifecycle]
            : [],
      ),
    stop: () => controller.abort(),
  };
}

describe('Closing', () => {
  it('during a turn stops it, stores its end and then CLOSED, and leaves memory (D-23)', async () => {
    await world.send(id, 'go');
    (await call(0)).text('half');
    expect(await close()).toMatchObject({ type: 'Accepted', durability: 'DURABLE', lifecycle: 'CLOSED' });
    const stored = world.storage.entries(id);
    expect(stored.at(-1)).toMatchObject({ kind: 'LIFECYCLE', lifecycle: 'CLOSED', by: { id: 'ada' } });
    expect(stored.findLast((e) => e.kind === 'TURN')?.turn.phase).toBe('CANCELED');
    expect(world.registry.peek(id)).toBeNull();
    await until(() => world.storage.owner(id) === null);
    expect(await world.send(id, 'more')).toMatchObject({ code: 'WORKSTREAM_CLOSED' });
  });

  it('of what cannot be stored is refused, and the running turn goes on (D-23)', async () => {
    await world.send(id, 'go');
    const model = await call(0);
    world.storage.goAway();
    void world.send(id, 'later');
    await settled();
    const closing = close();
    await settled();
    await world.clock.advance(2_000);
    expect(await closing).toMatchObject({ code: 'JOURNAL_UNSETTLED', turnStopped: false, retryable: true });
    expect(model.signal.aborted).toBe(false);
    expect(world.registry.peek(id)!.state()).toMatchObject({ closing: false });
    expect(projection()).toMatchObject({ lifecycle: 'OPEN', turn: { phase: 'RUNNING' } });
  });

  it('whose turn’s end is not stored in 2 s says so, and leaves the door open (D-23)', async () => {
    await world.send(id, 'go');
    await call(0);
    const key = newKey();
    const closing = close(key);
    await until(() => world.registry.peek(id)!.state().closing);
    world.storage.goAway();
    await settled();
    await world.clock.advance(2_000);
    expect(await closing).toMatchObject({ code: 'JOURNAL_UNSETTLED', turnStopped: true });
    expect(projection()).toMatchObject({ lifecycle: 'OPEN', turn: { phase: 'CANCELED' } });
    world.storage.comeBack();
    await world.clock.advance(60_000);
    expect(await close(key)).toMatchObject({ type: 'Accepted', lifecycle: 'CLOSED' });
  });

  it('that is itself not stored in 2 s is announced as open again, and so it is stored (D-8, D-23)', async () => {
    const follower = attach(world, id, null);
    await world.load(id);
    await follower.item('Synchronized');
    await settled();
    const key = newKey();
    const closing = close(key);
    world.storage.goAway();
    await until(() => projection().lifecycle === 'CLOSED');
    await world.clock.advance(2_000);
    expect(await closing).toMatchObject({ code: 'JOURNAL_UNSETTLED', turnStopped: false });
    expect(projection().lifecycle).toBe('OPEN');
    world.storage.comeBack();
    await world.clock.advance(60_000);
    expect(kinds().slice(-2)).toEqual(['LIFECYCLE', 'LIFECYCLE']);
    const said = follower.items.flatMap((i) =>
      i.type === 'EntryAdmitted' && i.entry.kind === 'LIFECYCLE' ? [i.entry.lifecycle] : [],
    );
    expect(said).toEqual(['CLOSED', 'OPEN']);
    // Its key did not keep an answer that was taken back.
    expect(await close(key)).toMatchObject({ type: 'Accepted', lifecycle: 'CLOSED' });
    follower.cut();
  });

  it('forces a turn that does not stop, after 10 s, and refuses new messages meanwhile (D-23, D-66)', async () => {
    world.model.ignoreAborts();
    await world.send(id, 'go');
    await call(0);
    const closing = close();
    await until(() => world.registry.peek(id)!.state().closing);
    expect(await world.send(id, 'more')).toMatchObject({ code: 'CLOSING', retryable: true });
    await world.clock.advance(10_000);
    expect(await closing).toMatchObject({ type: 'Accepted', lifecycle: 'CLOSED' });
  });

  it('opened again it is told at once what its watches have said (D-84; broke: up to 10 s later)', async () => {
    const change = (what: 'close' | 'open') =>
      world.services.workstreams[what](ada, { key: newKey(), workstreamId: id });
    expect(await change('close')).toMatchObject({ type: 'Accepted' });
    expect(world.toldAtOnce).toEqual([]);
    expect(await change('open')).toMatchObject({ type: 'Accepted' });
    expect(world.toldAtOnce).toEqual([id]);
  });

  it('twice at once closes once; opened again it goes on (D-26)', async () => {
    const both = await Promise.all([close(), close(newKey(), bob)]);
    expect(both).toMatchObject([{ lifecycle: 'CLOSED' }, { lifecycle: 'CLOSED' }]);
    expect(world.storage.entries(id).filter((e) => e.kind === 'LIFECYCLE')).toHaveLength(2);
    expect(await open()).toMatchObject({ type: 'Accepted', lifecycle: 'OPEN' });
    expect(await world.send(id, 'go')).toMatchObject({ disposition: 'STARTED' });
  });
});

describe('Deleting', () => {
  it.each([
    ['loaded', () => world.load(id)],
    ['unloaded', () => Promise.resolve()],
    ['in a turn', () => world.send(id, 'go').then(() => call(0))],
    ['closed', () => close()],
    [
      'quarantined',
      () => Promise.all([1, 2, 3].map(() => world.storage.ownership.recordFailedLoad(id, 'x'))),
    ],
  ] as const)(
    'one that is %s takes it away whole, and says so once, after its creation (D-25, D-26)',
    async (_, prepare) => {
      const states = list();
      const follower = attach(world, id, null);
      await until(() => states.items.length > 0);
      await follower.item('Synchronized');
      await prepare();
      const key = newKey();
      expect(await remove(key)).toMatchObject({ type: 'Accepted', durability: 'DURABLE', workstreamId: id });
      expect(await follower.item('Ended')).toMatchObject({ resumable: false });
      await until(() => states.of(id).includes('DELETED'));
      await world.clock.advance(60_000);
      expect(states.of(id).filter((word) => word === 'DELETED')).toHaveLength(1);
      expect(states.of(id).at(-1)).toBe('DELETED');
      expect([world.registry.peek(id), world.storage.rows, await world.services.workstreams.get(id)]).toEqual(
        [null, 0, null],
      );
      expect(await remove(key)).toMatchObject({ type: 'Accepted', workstreamId: id });
      expect(await remove()).toMatchObject({ code: 'WORKSTREAM_NOT_FOUND' });
      expect(await world.send(id, 'hi')).toMatchObject({ code: 'WORKSTREAM_NOT_FOUND' });
      states.stop();
    },
  );

  it('twice at once deletes once', async () => {
    const outcomes = await Promise.all([remove(), remove(newKey(), bob)]);
    expect(outcomes.map((o) => ('code' in o ? o.code : o.type)).toSorted()).toEqual([
      'Accepted',
      'WORKSTREAM_NOT_FOUND',
    ]);
  });

  it('under one key at two servers at once is accepted by both (D-60)', async () => {
    const { remove: removeStored } = world.storage.removal;
    const key = newKey();
    const there = await world.restart('there');
    // The other one is quicker, when this one has found it there.
    Object.assign(world.storage.removal, {
      remove: async (asked: Parameters<typeof removeStored>[0]) => {
        Object.assign(world.storage.removal, { remove: removeStored });
        expect(await there.services.workstreams.delete(ada, { key, workstreamId: id })).toMatchObject({
          type: 'Accepted',
        });
        return removeStored(asked);
      },
    });
    expect(await remove(key)).toMatchObject({ type: 'Accepted', workstreamId: id });
    expect(await remove()).toMatchObject({ code: 'WORKSTREAM_NOT_FOUND' });
  });

  it('under one key is accepted by a server that finds it done by another one since it looked (D-60)', async () => {
    const { get } = world.storage.catalog;
    const key = newKey();
    const there = await world.restart('there');
    Object.assign(world.storage.catalog, {
      get: async (asked: string) => {
        Object.assign(world.storage.catalog, { get });
        expect(await there.services.workstreams.delete(ada, { key, workstreamId: id })).toMatchObject({
          type: 'Accepted',
        });
        return get(asked);
      },
    });
    expect(await remove(key)).toMatchObject({ type: 'Accepted', workstreamId: id });
  });

  it('during a load waits for it; what asked for the load is done before, and goes with the rest (D-22, D-25)', async () => {
    world.storage.hold();
    const sending = world.send(id, 'hi');
    const removing = remove();
    await settled();
    world.storage.release();
    expect(await removing).toMatchObject({ type: 'Accepted' });
    expect(await sending).toMatchObject({ type: 'Accepted' });
    expect(await world.send(id, 'hi')).toMatchObject({ code: 'WORKSTREAM_NOT_FOUND' });
    expect([world.registry.peek(id), world.storage.rows]).toEqual([null, 0]);
  });

  it('whose answer was lost is settled by reading, and said once (D-25)', async () => {
    await world.load(id);
    await settled();
    const states = list();
    await until(() => states.items.length > 0);
    world.storage.loseAnswers();
    expect(await remove()).toMatchObject({ type: 'Accepted', workstreamId: id });
    await world.clock.advance(120_000);
    expect(states.of(id)).toEqual(['DELETED']);
    states.stop();
  });

  it('while a Stop finds it gone first is still said once (D-25, D-26)', async () => {
    await world.send(id, 'go');
    await call(0);
    const said: string[] = [];
    world.hub.onDeleted((gone) => said.push(gone));
    const actor = world.registry.peek(id)!;
    const { removal } = world.storage;
    const { remove: removing } = removal;
    let answer = (): void => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    Object.assign(removal, {
      remove: async (...args: Parameters<typeof removing>) => {
        const outcome = await removing(...args);
        // Deleted, and the answer is on its way: what the actor stores meanwhile is fenced.
        void world.stop(id);
        await until(() => actor.ended() === 'gone');
        await answered;
        return outcome;
      },
    });
    const deleting = remove();
    await until(() => said.length > 0);
    answer();
    expect(await deleting).toMatchObject({ type: 'Accepted' });
    await world.clock.advance(60_000);
    expect(said).toEqual([id]);
  });

  it('that nobody knew of and two look for at once is said once (D-25, D-26)', async () => {
    const said: string[] = [];
    world.hub.onDeleted((gone) => said.push(gone));
    const { removal } = world.storage;
    const { remove: removing } = removal;
    Object.assign(removal, {
      remove: async (...args: Parameters<typeof removing>) => {
        await removing(...args);
        world.storage.goAway();
        throw new StorageUnavailableError('lost');
      },
    });
    const key = newKey();
    expect(await remove(key)).toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
    world.storage.comeBack();
    world.storage.hold();
    // The round looks, and so does whoever repeats it.
    void world.clock.advance(1_000);
    await until(() => world.storage.heldCalls === 1);
    const again = remove(key);
    await until(() => world.storage.heldCalls === 2);
    world.storage.release();
    expect(await again).toMatchObject({ type: 'Accepted', workstreamId: id });
    await world.clock.advance(60_000);
    expect(said).toEqual([id]);
  });

  it('that fails when the turn is stopped already does not say that nothing was done (D-11)', async () => {
    await world.send(id, 'go');
    await call(0);
    const removing = remove();
    await until(() => world.registry.peek(id)!.state().closing);
    world.storage.goAway();
    await settled();
    await world.clock.advance(2_000);
    const message =
      'The database does not answer, so the workstream was not deleted; its turn was stopped. Try again with the same key.';
    expect(await removing).toMatchObject({ code: 'STORAGE_UNAVAILABLE', message });
    expect(projection()).toMatchObject({ lifecycle: 'OPEN', turn: { phase: 'CANCELED' } });
  });

  it('of which nobody can know whether it happened says so (D-25)', async () => {
    Object.assign(world.storage.removal, {
      remove: () => {
        world.storage.goAway();
        return Promise.reject(new StorageUnavailableError('gone'));
      },
    });
    const message =
      'The database does not answer, so it is not known whether the workstream was deleted. Try again with the same key.';
    expect(await remove()).toMatchObject({ code: 'STORAGE_UNAVAILABLE', message });
  });

  it('that did not happen because the database went away leaves it open, with the door open again (D-11)', async () => {
    await world.load(id);
    await settled();
    const key = newKey();
    world.storage.hold();
    const removing = remove(key);
    await settled();
    world.storage.goAway();
    world.storage.release();
    expect(await removing).toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
    world.storage.comeBack();
    await world.clock.advance(2_000);
    expect(await world.send(id, 'hi')).toMatchObject({ disposition: 'STARTED' });
    expect(await remove(key)).toMatchObject({ type: 'Accepted' });
  });

  it('of what another live server runs is refused, and nothing of it is touched (D-101)', async () => {
    await world.send(id, 'go');
    (await call(0)).callTools(['look', '{}']);
    const run = await until(() => world.tools.runs[0]);
    const other = await world.restart();
    const input = { key: newKey(), workstreamId: id };
    expect(await other.services.workstreams.delete(ada, input)).toMatchObject({ code: 'OWNER_ELSEWHERE' });
    expect(await other.services.workstreams.close(ada, input)).toMatchObject({ code: 'OWNER_ELSEWHERE' });
    expect(other.leftovers).toEqual([]);
    expect(run.signal.aborted).toBe(false);
    expect(await world.send(id, 'hi')).toMatchObject({ disposition: 'QUEUED' });
    world.storage.expire(world.sessionId);
    expect(await other.services.workstreams.delete(ada, input)).toMatchObject({ type: 'Accepted' });
  });
});

describe('A fork', () => {
  const forked = async (outcome: Awaited<ReturnType<typeof fork>>) => {
    if (outcome.type !== 'Accepted') throw new Error(outcome.code);
    return world.storage.entries(outcome.workstreamId);
  };
  const told = (entries: Awaited<ReturnType<typeof forked>>) =>
    entries.flatMap((e) => (e.kind === 'USER' || e.kind === 'ASSISTANT' ? [e.text] : []));

  it('goes on from the conversation as it was there, under ids of its own, and says where from', async () => {
    await talk('one', 'first');
    const at = world.storage.entries(id).at(-1)!.revision;
    const second = await talk('two', 'second');
    await rewind(second, projection().turn!.id);
    await settled();
    const whole = await forked(await fork());
    expect(told(whole)).toEqual(['one', 'first']);
    const early = await forked(await fork(at + 2));
    expect(told(early)).toEqual(['one', 'first', 'two']);
    expect(early.slice(0, 3)).toMatchObject([
      { kind: 'LIFECYCLE', lifecycle: 'OPEN' },
      {
        kind: 'CONFIGURATION',
        configuration: { title: 'Fork of Test', titleSource: 'GENERATED', approvalMode: 'ASK' },
      },
      { kind: 'FORK', origin: { workstreamId: id, title: 'Test', revision: at + 2 } },
    ]);
    const own = new Set(world.storage.entries(id).map((e) => e.id));
    expect(early.every((e, i) => !own.has(e.id) && e.revision === i + 1 && e.turnId === null)).toBe(true);
  });

  it('of a long title has the beginning of it, and breaks no character', async () => {
    const title = `${'x'.repeat(191)}😀😀`;
    await world.services.workstreams.configure(ada, {
      key: newKey(),
      workstreamId: id,
      ...unchanged,
      title,
    });
    await settled();
    expect((await forked(await fork()))[1]).toMatchObject({
      configuration: { title: `Fork of ${'x'.repeat(191)}` },
    });
  });

  it('of a fork is numbered and not named a fork of a fork, however long the name (broke: "Fork of Fork of Fork of …")', () => {
    expect(titleOfFork('Plan')).toBe('Fork of Plan');
    expect(titleOfFork('Fork of Plan')).toBe('Fork of Plan (2)');
    expect(titleOfFork('Fork of Plan (9)')).toBe('Fork of Plan (10)');
    expect(titleOfFork('Fork of Fork of Plan')).toBe('Fork of Plan (2)');
    // The number of what is no fork is its own.
    expect(titleOfFork('Plan (2)')).toBe('Fork of Plan (2)');
    expect(titleOfFork(titleOfFork('x'.repeat(200)))).toBe(`Fork of ${'x'.repeat(188)} (2)`);
  });

  it('leaves a batch out whose results are not all there, and tells the model the rest (I38)', async () => {
    await talk('one', 'first');
    await world.send(id, 'two');
    (await call(1)).callTools(['look', '{}']);
    await until(() => world.tools.runs[0]);
    await settled();
    const outcome = await fork();
    expect(told(await forked(outcome))).toEqual(['one', 'first', 'two']);
    const at = outcome.type === 'Accepted' ? outcome.workstreamId : '';
    await world.send(at, 'three');
    const asked = (await call(2)).request.messages.map((m) => m.text);
    expect(asked.slice(1)).toEqual(['one', 'first', 'two', 'three']);
  });

  it('of a place that is not there, or of nothing, is refused and leaves nothing (D-20)', async () => {
    const rows = world.storage.rows;
    for (const revision of [0, -1, 99, 1.5])
      expect(await fork(revision)).toMatchObject({ code: 'INVALID_INPUT', field: 'revision' });
    expect(await fork(null, 'nowhere')).toMatchObject({ code: 'WORKSTREAM_NOT_FOUND' });
    expect(world.storage.rows).toBe(rows);
    await close();
    expect(await fork()).toMatchObject({ type: 'Accepted' });
  });
});

describe('A workstream that rests', () => {
  const crowded = { limits: { maxLoaded: 1, idleUnloadMs: 60_000 } };

  it('makes way for the next one when it can; when none can, that is refused (D-24)', async () => {
    world = await createWorld(crowded);
    const [one, two] = [await world.open(), await world.open()];
    await world.load(one);
    await settled();
    await world.send(two, 'go');
    expect(world.registry.present()).toEqual([two]);
    expect(await world.send(one, 'go')).toMatchObject({ code: 'AT_CAPACITY', capacity: 1, retryable: true });
    expect((await world.registry.recover(one)).type).toBe('loaded');
  });

  it.each(['to be given up', 'to answer that it was claimed'])(
    'and is for others to load though the database was away when it was %s (broke: no other server ever could)',
    async (when) => {
      world = await createWorld(crowded);
      id = await world.open();
      if (when === 'to be given up') {
        await talk('one', 'first');
        await world.clock.advance(60_000);
        world.storage.goAway();
        expect(world.registry.unloadIdle()).toBe(1);
        await until(() => world.log.some((line) => line.message === 'could not release a workstream'));
      } else {
        const { ownership } = world.storage;
        const { claim } = ownership;
        Object.assign(ownership, {
          claim: async (...args: Parameters<typeof claim>) => {
            Object.assign(ownership, { claim });
            await claim(...args);
            throw new StorageUnavailableError('gone');
          },
        });
        expect(await world.send(id, 'one')).toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
      }
      world.storage.comeBack();
      expect([world.registry.present(), world.storage.owner(id)]).toEqual([[], world.sessionId]);
      await world.registry.giveUpRest();
      expect(world.storage.owner(id)).toBeNull();
      expect(await world.send(id, 'two')).toMatchObject({ type: 'Accepted' });
      await world.registry.giveUpRest();
      expect(world.storage.owner(id)).toBe(world.sessionId);
    },
  );

  it('when nobody needed it for so long, hears of it in its feeds only when it is loaded again (D-22, D-24)', async () => {
    world = await createWorld(crowded);
    id = await world.open();
    const follower = attach(world, id, null);
    await talk('one', 'first');
    expect(world.registry.unloadIdle()).toBe(0);
    await world.clock.advance(60_000);
    expect(world.registry.unloadIdle()).toBe(1);
    await until(() => world.storage.owner(id) === null);
    expect(follower.items.some((i) => i.type === 'Ended')).toBe(false);
    await world.send(id, 'two');
    expect((await call(1)).request.messages.map((m) => m.text).slice(1)).toEqual(['one', 'first', 'two']);
    await until(() => follower.items.filter((i) => i.type === 'EpochStarted').length === 2);
    follower.cut();
  });

  it('is not asked about while it works, and a command that comes as it goes is done by the next load (D-24)', async () => {
    await world.send(id, 'go');
    (await call(0)).answer({ text: 'done' });
    await settled();
    world.storage.hold();
    expect(world.registry.unload(id)).toBe(true);
    const sending = world.send(id, 'more');
    await settled();
    expect(world.registry.present()).toEqual([]);
    world.storage.release();
    expect(await sending).toMatchObject({ disposition: 'STARTED' });
    expect(world.registry.unload(id)).toBe(false);
  });
});

describe('The conversation', () => {
  it('is read once when it is needed; what cannot be read is no shorter conversation (D-59)', async () => {
    const message = await talk('one', 'first');
    world.registry.unload(id);
    await settled();
    let reads = 0;
    const { journal } = world.storage;
    const read = journal.conversation;
    Object.assign(journal, {
      conversation: (...args: Parameters<typeof read>) => ((reads += 1), read(...args)),
    });
    const turnId = world.storage.entries(id).findLast((e) => e.kind === 'TURN')!.turn.id;
    await world.load(id);
    await settled();
    expect(reads).toBe(0);
    world.storage.goAway();
    expect(await rewind(message, turnId)).toMatchObject({ code: 'STORAGE_UNAVAILABLE', retryable: true });
    world.storage.comeBack();
    expect(await Promise.all([rewind(message, turnId), rewind(message, turnId)])).toMatchObject([
      { type: 'Accepted', text: 'one' },
      { code: 'STALE_TURN' },
    ]);
    expect(reads).toBe(2);
  });

  it('that cannot be read for the model fails the attempt for a reason that passes, and is asked for again (D-37)', async () => {
    await talk('one', 'first');
    world.registry.unload(id);
    await settled();
    const { journal } = world.storage;
    const read = journal.conversation;
    Object.assign(journal, { conversation: () => Promise.reject(new StorageUnavailableError('away')) });
    const follower = attach(world, id, null);
    await follower.item('Synchronized');
    await world.send(id, 'two');
    expect(await follower.item('Notice')).toMatchObject({ code: 'MODEL_RETRY' });
    expect(world.model.calls).toHaveLength(1);
    Object.assign(journal, { conversation: read });
    await world.clock.advance(1_000);
    expect((await call(1)).request.messages.map((m) => m.text).slice(1)).toEqual(['one', 'first', 'two']);
    follower.cut();
  });

  it('that can be read by none of the attempts fails the turn: no other model could read it either (D-37)', async () => {
    await talk('one', 'first');
    world.registry.unload(id);
    await settled();
    let reads = 0;
    const away = () => ((reads += 1), Promise.reject(new StorageUnavailableError('away')));
    Object.assign(world.storage.journal, { conversation: away });
    await world.send(id, 'two');
    for (const wait of [1_000, 2_000, 4_000, 8_000]) {
      await settled();
      await world.clock.advance(wait);
    }
    await settled();
    expect(world.storage.entries(id).findLast((e) => e.kind === 'TURN')!.turn).toMatchObject({
      phase: 'FAILED',
      outcome: { message: expect.stringContaining('The database does not answer') as string },
    });
    expect(reads).toBe(4);
  });
});

describe('A name', () => {
  const unnamed = async (model: string | null = null): Promise<void> => {
    const input = { ...plain, key: newKey(), title: null, model };
    const outcome = await world.services.workstreams.create(ada, input, waits);
    id = outcome.type === 'Accepted' ? outcome.workstreamId : '';
  };
  const configure = (title: string) =>
    world.services.workstreams.configure(ada, {
      key: newKey(),
      workstreamId: id,
      ...unchanged,
      title,
    });

  it('is asked for after the first exchange, without tools, and never overtakes a person’s', async () => {
    await unnamed();
    await world.send(id, 'How do I sort?');
    (await call(0)).answer({ text: 'Like this.' });
    const naming = await call(1);
    expect(naming.request.tools).toEqual([]);
    expect(liveTurn(projection())).toBeNull();
    naming.answer({ text: '"Sorting"' });
    await until(() => projection().configuration.title === 'Sorting');
    await unnamed();
    await world.send(id, 'And that?');
    (await call(2)).answer({ text: 'So.' });
    const late = await call(3);
    expect(await configure('Mine')).toMatchObject({ configuration: { titleSource: 'PERSON' } });
    late.answer({ text: 'Theirs' });
    await settled();
    expect(projection().configuration.title).toBe('Mine');
  });

  it('comes from the question when the model gives none, and the demo is not asked', async () => {
    await unnamed('other');
    await talk('What is this', 'That.');
    await until(() => projection().configuration.title === 'What is this');
    expect(world.model.calls).toHaveLength(1);
    await unnamed();
    await talk('And this', 'That.');
    (await call(2)).fail();
    await until(() => projection().configuration.title === 'And this');
  });

  it.each([
    ['', 'nothing'],
    [' \u200b ', 'nothing to see'],
    ['x'.repeat(201), 'too much'],
  ])('%j is refused: %s', async (title) => {
    expect(await configure(title)).toMatchObject({ code: 'INVALID_INPUT', field: 'title' });
  });
});

describe('The sweeps', () => {
  const hours = (n: number): number => n * 60 * 60_000;

  it('leave alone what is being made here, however long that takes, and whatever cannot be known (D-10, D-21)', async () => {
    let go = (): void => undefined;
    const choosing = new Promise<void>((resolve) => (go = resolve));
    world = await createWorld({
      workspaces: {
        roots: [],
        choose: async () => (await choosing, { type: 'chosen', path: '/x' }),
        abandon: () => Promise.resolve(null),
        own: async (id) => `/folders/${id}`,
        at: async (path) => path,
        ownRoot: async () => '/folders',
        writtenBelow: async () => '/folders/',
      },
    });
    const making = world.open();
    await settled();
    await world.clock.advance(hours(3));
    await world.sweep();
    expect(world.storage.rows).toBe(1);
    world.storage.goAway();
    await world.sweep();
    expect(world.log.some((line) => line.level === 'warn')).toBe(true);
    world.storage.comeBack();
    go();
    expect(await world.services.workstreams.get(await making)).not.toBeNull();
  });

  /** Unused workstreams, old enough, and what the hub says of them, each time. */
  async function unused(count: number) {
    const said: string[] = [];
    world.hub.onDeleted((gone) => said.push(gone));
    const ids = await Promise.all(
      Array.from({ length: count }, async () => {
        const input = { ...plain, key: newKey(), title: null };
        const outcome = await world.services.workstreams.create(ada, input, waits);
        return outcome.type === 'Accepted' ? outcome.workstreamId : '';
      }),
    );
    await world.clock.advance(hours(3));
    return { ids: ids.toSorted(), said };
  }

  it.each(['lost', 'lost, and the database away for a while'])(
    'whose answer is %s say of each that it is gone, once, when that was read (D-25, D-26)',
    async (how) => {
      const { ids, said } = await unused(2);
      const feed = attach(world, ids[0]!, null);
      await feed.item('Synchronized');
      const { removal } = world.storage;
      const { sweepUnused } = removal;
      Object.assign(removal, {
        sweepUnused: async (...args: Parameters<typeof sweepUnused>) => {
          await sweepUnused(...args);
          if (how !== 'lost') world.storage.goAway();
          throw new StorageUnavailableError('lost');
        },
      });
      await world.sweep();
      Object.assign(removal, { sweepUnused });
      await world.clock.advance(10_000);
      world.storage.comeBack();
      await world.clock.advance(120_000);
      expect(said.toSorted()).toEqual(ids);
      expect(await feed.item('Ended')).toMatchObject({ resumable: false });
      await world.sweep();
      expect(said).toHaveLength(2);
      feed.cut();
    },
  );

  it('whose second hundred fails say of the first that they are gone, and of the others that are not, nothing (D-25)', async () => {
    const { ids, said } = await unused(101);
    const { removal } = world.storage;
    const { sweepUnused } = removal;
    let calls = 0;
    Object.assign(removal, {
      sweepUnused: async (...args: Parameters<typeof sweepUnused>) => {
        calls += 1;
        if (calls === 1) return sweepUnused(...args);
        // Named, and then the connection is lost before anything was done.
        const { incarnation } = (await world.storage.catalog.get(ids.find((one) => !said.includes(one))!))!;
        args[2]([{ id: ids.find((one) => !said.includes(one))!, incarnation }]);
        throw new StorageUnavailableError('lost');
      },
    });
    await world.sweep();
    expect(new Set(said).size).toBe(100);
    await world.clock.advance(120_000);
    expect(said).toHaveLength(100);
    Object.assign(removal, { sweepUnused });
    await world.sweep();
    expect(said.toSorted()).toEqual(ids);
  });

  it('whose answer is lost, and what a person deletes of them meanwhile, is said once (D-25, D-26)', async () => {
    const { ids, said } = await unused(1);
    const { removal } = world.storage;
    const { sweepUnused } = removal;
    Object.assign(removal, {
      sweepUnused: async (...args: Parameters<typeof sweepUnused>) => {
        await sweepUnused(...args);
        throw new StorageUnavailableError('lost');
      },
    });
    await world.sweep();
    const input = { key: newKey(), workstreamId: ids[0]! };
    expect(await world.services.workstreams.delete(ada, input)).toMatchObject({
      code: 'WORKSTREAM_NOT_FOUND',
    });
    expect(said).toEqual(ids);
    await world.clock.advance(120_000);
    expect(said).toEqual(ids);
  });

  it('take closed ones only when the operator says so, and say that they are gone', async () => {
    await close();
    const states = list();
    await until(() => states.items.length > 0);
    await world.clock.advance(hours(24 * 31));
    await world.sweep();
    expect(world.storage.rows).toBe(1);
    await world.sweep(30);
    expect(world.storage.rows).toBe(0);
    await until(() => states.of(id).includes('DELETED'));
    states.stop();
  });
});
