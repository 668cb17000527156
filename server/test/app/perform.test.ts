/** Owns: what the performers tell the core of models: room, overflow, summaries, what was spent (D-5, D-39, D-40). */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Entry } from 'schema/projection';
import { createPerformer, type Performer } from '../../src/app/actor/perform.ts';
import { createOverhead } from '../../src/app/actor/room.ts';
import { overheadOf } from '../../src/core/context/tokens.ts';
import type { Deed } from '../../src/core/effects.ts';
import type { Stamp, World } from '../../src/core/inputs.ts';
import type { ModelCall } from '../../src/core/models/spending.ts';
import type { ModelInfo } from '../../src/ports/model.ts';
import { StorageUnavailableError } from '../../src/ports/storage-unavailable.ts';
import type { Tools } from '../../src/ports/tools.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import { createFakeModel, modelInfo, type FakeCall, type FakeModel } from '../support/fake-model.ts';

interface Told {
  readonly stamp: Stamp;
  readonly event: World;
  readonly calls: readonly ModelCall[];
}

const stamp: Stamp = { epoch: 2, generation: 7 };
const definition = {
  name: 'shell',
  description: 'Runs a command.',
  parameters: { type: 'object', properties: { command: { type: 'string' } } },
  access: 'EXECUTE' as const,
};
const infos: readonly ModelInfo[] = [
  {
    ...modelInfo,
    alias: 'small',
    isDefault: true,
    window: 10_000,
    fallbacks: ['large', 'open'],
    price: { input: 1, output: 10, cachedInput: null },
  },
  { ...modelInfo, alias: 'large', window: 100_000 },
  { ...modelInfo, alias: 'open' },
];

let clock: TestClock;
let model: FakeModel;
let told: Told[];
let performer: Performer;
let conversation: () => Promise<readonly Entry[]>;
let turnId: string | null;
let allowance: number;
let prompts: (readonly [workspace: string, instructions: string | null])[];
let models: readonly ModelInfo[];
let system: Promise<string>;

beforeEach(() => {
  clock = createTestClock();
  told = [];
  turnId = 't1';
  allowance = Number.POSITIVE_INFINITY;
  prompts = [];
  models = infos;
  system = Promise.resolve('Be brief.');
  conversation = () => Promise.resolve([]);
  model = { ...createFakeModel(), list: () => models };
  const tools: Tools = {
    definitions: [definition],
    prepare: () => Promise.reject(new Error('not asked')),
    run: () => Promise.reject(new Error('not asked')),
  };
  performer = createPerformer({
    workstreamId: 'w1',
    model,
    tools,
    clock,
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    prompt: (workspace, instructions) => {
      prompts.push([workspace, instructions]);
      return system;
    },
    turnId: () => turnId,
    allowance: () => allowance,
    conversation: () => conversation(),
    post: (of, event, calls = []) => void told.push({ stamp: of, event, calls }),
  });
});

type CallModel = Extract<Deed, { type: 'callModel' }>;
async function ask(more: Partial<CallModel> = {}): Promise<FakeCall | undefined> {
  performer.perform({
    type: 'callModel',
    stamp,
    messageId: 'm1',
    model: { alias: 'small', temperature: null, effort: null },
    lane: null,
    givenUp: [],
    workspace: '/w',
    conversation: [],
    conversationFrom: 0,
    instructions: 'Speak German.',
    context: { told: 100, counted: null, scale: 1, overhead: 0, window: null },
    guarded: true,
    ...more,
  });
  await clock.advance(0);
  return model.calls.at(-1);
}
/** The end of it, when there is one. */
async function end(): Promise<Told | undefined> {
  await clock.advance(0);
  return told.find(({ event }) => event.type === 'modelEnded' || event.type === 'summaryEnded');
}
const overhead = overheadOf('Be brief.', [definition]);
const tokens = (count: number): CallModel['context'] => ({
  told: count,
  counted: null,
  scale: 1,
  overhead: 0,
  window: null,
});

describe('A model call', () => {
  it('begins with the prompt of the workspace and the instructions of the workstream', async () => {
    const call = await ask();
    expect(prompts).toEqual([['/w', 'Speak German.']]);
    expect(call?.request.messages).toEqual([{ role: 'system', text: 'Be brief.' }]);
    expect(call?.request).not.toHaveProperty('maxOutput');
  });

  it('says what room there was with who answered: the window of the larger one of that and the chosen one, and what stood beside it', async () => {
    (await ask())?.answer({ text: 'Hi', alias: 'large' });
    expect((await end())?.event).toMatchObject({
      type: 'modelEnded',
      messageId: 'm1',
      room: { window: 100_000, overhead },
    });
  });

  it.each([
    ['failed', (call: FakeCall) => call.fail({ alias: 'open' }), 10_000],
    ['was refused', (call: FakeCall) => call.fail({ alias: 'open', kind: 'CONTEXT_OVERFLOW' }), 10_000],
    ['was stopped', () => performer.perform({ type: 'abortModel', messageId: 'm1' }), 10_000],
  ])('says it too when it %s', async (_, finish, window) => {
    finish((await ask())!);
    expect((await end())?.event).toMatchObject({ room: { window, overhead } });
  });

  it.each([
    ['is gone', 'gone', true],
    ['is there', 'small', false],
  ])(
    'says of who failed that it stands in for the chosen model when that %s',
    async (_, chosen, standsIn) => {
      const call = await ask({ model: { alias: chosen, temperature: null, effort: null } });
      call!.fail({ alias: 'open', kind: 'CONTEXT_OVERFLOW' });
      expect((await end())?.event).toMatchObject({ outcome: { alias: 'open', standsIn } });
    },
  );

  it('is over at once when it is stopped while its prompt is being made, and nobody is asked', async () => {
    system = new Promise(() => undefined);
    await ask();
    performer.perform({ type: 'abortModel', messageId: 'm1' });
    expect(await end()).toMatchObject({ event: { outcome: { type: 'aborted' } }, calls: [] });
    expect(model.calls).toHaveLength(0);
    expect(performer.isIdle()).toBe(true);
  });

  it('that breaks says so (and does not take the actor with it)', async () => {
    system = Promise.reject(new Error('no disk'));
    await ask();
    expect((await end())?.event).toMatchObject({
      outcome: { type: 'failed', kind: 'OTHER', message: 'The model call broke: no disk.' },
    });
  });
});

describe('What stands beside a conversation', () => {
  it('is measured once, and anew when it is another prompt or other tools', () => {
    let measured = 0;
    const tool = (description: string) => ({
      name: 'shell',
      get description() {
        measured += 1;
        return description;
      },
      parameters: {},
    });
    const [few, more] = [[tool('short')], [tool('a much longer description of it')]];
    const measure = createOverhead();
    const first = measure('Be brief.', few);
    expect(measure('Be brief.', few)).toBe(first);
    expect(measured).toBe(1);
    const second = measure('Be brief.', more);
    expect(second).toBeGreaterThan(first);
    expect(measure('Be brief, and kind.', more)).toBeGreaterThan(second);
    expect(measured).toBe(3);
  });
});

describe('A request that would not fit', () => {
  it('is an overflow that is found here: nobody is asked, and the sentence says what is to be done (D-39)', async () => {
    await ask({ context: tokens(9_001 - overhead) });
    expect(model.calls).toHaveLength(0);
    expect(await end()).toEqual({
      stamp,
      event: {
        type: 'modelEnded',
        messageId: 'm1',
        room: { window: 10_000, overhead },
        outcome: {
          type: 'failed',
          kind: 'CONTEXT_OVERFLOW',
          alias: 'small',
          accepted: false,
          othersLeft: false,
          local: true,
          message:
            'This conversation needs about 10,000 tokens, and "small" reads 10,000, its answer included; choose a model with a larger context window, go back in the conversation, or start a new workstream.',
          retryAfterMs: null,
        },
      },
      calls: [],
    });
  });

  it('of a fallback leaves the window of the chosen model (broke: the meter showed that of the fallback)', async () => {
    models = infos.map((info) => ({ ...info, ...(info.alias === 'large' && { fallbacks: ['small'] }) }));
    const chosen = { alias: 'large', temperature: null, effort: null };
    await ask({ model: chosen, givenUp: ['large'], context: tokens(20_000) });
    expect(model.calls).toHaveLength(0);
    expect((await end())?.event).toMatchObject({
      room: { window: 100_000 },
      outcome: { alias: 'small', local: true },
    });
  });

  it('is sent up to the hard threshold, and above it when it is not to be guarded', async () => {
    await ask({ context: tokens(9_000 - overhead) });
    await ask({ context: tokens(20_000), guarded: false, messageId: 'm2' });
    expect(model.calls).toHaveLength(2);
  });

  it('is judged by what the provider counted, with the window that is known now', async () => {
    const counted = { tokens: 9_500, told: 100 };
    await ask({ context: { told: 100, counted, scale: 1, overhead: 0, window: 1_000_000 } });
    expect(model.calls).toHaveLength(0);
  });

  it('is judged by the window of who will be asked: the fallback that is next, those that rest last', async () => {
    const context = tokens(20_000);
    await ask({ context, givenUp: ['small'] });
    await ask({ context, lane: 'large', messageId: 'm2' });
    models = infos.map((info) => (info.alias === 'small' ? { ...info, health: 'DEGRADED' } : info));
    await ask({ context, messageId: 'm3' });
    await ask({ context: tokens(2_000_000), givenUp: ['small', 'large'], messageId: 'm4' });
    expect(model.calls).toHaveLength(4);
    models = models.map((info) => ({ ...info, health: 'DEGRADED' }));
    await ask({ context, messageId: 'm5' });
    expect(model.calls).toHaveLength(4);
  });
});

describe('What a model call cost', () => {
  it('is handed in with its end, for its turn, once', async () => {
    const usage = { inputTokens: 1_000, outputTokens: 100 };
    const call = await ask();
    turnId = 'another by now';
    call?.answer({ text: 'Hi', alias: 'small', model: 'm-1', usage });
    await end();
    expect(told.flatMap(({ calls }) => calls)).toEqual([
      {
        id: 'm1',
        purpose: 'TURN',
        turnId: 't1',
        alias: 'small',
        model: 'm-1',
        usage,
        estimated: false,
        outcome: 'ANSWERED',
        cost: 0.002,
      },
    ]);
  });

  it('is estimated by what was asked and streamed, when it is stopped (D-5)', async () => {
    const call = await ask({ context: tokens(3_000) });
    call?.reasoning('Let me see. ');
    call?.text('It is a fox that ');
    call?.text('jumps');
    performer.perform({ type: 'abortModel', messageId: 'm1' });
    const [counted] = (await end())?.calls ?? [];
    expect(counted).toMatchObject({ alias: 'small', outcome: 'ABORTED', estimated: true });
    expect(counted?.usage.inputTokens).toBe(3_000 + overhead);
    expect(counted?.usage.outputTokens).toBeGreaterThan(8);
  });

  it('is estimated for one that is stopped before a word, once it was sent, and with the calls in it (D-5)', async () => {
    const call = await ask({ context: tokens(3_000) });
    call?.end({ type: 'aborted', unfinished: { usage: null, calls: 400 } });
    expect((await end())?.calls).toMatchObject([
      {
        outcome: 'ABORTED',
        estimated: true,
        usage: { inputTokens: 3_000 + overhead, outputTokens: 100 },
      },
    ]);
  });

  it('is nothing for one that is stopped while it waits for a slot', async () => {
    const call = await ask();
    call?.notice('MODEL_WAITING', 'This one is next.');
    performer.perform({ type: 'abortModel', messageId: 'm1' });
    expect((await end())?.calls).toEqual([]);
  });

  it('is nothing for one that was refused', async () => {
    (await ask())?.fail({ kind: 'RATE_LIMIT' });
    expect((await end())?.calls).toEqual([]);
  });

  const suggest = (): void =>
    performer.perform({
      type: 'suggestTitle',
      stamp: { epoch: 2, generation: null },
      model: { alias: 'small', temperature: null, effort: 'NONE' },
      lane: 'small',
      question: 'Who?',
      answer: 'Me.',
    });

  it('of a name is counted for no turn, every call of it', async () => {
    suggest();
    model.calls[0]!.text('A n');
    model.calls[0]!.fail({ alias: 'small', accepted: true, kind: 'CONNECTION' });
    await clock.advance(0);
    await clock.advance(1_000);
    model.calls[1]!.answer({ text: 'A name', alias: 'small' });
    await clock.advance(0);
    const [named] = told;
    expect(named?.event).toEqual({ type: 'titleSuggested', title: 'A name', question: 'Who?' });
    expect(named?.calls).toMatchObject([
      { id: 'w1:title:2:1', purpose: 'TITLE', turnId: null, alias: 'small', outcome: 'FAILED' },
      { id: 'w1:title:2:2', purpose: 'TITLE', turnId: null, alias: 'small', outcome: 'ANSWERED' },
    ]);
  });

  it('in which the model declines to give a name gives none (broke: the refusal became the name)', async () => {
    suggest();
    model.calls[0]!.answer({ text: 'I cannot', alias: 'small', finish: 'CONTENT_FILTER' });
    await clock.advance(0);
    expect(told[0]?.event).toEqual({ type: 'titleSuggested', title: null, question: 'Who?' });
  });
});

const message = (revision: number): Entry => ({
  id: `e${revision}`,
  revision,
  epoch: 1,
  generation: 1,
  lane: null,
  turnId: null,
  at: '2026-01-01T00:00:00.000Z',
  kind: 'USER',
  text: `number ${revision} `.repeat(110),
  author: { id: 'ann', name: 'Ann' },
  source: 'MESSAGE',
});

function wantSummary(count: number): void {
  performer.perform({
    type: 'summarise',
    stamp,
    compactionId: 'k1',
    model: { alias: 'small', temperature: null, effort: null },
    entries: Array.from({ length: count }, (_, i) => message(i + 1)),
    window: null,
  });
}

describe('A summary', () => {
  it('comes back with what it cost', async () => {
    wantSummary(1);
    model.calls[0]!.answer({ text: 'Short.', alias: 'small', usage: { inputTokens: 500, outputTokens: 5 } });
    expect(await end()).toMatchObject({
      stamp,
      event: {
        type: 'summaryEnded',
        compactionId: 'k1',
        outcome: { type: 'summarised', summary: 'Short.', alias: 'small', model: 'test' },
      },
      calls: [
        {
          id: 'k1:2.7:1',
          purpose: 'SUMMARY',
          turnId: 't1',
          outcome: 'ANSWERED',
          usage: { inputTokens: 500, outputTokens: 5 },
        },
      ],
    });
  });

  it('of several parts tells how far it is, and hands in each call as soon as it has ended', async () => {
    wantSummary(30);
    model.calls[0]!.answer({ text: 'Part 1.', alias: 'small' });
    await clock.advance(0);
    expect(told.map(({ event, calls }) => [event, calls.map(({ id }) => id)])).toEqual([
      [{ type: 'summaryNotice', compactionId: 'k1', message: 'Summarising part 1 of 2.' }, []],
      [{ type: 'summaryNotice', compactionId: 'k1', message: 'Summarising part 2 of 2.' }, ['k1:2.7:1']],
    ]);
    // The model reads 10,000, of which 2,500 are for the answer.
    expect(model.calls[1]!.request.maxOutput).toBe(2_500);
    model.calls[1]!.fail({ kind: 'REFUSAL', accepted: true, alias: 'small', message: 'No.' });
    expect(await end()).toMatchObject({
      event: { outcome: { type: 'failed', reason: 'ERROR', message: 'No.' } },
      calls: [{ id: 'k1:2.7:2', outcome: 'FAILED', estimated: true }],
    });
  });

  it('is stopped by the id of its compaction, and what was streamed is counted', async () => {
    wantSummary(1);
    model.calls[0]!.text('Sho');
    performer.perform({ type: 'abortModel', messageId: 'k1' });
    expect(await end()).toMatchObject({
      event: { outcome: { type: 'aborted' } },
      calls: [{ outcome: 'ABORTED', alias: 'small' }],
    });
    expect(performer.isIdle()).toBe(true);
  });

  it('is counted for the model that makes it, also where that one is stopped', async () => {
    wantSummary(30);
    model.calls[0]!.answer({ text: 'Part 1.', alias: 'large' });
    await clock.advance(0);
    model.calls[1]!.text('Pa');
    performer.perform({ type: 'abortModel', messageId: 'k1' });
    expect((await end())?.calls).toMatchObject([{ outcome: 'ABORTED', alias: 'large' }]);
  });

  it('ends between two calls when what may be spent is, and each call is handed in (D-33)', async () => {
    allowance = 505;
    wantSummary(30);
    model.calls[0]!.answer({
      text: 'Part 1.',
      alias: 'small',
      usage: { inputTokens: 500, outputTokens: 5 },
    });
    expect(await end()).toMatchObject({
      event: { outcome: { type: 'failed', reason: 'BUDGET_SPENT' } },
      calls: [{ id: 'k1:2.7:1' }],
    });
    expect(model.calls).toHaveLength(1);
  });

  it.each([
    ['something of it is left', 506, 506],
    ['it was raised meanwhile', 1, 506],
  ])('goes on while %s (D-33)', async (_, before, after) => {
    allowance = before;
    wantSummary(30);
    allowance = after;
    model.calls[0]!.answer({
      text: 'Part 1.',
      alias: 'small',
      usage: { inputTokens: 500, outputTokens: 5 },
    });
    await clock.advance(0);
    expect(model.calls).toHaveLength(2);
  });

  it('ends between two calls when the budget was lowered meanwhile below what is spent (D-33)', async () => {
    wantSummary(30);
    allowance = 0;
    model.calls[0]!.answer({ text: 'Part 1.', alias: 'small' });
    expect(await end()).toMatchObject({ event: { outcome: { type: 'failed', reason: 'BUDGET_SPENT' } } });
    expect(model.calls).toHaveLength(1);
  });

  it('that breaks is one that failed', async () => {
    wantSummary(1);
    model.calls[0]!.crash(new Error('a bug'));
    expect((await end())?.event).toMatchObject({
      outcome: { type: 'failed', reason: 'ERROR', message: 'The summary broke: a bug.' },
    });
  });
});

describe('The conversation for a summary', () => {
  const read = (): void => performer.perform({ type: 'readConversation', stamp, compactionId: 'k1' });

  it('is read, and told by who reads it', async () => {
    let asked = 0;
    conversation = () => Promise.resolve([message((asked += 1))]);
    read();
    await clock.advance(0);
    expect([asked, told]).toEqual([1, []]);
    expect(performer.isIdle()).toBe(true);
  });

  it('cannot be read while the database is away: then there is no summary', async () => {
    conversation = () => Promise.reject(new StorageUnavailableError('away'));
    read();
    expect(await end()).toMatchObject({
      stamp,
      event: {
        type: 'summaryEnded',
        compactionId: 'k1',
        outcome: { type: 'failed', reason: 'UNPREPARED' },
      },
    });
  });

  it('is not waited for when it is stopped meanwhile', async () => {
    conversation = () => new Promise(() => undefined);
    read();
    performer.perform({ type: 'abortModel', messageId: 'k1' });
    expect((await end())?.event).toMatchObject({ outcome: { type: 'aborted' } });
  });

  it('leads to a summary that can be stopped (broke: the end of the reading let go of it)', async () => {
    conversation = () => {
      // As the core does: it is told what was read, and asks for the summary at once.
      wantSummary(1);
      return Promise.resolve([]);
    };
    read();
    await clock.advance(0);
    performer.perform({ type: 'abortModel', messageId: 'k1' });
    expect((await end())?.event).toMatchObject({ outcome: { type: 'aborted' } });
  });
});
