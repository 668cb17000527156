import fc from 'fast-check';
import { expect, it } from 'vitest';
import { frameMs } from '../../src/app/actor/frame.ts';
import { placeOf, subscribe, type Place, type Subscriber } from './support/subscriber.ts';
import { ada, createWorld, newKey, saying, settled, stopping, type World } from './support/world.ts';

const often = <T extends string>(what: T, times: number): readonly T[] =>
  Array.from({ length: times }, () => what);

/**
 * What may happen, in any order and at any moment: to the workstream, to its storage, to its process, to those who
 * follow it. `n` chooses among what there is.
 */
const moves = [
  ...often('send', 4),
  ...often('say', 8),
  ...often('answer', 2),
  ...often('callTool', 2),
  ...often('outputTool', 4),
  'endTool',
  'stop',
  'hold',
  ...often('release', 2),
  'goAway',
  ...often('comeBack', 2),
  'loseAnswer',
  'stepThrows',
  'takeOver',
  'restart',
  ...often('load', 2),
  ...often('attach', 3),
  'resumeOld',
  'cut',
  'pause',
  ...often('resume', 2),
  ...often('tick', 14),
  ...often('time', 6),
] as const;
const move = fc.record({ do: fc.constantFrom(...moves), n: fc.nat(1_000) });

it('Whatever happens, each subscriber gets each entry once, in order, one Synchronized, and ends up knowing what the server knows (D-54, D-55, D-58, I8, I9, I10)', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(move, { minLength: 10, maxLength: 90, size: 'max' }), async (script) => {
      const story = await createStory();
      for (const { do: what, n } of script) await story.play(what, n);
      await story.finish();
    }),
    { numRuns: Number(process.env['FEED_RUNS'] ?? 150) },
  );
}, 120_000);

async function createStory() {
  let world: World = await createWorld();
  const { storage, clock } = world;
  const id = await world.open();
  await world.load(id);
  let subscribers: readonly Subscriber[] = [];
  const broken: unknown[] = [];
  const places: Place[] = [await placeOf(world, id)];
  let texts = 0;

  const pick = <T>(all: readonly T[], n: number): T | undefined => all[n % Math.max(1, all.length)];
  const attach = (from: Place): void => {
    const subscriber = subscribe(world, id, from);
    subscriber.failed.catch((error: unknown) => broken.push(error));
    subscribers = [...subscribers, subscriber];
  };
  /** Somewhere that some subscriber once was, in whatever epoch. */
  const oldPlace = (n: number): Place =>
    pick([...places, ...subscribers.flatMap((s) => s.places)], n) ?? places[0]!;
  const openCalls = () => world.model.calls.filter((call) => !call.signal.aborted);

  async function play(what: (typeof moves)[number], n: number): Promise<void> {
    const actor = world.registry.peek(id);
    switch (what) {
      case 'send':
        texts += 1;
        actor?.ask(ada, key(), saying(`message ${texts}`));
        break;
      case 'stop':
        actor?.ask(ada, key(), stopping);
        break;
      case 'say':
        openCalls().at(-1)?.text(`word ${n} `);
        break;
      case 'answer':
        openCalls().at(-1)?.answer();
        break;
      case 'callTool':
        openCalls().at(-1)?.callTools(['look', '{}']);
        break;
      case 'outputTool':
        pick(world.tools.runs, n)?.output(`line ${n}\n`);
        break;
      case 'endTool':
        pick(world.tools.runs, n)?.end();
        break;
      case 'hold':
        storage.hold();
        break;
      case 'release':
        storage.release();
        break;
      case 'goAway':
        storage.goAway();
        break;
      case 'comeBack':
        storage.comeBack();
        break;
      case 'loseAnswer':
        storage.loseAnswers();
        break;
      case 'stepThrows':
        openCalls()
          .at(-1)
          ?.end({ type: 'answered' } as never);
        break;
      case 'takeOver':
        storage.takeOver(id);
        break;
      case 'load':
        void world.registry.load(id);
        break;
      case 'restart': {
        storage.release();
        storage.comeBack();
        await settled();
        // A dead process takes its connections with it; what it had not stored is lost.
        for (const subscriber of subscribers) subscriber.cut();
        await known();
        storage.expire(world.sessionId);
        world = await world.restart();
        break;
      }
      case 'attach':
        if (storage.heldCalls === 0 || actor) void placeOf(world, id).then(attach, () => undefined);
        break;
      case 'resumeOld':
        attach(oldPlace(n));
        break;
      case 'cut':
        pick(subscribers, n)?.cut();
        break;
      case 'pause':
        pick(subscribers, n)?.pause();
        break;
      case 'resume':
        pick(subscribers, n)?.resume();
        break;
      case 'tick':
        for (let turn = 0; turn < n % 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
        break;
      case 'time':
        await clock.advance([1, frameMs, 1_000, 15_000][n % 4]!);
        break;
    }
    if (broken.length > 0) throw broken[0];
  }

  /** Remembers where the subscribers are, and forgets them. */
  async function known(): Promise<void> {
    await settled();
    places.push(
      ...subscribers.flatMap((s) => s.places.filter((_, i, all) => i % 3 === 0 || i === all.length - 1)),
    );
    if (broken.length > 0) throw broken[0];
    subscribers = [];
  }

  /** All goes well from now on: who is behind catches up, and all must agree with the server. */
  async function finish(): Promise<void> {
    storage.comeBack();
    storage.loseAnswers(0);
    storage.release();
    await storage.ownership.recordFailedLoad(id, null);
    for (const subscriber of subscribers) subscriber.resume();
    // A lane that waits to try again does so within 75 s; an owner that was robbed learns it by writing.
    await play('send', 0);
    await clock.advance(75_000);
    await world.load(id);
    await clock.advance(75_000);
    if (broken.length > 0) throw broken[0];
    const still = subscribers.filter((s) => s.status === 'following');
    const behind = subscribers.filter((s) => s.status !== 'following').map((s) => s.place);
    subscribers = still;
    for (const place of [...places.slice(-5), ...behind.slice(-5)]) attach(place);
    // Half of them come in the middle of an answer, or of a tool's output.
    await play('send', 0);
    await settled();
    await play('say', 1);
    await play('outputTool', 1);
    await clock.advance(frameMs);
    attach(await placeOf(world, id));
    await settled();
    await play('say', 2);
    await play('outputTool', 2);
    await clock.advance(1_000);
    if (broken.length > 0) throw broken[0];

    const actor = world.registry.peek(id)!;
    const { projection, durable, pending, overlay, epoch } = actor.state();
    expect(pending).toEqual([]);
    const journal = storage.entries(id);
    for (const subscriber of subscribers) {
      expect(subscriber.status).toBe('following');
      expect(subscriber.synchronizations).toBe(1);
      const { view, transcript } = subscriber.place;
      expect(view.projection).toEqual(projection);
      expect(view.base).toEqual(durable);
      expect(view.pending).toEqual([]);
      expect(view.overlay).toEqual(overlay);
      expect(view.epoch).toBe(epoch);
      expect(view.persistence).toEqual({ status: 'HEALTHY' });
      const first = transcript[0]?.revision ?? journal.length + 1;
      expect(transcript).toEqual(journal.slice(first - 1));
    }
    for (const subscriber of subscribers) subscriber.cut();
    await settled();
    expect(world.hub.size()).toBe(0);
  }

  const key = () => ({ scope: `ada/${id}`, key: newKey(), inputHash: 'hash' });
  return { play, finish };
}
