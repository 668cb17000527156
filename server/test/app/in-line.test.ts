/** That what commands ask the database for waits by turns, and that nobody waits for more than that. */
import { expect, it, vi } from 'vitest';
import type { Viewer } from 'schema/model';
import type { Conditions } from '../../src/ports/conditions.ts';
import { ada, bob, createWorld, newKey, noWatch, plain, until, waits, type World } from './support/world.ts';

const cleo: Viewer = { id: 'cleo', name: 'Cleo', tokenId: 'cleo' };

/** A server whose loads and reservations go on until they are let; the names of workstreams and keys that have begun. */
async function beginHeld(options: Parameters<typeof createWorld>[0] = {}) {
  const world = await createWorld(options);
  const at = await Promise.all(Array.from({ length: 8 }, () => world.open()));
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  let holds = true;
  const held = async (name: string): Promise<void> => {
    if (!holds) return;
    begun.push(name);
    await new Promise<void>((resolve) => ends.set(name, resolve));
  };
  const { ownership, reservations } = world.storage;
  const { claim } = ownership;
  const { reserve } = reservations;
  Object.assign(ownership, {
    claim: async (id: string, by: string) => (await held(id), claim(id, by)),
  });
  Object.assign(reservations, {
    reserve: async (asked: Parameters<typeof reserve>[0]) => (await held('new'), reserve(asked)),
  });
  return {
    world,
    at,
    begun,
    hasBegun: (...names: readonly string[]) =>
      vi.waitFor(() => expect(begun).toEqual(names), { interval: 1, timeout: 5_000 }),
    end: (name: string) => ends.get(name)!(),
    /** Whoever comes from now on is not held. */
    holdNobody: () => void (holds = false),
    /** The event loop went round as often as anybody could need who is let go. */
    rest: async () => {
      for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

const create = (world: World, by: Viewer, caller: AbortSignal = waits) =>
  world.services.workstreams.create(by, { ...plain, key: newKey(), title: null }, caller);

it('messages of one token to workstreams at rest are three at a time at the database, and keep no other token waiting', async () => {
  const { world, at, begun, hasBegun, end, rest } = await beginHeld();
  const sends = at.slice(0, 5).map((id) => world.send(id, 'Wake up.', ada));
  await hasBegun(...at.slice(0, 3));
  await rest();
  expect(begun).toEqual(at.slice(0, 3));
  const other = world.send(at[5]!, 'Me too.', bob);
  await hasBegun(...at.slice(0, 3), at[5]!);
  end(at[5]!);
  expect(await other).toMatchObject({ type: 'Accepted' });
  end(at[0]!);
  expect(await sends[0]).toMatchObject({ type: 'Accepted' });
  await hasBegun(...at.slice(0, 3), at[5]!, at[3]!);
  end(at[1]!);
  await hasBegun(...at.slice(0, 3), at[5]!, at[3]!, at[4]!);
  for (const id of at.slice(2, 5)) end(id);
  for (const send of sends) expect(await send).toMatchObject({ type: 'Accepted' });
});

it('what is said to a workstream that is loaded, and Stop, wait for nobody’s turn', async () => {
  const { world, at, hasBegun, end, rest } = await beginHeld();
  const [loaded, ...atRest] = at as [string, ...string[]];
  const first = world.send(loaded, 'Begin.', ada);
  await hasBegun(loaded);
  end(loaded);
  await first;
  for (const by of [ada, bob]) for (const id of atRest.splice(0, 3)) void world.send(id, 'Wake up.', by);
  await vi.waitFor(() => expect(world.registry.present().length).toBeGreaterThanOrEqual(5), { interval: 1 });
  await rest();
  expect(await world.send(loaded, 'More.', ada)).toMatchObject({ type: 'Accepted' });
  expect(await world.send(loaded, 'And more.', bob)).toMatchObject({ type: 'Accepted' });
  expect(await world.stop(loaded)).toMatchObject({ type: 'Accepted' });
});

it('new workstreams wait in the same line, by turns of the tokens; who leaves it has changed nothing', async () => {
  const { world, at, begun, hasBegun, end, rest } = await beginHeld();
  const sends = at.slice(0, 3).map((id) => world.send(id, 'Wake up.', ada));
  await hasBegun(...at.slice(0, 3));
  const controller = new AbortController();
  const left = create(world, ada, controller.signal);
  const stays = create(world, ada);
  await rest();
  expect(begun).toEqual(at.slice(0, 3));
  const others = create(world, bob);
  await hasBegun(...at.slice(0, 3), 'new');
  const third = create(world, cleo);
  controller.abort(new Error('gone'));
  await expect(left).rejects.toThrow('gone');
  end('new');
  expect(await others).toMatchObject({ type: 'Accepted' });
  // Four at once of all: its turn has come before the next of the first token.
  await hasBegun(...at.slice(0, 3), 'new', 'new');
  end('new');
  expect(await third).toMatchObject({ type: 'Accepted' });
  end(at[0]!);
  await hasBegun(...at.slice(0, 3), 'new', 'new', 'new');
  end('new');
  expect(await stays).toMatchObject({ type: 'Accepted' });
  for (const id of at.slice(1, 3)) end(id);
  await Promise.all(sends);
});

const remove = (world: World, workstreamId: string, by = ada) =>
  world.services.workstreams.delete(by, { key: newKey(), workstreamId });

it('a deletion has no turn while it waits for a tool or a model to stop (D-23, D-61)', async () => {
  const { world, at, hasBegun, end } = await beginHeld();
  const [busy, ...atRest] = at as [string, string, string, string];
  world.model.ignoreAborts();
  const first = world.send(busy, 'Begin.', ada);
  await hasBegun(busy);
  end(busy);
  await first;
  const removing = remove(world, busy);
  await until(() => world.registry.peek(busy)?.state().closing);
  expect(await world.send(busy, 'More.', bob)).toMatchObject({ code: 'CLOSING', retryable: true });
  const sends = atRest.slice(0, 3).map((id) => world.send(id, 'Wake up.', ada));
  await hasBegun(busy, ...atRest.slice(0, 3));
  for (const id of atRest.slice(0, 3)) end(id);
  await Promise.all(sends);
  await world.clock.advance(20_000);
  expect(await removing).toMatchObject({ type: 'Accepted' });
});

it('who waits until somebody is done with a workstream has no turn meanwhile, so nobody waits for himself', async () => {
  const { world, at, hasBegun, end, holdNobody, rest } = await beginHeld();
  const [going, ...others] = at as [string, string, string];
  const { removal } = world.storage;
  const { remove: removeStored } = removal;
  let go = (): void => undefined;
  Object.assign(removal, {
    remove: async (asked: Parameters<typeof removeStored>[0]) => {
      await new Promise<void>((resolve) => (go = resolve));
      return removeStored(asked);
    },
  });
  const removing = remove(world, going);
  await rest();
  const late = [ada, ada, ada, bob, bob, bob].map((by) => world.send(going, 'Too late.', by));
  await rest();
  const sends = others.slice(0, 2).map((id) => world.send(id, 'Wake up.', ada));
  await hasBegun(...others.slice(0, 2));
  for (const id of others.slice(0, 2)) end(id);
  await Promise.all(sends);
  holdNobody();
  go();
  expect(await removing).toMatchObject({ type: 'Accepted' });
  for (const send of late) expect(await send).toMatchObject({ code: 'WORKSTREAM_NOT_FOUND' });
});

it('Stop and a decision for a workstream at rest go before what else of their token waits, and take no more places (D-65)', async () => {
  const { world, at, begun, hasBegun, end, rest } = await beginHeld();
  const creates = [1, 2, 3, 4, 5].map(() => create(world, ada));
  await hasBegun('new', 'new', 'new');
  const stopping = world.stop(at[0]!);
  await rest();
  expect(begun).toEqual(['new', 'new', 'new']);
  end('new');
  await hasBegun('new', 'new', 'new', at[0]!);
  end(at[0]!);
  expect(await stopping).toMatchObject({ type: 'Accepted', nothingToStop: true });
  for (const made of creates) void made.catch(() => undefined);
});

it('what was said to a workstream that had to be loaded has no turn while it is stored (D-61)', async () => {
  const { world, at, begun, holdNobody } = await beginHeld();
  holdNobody();
  const { journal } = world.storage;
  const { commit } = journal;
  const lands: (() => void)[] = [];
  Object.assign(journal, {
    commit: async (batch: Parameters<typeof commit>[0]) => {
      await new Promise<void>((resolve) => lands.push(resolve));
      return commit(batch);
    },
  });
  const sends = at.map((id) => world.send(id, 'Wake up.', ada));
  await vi.waitFor(() => expect(world.registry.loaded()).toHaveLength(at.length), {
    interval: 1,
    timeout: 5_000,
  });
  expect(begun).toEqual([]);
  Object.assign(journal, { commit });
  for (const land of lands) land();
  for (const send of sends) expect(await send).toMatchObject({ type: 'Accepted', durability: 'DURABLE' });
});

it('a change of a watch has no turn while its condition is looked at (D-61)', async () => {
  const looks: (() => void)[] = [];
  const conditions: Conditions = {
    check: () => new Promise((resolve) => looks.push(() => resolve({ type: 'sound' }))),
    judge: () => Promise.resolve({ type: 'holds' }),
    stop: () => Promise.resolve(),
  };
  const { world, at, begun, holdNobody } = await beginHeld({ conditions });
  holdNobody();
  const { watches } = world.services;
  const watched = at.slice(0, 3);
  const asked = { ...noWatch, name: 'ci', command: 'make test', every: '5m', repeat: false };
  const ids = await Promise.all(
    watched.map(async (workstreamId) => {
      const made = await watches.create(ada, { key: newKey(), workstreamId, ...asked });
      if (made.type !== 'Accepted') throw new Error(made.message);
      return made.watch.id;
    }),
  );
  for (const workstreamId of watched) expect(world.registry.unload(workstreamId)).toBe(true);
  const changes = watched.map((workstreamId, i) =>
    world.services.watches.update(ada, {
      ...{ key: newKey(), workstreamId, watchId: ids[i]!, version: 1, ...noWatch },
      condition: 'exit_code == 0',
    }),
  );
  await vi.waitFor(() => expect(looks).toHaveLength(3), { interval: 1, timeout: 5_000 });
  expect(await world.send(at[5]!, 'Wake up.', ada)).toMatchObject({ type: 'Accepted' });
  for (const look of looks) look();
  for (const change of changes) expect(await change).toMatchObject({ type: 'Accepted' });
  expect(begun).toEqual([]);
});

it('who gives up what is not stored waits in the same line to have the workstream loaded again (D-51)', async () => {
  const { world, at, begun, hasBegun, end, holdNobody, rest } = await beginHeld();
  const [id] = at as [string];
  world.storage.refuseData(true);
  const sending = world.send(id, 'Go.', ada);
  await hasBegun(id);
  end(id);
  await until(() => world.registry.peek(id)?.persistence().status === 'CONFLICT');
  world.storage.refuseData(false);
  const creates = [1, 2, 3].map(() => create(world, ada));
  await hasBegun(id, 'new', 'new', 'new');
  const discarding = world.services.workstreams.discardUnsaved(ada, { key: newKey(), workstreamId: id });
  await rest();
  expect(begun).toEqual([id, 'new', 'new', 'new']);
  holdNobody();
  end('new');
  expect(await discarding).toMatchObject({ type: 'Accepted' });
  for (const one of [sending, ...creates]) void one.catch(() => undefined);
});

it('tokens are made and revoked in the same line', async () => {
  const { world, hasBegun, end, holdNobody, rest } = await beginHeld();
  const creates = [1, 2, 3].map(() => create(world, ada));
  await hasBegun('new', 'new', 'new');
  let isMade = false;
  const made = world.tokens.create(ada, { key: newKey(), name: 'a script' }).finally(() => (isMade = true));
  await rest();
  expect(isMade).toBe(false);
  holdNobody();
  end('new');
  expect(await made).toMatchObject({ type: 'Accepted' });
  for (const one of creates) void one.catch(() => undefined);
});

it('what waits for a token that is revoked is never begun, and leaves the line', async () => {
  const { world, at, begun, hasBegun, end, rest } = await beginHeld();
  const made = await world.tokens.create(bob, { key: newKey(), name: 'a script' });
  const secret = made.type === 'Accepted' ? made.secret! : '';
  const script = (await world.tokens.authenticate(secret))!;
  const working = at.slice(0, 3);
  const sends = working.map((id) => world.send(id, 'Wake up.', script));
  await hasBegun(...working);
  const { turns, workstreams } = world.services;
  const input = (workstreamId: string) => ({ key: newKey(), workstreamId });
  const waiting = Promise.allSettled([
    workstreams.delete(script, input(at[3]!)),
    world.tokens.create(script, { key: newKey(), name: 'a back door' }),
    world.send(at[4]!, 'Wake up.', script),
    turns.stop(script, { ...input(at[5]!), turnId: null, force: false }),
  ]);
  await rest();
  const revoke = { key: newKey(), tokenId: script.tokenId };
  expect(await world.tokens.revoke(bob, revoke)).toMatchObject({ type: 'Accepted' });
  for (const one of await waiting)
    expect(one).toMatchObject({ reason: { extensions: { code: 'UNAUTHENTICATED' } } });
  for (const id of working) end(id);
  for (const send of sends) expect(await send).toMatchObject({ type: 'Accepted' });
  expect(begun).toEqual(working);
  expect((await world.tokens.list()).map(({ name }) => name)).not.toContain('a back door');
  expect(await world.storage.catalog.get(at[3]!)).not.toBeNull();
});
