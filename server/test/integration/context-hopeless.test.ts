/**
 * Owns: what becomes of a conversation whose endpoint takes nothing, or whose model makes no summary (D-39, D-40): one
 * clear outcome, a sentence that says what to do, and the conversation as it was.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Entry, TurnOutcome } from 'schema/projection';
import { ofKind } from '../../../e2e/support/journal-laws.ts';
import type { Step } from '../support/scripted-provider.ts';
import { asksForSummary } from '../support/context-endpoint.ts';
import {
  createContextWorld,
  either,
  plainly,
  textsOf,
  tooLong,
  type ContextWorld,
  type Talk,
} from './context-world.ts';

const wordings = Object.keys(tooLong) as readonly (keyof typeof tooLong)[];
const summaries = {
  'to nothing': { steps: { stream: [] } as Step, reason: 'EMPTY_SUMMARY', calls: 3 },
  'and refuses': {
    steps: { stream: [{ chunk: { choices: [{ index: 0, delta: { refusal: 'I will not.' } }] } }] } as Step,
    reason: 'ERROR',
    calls: 1,
  },
} as const;
const kinds = Object.keys(summaries) as readonly (keyof typeof summaries)[];

let world: ContextWorld;
beforeAll(async () => {
  const names = [...wordings, ...kinds].flatMap((name) => [`${name} turn`, `${name} wanted`]);
  const models = [...names, 'endless stopped', 'endless left'].map((name) => [name, { window: 8_000 }]);
  world = await createContextWorld(Object.fromEntries(models) as Record<string, object>);
});
afterAll(() => world?.end());

/** What to do stands in the sentence. */
const actionable = /; (start|choose|try|ask|say|check|look) [^;]+\./;

/** What was is as it was, and the model is told all of it when its endpoint is well again. */
async function expectAsItWas(talk: Talk, before: readonly Entry[]): Promise<void> {
  const after = await talk.history();
  expect(after.slice(0, before.length)).toEqual(before);
  expect(ofKind(after, 'CHECKPOINT')).toEqual([]);
  talk.answer(plainly('Well again.'));
  expect(await talk.say('And now?')).toMatchObject({ type: 'COMPLETED' });
  const told = textsOf(talk.requests.at(-1)!);
  const said = [...ofKind(before, 'USER'), ...ofKind(before, 'ASSISTANT')].map((e) => e.text);
  expect(said.filter((text) => !told.some((one) => one.includes(text)))).toEqual([]);
  expect(told.at(-1)).toContain('And now?');
}

async function filled(name: string): Promise<{ readonly talk: Talk; readonly before: readonly Entry[] }> {
  const talk = await world.talk(name);
  await talk.fill(4);
  return { talk, before: await talk.history() };
}

async function wanted(talk: Talk): Promise<TurnOutcome> {
  const { turnId } = await talk.compact();
  return talk.ended(turnId!);
}

describe.concurrent('an endpoint that always says it is too long', () => {
  it.each(wordings)('in %s fails the turn once, and says what to do (D-39, G12)', async (wording) => {
    const { talk, before } = await filled(`${wording} turn`);
    const asked = talk.requests.length;
    talk.answer(() => tooLong[wording]);
    const outcome = await talk.say('Is it too long?');
    expect(outcome).toMatchObject({ type: 'FAILED', reason: 'MODEL_CONTEXT_OVERFLOW' });
    expect(outcome.message).toMatch(actionable);
    expect(outcome.message).toMatch(/could not be summarised either: Even a small part of it is too long\./);
    const requests = talk.requests.slice(asked);
    // Itself once, and what is to be summarised, for half of what was refused until that is no window.
    expect(requests.filter((body) => !asksForSummary(body))).toHaveLength(1);
    expect(requests.length).toBeLessThanOrEqual(8);
    await expectAsItWas(talk, before);
  });

  it.each(wordings)('in %s fails a summary that is wanted, and says what to do (D-40)', async (wording) => {
    const { talk, before } = await filled(`${wording} wanted`);
    talk.answer(() => tooLong[wording]);
    const outcome = await wanted(talk);
    expect(outcome).toMatchObject({ type: 'FAILED', reason: 'COMPACTION_IRREDUCIBLE' });
    expect(outcome.message).toMatch(actionable);
    expect(outcome.message).toMatch(/The conversation is as it was\.$/);
    await expectAsItWas(talk, before);
  });
});

describe.concurrent('a model that summarises', () => {
  it.each(kinds)('%s fails the turn that does not fit, with why it does not (D-39)', async (kind) => {
    const { talk, before } = await filled(`${kind} turn`);
    const asked = talk.requests.length;
    talk.answer(
      either(
        () => summaries[kind].steps,
        () => tooLong['HTTP 400'],
      ),
    );
    const outcome = await talk.say('Is it too long?');
    expect(outcome).toMatchObject({ type: 'FAILED', reason: 'MODEL_CONTEXT_OVERFLOW' });
    expect(outcome.message).toMatch(actionable);
    expect(talk.requests.slice(asked)).toHaveLength(1 + summaries[kind].calls);
    await expectAsItWas(talk, before);
  });

  it.each(kinds)('%s fails a summary that is wanted (D-40)', async (kind) => {
    const { talk, before } = await filled(`${kind} wanted`);
    const asked = talk.requests.length;
    talk.answer(() => summaries[kind].steps);
    const outcome = await wanted(talk);
    expect(outcome).toMatchObject({ type: 'FAILED', reason: `COMPACTION_${summaries[kind].reason}` });
    expect(outcome.message).toMatch(/The conversation is as it was\.$/);
    expect(outcome.message).toMatch(actionable);
    expect(talk.requests.slice(asked)).toHaveLength(summaries[kind].calls);
    await expectAsItWas(talk, before);
  });

  it('without end is stopped at once, and its connection is let go (D-40, D-65)', async () => {
    const { talk, before } = await filled('endless stopped');
    talk.answer(() => ({ stream: ['So it was. ', { gate: 'never' }] }));
    const { turnId } = await talk.compact();
    await world.bench.provider.waitForGate('never');
    expect(await world.api.stop(talk.id)).toMatchObject({ durability: 'DURABLE' });
    expect(await talk.ended(turnId!)).toMatchObject({ type: 'CANCELED' });
    await world.bench.provider.waitForAbort(talk.numberOf(talk.requests.length));
    await expectAsItWas(talk, before);
  });

  it('without end and is left alone ends at the longest answer that is taken, 2 Mi characters (D-38)', async () => {
    const { talk, before } = await filled('endless left');
    talk.answer(() => ({ stream: [{ forever: 'And so on and so forth. '.repeat(400) }] }));
    const outcome = await wanted(talk);
    expect(outcome).toMatchObject({ type: 'FAILED', reason: 'COMPACTION_ERROR' });
    expect(outcome.message).toMatch(actionable);
    await world.bench.provider.waitForAbort(talk.numberOf(talk.requests.length));
    await expectAsItWas(talk, before);
  });
});
