import { encodeCursor, emptyOverlay, viewOf, type FeedItem } from 'schema/projection';
import type { Reading } from 'schema/services';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { frameMs } from '../../src/app/actor/frame.ts';
import { follow } from '../../src/app/feed/follow.ts';
import { freely } from '../../src/app/feed/reading.ts';
import { tokens } from '../../src/app/feed/tokens.ts';
import { batchOf, message } from '../adapters/storage/fixtures.ts';
import {
  ada,
  attach,
  createWorld,
  foldItems,
  newKey,
  saying,
  settled,
  snapshot,
  stopping,
  until,
  type World,
} from './support/world.ts';

let world: World;
let id: string;
beforeEach(async () => {
  world = await createWorld();
  id = await world.open();
});

const feedDeps = () => {
  const { registry, hub, clock, storage } = world;
  return {
    registry,
    hub,
    clock,
    catalog: storage.catalog,
    journal: storage.journal,
    reading: freely,
  };
};
const types = (items: readonly FeedItem[]) => items.map((item) => item.type);
const revisions = (items: readonly FeedItem[]) =>
  items.flatMap((item) => (item.type === 'EntryAdmitted' ? [item.entry.revision] : []));
async function cursorAt(revision: number, more: { epoch?: number; incarnation?: string } = {}) {
  const head = (await world.storage.journal.head(id))!;
  return encodeCursor({ incarnation: head.incarnation, epoch: head.epoch, revision, ...more });
}
/** Stores `count` entries, as an owner would. */
async function grow(count: number, text = ''): Promise<void> {
  const claimed = await world.storage.ownership.claim(id, world.sessionId);
  if (claimed.type !== 'claimed') throw new Error(claimed.type);
  const made = claimed.workstream;
  await world.storage.journal.commit(
    batchOf(
      made,
      Array.from({ length: count }, (_, i) => message(`${i}${text}`)),
    ),
  );
  await world.storage.ownership.release(id, world.sessionId, made.epoch);
}

describe('A feed', () => {
  it('begins at the head without a cursor: no entries, then the mark (D-54)', async () => {
    const follower = attach(world, id, null);
    expect(await follower.item('Synchronized')).toEqual({
      type: 'Synchronized',
      epoch: 0,
      revision: 2,
      durableThrough: 2,
    });
    expect(types(follower.items)[0]).toBe('Synchronized');
    expect(follower.cursor).toBe(await cursorAt(2));
    expect(world.registry.peek(id)).toBeNull();
  });

  it('gives what is stored after the cursor, page by page, and never loads (D-22, D-54)', async () => {
    await grow(998);
    const follower = attach(world, id, await cursorAt(1));
    await follower.item('Synchronized');
    expect(revisions(follower.items)).toEqual(Array.from({ length: 999 }, (_, i) => i + 2));
    expect(follower.events[0]!.cursor).toBe(await cursorAt(2));
    expect(follower.items.every((i) => i.type !== 'EntryAdmitted' || i.durable)).toBe(true);
    expect(world.registry.peek(id)).toBeNull();
  });

  it('gives pending entries too, marked as such, before Synchronized; then that they are durable (D-54)', async () => {
    const actor = await world.load(id);
    world.storage.goAway();
    const { cursor } = await snapshot(world, id).catch(() => ({ cursor: '' }));
    actor.ask(ada, { scope: 's', key: newKey(), inputHash: 'h' }, saying('hi'));
    const at = encodeCursor({ incarnation: actor.state().incarnation, epoch: 1, revision: 2 });
    expect(cursor).toBe('');
    const follower = attach(world, id, at);
    expect(await follower.item('Synchronized')).toMatchObject({ revision: 4, durableThrough: 2 });
    expect(follower.items.slice(0, 2)).toMatchObject([{ durable: false }, { durable: false }]);
    await until(() => follower.items.some((i) => i.type === 'PersistenceChanged'));
    world.storage.comeBack();
    await world.clock.advance(1_000);
    expect(await follower.item('EntriesDurable')).toEqual({ type: 'EntriesDurable', durableThrough: 4 });
  });

  it('shows an entry once that was stored and announced while it looked (I9)', async () => {
    const { catalog } = world.storage;
    let go = (): void => undefined;
    const slow = new Promise<void>((resolve) => (go = resolve));
    const deps = {
      ...feedDeps(),
      catalog: { ...catalog, get: async (w: string) => slow.then(() => catalog.get(w)) },
    };
    const controller = new AbortController();
    const items: FeedItem[] = [];
    const at = await cursorAt(2);
    void (async () => {
      for await (const { item } of follow(deps, id, at, controller.signal)) items.push(item);
    })();
    await settled();
    // Loaded, written and stored between attaching and looking: it is both in the row and in the buffer.
    await world.send(id, 'hi');
    go();
    await until(() => items.some((i) => i.type === 'Synchronized'));
    expect(revisions(items)).toEqual([3, 4]);
    controller.abort();
  });

  it('says what workstream is not there, for good', async () => {
    const follower = attach(world, 'nothing', null);
    expect(await follower.item('Ended')).toMatchObject({ resumable: false });
    await until(() => follower.done);
  });

  it('goes on over unloading and loading, with the new epoch (D-22, D-55)', async () => {
    const follower = attach(world, id, null);
    await follower.item('Synchronized');
    await world.load(id);
    expect(await follower.item('EpochStarted')).toEqual({ type: 'EpochStarted', epoch: 1, from: 2 });
    await world.send(id, 'hi');
    await follower.item('EntriesDurable');
    expect(revisions(follower.items)).toEqual([3, 4]);
    expect(follower.cursor).toBe(await cursorAt(4));
  });

  it('does not stay behind what another process wrote before this one took over (I8, D-55)', async () => {
    await grow(1);
    const follower = attach(world, id, await cursorAt(2));
    await follower.item('Synchronized');
    await grow(3);
    await world.load(id);
    expect(await follower.item('EpochStarted')).toEqual({ type: 'EpochStarted', epoch: 3, from: 3 });
    expect(await follower.item('Ended')).toMatchObject({ resumable: true });
    const again = attach(world, id, follower.cursor);
    await again.item('Synchronized');
    expect(revisions([...follower.items, ...again.items])).toEqual([3, 4, 5, 6]);
  });

  it('passes on nothing of an owner that was overtaken and does not know it yet (broke: simulation, seeds 2079 and 2417; I11, D-55)', async () => {
    const { ownership } = world.storage;
    const { claim } = ownership;
    let arrive = (): void => undefined;
    const late = new Promise<void>((resolve) => (arrive = resolve));
    vi.spyOn(ownership, 'claim').mockImplementationOnce(async (...asked) => {
      const outcome = await claim(...asked);
      await late;
      return outcome;
    });
    const loading = world.load(id);
    await settled();
    world.storage.takeOver(id);
    const follower = attach(world, id, null);
    expect(await follower.item('Synchronized')).toMatchObject({ epoch: 2 });
    arrive();
    const stale = await loading;
    stale.ask(ada, { scope: 's', key: newKey(), inputHash: 'h' }, saying('never stored'));
    expect(stale.state()).toMatchObject({ epoch: 1, pending: [{ kind: 'TURN' }, { kind: 'USER' }] });
    expect(await follower.item('Ended')).toMatchObject({ resumable: true });
    await until(() => follower.done);
    expect(types(follower.items)).not.toContain('EntryAdmitted');
    expect(follower.cursor).toBe(await cursorAt(2));
  });

  it('sends a heartbeat with the head every 15 s (D-57)', async () => {
    const follower = attach(world, id, null);
    await follower.item('Synchronized');
    await world.send(id, 'hi');
    await world.clock.advance(15_000);
    expect(await follower.item('Heartbeat')).toEqual({
      type: 'Heartbeat',
      epoch: 1,
      revision: 4,
      durableThrough: 4,
    });
    await world.clock.advance(30_000);
    await until(() => follower.items.filter((i) => i.type === 'Heartbeat').length === 3);
  });

  it('ends resumably where entries were missed, and says nothing after that (I8)', async () => {
    const follower = attach(world, id, null);
    await follower.item('Synchronized');
    const [entry] = batchOf(
      { id, incarnation: 'x', epoch: 1, projection: viewOf({} as never, [], 0).projection },
      [message('far ahead')],
      { expectedHead: 7 },
    ).entries;
    world.hub.publish(id, { type: 'EntryAdmitted', entry: entry!, durable: false });
    world.hub.publish(id, { type: 'EntriesDurable', durableThrough: 8 });
    expect(await follower.item('Ended')).toMatchObject({ resumable: true });
    await until(() => follower.done);
    expect(types(follower.items).at(-1)).toBe('Ended');
    expect(follower.cursor).toBe(await cursorAt(2));
  });
});

describe('A cursor', () => {
  it.each([
    ['is no cursor', () => Promise.resolve('rubbish')],
    ['is empty', () => Promise.resolve('')],
    ['has numbers beyond counting', () => cursorAt(1).then((c) => `${c}${'9'.repeat(20)}`)],
    ['is of another incarnation', () => cursorAt(1, { incarnation: 'f'.repeat(32) })],
    ['is ahead of the head', () => cursorAt(3)],
    ['is of an epoch that never was', () => cursorAt(2, { epoch: 9 })],
  ])('that %s gets SnapshotRequired and the feed is over (D-55, I8)', async (_, make) => {
    const follower = attach(world, id, await make());
    await until(() => follower.done);
    expect(types(follower.items)).toEqual(['SnapshotRequired']);
    expect(world.hub.size()).toBe(0);
  });

  it('more than 2,000 entries behind gets SnapshotRequired; 2,000 behind is read (D-55)', async () => {
    await grow(2_001);
    const [near, far] = [attach(world, id, await cursorAt(3)), attach(world, id, await cursorAt(2))];
    await until(() => far.done);
    expect(types(far.items)).toEqual(['SnapshotRequired']);
    await near.item('Synchronized');
    expect(revisions(near.items)).toHaveLength(2_000);
  });

  it('more than 4 MiB behind gets SnapshotRequired, unread; less is read (D-55)', async () => {
    await grow(5, 'x'.repeat(1_000_000));
    const { journal } = world.storage;
    const read = vi.spyOn(journal, 'read');
    const far = attach(world, id, await cursorAt(2));
    await until(() => far.done);
    expect(far.items).toEqual([{ type: 'SnapshotRequired', reason: 'More than 4 MiB behind.' }]);
    expect(read).not.toHaveBeenCalled();
    const near = attach(world, id, await cursorAt(3));
    await near.item('Synchronized');
    expect(revisions(near.items)).toEqual([4, 5, 6, 7]);
  });

  it('reads ahead of its subscriber one long entry, or 64 KiB of short ones (I15)', async () => {
    await grow(2, 'x'.repeat(1_000_000));
    await grow(40, 'x'.repeat(10_000));
    const read = vi.spyOn(world.storage.journal, 'read');
    const follower = attach(world, id, await cursorAt(1));
    await follower.item('Synchronized');
    const pages = await Promise.all(read.mock.results.map(({ value }) => value as ReturnType<typeof read>));
    const sizes = pages.map((page) => (page.length === 1 ? 0 : JSON.stringify(page).length));
    expect(Math.max(...sizes)).toBeLessThan(2 * 64 * 1024);
    expect(pages.length).toBeLessThan(15);
  });

  it('says of each page that it is large, and lets go of it when all of it was taken', async () => {
    await grow(3);
    const told: string[] = [];
    const reading: Reading = {
      ask: async (query, isLarge) => {
        const answer = await query();
        if (isLarge?.(answer)) told.push('large');
        return answer;
      },
      aside: (work) => work(),
      letGo: () => void told.push('let go'),
    };
    for await (const { item } of follow(
      { ...feedDeps(), reading },
      id,
      await cursorAt(2),
      new AbortController().signal,
    )) {
      told.push(item.type);
      if (item.type === 'Synchronized') break;
    }
    expect(told).toEqual(['large', ...Array<string>(3).fill('EntryAdmitted'), 'let go', 'Synchronized']);
  });

  it('counts what is not stored yet among what it is behind (D-55)', async () => {
    const actor = await world.load(id);
    const start = await snapshot(world, id);
    world.storage.goAway();
    const say = (length: number) =>
      actor.ask(ada, { scope: 's', key: newKey(), inputHash: 'h' }, saying('x'.repeat(length)));
    // The turn's message, then the whole queue with each change of it.
    for (const length of [1_000_000, 1_000_000]) say(length);
    const edit = () =>
      actor.ask(
        ada,
        { scope: 's', key: newKey(), inputHash: 'h' },
        {
          type: 'editQueued',
          messageId: actor.state().projection.queue.items[0]!.id,
          text: 'y'.repeat(1_000_000),
        },
      );
    edit();
    const near = attach(world, id, start.cursor);
    await near.item('Synchronized');
    edit();
    edit();
    const far = attach(world, id, start.cursor);
    await until(() => far.done);
    expect(types(far.items)).toEqual(['SnapshotRequired']);
    near.cut();
  });

  it('of an older epoch whose entry is stored is good: nothing is dropped (D-55)', async () => {
    await world.send(id, 'hi');
    const cursor = await cursorAt(4);
    await world.registry.stop(1_000);
    world = await world.restart();
    await world.load(id);
    const follower = attach(world, id, cursor);
    await follower.item('Synchronized');
    expect(types(follower.items)).not.toContain('EpochStarted');
    expect(revisions(follower.items)).toEqual([5, 6]);
  });

  it('of an older epoch ahead of what was stored loses exactly the lost entries (D-55)', async () => {
    await world.load(id);
    world.storage.hold();
    const before = world.registry.peek(id)!;
    before.ask(ada, { scope: 's', key: newKey(), inputHash: 'h' }, saying('lost'));
    const { incarnation, projection, pending } = before.state();
    const view = viewOf(before.state().durable, pending, 1);
    const cursor = encodeCursor({ incarnation, epoch: 1, revision: projection.revision });
    world.storage.expire(world.sessionId);
    world.storage.takeOver(id);
    world.storage.release();
    await settled();
    world = await world.restart();
    await world.send(id, 'kept');
    const follower = attach(world, id, cursor);
    await follower.item('Synchronized');
    expect(follower.items[0]).toEqual({ type: 'EpochStarted', epoch: 3, from: 2 });
    const known = foldItems(view, follower.items);
    expect(known.projection).toEqual(world.registry.peek(id)!.state().projection);
    expect(JSON.stringify(known.base)).not.toContain('lost');
  });
});

describe('The open texts', () => {
  /** A turn that has said something. */
  async function streaming() {
    await world.send(id, 'hi');
    const call = await until(() => world.model.calls[0]);
    call.reasoning('Let me think. ');
    call.text('The answer ');
    await world.clock.advance(frameMs);
    return call;
  }
  const overlayOf = () => world.registry.peek(id)!.state().overlay;

  it('reach who attaches in mid-stream whole, then by offset, to the end (D-54, D-56)', async () => {
    const call = await streaming();
    const { view, cursor } = await snapshot(world, id);
    const follower = attach(world, id, cursor);
    await follower.item('StreamChunk');
    call.text('is 42');
    await world.clock.advance(frameMs);
    await until(() => follower.items.filter((i) => i.type === 'StreamChunk').length === 3);
    expect(foldItems(view, follower.items).overlay).toEqual(overlayOf());
    expect(overlayOf().message).toMatchObject({ text: 'The answer is 42', reasoning: 'Let me think. ' });
    call.answer();
    await until(() => world.registry.peek(id)!.state().pending.length === 0 && !overlayOf().message);
    await until(() => foldItems(view, follower.items).projection.turn?.phase === 'COMPLETED');
    expect(foldItems(view, follower.items).overlay).toEqual(emptyOverlay);
  });

  it('reach a subscriber that was too slow for them whole again, and no other notices (D-56)', async () => {
    const call = await streaming();
    const { view, cursor } = await snapshot(world, id);
    const [slow, quick] = [attach(world, id, cursor), attach(world, id, cursor)];
    await Promise.all([slow.item('StreamChunk'), quick.item('StreamChunk')]);
    slow.pause();
    for (let i = 0; i < 1_200; i += 1) {
      call.text(`word ${i} `);
      await world.clock.advance(frameMs);
    }
    await until(() => quick.items.filter((i) => i.type === 'StreamChunk').length >= 1_202);
    slow.resume();
    await until(() => foldItems(view, slow.items).overlay.message?.text === overlayOf().message!.text);
    expect(slow.items.length).toBeLessThan(quick.items.length);
    expect(foldItems(view, quick.items).overlay).toEqual(overlayOf());
    expect(types(slow.items)).not.toContain('Ended');
  });

  it('that became void are void for a slow subscriber too', async () => {
    const call = await streaming();
    const { view, cursor } = await snapshot(world, id);
    const slow = attach(world, id, cursor);
    await slow.item('StreamChunk');
    slow.pause();
    for (let i = 0; i < 1_100; i += 1) {
      call.text('more ');
      await world.clock.advance(frameMs);
    }
    call.fail({ kind: 'MALFORMED', accepted: true });
    await until(() => world.registry.peek(id)!.state().attempt?.phase === 'backoff');
    await world.clock.advance(1_000);
    (await until(() => world.model.calls[1])).answer({ text: 'another' });
    await until(() => overlayOf().message === null);
    slow.resume();
    await slow.item('StreamReset');
    await settled();
    expect(foldItems(view, slow.items).overlay).toEqual(emptyOverlay);
  });

  it('of a tool longer than its tail reach a slow subscriber as the tail (D-56)', async () => {
    await world.send(id, 'hi');
    (await until(() => world.model.calls[0])).callTools(['look', '{}']);
    const run = await until(() => world.tools.runs[0]);
    run.output('begin\n');
    await world.clock.advance(frameMs);
    const { view, cursor } = await snapshot(world, id);
    const slow = attach(world, id, cursor);
    await slow.item('ToolOutputChunk');
    slow.pause();
    for (let i = 0; i < 1_100; i += 1) {
      run.output(`${i} `.padEnd(100, '.'));
      await world.clock.advance(frameMs);
    }
    slow.resume();
    await until(() => JSON.stringify(foldItems(view, slow.items).overlay) === JSON.stringify(overlayOf()));
  });

  it('come alone, with changes of state, to simple clients', async () => {
    const call = await streaming();
    const controller = new AbortController();
    const got: string[] = [];
    const reading = (async () => {
      for await (const chunk of tokens(feedDeps(), id, controller.signal))
        got.push(chunk.type === 'TextChunk' ? `${chunk.offset} ${chunk.text}` : chunk.workstream.state);
    })();
    await until(() => got.includes('0 The answer '));
    call.text('is 42');
    call.answer({ text: 'The answer is 42' });
    await until(() => got.includes('IDLE'));
    expect(got).toEqual(['THINKING', '0 Let me think. ', '0 The answer ', '11 is 42', 'IDLE']);
    controller.abort();
    await reading;
    expect(world.hub.size()).toBe(0);
  });
});

describe('A subscriber that is too slow for the entries', () => {
  it('ends resumably, alone, and misses nothing when it resumes (D-56, I15)', async () => {
    const actor = await world.load(id);
    const { view, cursor } = await snapshot(world, id);
    const [slow, quick] = [attach(world, id, cursor), attach(world, id, cursor)];
    await Promise.all([slow.item('Synchronized'), quick.item('Synchronized')]);
    slow.pause();
    for (let i = 0; i < 400; i += 1) {
      // Every second one settles the turn, so that the queue never fills.
      const key = { scope: 's', key: newKey(), inputHash: 'h' };
      if (i % 2 === 0) actor.ask(ada, key, saying(`${i}`));
      else actor.ask(ada, key, stopping);
      await settled();
    }
    slow.resume();
    expect(await slow.item('Ended')).toMatchObject({ resumable: true });
    await until(() => slow.done);
    const again = attach(world, id, slow.cursor);
    await again.item('Synchronized');
    await until(() => actor.state().pending.length === 0);
    await settled();
    const folded = foldItems(view, [...slow.items, ...again.items]);
    expect(folded.projection).toEqual(actor.state().projection);
    expect(foldItems(view, quick.items).projection).toEqual(actor.state().projection);
    expect(types(quick.items)).not.toContain('Ended');
  });
});

describe('A subscription that is cut', () => {
  it.each([0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20])(
    'after %i turns of the event loop leaves nothing behind',
    async (turns) => {
      await grow(900);
      const controller = new AbortController();
      const feed = follow(feedDeps(), id, await cursorAt(1), controller.signal);
      let taken = 0;
      const taking = (async () => {
        for await (const { item } of feed) {
          taken += item.type === 'EntryAdmitted' ? 1 : 0;
          await new Promise<void>((resolve) => setImmediate(resolve));
        }
      })();
      for (let turn = 0; turn < turns; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
      controller.abort();
      await taking;
      expect(taken).toBeLessThanOrEqual(turns + 1);
      expect(world.hub.size()).toBe(0);
      expect(world.clock.pending).toBe(0);
    },
  );

  it('by someone who takes no more items leaves nothing behind either', async () => {
    for (const asking of [true, false]) {
      for (let taken = 0; taken < 5; taken += 1) {
        const controller = new AbortController();
        const feed = follow(feedDeps(), id, await cursorAt(0), controller.signal);
        for (let i = 0; i < taken; i += 1) await feed.next();
        const abandoned = asking ? feed.next() : null;
        controller.abort();
        await settled();
        expect(world.hub.size(), `after ${taken} items`).toBe(0);
        expect(world.clock.pending).toBe(0);
        await abandoned;
      }
    }
  });

  it('before it began does not begin', async () => {
    const controller = new AbortController();
    controller.abort();
    const { done } = await follow(feedDeps(), id, null, controller.signal).next();
    expect([done, world.hub.size()]).toEqual([true, 0]);
  });

  it('asks nothing more of the database, wherever it was', async () => {
    await grow(3);
    await world.load(id);
    await world.restart();
    const cursor = await cursorAt(1, { epoch: 0 });
    const { catalog, journal } = world.storage;
    const asked = async (leaveAt: number): Promise<number> => {
      const controller = new AbortController();
      let queries = 0;
      const counting =
        <A extends readonly unknown[], T>(query: (...args: A) => Promise<T>) =>
        async (...args: A): Promise<T> => {
          queries += 1;
          if (queries === leaveAt) controller.abort();
          return query(...args);
        };
      const deps = {
        ...feedDeps(),
        registry: { ...world.registry, peek: () => null },
        catalog: { ...catalog, get: counting(catalog.get) },
        journal: {
          ...journal,
          epochAt: counting(journal.epochAt),
          lastRevisionOf: counting(journal.lastRevisionOf),
          storedBytes: counting(journal.storedBytes),
          read: counting(journal.read),
        },
      };
      for await (const { item } of follow(deps, id, cursor, controller.signal))
        if (item.type === 'Synchronized') controller.abort();
      return queries;
    };
    const all = await asked(0);
    expect(all).toBeGreaterThanOrEqual(4);
    for (let leaveAt = 1; leaveAt <= all; leaveAt += 1) expect(await asked(leaveAt)).toBe(leaveAt);
  });

  it('ten thousand times leaves nothing behind', async () => {
    await world.load(id);
    const started = world.clock.pending;
    for (let i = 0; i < 100; i += 1) {
      await Promise.all(
        Array.from({ length: 100 }, async () => {
          const controller = new AbortController();
          const feed = follow(feedDeps(), id, null, controller.signal);
          expect(await feed.next()).toMatchObject({ value: { item: { type: 'Synchronized' } } });
          controller.abort();
          await feed.return(undefined);
        }),
      );
    }
    expect(world.hub.size()).toBe(0);
    expect(world.clock.pending).toBe(started);
  });
});
