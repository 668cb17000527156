import { liveTurn } from 'schema/projection';
import { beforeEach, describe, expect, it } from 'vitest';
import { createRecovery, endLeftoversOfTheDead, recoverLiveTurns } from '../../src/app/rounds/recovery.ts';
import { createTestClock } from '../support/clock.ts';
import { createMemoryStorage } from '../support/memory-storage.ts';
import { attach, createWorld, newKey, poison, settled, until, type World } from './support/world.ts';

let world: World;
beforeEach(async () => {
  world = await createWorld();
});

const quarantineOf = async (id: string) => (await world.storage.catalog.get(id))?.quarantine ?? null;
const epochOf = async (id: string) => (await world.storage.journal.head(id))?.epoch;
const boot = (w: World) =>
  recoverLiveTurns({
    ownership: w.storage.ownership,
    registry: w.registry,
    sessionId: w.sessionId,
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
  });

describe('Loading', () => {
  it('is one flight for fifty who ask at once: one epoch, one actor (D-22)', async () => {
    const id = await world.open();
    const loadings = await Promise.all(Array.from({ length: 50 }, () => world.registry.load(id)));
    const actors = new Set(loadings.map((l) => (l.type === 'loaded' ? l.actor : l.code)));
    expect(actors.size).toBe(1);
    expect(await epochOf(id)).toBe(1);
    expect(world.registry.peek(id)).toBe([...actors][0]);
    expect(world.registry.loaded()).toHaveLength(1);
  });

  it('is refused when another live session has it, and done when that one is over (D-100)', async () => {
    const id = await world.open();
    const other = await world.restart();
    await other.load(id);
    expect(await world.registry.load(id)).toEqual({ type: 'Rejected', code: 'OWNER_ELSEWHERE' });
    world.storage.expire(other.sessionId);
    expect((await world.registry.load(id)).type).toBe('loaded');
  });

  it('of what is not there, or still being created, finds nothing (D-20)', async () => {
    const reservation = { id: 'half', incarnation: 'x', sessionId: world.sessionId };
    await world.storage.reservations.reserve(reservation);
    for (const id of ['nothing', 'half'])
      expect(await world.registry.load(id)).toEqual({ type: 'Rejected', code: 'WORKSTREAM_NOT_FOUND' });
    expect(world.registry.loaded()).toEqual([]);
  });

  it('without a database is refused, and counts as no failure (D-71)', async () => {
    const id = await world.open();
    world.storage.goAway();
    for (let i = 0; i < 5; i += 1)
      expect(await world.registry.load(id)).toEqual({ type: 'Rejected', code: 'STORAGE_UNAVAILABLE' });
    world.storage.comeBack();
    expect((await world.registry.load(id)).type).toBe('loaded');
  });

  it.each([
    ['ends what a dead server of this host left running, before the turn goes on', 'here', 1],
    ['leaves alone what may run on another host', 'there', 0],
  ])('%s (D-70)', async (_, host, ended) => {
    const id = await world.open();
    await world.send(id, 'go');
    (await until(() => world.model.calls[0])).callTools(['look', '{}']);
    const run = await until(() => world.tools.runs[0]);
    world.storage.expire(world.sessionId);
    const next = await world.restart(host);
    await next.load(id);
    expect(next.leftovers).toEqual([run.call.callId].slice(0, ended));
  });
});

describe('A step that throws', () => {
  it('stops only its own actor: others go on, and followers may resume (D-71)', async () => {
    const [bad, good] = [await world.open(), await world.open()];
    const follower = attach(world, bad, null);
    await follower.item('Synchronized');
    await Promise.all([world.send(bad, 'one'), world.send(good, 'two')]);
    const [call, other] = await until(() => world.model.calls.length === 2 && world.model.calls);
    const [theirs, mine] = call!.request.messages.at(-1)?.text === 'one' ? [other!, call!] : [call!, other!];
    mine.end(poison);
    expect(await follower.item('Ended')).toMatchObject({ resumable: true });
    theirs.text('fine');
    theirs.answer();
    await until(() => world.registry.peek(good)?.state().projection.turn?.phase === 'COMPLETED');
    expect(world.log.map((line) => line.message)).toContain('a step threw');
  });

  it('is a recovery: the turn that was live goes on without anybody asking (D-31, D-71)', async () => {
    const id = await world.open();
    await world.send(id, 'go');
    const turn = liveTurn(world.registry.peek(id)!.state().projection)!;
    (await until(() => world.model.calls[0])).end(poison);
    const again = await until(() => world.model.calls[1]);
    again.text('better');
    again.answer();
    await until(() => world.registry.peek(id)?.state().projection.turn?.phase === 'COMPLETED');
    expect(world.registry.peek(id)!.state().projection.turn!.id).toBe(turn.id);
    expect(await epochOf(id)).toBe(2);
    expect(await quarantineOf(id)).toBeNull();
  });

  it('for the third time in a row quarantines: readable, with the reason, taking no more commands (D-71)', async () => {
    const id = await world.open();
    await world.send(id, 'go');
    for (let i = 0; i < 3; i += 1) (await until(() => world.model.calls[i])).end(poison);
    await until(() => world.log.some((line) => line.message === 'a workstream is quarantined'));
    await settled();
    expect(world.model.calls).toHaveLength(3);
    expect(world.registry.peek(id)).toBeNull();
    const reason = await quarantineOf(id);
    expect(reason).toBe('poison');
    expect(await world.registry.load(id)).toEqual({ type: 'Rejected', code: 'QUARANTINED', reason });
    expect(await world.send(id, 'hello?')).toMatchObject({ type: 'Rejected', code: 'QUARANTINED' });
    const shown = await world.services.workstreams.get(id);
    expect(shown).toMatchObject({ state: 'ERROR', quarantine: reason });
    expect(
      (await world.services.history.page(id, { direction: 'forward', after: 0, count: 9 }))?.entries[2],
    ).toBeDefined();
  });

  it('is forgiven once the workstream has come to rest in between, so the row begins anew (D-71)', async () => {
    const id = await world.open();
    for (let round = 0; round < 3; round += 1) {
      await world.send(id, 'go');
      (await until(() => world.model.calls[round * 2])).end(poison);
      (await until(() => world.model.calls[round * 2 + 1])).answer();
      await until(() => world.registry.peek(id)?.state().durable.turn?.phase === 'COMPLETED');
      await settled();
    }
    expect(await quarantineOf(id)).toBeNull();
  });

  it('already in its first step fails the load, three times, and quarantines; boot goes on with the next (D-71)', async () => {
    const clock = createTestClock();
    const storage = createMemoryStorage(clock);
    const first = await createWorld({ clock, storage });
    const bad = await first.open();
    await clock.advance(1);
    const good = await first.open();
    await first.send(bad, 'one');
    await first.send(good, 'two');
    storage.expire(first.sessionId);
    let throwing = 3;
    const ids = {
      random128: () => {
        if (throwing-- > 0) throw new Error('no more chance');
        return newKey();
      },
    };
    world = await createWorld({ clock, storage, ids });
    expect(await boot(world)).toBe(2);
    expect(await quarantineOf(bad)).toBe('no more chance');
    expect(world.registry.peek(bad)).toBeNull();
    await until(() => world.model.calls[0]);
    expect(world.registry.peek(good)).not.toBeNull();
  });

  it('before it runs, in a claim or a clean-up, is a failed load too (D-71)', async () => {
    const id = await world.open();
    await world.send(id, 'go');
    (await until(() => world.model.calls[0])).callTools(['look', '{}']);
    await until(() => world.tools.runs[0]);
    world.storage.expire(world.sessionId);
    world = await world.restart();
    world.breakLeftovers(new Error('no process table'));
    for (let i = 0; i < 3; i += 1)
      expect(await world.registry.load(id)).toEqual({ type: 'Rejected', code: 'OWNER_LOST' });
    expect(await quarantineOf(id)).toBe('no process table');
  });
});

describe('Carrying on at boot', () => {
  it('loads every workstream with a live turn that nobody runs, and no other (D-70)', async () => {
    const [live, idle, theirs] = [await world.open(), await world.open(), await world.open()];
    await world.send(live, 'go');
    await world.load(idle);
    const other = await world.restart();
    await other.send(theirs, 'go');
    world.storage.expire(world.sessionId);
    world = await world.restart();
    expect(await boot(world)).toBe(1);
    expect(world.registry.peek(live)).not.toBeNull();
    expect([world.registry.peek(idle), world.registry.peek(theirs)]).toEqual([null, null]);
    const call = await until(() => world.model.calls[0]);
    expect(call.request.messages.at(-1)?.text).toBe('go');
  });

  it('counts what the actor asks again: the third restart in a row without progress ends the turn (D-71)', async () => {
    const id = await world.open();
    await world.send(id, 'go');
    for (let i = 0; i < 3; i += 1) {
      world.storage.expire(world.sessionId);
      world = await world.restart();
      await boot(world);
      await until(() => world.registry.peek(id)?.state().pending.length === 0);
    }
    expect(world.registry.peek(id)!.state().projection.turn?.outcome).toMatchObject({
      type: 'FAILED',
      reason: 'RECOVERY_EXHAUSTED',
    });
  });
});

describe('Stopping', () => {
  it('lets what was accepted land, answers who waits, and gives the workstreams up', async () => {
    const id = await world.open();
    await world.load(id);
    world.storage.hold();
    const sending = world.send(id, 'last words');
    await until(() => world.storage.heldCalls === 1);
    world.storage.release();
    world.storage.hold();
    await until(() => world.registry.peek(id)?.state().pending.length === 2);
    const stopping = world.registry.stop(4_000);
    await until(() => world.storage.heldCalls === 1);
    world.storage.release();
    await stopping;
    expect(await sending).toMatchObject({ type: 'Accepted', durability: 'DURABLE' });
    expect(world.storage.entries(id).some((e) => e.kind === 'USER')).toBe(true);
    expect(world.storage.owner(id)).toBeNull();
    expect(world.registry.loaded()).toEqual([]);
  });

  it('waits for a database that is away only so long, and answers who waits that nothing was done', async () => {
    const id = await world.open();
    await world.load(id);
    world.storage.loseAnswers(0);
    const sending = world.send(id, 'too late');
    await until(() => world.registry.peek(id)?.state().pending.length === 2);
    world.storage.goAway();
    const stopping = world.registry.stop(4_000);
    await settled();
    await world.clock.advance(4_000);
    await stopping;
    expect(await sending).toMatchObject({ type: 'Rejected', code: 'SHUTTING_DOWN', retryable: true });
    expect(world.clock.pending).toBe(0);
  });

  it('refuses to load from then on, also what was being loaded, which is given up again', async () => {
    const id = await world.open();
    world.storage.hold();
    const loading = world.registry.load(id);
    await until(() => world.storage.heldCalls === 1);
    const stopping = world.registry.stop(1_000);
    world.storage.release();
    expect(await loading).toEqual({ type: 'Rejected', code: 'SHUTTING_DOWN' });
    await stopping;
    expect(await world.registry.load(id)).toEqual({ type: 'Rejected', code: 'SHUTTING_DOWN' });
    expect(world.storage.owner(id)).toBeNull();
    expect(world.model.calls).toEqual([]);
  });

  it('twice does no harm', async () => {
    const id = await world.open();
    await world.load(id);
    await Promise.all([world.registry.stop(1_000), world.registry.stop(1_000)]);
    expect(world.storage.owner(id)).toBeNull();
  });
});

describe('A process that lost its session', () => {
  it('runs nothing any more: every waiting command is told, and followers may resume elsewhere (D-50, D-100)', async () => {
    const id = await world.open();
    await world.load(id);
    const follower = attach(world, id, null);
    await follower.item('Synchronized');
    const sending = world.send(id, 'go');
    await until(() => world.registry.peek(id)?.state().pending.length === 2);
    world.registry.deposeAll();
    expect(await sending).toMatchObject({ type: 'Rejected', code: 'OWNER_LOST', retryable: true });
    expect(await follower.item('Ended')).toMatchObject({ resumable: true });
    expect(world.registry.loaded()).toEqual([]);
  });

  it('does not finish what it was loading, and loads nothing more (D-100)', async () => {
    const id = await world.open();
    await world.send(id, 'go');
    world.storage.expire(world.sessionId);
    world = await world.restart();
    world.storage.hold();
    const loading = world.registry.load(id);
    await until(() => world.storage.heldCalls === 1);
    world.registry.deposeAll();
    world.storage.release();
    expect(await loading).toEqual({ type: 'Rejected', code: 'OWNER_LOST' });
    expect(await world.registry.load(id)).toEqual({ type: 'Rejected', code: 'OWNER_LOST' });
    await settled();
    expect(world.model.calls).toEqual([]);
    expect(world.registry.loaded()).toEqual([]);
  });
});

const unused = (): Promise<never> => Promise.reject(new Error('not here'));

describe('The recovery round', () => {
  it('looks again when the database was away at boot, so that no turn is left lying (D-102)', async () => {
    const id = await world.open();
    await world.send(id, 'hello');
    world.storage.expire(world.sessionId);
    const next = await world.restart();
    world.storage.goAway();
    const round = createRecovery({
      ownership: next.storage.ownership,
      registry: next.registry,
      processes: { sessions: () => Promise.resolve([]), run: unused, endLeftovers: unused },
      sessionId: next.sessionId,
      clock: next.clock,
      log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    });
    round.run();
    await settled();
    expect(next.registry.peek(id)).toBeNull();
    world.storage.comeBack();
    await next.clock.advance(30_000);
    await until(() => next.registry.peek(id));
    round.stop();
  });

  it('ends what sessions that are over left running, and nothing of those that live, of others or its own (D-66, D-70)', async () => {
    const other = await world.restart();
    world.storage.expire(world.sessionId);
    const next = await other.restart();
    const seen = [world.sessionId, other.sessionId, next.sessionId, 'of another installation'];
    const ended: unknown[] = [];
    await endLeftoversOfTheDead({
      ownership: next.storage.ownership,
      processes: {
        run: unused,
        sessions: () => Promise.resolve(seen),
        endLeftovers: async (left) => (ended.push(left), []),
      },
      sessionId: next.sessionId,
      log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    });
    expect(ended).toEqual([{ sessions: [world.sessionId] }]);
  });
});
