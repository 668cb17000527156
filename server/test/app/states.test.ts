import type { WorkstreamStateItem } from 'schema/model';
import { beforeEach, describe, expect, it } from 'vitest';
import { createWorld, settled, until, type World } from './support/world.ts';

let world: World;
beforeEach(async () => {
  world = await createWorld();
});

function watch() {
  const controller = new AbortController();
  const items: WorkstreamStateItem[] = [];
  let gate = Promise.resolve();
  let open = (): void => undefined;
  const reading = (async () => {
    for await (const item of world.services.workstreams.states(controller.signal)) {
      items.push(item);
      await gate;
    }
  })();
  return {
    items,
    states: () => items.flatMap((item) => (item.type === 'StateChanged' ? [item.workstream.state] : [])),
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
    await until(() => list.items.length === 1);
    expect(list.items[0]).toMatchObject({ type: 'StatesSnapshot', workstreams: [{ id, state: 'IDLE' }] });
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

  it('tells a slow reader the latest of each workstream, not every one in between', async () => {
    const [one, two] = [await world.open(), await world.open()];
    const list = watch();
    await until(() => list.items.length === 1);
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
