import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { StorageUnavailableError } from '../../src/ports/storage-unavailable.ts';
import { ada, createWorld, newKey, until, type World } from './support/world.ts';

let world: World;
beforeEach(async () => {
  world = await createWorld();
});

describe('What the database refused and that cannot be given up now', () => {
  const recoveries = async (id: string) =>
    (await world.storage.journal.read(id, { after: 0, through: 100, limit: 100 })).filter(
      (entry) => entry.kind === 'RECOVERY',
    );

  /** A workstream with entries that the database refuses, and who follows it. */
  async function refused() {
    const id = await world.open();
    world.storage.refuseData(true);
    void world.send(id, 'go');
    await until(() => world.registry.peek(id)?.persistence().status === 'CONFLICT');
    world.storage.refuseData(false);
    const actor = world.registry.peek(id)!;
    const heard: string[] = [];
    const leaving = new AbortController();
    void (async () => {
      for await (const { item } of world.services.feed.follow(id, null, leaving.signal))
        heard.push(item.type);
    })();
    onTestFinished(() => leaving.abort());
    await until(() => heard.includes('Synchronized'));
    heard.length = 0;
    const input = { key: newKey(), workstreamId: id };
    const discard = () => world.services.workstreams.discardUnsaved(ada, input);
    return { id, actor, heard, discard, unsaved: actor.state().pending.length };
  }

  it('is kept, and whoever follows it hears nothing: a refusal changes nothing (D-11)', async () => {
    const { id, actor, heard, discard, unsaved } = await refused();
    expect(unsaved).toBeGreaterThan(0);
    const { claim } = world.storage.ownership;
    Object.assign(world.storage.ownership, {
      claim: () => Promise.reject(new StorageUnavailableError('away')),
    });
    expect(await discard()).toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
    expect(world.registry.peek(id)).toBe(actor);
    expect(actor.persistence().status).toBe('CONFLICT');
    expect(actor.state().pending).toHaveLength(unsaved);
    expect(heard).toEqual([]);
    Object.assign(world.storage.ownership, { claim });
    expect(await discard()).toMatchObject({ type: 'Accepted', durability: 'DURABLE', discarded: unsaved });
    await until(() => heard.includes('Ended'));
    expect(await recoveries(id)).toMatchObject([{ reason: 'DISCARDED' }]);
  });

  it('and was taken by another process meanwhile is that one’s', async () => {
    const { id, actor, heard, discard } = await refused();
    Object.assign(world.storage.ownership, { claim: () => Promise.resolve({ type: 'elsewhere' }) });
    expect(await discard()).toMatchObject({ code: 'OWNER_ELSEWHERE' });
    expect([actor.ended(), world.registry.peek(id)]).toEqual(['ownerLost', null]);
    await until(() => heard.includes('Ended'));
  });

  it.each([
    [
      'cannot be loaded',
      () => ({
        revision: 1,
        get turn(): never {
          throw new Error('broken');
        },
      }),
    ],
    ['ends at its first command', () => ({ revision: 1, watches: [] })],
  ])(
    'is told in the journal by the next that works, when it was dropped and what comes after it %s',
    async (_, broken) => {
      const { id, actor, discard, unsaved } = await refused();
      const { claim } = world.storage.ownership;
      Object.assign(world.storage.ownership, {
        claim: async (...asked: Parameters<typeof claim>) => {
          const claimed = await claim(...asked);
          return {
            ...claimed,
            workstream: { ...('workstream' in claimed && claimed.workstream), projection: broken() },
          };
        },
      });
      expect(await discard()).toMatchObject({ code: 'OWNER_LOST' });
      expect(actor.ended()).toBe('discarded');
      Object.assign(world.storage.ownership, { claim });
      const done = await discard();
      expect(done).toMatchObject({ type: 'Accepted', durability: 'DURABLE', discarded: unsaved });
      expect(await discard()).toEqual(done);
      expect(await recoveries(id)).toHaveLength(1);
    },
  );

  it('is told in the journal, with what was dropped before, when that it was dropped was refused, too', async () => {
    const { id, discard, unsaved } = await refused();
    const { claim } = world.storage.ownership;
    Object.assign(world.storage.ownership, {
      claim: async (...asked: Parameters<typeof claim>) => {
        const claimed = await claim(...asked);
        world.storage.refuseData(true);
        return claimed;
      },
    });
    const discarding = discard();
    await until(
      () =>
        world.registry.peek(id)?.state().epoch === 2 &&
        world.registry.peek(id)?.persistence().status === 'CONFLICT',
    );
    await world.clock.advance(5_000);
    expect(await discarding).toMatchObject({ type: 'Accepted', durability: 'PENDING', discarded: unsaved });
    world.storage.refuseData(false);
    Object.assign(world.storage.ownership, { claim });
    // The note was shown and is gone, as well.
    const done = await discard();
    expect(done).toMatchObject({ type: 'Accepted', durability: 'DURABLE', discarded: unsaved + 1 });
    expect(await discard()).toEqual(done);
    expect(
      await world.services.workstreams.discardUnsaved(ada, { key: newKey(), workstreamId: id }),
    ).toMatchObject({
      code: 'NOTHING_TO_DISCARD',
    });
    expect(await recoveries(id)).toHaveLength(1);
  });

  it('is told in the journal, also when the database goes away as soon as it was dropped', async () => {
    const { id, discard, unsaved } = await refused();
    const { claim } = world.storage.ownership;
    Object.assign(world.storage.ownership, {
      claim: async (...asked: Parameters<typeof claim>) => {
        const claimed = await claim(...asked);
        world.storage.goAway();
        return claimed;
      },
    });
    const discarding = discard();
    await until(() => world.registry.peek(id)?.persistence().status === 'RETRYING');
    await world.clock.advance(5_000);
    expect(await discarding).toMatchObject({ type: 'Accepted', durability: 'PENDING', discarded: unsaved });
    world.storage.comeBack();
    await world.clock.advance(60_000);
    expect(await recoveries(id)).toHaveLength(1);
    expect(
      await world.services.workstreams.discardUnsaved(ada, { key: newKey(), workstreamId: id }),
    ).toMatchObject({ code: 'NOTHING_TO_DISCARD' });
    expect(await discard()).toMatchObject({ type: 'Accepted', durability: 'DURABLE', discarded: unsaved });
  });
});
