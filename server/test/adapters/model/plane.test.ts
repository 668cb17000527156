/** Owns: which model is asked, when it is its turn, and what is known afterwards (D-36, D-37), over real HTTP. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Binding } from '../../../src/adapters/model/binding.ts';
import type { BindingSource } from '../../../src/adapters/model/bindings.ts';
import { createPlane } from '../../../src/adapters/model/plane.ts';
import type { Model, ModelEvent, ModelOutcome, ModelRequest } from '../../../src/ports/model.ts';
import { createTestClock, type TestClock } from '../../support/clock.ts';
import { startScriptedProvider, type ScriptedProvider, type Step } from '../../support/scripted-provider.ts';
import { askedOf, bindingFor, type BindingParts } from './harness.ts';

const log = { info: () => undefined, warn: () => undefined, error: () => undefined };

let providers: ScriptedProvider[];
let clock: TestClock;
let all: Binding[];
let source: BindingSource;
let plane: Model;
let changed: () => void;

beforeEach(() => {
  providers = [];
  clock = createTestClock();
  all = [];
  source = {
    current: () => ({ all, default: all[0]?.alias ?? null }),
    onChange: (callback) => void (changed = callback),
    windowOf: () => null,
  };
  plane = createPlane({ clock, log, bindings: source });
});
afterEach(() => Promise.all(providers.map((provider) => provider.close())));

/** An alias of an endpoint of its own. */
async function set(alias: string, more: BindingParts = {}): Promise<ScriptedProvider> {
  const provider = await startScriptedProvider();
  providers.push(provider);
  change([
    ...all.filter((b) => b.alias !== alias),
    bindingFor(provider.url, { alias, model: `model-${alias}`, ...more }),
  ]);
  return provider;
}

function change(next: Binding[]): void {
  all = next;
  changed();
}

interface Asked {
  readonly events: ModelEvent[];
  readonly outcome: Promise<ModelOutcome>;
  readonly stop: () => void;
}

function ask(alias: string, more: Partial<ModelRequest> = {}): Asked {
  const events: ModelEvent[] = [];
  const controller = new AbortController();
  const outcome = plane.call(askedOf(alias, more), controller.signal, (event) => events.push(event));
  return { events, outcome, stop: () => controller.abort() };
}

const notices = ({ events }: Asked) => events.flatMap((e) => (e.type === 'notice' ? [e] : []));
const infoOf = (alias: string) => plane.list().find((model) => model.alias === alias)!;
const down: Step = { status: 503, body: { error: { message: 'down' } } };
const failTimes = async (alias: string, provider: ScriptedProvider, times: number): Promise<void> => {
  provider.script(Array.from({ length: times }, () => down));
  for (let n = 0; n < times; n += 1) await ask(alias, { lane: alias }).outcome;
};

describe('A model', () => {
  it('whose gateway answers 200 with a sentence has not answered: it is failing, and its fallback may be asked (D-37)', async () => {
    const provider = await set('a', { fallbacks: ['b'] });
    await set('b');
    provider.script([{ status: 200, body: 'upstream connect error or disconnect/reset before headers' }]);
    expect(await ask('a', { lane: 'a' }).outcome).toMatchObject({
      kind: 'MALFORMED',
      accepted: false,
      othersLeft: true,
    });
    expect(infoOf('a')).toMatchObject({ health: 'FAILING' });
    expect(infoOf('b')).toMatchObject({ health: 'UNKNOWN' });
  });

  it('answers under its alias, with what it is set to and what the workstream asks for', async () => {
    const provider = await set('a', {
      temperature: 0.1,
      effort: 'LOW',
      traits: { efforts: ['LOW', 'HIGH'] },
    });
    provider.script([{ stream: ['one'] }, { stream: ['two'] }]);
    expect(await ask('a').outcome).toMatchObject({ type: 'answered', text: 'one', alias: 'a' });
    await ask('a', { model: { alias: 'a', temperature: 0, effort: 'MEDIUM' } }).outcome;
    expect(provider.requests).toMatchObject([
      { model: 'model-a', temperature: 0.1, reasoning_effort: 'low' },
      { model: 'model-a', temperature: 0, reasoning_effort: 'high' },
    ]);
    provider.assertDone();
  });

  it('that takes one call at a time lets the next one wait, says so, and asks in order (D-36)', async () => {
    const provider = await set('a', { concurrency: 1 });
    provider.script([{ stream: [{ gate: 'one' }, 'one'] }, { stream: ['two'] }, { stream: ['three'] }]);
    const [one, two, three] = [ask('a'), ask('a'), ask('a')] as const;
    await provider.waitForGate('one');
    expect(notices(one)).toEqual([]);
    expect(notices(two)).toMatchObject([
      {
        code: 'MODEL_WAITING',
        message: 'Waiting for a slot: "a" takes one call at a time, and this one is next.',
      },
    ]);
    expect(notices(three)).toMatchObject([
      { message: expect.stringContaining('1 more is before') as string },
    ]);
    expect(infoOf('a')).toMatchObject({ inUse: 1, waiting: 2, concurrency: 1 });
    expect(provider.requests).toHaveLength(1);
    provider.release('one');
    const texts = await Promise.all([one.outcome, two.outcome, three.outcome]);
    // From then on it is not taken away any more when another model is chosen.
    expect(notices(two).at(-1)).toMatchObject({
      code: 'MODEL_ASKED',
      message: '"a" has a slot and is asked.',
    });
    expect(notices(one)).toEqual([]);
    expect(texts).toMatchObject([{ text: 'one' }, { text: 'two' }, { text: 'three' }]);
    expect(infoOf('a')).toMatchObject({ inUse: 0, waiting: 0 });
  });

  it('that is waited for is never asked when the turn is stopped meanwhile', async () => {
    const provider = await set('a', { concurrency: 1 });
    provider.script([{ stream: [{ gate: 'one' }, 'one'] }]);
    const one = ask('a');
    const two = ask('a');
    await provider.waitForGate('one');
    two.stop();
    expect(await two.outcome).toEqual({ type: 'aborted' });
    provider.release('one');
    await one.outcome;
    expect(provider.requests).toHaveLength(1);
    provider.assertDone();
  });

  it('lets its slot go when it fails, so that nobody holds one while waiting to try again', async () => {
    const provider = await set('a', { concurrency: 1 });
    provider.script([down, { stream: ['two'] }]);
    const one = ask('a');
    const two = ask('a');
    expect(await one.outcome).toMatchObject({ type: 'failed', kind: 'OVERLOADED' });
    expect(await two.outcome).toMatchObject({ text: 'two' });
  });

  it('that is asked for a name gives the slot to whoever waits for it, which is no failure of it, however often (D-36, D-37)', async () => {
    const provider = await set('a', { concurrency: 1, fallbacks: ['b'] });
    await set('b');
    for (let n = 0; n < 6; n += 1) {
      provider.script([{ stream: [{ gate: `name ${n}` }, 'never'] }, { stream: ['a turn'] }]);
      const name = ask('a', { yields: true });
      await provider.waitForGate(`name ${n}`);
      const turn = ask('a');
      expect(await name.outcome).toMatchObject({ type: 'aborted' });
      expect(await turn.outcome).toMatchObject({ alias: 'a', text: 'a turn' });
    }
    expect(infoOf('a')).toMatchObject({ health: 'HEALTHY', problem: null, inUse: 0, waiting: 0 });
  });

  it('takes more calls at once as soon as its settings say so, under the endpoint they name by then', async () => {
    const before = await set('a', { concurrency: 1 });
    before.script([{ stream: [{ gate: 'one' }, 'one'] }]);
    const one = ask('a');
    const waits = ask('a');
    await before.waitForGate('one');
    const after = await set('a', { concurrency: 2 });
    after.script([{ stream: ['new'] }]);
    expect(await waits.outcome).toMatchObject({ text: 'new' });
    before.release('one');
    // A call that has begun keeps what it began with.
    expect(await one.outcome).toMatchObject({ text: 'one' });
  });

  it('that is taken away while a call waits for it is not asked, and leaves its place to its fallbacks at once (broke: it was waited for)', async () => {
    const a = await set('a', { concurrency: 1, fallbacks: ['b'] });
    await set('b');
    a.script([{ stream: [{ gate: 'one' }, 'one'] }]);
    const one = ask('a');
    const waits = ask('a');
    await a.waitForGate('one');
    const before = all;
    change(all.filter((binding) => binding.alias === 'b'));
    expect(await waits.outcome).toMatchObject({ kind: 'NOT_FOUND', alias: 'a', othersLeft: true });
    expect(notices(waits).map(({ code }) => code)).toEqual(['MODEL_WAITING']);
    // When it comes back, the call that has begun still counts.
    change(before);
    const next = ask('a');
    expect(infoOf('a')).toMatchObject({ inUse: 1, waiting: 1 });
    a.script([{ stream: ['two'] }]);
    a.release('one');
    expect(await one.outcome).toMatchObject({ text: 'one' });
    expect(await next.outcome).toMatchObject({ text: 'two' });
    expect(a.requests).toHaveLength(2);
  });

  it('that is not set up any more leaves its place to the fallbacks it had, and says what to do', async () => {
    await set('a', { fallbacks: ['b'] });
    const b = await set('b');
    change(all.filter((binding) => binding.alias === 'b'));
    expect(await ask('a').outcome).toMatchObject({
      kind: 'NOT_FOUND',
      othersLeft: true,
      message: expect.stringContaining('choose another one for it ("b", "demo")') as string,
    });
    b.script([{ stream: ['b'] }]);
    expect(await ask('a', { givenUp: ['a'] }).outcome).toMatchObject({ text: 'b', alias: 'b' });
  });
});

describe('An alias', () => {
  it('is listed once, the demo under its own name alone, whatever the settings say (broke: the client would not open)', async () => {
    const a = await set('a');
    const stranger = await set('demo');
    change([...all, { ...all[0]!, model: 'another' }]);
    expect(plane.list().map(({ alias, demo }) => [alias, demo])).toEqual([
      ['a', false],
      ['demo', true],
    ]);
    a.script([{ stream: ['one'] }]);
    await ask('a').outcome;
    expect(a.requests).toMatchObject([{ model: 'model-a' }]);
    const demo = ask('demo', { messages: [{ role: 'user', text: 'say: me' }] });
    await clock.advance(60_000);
    expect(await demo.outcome).toMatchObject({ type: 'answered', alias: 'demo', text: 'me' });
    expect(stranger.requests).toEqual([]);
  });

  it('whose key is refused says so until a call is accepted, also where a fallback answers (D-37)', async () => {
    const a = await set('a', { fallbacks: ['b'] });
    await set('b');
    a.script([{ status: 401, body: { error: { message: 'no such key' } } }, { stream: ['in'] }]);
    expect(await ask('a').outcome).toMatchObject({ kind: 'AUTHENTICATION' });
    expect(infoOf('a')).toMatchObject({
      health: 'FAILING',
      problem: expect.stringContaining('HTTP 401') as string,
    });
    expect(infoOf('b')).toMatchObject({ health: 'UNKNOWN', problem: null });
    await ask('a').outcome;
    expect(infoOf('a')).toMatchObject({ health: 'HEALTHY', problem: null });
  });

  it('that is set up anew begins without what its key was refused for', async () => {
    const a = await set('a');
    a.script([{ status: 401, body: { error: { message: 'no such key' } } }]);
    await ask('a').outcome;
    change(all.map((binding) => ({ ...binding })));
    expect(infoOf('a')).toMatchObject({ health: 'UNKNOWN', problem: null });
  });
});

describe('A fallback', () => {
  it('is asked when the model before it was given up, and that is said (D-37)', async () => {
    await set('a', { fallbacks: ['b', 'c'] });
    const b = await set('b');
    await set('c');
    b.script([down]);
    const asked = ask('a', { givenUp: ['a'] });
    expect(await asked.outcome).toMatchObject({ alias: 'b', othersLeft: true });
    expect(notices(asked)).toMatchObject([
      { code: 'MODEL_FALLBACK', message: '"b" is asked in place of "a".' },
    ]);
    const [, , c] = providers;
    c!.script([down]);
    expect(await ask('a', { givenUp: ['a', 'b'] }).outcome).toMatchObject({ alias: 'c', othersLeft: false });
  });

  it('is spoken to as its own settings say, with the temperature of the workstream', async () => {
    await set('a', { fallbacks: ['b'] });
    const b = await set('b', { maxOutput: 7, traits: { outputField: 'max_tokens' } });
    b.script([{ stream: ['b'] }]);
    await ask('a', { givenUp: ['a'], model: { alias: 'a', temperature: 1, effort: null } }).outcome;
    expect(b.requests).toMatchObject([{ model: 'model-b', max_tokens: 7, temperature: 1 }]);
  });
});

describe('An endpoint that fails five times in a row', () => {
  it('is asked last, gets another chance after a minute, and is well again when that is taken (D-37)', async () => {
    const a = await set('a', { fallbacks: ['b'] });
    const b = await set('b');
    await failTimes('a', a, 5);
    expect(infoOf('a')).toMatchObject({
      health: 'DEGRADED',
      problem: expect.stringContaining('5 calls in a row failed') as string,
    });
    b.script([{ stream: ['b'] }]);
    expect(await ask('a').outcome).toMatchObject({ alias: 'b' });
    // It is left when the other one is given up.
    a.script([down, { stream: ['a'] }]);
    expect(await ask('a', { givenUp: ['b'] }).outcome).toMatchObject({ alias: 'a', kind: 'OVERLOADED' });
    await clock.advance(60_000);
    expect(await ask('a').outcome).toMatchObject({ alias: 'a', text: 'a' });
    expect(infoOf('a')).toMatchObject({ health: 'HEALTHY', problem: null });
  });

  it('that has rested is tried by one call, and the others do not wait for what comes of it (D-37)', async () => {
    const a = await set('a', { fallbacks: ['b'] });
    const b = await set('b');
    await failTimes('a', a, 5);
    await clock.advance(60_000);
    a.script([{ stream: [{ gate: 'tried' }, 'a'] }, { stream: ['a again'] }]);
    b.script([{ stream: ['b'] }, { stream: ['b'] }]);
    const [first, second] = [ask('a'), ask('a')];
    expect(await second.outcome).toMatchObject({ alias: 'b' });
    expect(await ask('a').outcome).toMatchObject({ alias: 'b' });
    a.release('tried');
    expect(await first.outcome).toMatchObject({ alias: 'a', text: 'a' });
    expect(await ask('a').outcome).toMatchObject({ text: 'a again' });
  });

  it('that has rested is tried by the next call at once where the one that tried it was stopped (D-37; broke: a minute later)', async () => {
    const a = await set('a', { fallbacks: ['b'] });
    const b = await set('b');
    await failTimes('a', a, 5);
    await clock.advance(60_000);
    a.script([{ stream: [{ gate: 'tried' }, 'a'] }, { stream: ['a'] }]);
    b.script([{ stream: ['b'] }]);
    const tries = ask('a');
    await a.waitForGate('tried');
    expect(await ask('a').outcome).toMatchObject({ alias: 'b' });
    tries.stop();
    expect(await tries.outcome).toMatchObject({ type: 'aborted' });
    expect(infoOf('a').health).toBe('DEGRADED');
    expect(await ask('a').outcome).toMatchObject({ alias: 'a', text: 'a' });
    expect(infoOf('a').health).toBe('HEALTHY');
  });

  it('is asked nevertheless when there is no other', async () => {
    const a = await set('a');
    await failTimes('a', a, 6);
    a.script([{ stream: ['a'] }]);
    expect(await ask('a').outcome).toMatchObject({ text: 'a' });
  });

  it('is asked last in favour of a fallback that answers at the same place (D-37)', async () => {
    const a = await set('a', { fallbacks: ['twin'] });
    change([...all, { ...all[0]!, alias: 'twin', model: 'model-twin', fallbacks: [] }]);
    a.respond(({ model }) => (model === 'model-twin' ? { stream: ['twin'] } : down));
    for (let n = 0; n < 5; n += 1) {
      expect(await ask('a').outcome).toMatchObject({ alias: 'a', kind: 'OVERLOADED' });
      expect(await ask('a', { givenUp: ['a'] }).outcome).toMatchObject({ text: 'twin' });
      expect(infoOf('a').problem).toContain('HTTP 503');
    }
    expect(await ask('a').outcome).toMatchObject({ alias: 'twin', text: 'twin' });
    expect(infoOf('twin')).toMatchObject({ health: 'HEALTHY', problem: null });
  });

  it('is one for all aliases that lead to it', async () => {
    const a = await set('a');
    change([...all, { ...all[0]!, alias: 'twin' }]);
    await failTimes('a', a, 5);
    expect(infoOf('twin').health).toBe('DEGRADED');
  });

  it('is forgotten with the last alias that leads to it, and unknown when it comes back', async () => {
    const a = await set('a');
    await failTimes('a', a, 5);
    const before = all;
    change([]);
    change(before.map((binding) => ({ ...binding })));
    expect(infoOf('a')).toMatchObject({ health: 'UNKNOWN', problem: null });
  });

  it.each<[string, readonly object[]]>([
    ['an error', []],
    [
      'who speaks, and then an error',
      [{ choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] }],
    ],
  ])(
    'stays so when the first that a stream says is %s, and its fallback may be asked (D-37; broke: it was healthy)',
    async (_, first) => {
      const a = await set('a', { fallbacks: ['b'] });
      await set('b');
      await failTimes('a', a, 5);
      await clock.advance(60_000);
      const chunks = [...first, { error: { message: 'no upstream is free', code: 503 } }].map((sent) => ({
        chunk: sent,
      }));
      a.script([{ stream: chunks, finish: null, usage: null, done: false }]);
      expect(await ask('a').outcome).toMatchObject({
        kind: 'OVERLOADED',
        alias: 'a',
        accepted: false,
        othersLeft: true,
      });
      expect(infoOf('a')).toMatchObject({
        health: 'DEGRADED',
        problem: expect.stringContaining('no upstream is free') as string,
      });
    },
  );

  it('does not count an answer that broke off: it had been accepted', async () => {
    const a = await set('a');
    a.script(Array.from({ length: 5 }, () => ({ stream: ['half', { drop: true as const }] })));
    for (let n = 0; n < 5; n += 1) expect(await ask('a').outcome).toMatchObject({ accepted: true });
    expect(infoOf('a').health).toBe('HEALTHY');
  });
});
