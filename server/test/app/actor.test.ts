import { beforeEach, describe, expect, it } from 'vitest';
import type { Actor } from '../../src/app/actor/actor.ts';
import { frameMs } from '../../src/app/actor/frame.ts';
import { createSubscription, type Pushed } from '../../src/app/feed/subscription.ts';
import { ada, createWorld, newKey, saying, settled, stopping, until, type World } from './support/world.ts';

let world: World;
let id: string;
let actor: Actor;
/** Everything published for the workstream, as it is published. */
let published: Pushed[];

beforeEach(async () => {
  world = await createWorld();
  id = await world.open();
  actor = await world.load(id);
  published = [];
  world.hub.attach(id, {
    ...createSubscription(() => []),
    push: (item) => void published.push(item),
  });
});

const key = (name = newKey()) => ({ scope: `ada/${id}`, key: name, inputHash: 'hash' });
const send = (text: string, name?: string) => actor.ask(ada, key(name), saying(text));
const accepted = (asked: ReturnType<Actor['ask']>) => {
  if (asked.type !== 'answered' || asked.reply.type !== 'accepted') throw new Error(JSON.stringify(asked));
  return asked;
};
const types = (): readonly string[] => published.map((item) => item.type);
const call = (i = 0) => until(() => world.model.calls[i]);
const turnOf = () => actor.state().projection.turn;

describe('An actor', () => {
  it('publishes what a step accepted before it answers, in the same turn of the event loop (D-50)', () => {
    accepted(send('hello'));
    expect(types()).toEqual(['EntryAdmitted', 'EntryAdmitted']);
    expect(published[1]).toMatchObject({
      durable: false,
      entry: { kind: 'USER', text: 'hello', revision: 4 },
    });
    expect(actor.state().projection.revision).toBe(4);
    expect(world.storage.attempts).toHaveLength(0);
  });

  it('answers a refusal at once, and it changes nothing (D-11)', () => {
    const before = actor.state();
    const asked = actor.ask(ada, key(), {
      type: 'decide',
      cycleId: 'none',
      callId: 'none',
      argumentsHash: '',
      verdict: 'APPROVED',
      feedback: null,
    });
    expect(asked).toMatchObject({ reply: { type: 'refused', refusal: { code: 'APPROVAL_GONE' } } });
    expect(actor.state().projection).toEqual(before.projection);
    expect(published).toEqual([]);
  });

  it('answers an acceptance as landed only when its batch is stored (D-61)', async () => {
    world.storage.hold();
    const { landed } = accepted(send('hello'));
    let landing: unknown = null;
    void landed.then((l) => (landing = l));
    await settled();
    expect(landing).toBeNull();
    world.storage.release();
    expect(await landed).toBe('durable');
    expect(types()).toEqual(['EntryAdmitted', 'EntryAdmitted', 'EntriesDurable']);
    expect(published[2]).toEqual({ type: 'EntriesDurable', durableThrough: 4 });
    expect(actor.state().pending).toEqual([]);
  });

  it('joins a second copy of a command to the first, landed or not (D-60)', async () => {
    world.storage.hold();
    const [one, two] = [accepted(send('hello', 'same')), accepted(send('hello', 'same'))];
    expect(two.reply).toEqual(one.reply);
    world.storage.release();
    expect(await Promise.all([one.landed, two.landed])).toEqual(['durable', 'durable']);
    expect(await accepted(send('hello', 'same')).landed).toBe('durable');
    expect(actor.state().projection.queue.items).toEqual([]);
  });

  it('does not call the model before the USER entry is durable (D-2)', async () => {
    world.storage.goAway();
    const { landed } = accepted(send('hello'));
    await settled();
    expect(world.model.calls).toEqual([]);
    world.storage.comeBack();
    await world.clock.advance(1_000);
    expect(await landed).toBe('durable');
    expect((await call()).request.messages.at(-1)).toEqual({ role: 'user', text: 'hello' });
  });

  it('passes pieces of an answer on once a frame, at their offsets, never across a pair (contract rule 3)', async () => {
    await accepted(send('hello')).landed;
    const model = await call();
    published.length = 0;
    for (const piece of ['Hel', 'lo \ud83d', '\ude00', '!']) model.text(piece);
    model.reasoning('hm');
    expect(published).toEqual([]);
    await world.clock.advance(frameMs);
    model.text(' Bye \ud83d');
    await world.clock.advance(frameMs);
    model.text('\ude00');
    model.answer({ text: 'Hello \u{1f600}! Bye \u{1f600}' });
    await until(() => turnOf()?.phase === 'COMPLETED');
    const chunks = published.filter((item) => item.type === 'StreamChunk');
    expect(chunks.map(({ channel, offset, text }) => [channel, offset, text])).toEqual([
      ['REASONING', 0, 'hm'],
      ['TEXT', 0, 'Hello \u{1f600}!'],
      ['TEXT', 9, ' Bye '],
      ['TEXT', 14, '\u{1f600}'],
    ]);
    const answer = published.find((i) => i.type === 'EntryAdmitted' && i.entry.kind === 'ASSISTANT');
    expect(answer).toMatchObject({ entry: { id: chunks[0]!.messageId } });
    expect(actor.state().overlay.message).toBeNull();
  });

  it('turns a model or a tool that breaks its promise never to throw into an outcome', async () => {
    await accepted(send('hello')).landed;
    (await call()).crash(new Error('segfault'));
    await until(() => turnOf()?.phase === 'FAILED');
    expect(turnOf()?.outcome?.message).toContain('segfault');
    await accepted(send('again')).landed;
    (await call(1)).callTools(['look', '{}']);
    (await until(() => world.tools.runs[0])).crash(new Error('lost'));
    const next = await call(2);
    expect(next.request.messages.at(-1)).toMatchObject({ role: 'tool', text: 'The tool broke: lost.' });
    const settledCall = actor.state().conversation.find((e) => e.kind === 'TOOL');
    expect(settledCall).toMatchObject({ outcome: 'ERROR', effect: 'UNKNOWN' });
  });

  it('announces to the list what the list shows, when that changes, and not otherwise', async () => {
    const announced: string[] = [];
    world.hub.onAnnounce((summary) => announced.push(summary.state));
    await accepted(send('hello')).landed;
    (await call()).callTools(['shell', 'ls']);
    await until(() => actor.state().projection.cycles[0]);
    await accepted(send('one more')).landed;
    expect(announced).toEqual(['THINKING', 'RUNNING', 'ATTENTION']);
  });
});

describe('Stop gets through (D-1)', () => {
  it('while the model streams and does not listen: forced after 10 s, and its late words change nothing (D-5, D-65)', async () => {
    world.model.ignoreAborts();
    await accepted(send('hello')).landed;
    const model = await call();
    model.text('for ever ');
    await world.clock.advance(frameMs);
    const stopped = actor.ask(ada, key(), stopping);
    expect(stopped).toMatchObject({ reply: { acceptance: { nothingToStop: false } } });
    expect(model.signal.aborted).toBe(true);
    expect(turnOf()?.phase).toBe('INTERRUPTING');
    model.text('and ever');
    await world.clock.advance(9_000);
    expect(turnOf()?.phase).toBe('INTERRUPTING');
    await world.clock.advance(1_000);
    expect(turnOf()?.phase).toBe('CANCELED');
    expect(actor.state().conversation.at(-1)).toMatchObject({ kind: 'CANCELLATION', text: 'for ever ' });
    const { revision } = actor.state().projection;
    model.answer({ text: 'late' });
    await settled();
    await world.clock.advance(1_000);
    expect(actor.state().projection.revision).toBe(revision);
  });

  it('while the database is away: the stream is cut at once, and the stop is stored when it is back', async () => {
    await accepted(send('hello')).landed;
    const model = await call();
    model.text('partial');
    await world.clock.advance(frameMs);
    world.storage.goAway();
    const { landed } = accepted(actor.ask(ada, key(), stopping));
    expect(model.signal.aborted).toBe(true);
    await until(() => turnOf()?.phase === 'CANCELED');
    expect(actor.state().pending.length).toBeGreaterThan(0);
    world.storage.comeBack();
    await world.clock.advance(1_000);
    expect(await landed).toBe('durable');
    await until(() => actor.state().durable.turn?.phase === 'CANCELED');
  });

  it('while tools run: they are told to end, and what they did is UNKNOWN (D-9)', async () => {
    await accepted(send('hello')).landed;
    (await call()).callTools(['look', 'a'], ['look', 'b']);
    await until(() => world.tools.runs.length === 2);
    accepted(actor.ask(ada, key(), stopping));
    expect(world.tools.runs.every((run) => run.signal.aborted)).toBe(true);
    await until(() => turnOf()?.phase === 'CANCELED');
    const tools = actor.state().conversation.filter((e) => e.kind === 'TOOL');
    expect(tools.map((e) => e.effect)).toEqual(['UNKNOWN', 'UNKNOWN']);
  });
});

describe('A deposed actor', () => {
  it('answers every waiting command, ends its work and its feeds, and says nothing more (D-50)', async () => {
    await accepted(send('hello')).landed;
    const model = await call();
    world.storage.hold();
    const waiting = [send('a'), send('b'), send('c')].map((asked) => accepted(asked).landed);
    published.length = 0;
    world.storage.takeOver(id);
    world.storage.release();
    expect(await Promise.all(waiting)).toEqual(['ownerLost', 'ownerLost', 'ownerLost']);
    expect(types()).toEqual(['Ended']);
    expect(published[0]).toMatchObject({ resumable: true });
    expect(model.signal.aborted).toBe(true);
    expect(world.registry.peek(id)).toBeNull();
    expect(send('late')).toEqual({ type: 'ended', landing: 'ownerLost' });
    model.text('late');
    model.answer();
    await settled();
    await world.clock.advance(60_000);
    expect(types()).toEqual(['Ended']);
    expect(world.storage.entries(id).at(-1)).toMatchObject({ kind: 'USER', text: 'hello' });
  });

  it('of a workstream that is gone says so, and that there is nothing to resume (D-50)', async () => {
    world.storage.remove(id);
    expect(await accepted(send('hello')).landed).toBe('gone');
    expect(published.at(-1)).toMatchObject({ type: 'Ended', resumable: false });
    expect(send('late')).toEqual({ type: 'ended', landing: 'gone' });
  });

  it('whose batch was on its way takes a late acknowledgement for nothing', async () => {
    world.storage.hold();
    const { landed } = accepted(send('hello'));
    await until(() => world.storage.heldCalls === 1);
    actor.depose('ownerLost');
    world.storage.release();
    await settled();
    expect(await landed).toBe('ownerLost');
    expect(world.model.calls).toEqual([]);
    expect(types().at(-1)).toBe('Ended');
  });

  it('starts nothing it held back (D-2)', async () => {
    world.storage.goAway();
    accepted(send('hello'));
    await until(() => actor.persistence().status === 'RETRYING');
    actor.depose('ownerLost');
    world.storage.comeBack();
    await world.clock.advance(120_000);
    expect(world.model.calls).toEqual([]);
    expect(world.storage.entries(id)).toHaveLength(2);
    expect(world.clock.pending).toBe(0);
  });
});

describe('A stopped actor', () => {
  it('is sealed: takes nothing more, publishes nothing more, stores nothing more', async () => {
    await accepted(send('hello')).landed;
    const model = await call();
    const stopping = actor.stop(1_000);
    expect(model.signal.aborted).toBe(false);
    await stopping;
    expect(model.signal.aborted).toBe(true);
    published.length = 0;
    const stored = world.storage.entries(id).length;
    expect(send('late')).toEqual({ type: 'ended', landing: 'stopped' });
    model.text('late');
    model.answer();
    await settled();
    await world.clock.advance(60_000);
    expect(published).toEqual([]);
    expect(world.storage.entries(id)).toHaveLength(stored);
    expect(world.clock.pending).toBe(0);
  });

  it('keeps a live turn live: it carries on at the next start (D-70)', async () => {
    await accepted(send('hello')).landed;
    (await call()).callTools(['look', '{}']);
    await until(() => world.tools.runs[0]);
    await until(() => actor.state().pending.length === 0);
    await actor.stop(1_000);
    expect(world.tools.runs[0]!.signal.aborted).toBe(true);
    expect((await world.storage.catalog.get(id))?.projection.turn?.phase).toBe('RUNNING');
  });

  it('waits for its tools to die, but not for ever', async () => {
    world.tools.ignoreAborts();
    await accepted(send('hello')).landed;
    (await call()).callTools(['look', '{}']);
    await until(() => world.tools.runs[0]);
    await until(() => actor.state().pending.length === 0);
    let stopped = false;
    const stopping = actor.stop(1_000).then(() => (stopped = true));
    await settled();
    await world.clock.advance(2_999);
    expect(stopped).toBe(false);
    await world.clock.advance(1);
    await stopping;
    world.tools.runs[0]!.end();
    await settled();
    expect(world.clock.pending).toBe(0);
  });

  it('publishes no word about the database once it is sealed', async () => {
    world.storage.goAway();
    accepted(send('hello'));
    await until(() => actor.persistence().status === 'RETRYING');
    const stopping = actor.stop(500);
    await world.clock.advance(500);
    await stopping;
    published.length = 0;
    await world.clock.advance(600_000);
    expect(published).toEqual([]);
  });
});

describe('A conflict', () => {
  it('leaves the workstream readable and its commands unanswered, and nothing is tried again (D-51)', async () => {
    world.storage.refuseData(true);
    const { landed } = accepted(send('hello'));
    await until(() => actor.persistence().status === 'CONFLICT');
    world.storage.refuseData(false);
    await world.clock.advance(120_000);
    expect(world.storage.attempts).toHaveLength(1);
    expect(actor.state().pending).toHaveLength(2);
    await actor.stop(1_000);
    expect(await landed).toBe('stopped');
  });
});
