/** What is spent is counted, whatever becomes of who spent it (D-5, D-33). */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Actor } from '../../src/app/actor/actor.ts';
import { createWorld, poison, settled, until, type World } from './support/world.ts';

let world: World;
let id: string;
let actor: Actor;

beforeEach(async () => {
  world = await createWorld();
  id = await world.open();
  actor = await world.load(id);
});

const usage = () => world.storage.usage.totalOf(id);
/** As the next owner is told; null: it is gone. */
async function spent(): Promise<number | null> {
  const claimed = await world.storage.ownership.claim(id, world.sessionId);
  return claimed.type === 'claimed' ? claimed.workstream.spent : null;
}
/** A message, and the model that has begun to answer it. */
async function asked() {
  const before = world.model.calls.length;
  await world.send(id, 'hello');
  const call = await until(() => world.model.calls[before]);
  call.text('I was saying');
  await settled();
  return call;
}
const failures = () => world.log.filter(({ level }) => level === 'error');

describe('A model call', () => {
  it('is counted with the batch that it ends in, once', async () => {
    const call = await asked();
    call.answer({ usage: { inputTokens: 1_000, outputTokens: 20 } });
    await until(() => actor.state().projection.turn?.outcome);
    await actor.stop(1_000);
    expect(await usage()).toMatchObject({ calls: 1, inputTokens: 1_000, outputTokens: 20 });
    expect(actor.state().spent).toBe(1_020);
    expect(await spent()).toBe(1_020);
  });

  it.each(['ownerLost', 'discarded', 'unloaded'] as const)(
    'that ends when its actor is not the owner any more (%s) is counted all the same (D-5)',
    async (reason) => {
      await asked();
      actor.depose(reason);
      await settled();
      const total = await usage();
      expect(total).toMatchObject({ calls: 1, estimatedCalls: 1 });
      expect(total.outputTokens).toBeGreaterThan(0);
      expect(await spent()).toBe(total.inputTokens + total.outputTokens);
      expect(failures()).toEqual([]);
    },
  );

  it('outlives the workstream it was made for', async () => {
    await asked();
    world.storage.remove(id);
    actor.depose('gone');
    await settled();
    expect(await usage()).toMatchObject({ calls: 1 });
    expect(await spent()).toBeNull();
  });

  it('whose batch was not stored yet is counted when its actor drops the batch, and once', async () => {
    const call = await asked();
    world.storage.loseAnswers(1);
    call.answer({ usage: { inputTokens: 1_000, outputTokens: 20 } });
    await until(() => actor.state().projection.turn?.outcome);
    await settled();
    // It has landed, and nobody knows.
    expect(actor.state().durable.turn?.outcome).toBeNull();
    actor.depose('discarded');
    await settled();
    expect(await usage()).toMatchObject({ calls: 1, inputTokens: 1_000 });
    expect(await spent()).toBe(1_020);
  });

  it('whose batch never landed is counted when its actor drops the batch', async () => {
    const call = await asked();
    world.storage.refuseData(true);
    call.answer({ usage: { inputTokens: 1_000, outputTokens: 20 } });
    await until(() => actor.persistence().status === 'CONFLICT');
    expect(await usage()).toMatchObject({ calls: 0 });
    actor.depose('discarded');
    await settled();
    expect(await usage()).toMatchObject({ calls: 1, inputTokens: 1_000 });
  });

  it('is counted before a server that stops has stopped', async () => {
    await asked();
    world.storage.hold();
    let stopped = false;
    const stopping = actor.stop(1_000).then(() => (stopped = true));
    await until(() => world.storage.heldCalls === 1);
    await settled();
    expect(stopped).toBe(false);
    world.storage.release();
    await stopping;
    expect(await usage()).toMatchObject({ calls: 1, estimatedCalls: 1 });
  });

  it('does not keep a server from stopping when it cannot be counted', async () => {
    await asked();
    world.storage.hold();
    const stopping = actor.stop(1_000);
    await until(() => world.storage.heldCalls === 1);
    await settled();
    await world.clock.advance(3_000);
    await stopping;
    world.storage.release();
  });

  it('whose step throws is counted, for the model has answered (D-71)', async () => {
    const call = await asked();
    call.end(poison);
    await until(() => world.model.calls[1]);
    await settled();
    expect(world.log.map(({ message }) => message)).toContain('a step threw');
    expect(await usage()).toMatchObject({ calls: 1, inputTokens: 1_000 });
  });
});

describe('A model call of an actor that has ended, while the database is away,', () => {
  beforeEach(async () => {
    await asked();
    world.storage.goAway();
    actor.depose('ownerLost');
    await settled();
  });

  it('is counted when it is back', async () => {
    await world.clock.advance(3_000);
    expect(failures()).toEqual([]);
    world.storage.comeBack();
    expect(await usage()).toMatchObject({ calls: 0 });
    await world.clock.advance(4_000);
    await settled();
    expect(await usage()).toMatchObject({ calls: 1 });
  });

  it('is given up after two minutes, with a word about how much it was', async () => {
    for (let second = 0; second < 122; second += 1) await world.clock.advance(1_000);
    expect(failures()).toEqual([]);
    for (let second = 0; second < 10; second += 1) await world.clock.advance(1_000);
    await settled();
    expect(failures()).toHaveLength(1);
    const [failure] = failures();
    expect(failure?.fields).toMatchObject({ workstream: id, calls: 1 });
    expect(failure?.fields['tokens']).toBeGreaterThan(0);
    world.storage.comeBack();
    await world.clock.advance(600_000);
    expect(await usage()).toMatchObject({ calls: 0 });
  });
});
