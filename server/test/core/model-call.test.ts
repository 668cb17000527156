/**
 * Owns: asking the model, and asking again (D-37), example by example.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { remedies, type FaultKind } from '../../src/core/models/fault.ts';
import { all, expectAsked, last, outcome, shows } from './support/telling.ts';
import { createWorld, declaration, type World } from './support/world.ts';

function asking(): World {
  const w = createWorld();
  w.send('hello');
  w.store();
  return w;
}

const waits = (w: World): readonly number[] => w.effects.flatMap((e) => (e.type === 'backoff' ? [e.ms] : []));

describe('a retry', () => {
  it('is asked at once when its wait is over and everything before it is durable (broke: it waited for a batch that never came)', () => {
    const w = asking();
    w.fail();
    const again = w.waitOver();
    expect(again.batch).toBeNull();
    expect(again.effects.map((e) => e.type)).toEqual(['callModel']);
  });

  it('waits for what was accepted meanwhile, like any deed (D-2)', () => {
    const w = asking();
    w.fail();
    w.send('and this');
    w.waitOver();
    expect(w.modelCalls).toEqual([]);
    w.store();
    expectAsked(w, 'hello');
  });

  it('comes after 1, 2 and 4 seconds; the fourth failure is the last (D-37)', () => {
    const w = asking();
    for (let attempt = 1; attempt < 4; attempt += 1) {
      w.fail();
      expect(shows(w)).toBe('THINKING');
      w.waitOver();
    }
    w.fail({ message: 'Still busy.' });
    expect(waits(w)).toEqual([1_000, 2_000, 4_000]);
    // The first fault is the one that is told (D-37).
    expect(outcome(w)).toMatchObject({
      type: 'FAILED',
      reason: 'MODEL_OVERLOADED',
      message: 'The endpoint is busy.',
    });
    expect(shows(w)).toBe('ERROR');
  });

  it.each([30_000, 60_000, 20])('honours a Retry-After of %i ms (D-37, A37)', (asked) => {
    const w = asking();
    w.fail({ retryAfterMs: asked });
    expect(waits(w)).toEqual([asked]);
  });

  it('comes in its own time when the Retry-After is over at once (broke: four attempts were over in a moment)', () => {
    const w = asking();
    for (let attempt = 1; attempt < 4; attempt += 1) {
      w.fail({ retryAfterMs: 0 });
      w.waitOver();
    }
    expect(waits(w)).toEqual([1_000, 2_000, 4_000]);
  });

  it('does not come when it would have to wait for more than 60 s (D-37, A37)', () => {
    const w = asking();
    w.fail({ retryAfterMs: 60_001, message: 'Try again in 55 hours.' });
    expect(waits(w)).toEqual([]);
    expect(outcome(w)).toMatchObject({ type: 'FAILED', message: 'Try again in 55 hours.' });
  });

  it('says so to people, with the reason, without what they could do, and which attempt comes', () => {
    const w = asking();
    expect(w.fail({ message: 'The endpoint is busy; try again in a while.' }).items).toEqual([
      {
        type: 'Notice',
        level: 'WARNING',
        code: 'MODEL_RETRY',
        message: 'The endpoint is busy. Trying again in 1 s (attempt 2 of 4).',
      },
    ]);
  });

  it('voids what was shown and begins another message: attempts are never spliced (D-8, D-37)', () => {
    const w = asking();
    const first = w.modelCalls[0]!.messageId;
    w.piece('half an ans');
    w.fail({ accepted: true, kind: 'MALFORMED', message: 'Cut off.' });
    expect(w.follower.overlay.message).toMatchObject({ id: first, text: 'half an ans' });
    w.waitOver();
    const second = w.modelCalls[0]!.messageId;
    expect(second).not.toBe(first);
    const said = w.piece('the answer');
    expect(said.items[0]).toEqual({ type: 'StreamReset', messageId: first, reason: 'Cut off.' });
    expect(w.follower.overlay.message).toMatchObject({ id: second, text: 'the answer' });
    w.answer({ text: 'the answer' });
    expect(all(w, 'ASSISTANT').map((e) => [e.id, e.text])).toEqual([[second, 'the answer']]);
  });

  it('does not take the report of the attempt before it', () => {
    const w = asking();
    const { stamp, messageId } = w.modelCalls[0]!;
    w.fail();
    w.waitOver();
    const before = w.state;
    w.tell(stamp, { type: 'modelDelta', messageId, text: 'late', reasoning: '' });
    w.tell(stamp, { type: 'modelEnded', messageId, outcome: { type: 'aborted' } });
    w.tell(stamp, { type: 'backoffOver', messageId });
    expect(w.state).toEqual(before);
  });

  it('starts counting anew for the next question of the turn', () => {
    const w = asking();
    w.fail();
    w.waitOver();
    w.declare('read_file');
    w.prepare('read');
    w.store();
    w.end(w.running[0]!.call.callId);
    w.store();
    w.fail();
    expect(waits(w)).toEqual([1_000, 1_000]);
  });
});

/** Fails until the core asks no more; the waits between. */
function failing(w: World, fault: Parameters<World['fail']>[0]): readonly number[] {
  for (let n = 0; w.modelCalls.length > 0; n += 1) {
    if (n > 100) throw new Error('it is asked again and again');
    w.fail(fault);
    if (w.backoffs.length > 0) w.waitOver();
    w.store();
  }
  return waits(w);
}

describe('an answer that broke off after it was accepted', () => {
  const broken = { accepted: true, kind: 'MALFORMED' } as const;

  it('is asked for anew twice, at the same model, and then given up with the first reason (D-37)', () => {
    const w = asking();
    expect(failing(w, { ...broken, othersLeft: true })).toEqual([1_000, 2_000]);
    expect(outcome(w)).toMatchObject({ reason: 'MODEL_MALFORMED' });
    expect(w.effects.flatMap((e) => (e.type === 'callModel' ? [e.lane] : []))).toEqual([
      null,
      'test',
      'test',
    ]);
  });

  it('that is shown stays until another one takes its place, and is kept when none does (A28)', () => {
    const w = asking();
    const first = w.modelCalls[0]!.messageId;
    w.piece('half');
    failing(w, broken);
    expect(last(w, 'CANCELLATION')).toMatchObject({ id: first, text: 'half', reason: 'FAILED' });
  });

  it('is kept when the turn is stopped while it waits to be asked for anew (D-65)', () => {
    const w = asking();
    w.piece('half');
    w.fail(broken);
    w.stop();
    expect(last(w, 'CANCELLATION')).toMatchObject({ text: 'half', reason: 'STOPPED' });
    expect(outcome(w)).toMatchObject({ type: 'CANCELED' });
  });

  it('is voided by an answer that comes whole', () => {
    const w = asking();
    const first = w.modelCalls[0]!.messageId;
    w.piece('half');
    w.fail(broken);
    w.waitOver();
    expect(w.answer({ text: 'all of it' }).items[0]).toMatchObject({ type: 'StreamReset', messageId: first });
    expect(all(w, 'CANCELLATION')).toEqual([]);
    expect(w.follower.overlay.message).toBeNull();
  });

  it('gets the four attempts of a new question', () => {
    const w = asking();
    w.fail(broken);
    w.waitOver();
    for (let n = 0; n < 3; n += 1) {
      w.fail();
      w.waitOver();
    }
    w.fail();
    expect(waits(w)).toEqual([1_000, 1_000, 2_000, 4_000]);
    expect(outcome(w)).toMatchObject({ reason: 'MODEL_MALFORMED' });
  });
});

describe('a model that fails', () => {
  it('for good gives its place to the next one at once, and is not asked again (D-37)', () => {
    const w = asking();
    const { items } = w.fail({ kind: 'AUTHENTICATION', othersLeft: true, message: 'The key was refused.' });
    expect(items).toMatchObject([
      { code: 'MODEL_FALLBACK', message: 'The key was refused. Asking another model.' },
    ]);
    expect(w.modelCalls).toMatchObject([{ lane: null, givenUp: ['test'], model: { alias: 'test' } }]);
    w.answer({ text: 'hi', alias: 'other' });
    expect(last(w, 'ASSISTANT')).toMatchObject({ text: 'hi', alias: 'other' });
  });

  it('for now gives its place to the next one after four attempts, and the first reason is told (D-37)', () => {
    const w = asking();
    for (let n = 0; n < 3; n += 1) {
      w.fail({ othersLeft: true, message: 'Busy.' });
      w.waitOver();
    }
    w.fail({ othersLeft: true });
    expect(w.modelCalls).toMatchObject([{ lane: null, givenUp: ['test'] }]);
    w.fail({ kind: 'AUTHENTICATION', alias: 'other', message: 'No.' });
    expect(outcome(w)).toMatchObject({
      reason: 'MODEL_OVERLOADED',
      message: 'Busy. Its fallbacks did not answer either: "other". No.',
    });
  });

  it('is not asked again when the next one fails too: each that failed is told of, once, with its reason', () => {
    const w = asking();
    w.fail({ kind: 'AUTHENTICATION', othersLeft: true, message: 'No key.' });
    w.fail({ kind: 'QUOTA', alias: 'second', othersLeft: true, message: 'No credit.' });
    expect(w.modelCalls).toMatchObject([{ lane: null, givenUp: ['test', 'second'] }]);
    w.fail({ kind: 'NOT_FOUND', alias: 'third', message: 'No such model.' });
    expect(outcome(w)).toMatchObject({
      reason: 'MODEL_AUTHENTICATION',
      message: 'No key. Its fallbacks did not answer either: "second", "third". No credit. No such model.',
    });
  });

  it('tells of a fallback whose answer broke off, too (broke: only the first reason was told)', () => {
    const w = asking();
    w.fail({ kind: 'AUTHENTICATION', othersLeft: true, message: 'No key.' });
    for (let n = 0; n < 2; n += 1) {
      w.fail({ kind: 'CONNECTION', alias: 'other', accepted: true, message: 'Cut off.' });
      w.waitOver();
    }
    w.fail({ kind: 'CONNECTION', alias: 'other', accepted: true, message: 'Cut off again.' });
    expect(outcome(w)).toMatchObject({
      reason: 'MODEL_AUTHENTICATION',
      message: 'No key. Its fallbacks did not answer either: "other". Cut off again.',
    });
  });

  it.each([
    [
      'where all give it',
      { test: 'Away.', a: 'Away.', b: 'Away.' },
      'Away. Its fallbacks did not answer either, for the same reason: "a", "b".',
    ],
    [
      'where some give another',
      { test: 'Away.', a: 'Away.', b: 'No.', c: 'No.' },
      'Away. Its fallbacks did not answer either: "a", "b", "c". No.',
    ],
    [
      'though each names its own model',
      { test: 'Model "test" is away; check that it runs.', a: 'Model "a" is away; check that it runs.' },
      'Model "test" is away; check that it runs. Its fallbacks did not answer either: "a". Model "a" is away.',
    ],
  ])(
    'says a reason once, %s (broke: the same sentence stood there for each fallback)',
    (_, reasons: Readonly<Record<string, string>>, told) => {
      const w = asking();
      const last = Object.keys(reasons).at(-1);
      for (const [alias, message] of Object.entries(reasons))
        w.fail({ kind: 'QUOTA', alias, othersLeft: alias !== last, message });
      expect(outcome(w)?.message).toBe(told);
    },
  );

  it('of many fallbacks tells the reasons of three, none without end', () => {
    const w = asking();
    w.fail({ kind: 'QUOTA', othersLeft: true, message: 'First.' });
    for (const alias of ['a', 'b', 'c', 'd'])
      w.fail({
        kind: 'QUOTA',
        alias,
        othersLeft: alias !== 'd',
        message: alias === 'b' ? 'b'.repeat(9_000) : `Not ${alias}.`,
      });
    expect(outcome(w)).toMatchObject({
      message: `First. Its fallbacks did not answer either: "a", "b", "c", "d". Not a. ${'b'.repeat(300)}… Not c.`,
    });
  });

  it.each(['REFUSAL', 'CONTENT_FILTER', 'BAD_REQUEST', 'CONTEXT_OVERFLOW'] as const)(
    'with %s is not asked again, nor is another',
    (kind) => {
      const w = asking();
      w.fail({ kind, othersLeft: true });
      expect(w.modelCalls).toEqual([]);
      expect(outcome(w)).toMatchObject({ reason: `MODEL_${kind}` });
    },
  );

  it('is asked anew for the next question of the turn', () => {
    const w = asking();
    w.fail({ kind: 'AUTHENTICATION', othersLeft: true });
    w.answer({ calls: [declaration('read_file')] });
    w.prepare('read');
    w.store();
    w.end(w.running[0]!.call.callId);
    w.store();
    expect(w.modelCalls).toMatchObject([{ lane: null, givenUp: [] }]);
  });

  it.each(Object.keys(remedies) as FaultKind[])(
    'always with %s is asked a bounded number of times',
    (kind) => {
      fc.assert(
        fc.property(fc.array(fc.tuple(fc.boolean(), fc.boolean()), { maxLength: 60 }), (faults) => {
          const w = asking();
          for (const [accepted, others] of [
            ...faults,
            ...Array<[boolean, boolean]>(60).fill([true, false]),
          ]) {
            if (w.modelCalls.length === 0) break;
            // Three models at most.
            const givenUp = w.modelCalls[0]!.givenUp.length;
            w.fail({ kind, accepted, alias: `m${givenUp}`, othersLeft: others && givenUp < 2 });
            if (w.backoffs.length > 0) w.waitOver();
            w.store();
          }
          expect(outcome(w)).toMatchObject({ type: 'FAILED', reason: `MODEL_${kind}` });
          expect(w.effects.filter((e) => e.type === 'callModel').length).toBeLessThanOrEqual(3 * 4 * 3);
        }),
        { numRuns: 50 },
      );
    },
  );
});

describe('a model that is chosen', () => {
  const choice = { alias: 'other', temperature: 0.2, effort: 'HIGH' } as const;

  it('in the middle of a turn counts from its next call on, as a whole', () => {
    const w = asking();
    expect(w.choose(choice).reply).toMatchObject({ type: 'accepted' });
    w.answer({ calls: [declaration('read_file')] });
    w.prepare('read');
    w.store();
    w.end(w.running[0]!.call.callId);
    w.store();
    expect(w.modelCalls).toMatchObject([{ model: choice }]);
    w.choose({ alias: 'other', temperature: null, effort: null });
    const { configuration } = w.state.projection;
    expect(configuration).toMatchObject({ model: 'other' });
    expect(configuration).not.toHaveProperty('temperature');
    expect(configuration).not.toHaveProperty('effort');
  });

  const other = { alias: 'other', temperature: null, effort: null } as const;
  const slot = (w: World, code: 'MODEL_WAITING' | 'MODEL_ASKED') => {
    const { stamp, messageId } = w.modelCalls[0]!;
    return w.tell(stamp, { type: 'modelNotice', messageId, code, message: 'About a slot.' });
  };

  it('while a failed call waits to be asked again is asked at once, from the bottom of its own ladder (broke: the old one was tried four times)', () => {
    const w = asking();
    w.fail({ retryAfterMs: 60_000 });
    w.choose(other);
    w.store();
    expect(w.modelCalls).toMatchObject([{ model: other, lane: null, givenUp: [] }]);
    // The wait that was for the other one brings nothing any more.
    w.waitOver();
    expect(w.modelCalls).toHaveLength(1);
    w.fail({ alias: 'other' });
    expect(waits(w)).toEqual([60_000, 1_000]);
  });

  it('while a failed call waits keeps to its place where only the temperature is another', () => {
    const w = asking();
    w.fail();
    w.choose({ alias: 'test', temperature: 1, effort: null });
    w.store();
    expect(w.modelCalls).toEqual([]);
    w.waitOver();
    expect(w.modelCalls).toMatchObject([{ model: { alias: 'test', temperature: 1 }, lane: 'test' }]);
  });

  it('while a call waits for a slot takes its place as soon as that is seen to have ended (D-36)', () => {
    const w = asking();
    const { messageId } = w.modelCalls[0]!;
    slot(w, 'MODEL_WAITING');
    const chosen = w.choose(other);
    expect(chosen.effects).toContainEqual({ type: 'abortModel', messageId });
    expect(chosen.items).toContainEqual({
      type: 'Notice',
      level: 'INFO',
      code: 'MODEL_CHOSEN',
      message: 'Asking "other" instead, as chosen.',
    });
    expect(slot(w, 'MODEL_WAITING').items).toEqual([]);
    w.store();
    // Chosen back and forth: it is being ended all the same, and that is no failure.
    w.choose({ alias: 'test', temperature: null, effort: null });
    w.store();
    w.endModel({ type: 'aborted' }, messageId);
    w.store();
    expect(w.modelCalls).toMatchObject([{ model: { alias: 'test' }, lane: null }]);
    w.answer({ text: 'hi' });
    expect(outcome(w)).toMatchObject({ type: 'COMPLETED' });
  });

  it('while an endpoint is asked leaves that call alone, also one that had waited', () => {
    const w = asking();
    slot(w, 'MODEL_WAITING');
    slot(w, 'MODEL_ASKED');
    expect(w.choose(other).effects.map((e) => e.type)).not.toContain('abortModel');
    w.piece('half');
    w.answer({ text: 'half and half' });
    expect(last(w, 'ASSISTANT')).toMatchObject({ text: 'half and half' });
  });

  it('is asked when the call that had been under way fails, whoever else could take its place', () => {
    const w = asking();
    w.choose(other);
    w.store();
    const { items } = w.fail({ kind: 'AUTHENTICATION', message: 'The key was refused.' });
    expect(items).toMatchObject([
      { code: 'MODEL_CHOSEN', message: 'The key was refused. Asking "other", chosen meanwhile.' },
    ]);
    expect(w.modelCalls).toMatchObject([{ model: other, lane: null, givenUp: [] }]);
    w.fail({ alias: 'other', kind: 'AUTHENTICATION', message: 'Here too.' });
    expect(outcome(w)).toMatchObject({ message: 'Here too.' });
  });

  it('is not asked what the one before declined to answer', () => {
    const w = asking();
    w.choose(other);
    w.fail({ kind: 'REFUSAL' });
    expect(outcome(w)).toMatchObject({ reason: 'MODEL_REFUSAL' });
  });

  it('while it waits to be asked for anew, voids what the one before had begun to say (D-8)', () => {
    const w = asking();
    const first = w.modelCalls[0]!.messageId;
    w.piece('half');
    w.fail({ accepted: true, kind: 'MALFORMED' });
    w.choose(other);
    w.store();
    expect(w.piece('all').items[0]).toEqual({
      type: 'StreamReset',
      messageId: first,
      reason: 'Another model was chosen.',
    });
  });

  it('while a call waits for a slot does not come after a Stop (I31)', () => {
    const w = asking();
    slot(w, 'MODEL_WAITING');
    w.choose(other);
    w.store();
    w.stop();
    w.endModel({ type: 'aborted' });
    w.store();
    expect(w.modelCalls).toEqual([]);
    expect(outcome(w)).toMatchObject({ type: 'CANCELED' });
  });

  it('again as it is changes nothing (D-11)', () => {
    const w = asking();
    w.choose(choice);
    w.store();
    const { revision } = w.state.projection;
    w.choose(choice);
    expect(w.state.projection.revision).toBe(revision);
  });
});

describe('what happens on the way to an answer', () => {
  it('is told while the answer is waited for, and not of an earlier attempt', () => {
    const w = asking();
    const { stamp, messageId } = w.modelCalls[0]!;
    const waiting = { type: 'modelNotice', messageId, code: 'MODEL_WAITING', message: 'Waiting.' } as const;
    expect(w.tell(stamp, waiting).items).toEqual([
      { type: 'Notice', level: 'INFO', code: 'MODEL_WAITING', message: 'Waiting.' },
    ]);
    w.fail();
    w.waitOver();
    expect(w.tell(stamp, waiting).items).toEqual([]);
  });
});

describe('a failure that cannot be retried', () => {
  it('ends the turn at once, says why, and keeps the partial text (I35)', () => {
    const w = asking();
    const { messageId } = w.modelCalls[0]!;
    w.piece('half');
    w.fail({ kind: 'AUTHENTICATION', message: 'The key was refused.' });
    expect(outcome(w)).toMatchObject({
      type: 'FAILED',
      reason: 'MODEL_AUTHENTICATION',
      message: 'The key was refused.',
    });
    expect(last(w, 'CANCELLATION')).toMatchObject({ id: messageId, text: 'half', reason: 'FAILED' });
    expect(waits(w)).toEqual([]);
  });

  it('that was never an answer leaves no text', () => {
    const w = asking();
    w.fail({ kind: 'BAD_REQUEST' });
    expect(all(w, 'CANCELLATION')).toEqual([]);
  });

  it('is not the end of the workstream: the next message goes on with all that was said', () => {
    const w = asking();
    w.fail({ kind: 'BAD_REQUEST' });
    w.send('again');
    w.store();
    expectAsked(w, 'hello', 'again');
    expect(shows(w)).toBe('THINKING');
  });

  it('and an end from outside without a stop is a failure too, never a completion (I27)', () => {
    const w = asking();
    w.endModel({ type: 'aborted' });
    expect(outcome(w)).toMatchObject({ type: 'FAILED', reason: 'MODEL_ABORTED' });
  });
});

describe('a piece of an answer', () => {
  it('that is empty shows nothing (broke: it opened a message no follower had heard of)', () => {
    const w = asking();
    w.piece('');
    expect(w.state.overlay.message).toBeNull();
    expect(w.follower.overlay).toEqual(w.state.overlay);
  });

  it('is shown at its offset in its channel (I13)', () => {
    const w = asking();
    w.piece('ab', 'x');
    expect(w.piece('c', 'yz').items).toMatchObject([
      { type: 'StreamChunk', channel: 'REASONING', offset: 1, text: 'yz' },
      { type: 'StreamChunk', channel: 'TEXT', offset: 2, text: 'c' },
    ]);
  });
});
