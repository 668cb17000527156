/** Owns: what becomes of a question beside the turn, over a model that the test answers by hand (D-36, D-37). */
import { beforeEach, describe, expect, it } from 'vitest';
import { askAside } from '../../src/app/actor/ask-aside.ts';
import type { ModelAnswer, ModelOutcome } from '../../src/ports/model.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import { createFakeModel, type FakeCall, type FakeModel } from '../support/fake-model.ts';

let clock: TestClock;
let model: FakeModel;
let stop: () => void;
let said: Promise<ModelAnswer | null>;
/** What is told of calls that have ended. */
let ended: readonly (readonly [outcome: ModelOutcome['type'], said: string])[];

beforeEach(() => {
  clock = createTestClock();
  model = createFakeModel();
  const controller = new AbortController();
  stop = () => controller.abort();
  ended = [];
  said = askAside(
    { model, clock },
    {
      workstreamId: 'w',
      model: { alias: 'a', temperature: null, effort: 'NONE' },
      lane: 'b',
      worded: () => ({ messages: [] }),
      tools: [],
    },
    controller.signal,
    { ended: (_, { type }, { text }) => void (ended = [...ended, [type, text]]) },
  );
});

const last = (): FakeCall => model.calls.at(-1)!;
const asked = (times: number): void => expect(model.calls).toHaveLength(times);
/** The last call fails, and what follows of it has been begun. */
async function fail(fault: Parameters<FakeCall['fail']>[0]): Promise<void> {
  last().fail(fault);
  await clock.advance(0);
}
const busy = { kind: 'OVERLOADED' } as const;

describe('A question beside the turn', () => {
  it('is asked of whom it is for, and answered', async () => {
    last().answer({ text: 'A name' });
    expect(await said).toMatchObject({ text: 'A name' });
    expect(model.calls.map(({ request }) => [request.model.alias, request.lane])).toEqual([['a', 'b']]);
    expect(clock.pending).toBe(0);
  });

  it('is asked again after 1, 2 and 4 s, then of another model, with nothing under way meanwhile (D-36, D-37)', async () => {
    for (const [times, ms] of [1_000, 2_000, 4_000].entries()) {
      asked(times + 1);
      await fail({ ...busy, othersLeft: true });
      await clock.advance(ms - 1);
      asked(times + 1);
      await clock.advance(1);
    }
    asked(4);
    await fail({ ...busy, othersLeft: true });
    asked(5);
    expect(model.calls.map(({ request }) => [request.lane, request.givenUp])).toEqual([
      ...Array.from({ length: 4 }, () => ['b', []]),
      [null, ['b']],
    ]);
    last().answer({ text: 'A name' });
    expect(await said).toMatchObject({ text: 'A name' });
    expect(clock.pending).toBe(0);
  });

  it('tells of each call that ended, once, with what was said in it (D-5)', async () => {
    last().text('Half a n');
    await fail({ kind: 'CONNECTION', accepted: true });
    await clock.advance(1_000);
    last().answer({ text: 'A name' });
    await said;
    expect(ended).toEqual([
      ['failed', 'Half a n'],
      ['answered', ''],
    ]);
  });

  it('waits for as long as the endpoint says, up to a minute (D-37)', async () => {
    await fail({ kind: 'RATE_LIMIT', retryAfterMs: 60_000 });
    await clock.advance(59_999);
    asked(1);
    await clock.advance(1);
    await fail({ kind: 'RATE_LIMIT', retryAfterMs: 60_001 });
    expect(await said).toBeNull();
    expect(model.calls).toHaveLength(2);
  });

  it.each(['BAD_REQUEST', 'REFUSAL', 'CONTEXT_OVERFLOW'] as const)(
    'that fails with %s is given up (D-37)',
    async (kind) => {
      await fail({ kind, othersLeft: true });
      expect(await said).toBeNull();
      expect(clock.pending).toBe(0);
    },
  );

  it('is over at once when it is aborted while it waits', async () => {
    await fail(busy);
    await clock.advance(999);
    stop();
    expect(await said).toBeNull();
    expect(model.calls).toHaveLength(1);
    expect(clock.pending).toBe(0);
  });

  it('lets a call go that takes more than 30 s, since a turn may want its slot', async () => {
    await clock.advance(29_999);
    expect(last().signal.aborted).toBe(false);
    await clock.advance(1);
    expect(last().signal.aborted).toBe(true);
    expect(await said).toBeNull();
    expect(model.calls).toHaveLength(1);
    expect(clock.pending).toBe(0);
  });

  it('yields its slot to a turn that waits for it, and is asked again after a moment (D-36; broke: a turn waited for up to 30 s)', async () => {
    expect(last().request.yields).toBe(true);
    last().end({ type: 'aborted' });
    await clock.advance(0);
    await clock.advance(1_999);
    asked(1);
    await clock.advance(1);
    asked(2);
    last().answer({ text: 'A name' });
    expect(await said).toMatchObject({ text: 'A name' });
    expect(ended.map(([type]) => type)).toEqual(['aborted', 'answered']);
    expect(clock.pending).toBe(0);
  });

  it('is given up after two minutes of yielding', async () => {
    for (let n = 0; n < 60; n += 1) {
      last().end({ type: 'aborted' });
      await clock.advance(0);
      await clock.advance(2_000);
    }
    expect(await said).toBeNull();
    expect(clock.pending).toBe(0);
  });

  it('may wait for a slot, which is not held against it', async () => {
    last().notice('MODEL_WAITING', 'Waiting for a slot.');
    await clock.advance(60_000);
    last().notice('MODEL_ASKED', 'It has a slot.');
    await clock.advance(29_999);
    expect(last().signal.aborted).toBe(false);
    await clock.advance(1);
    expect(last().signal.aborted).toBe(true);
    expect(await said).toBeNull();
  });

  it('does not wait for a slot without end', async () => {
    last().notice('MODEL_WAITING', 'Waiting for a slot.');
    await clock.advance(120_000);
    expect(await said).toBeNull();
    expect(clock.pending).toBe(0);
  });

  it('is given up after two minutes, whatever an endpoint asks for', async () => {
    for (const times of [1, 2]) {
      asked(times);
      await fail({ kind: 'RATE_LIMIT', retryAfterMs: 59_000 });
      await clock.advance(59_000);
    }
    asked(3);
    await fail({ kind: 'RATE_LIMIT', retryAfterMs: 59_000 });
    await clock.advance(2_000);
    expect(await said).toBeNull();
    expect(model.calls).toHaveLength(3);
    expect(clock.pending).toBe(0);
  });
});
