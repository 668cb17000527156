import type { WorkstreamStateItem } from 'schema/model';
import type { Reading } from 'schema/services';
import { beforeEach, describe, expect, it } from 'vitest';
import { snapshotLimits } from '../../src/app/feed/states.ts';
import { ada, createWorld, newKey, settled, until, type World } from './support/world.ts';

let world: World;
beforeEach(async () => {
  world = await createWorld();
});

function watch(from = world) {
  const controller = new AbortController();
  const items: WorkstreamStateItem[] = [];
  let gate = Promise.resolve();
  let open = (): void => undefined;
  const reading = (async () => {
    for await (const item of from.services.workstreams.states(controller.signal)) {
      items.push(item);
      await gate;
    }
  })();
  return {
    items,
    states: () => items.flatMap((item) => (item.type === 'StateChanged' ? [item.workstream.state] : [])),
    server: () =>
      items.flatMap((item) => (item.type === 'ServerPersistenceChanged' ? [item.persistence.status] : [])),
    /** The last word on how a workstream is stored. */
    storedAs: (id: string) =>
      items
        .flatMap((item) => (item.type === 'StateChanged' ? [item.workstream] : []))
        .findLast((workstream) => workstream.id === id)?.persistence,
    pause: () => void (gate = new Promise((resolve) => (open = resolve))),
    resume() {
      open();
    },
    async cut() {
      controller.abort();
      await reading;
    },
  };
}

describe('The live list', () => {
  it('begins with what is there, then what changes, then says every 15 s that it lives', async () => {
    const id = await world.open();
    const list = watch();
    await until(() => list.items.length === 2);
    expect(list.items).toMatchObject([
      { type: 'StatesSnapshot', workstreams: [{ id, state: 'IDLE', persistence: 'HEALTHY' }] },
      { type: 'ServerPersistenceChanged', persistence: { status: 'HEALTHY' } },
    ]);
    await world.send(id, 'go');
    await until(() => list.states().includes('THINKING'));
    (await until(() => world.model.calls[0])).answer();
    await until(() => list.states().includes('IDLE'));
    const other = await world.open();
    await until(() => list.items.some((i) => i.type === 'StateChanged' && i.workstream.id === other));
    await world.clock.advance(15_000);
    await until(() => list.items.at(-1)?.type === 'StatesHeartbeat');
    expect(list.items.at(-1)).toEqual({ type: 'StatesHeartbeat', at: '2026-01-01T00:00:15.000Z' });
    await list.cut();
    expect([world.hub.size(), world.clock.pending]).toEqual([0, 0]);
  });

  it('begins with everybody who lives, however many are newer, and tells of the others when they change', async () => {
    const [waiting, refused, idle] = [await world.open(), await world.open(), await world.open()];
    world.storage.refuseData(true);
    void world.send(refused, 'go');
    await until(() => world.registry.peek(refused)?.persistence().status === 'CONFLICT');
    world.storage.refuseData(false);
    await world.send(waiting, 'go');
    (await until(() => world.model.calls[0])).callTools(['shell', 'ls']);
    const { summary } = await world.load(waiting);
    await until(() => summary().state === 'ATTENTION' && summary().persistence === 'HEALTHY');
    await world.clock.advance(1);
    const newer: string[] = [];
    for (let i = 0; i < snapshotLimits.newest + 2; i += 1) newer.push(await world.open());
    const list = watch();
    const snapshot = await until(() => list.items[0]);
    if (snapshot.type !== 'StatesSnapshot') throw new Error(snapshot.type);
    const rows = snapshot.workstreams.map((row) => [row.id, row.state, row.persistence]);
    expect(rows).toHaveLength(snapshotLimits.newest + 2);
    expect(rows.slice(-2)).toEqual(
      [
        [waiting, 'ATTENTION', 'HEALTHY'],
        [refused, 'THINKING', 'CONFLICT'],
      ].toSorted((a, b) => (a[0]! < b[0]! ? 1 : -1)),
    );
    const { older } = snapshot;
    const { createdAt: at, id } = snapshot.workstreams.at(-3)!;
    expect(older).toEqual({
      after: { at, id },
      open: true,
      closed: false,
    });
    const rest = await world.services.workstreams.list(
      { first: 9, after: older!.after },
      { lifecycle: null },
    );
    const told = new Set(rows.map(([id]) => id));
    expect(rest.items.map((row) => row.id).filter((id) => !told.has(id))).toHaveLength(3);
    await world.services.workstreams.close(ada, { key: newKey(), workstreamId: idle });
    await until(() => list.items.some((i) => i.type === 'StateChanged' && i.workstream.id === idle));
    await list.cut();

    // Where nobody has loaded it.
    const elsewhere = watch(await world.restart('there'));
    const other = await until(() => elsewhere.items[0]);
    if (other.type !== 'StatesSnapshot') throw new Error(other.type);
    expect(other.workstreams.slice(snapshotLimits.newest).map((row) => [row.id, row.state])).toEqual([
      [waiting, 'ATTENTION'],
    ]);
    await elsewhere.cut();
  });

  it('tells a slow reader the latest of each workstream, not every one in between', async () => {
    const [one, two] = [await world.open(), await world.open()];
    const list = watch();
    await until(() => list.items.length === 2);
    list.pause();
    for (let i = 0; i < 5; i += 1) {
      await world.send(one, 'go');
      (await until(() => world.model.calls[i])).answer();
      await until(() => world.registry.peek(one)!.state().projection.turn?.phase === 'COMPLETED');
    }
    await world.send(two, 'go');
    list.resume();
    await until(() => list.states().includes('THINKING') && list.states().includes('IDLE'));
    await settled();
    // The first was on its way before the reader slowed down.
    expect(list.states().length).toBeLessThanOrEqual(4);
    await list.cut();
  });

  it('says how a workstream and the server are stored, and when that changes; the worst of all counts (D-50, D-51)', async () => {
    const one = await world.open();
    // Of one moment, the id would decide which comes first.
    await world.clock.advance(1);
    const two = await world.open();
    await Promise.all([world.load(one), world.load(two)]);
    const list = watch();
    await until(() => list.server().length === 1);
    world.storage.goAway();
    for (const id of [one, two]) void world.send(id, 'go');
    await until(() => list.server().at(-1) === 'RETRYING');
    await until(() => list.storedAs(one) === 'RETRYING' && list.storedAs(two) === 'RETRYING');
    world.storage.comeBack();
    await world.clock.advance(60_000);
    await until(() => list.server().at(-1) === 'HEALTHY');
    await until(() => list.storedAs(one) === 'HEALTHY' && list.storedAs(two) === 'HEALTHY');
    world.storage.refuseData(true);
    void world.send(two, 'and again');
    await until(() => list.server().at(-1) === 'CONFLICT' && list.storedAs(two) === 'CONFLICT');
    expect(
      (await world.services.workstreams.list({ first: 2, after: null }, { lifecycle: null })).items,
    ).toMatchObject([
      { id: two, persistence: 'CONFLICT' },
      { id: one, persistence: 'HEALTHY' },
    ]);
    world.storage.refuseData(false);
    await world.services.workstreams.discardUnsaved(ada, { key: newKey(), workstreamId: two });
    await until(() => list.server().at(-1) === 'HEALTHY' && list.storedAs(two) === 'HEALTHY');
    await list.cut();
  });

  it('given up twice under one key is given up once, and both are answered the same (D-60)', async () => {
    const id = await world.open();
    world.storage.refuseData(true);
    void world.send(id, 'go');
    await until(() => world.registry.peek(id)?.persistence().status === 'CONFLICT');
    world.storage.refuseData(false);
    const input = { key: newKey(), workstreamId: id };
    const { discardUnsaved } = world.services.workstreams;
    const [first, copy, another] = await Promise.all([
      discardUnsaved(ada, input),
      discardUnsaved(ada, input),
      discardUnsaved(ada, { ...input, key: newKey() }),
    ]);
    expect(first).toMatchObject({ type: 'Accepted', durability: 'DURABLE' });
    expect(copy).toEqual(first);
    expect(another).toMatchObject({ code: 'NOTHING_TO_DISCARD' });
    expect(await discardUnsaved(ada, input)).toEqual(first);
  });

  it('is not told again what it was told of the server', async () => {
    const [one, two] = [await world.open(), await world.open()];
    await Promise.all([world.load(one), world.load(two)]);
    const list = watch();
    await until(() => list.server().length === 1);
    world.storage.refuseData(true);
    void world.send(one, 'go');
    await until(() => list.storedAs(one) === 'CONFLICT');
    void world.send(two, 'go');
    await until(() => list.storedAs(two) === 'CONFLICT');
    await settled();
    expect(list.server()).toEqual(['HEALTHY', 'CONFLICT']);
    await list.cut();
  });

  it('that nobody reads any more leaves nothing behind', async () => {
    await world.open();
    for (const asking of [true, false]) {
      for (let taken = 1; taken < 4; taken += 1) {
        const controller = new AbortController();
        const feed = world.services.workstreams.states(controller.signal)[Symbol.asyncIterator]();
        await feed.next();
        for (let i = 1; i < taken; i += 1) {
          const next = feed.next();
          await settled();
          await world.clock.advance(15_000);
          await next;
        }
        if (asking) void feed.next();
        controller.abort();
        await settled();
        expect([world.hub.size(), world.clock.pending], `after ${taken} items`).toEqual([0, 0]);
      }
    }
  });
});

it('the snapshot is read in its turn, and said to be large', async () => {
  const large: boolean[] = [];
  const reading: Reading = {
    ask: async (query, isLarge) => {
      const answer = await query();
      large.push(isLarge?.(answer) ?? false);
      return answer;
    },
    aside: (work) => work(),
    letGo: () => undefined,
  };
  const controller = new AbortController();
  for await (const item of world.services.workstreams.states(controller.signal, reading)) {
    expect(item.type).toBe('StatesSnapshot');
    break;
  }
  expect(large).toEqual([true]);
});
