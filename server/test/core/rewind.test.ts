/**
 * Owns: going back in the conversation (D-59): rewind, edit and resend, retry, example by example.
 */
import { isSuperseded } from 'schema/projection';
import { describe, expect, it } from 'vitest';
import { lower } from '../../src/core/conversation/lower.ts';
import { loadedState } from '../../src/core/workstream/state.ts';
import { all, expectAsked, kinds, last, outcome, queued, said, shows } from './support/telling.ts';
import { ann, bob, createWorld, type World } from './support/world.ts';

/** Ann asked twice and was answered twice, the second time after a call. */
function talked(): World {
  const w = createWorld();
  w.send('first');
  w.store();
  w.answer({ text: 'one' });
  w.send('second');
  w.store();
  w.declare('read_file');
  w.store();
  w.prepare('read');
  w.store();
  w.end(w.running[0]!.call.callId);
  w.store();
  w.answer({ text: 'two' });
  w.store();
  return w;
}

const idOf = (w: World, text: string): string => all(w, 'USER').find((e) => e.text === text)!.id;

/** What the model would be told, as text. */
const told = (w: World): readonly string[] =>
  w.state.conversation.map((e) => (e.kind === 'TOOL' ? e.content : 'text' in e ? e.text : e.kind));

/** Each call is followed by its one result, whatever was taken back. */
function expectPaired(w: World): void {
  const open: string[] = [];
  for (const message of lower('', w.state.conversation)) {
    if (message.role === 'tool') expect(message.callId).toBe(open.shift());
    else expect(open).toEqual([]);
    if (message.role === 'assistant') open.push(...message.calls.map((c) => c.callId));
  }
  expect(open).toEqual([]);
}

describe('a rewind', () => {
  it('takes back a message and all that came after it, and gives its text back; nothing is deleted (D-59)', () => {
    const w = talked();
    const before = w.journal;
    const { reply, entries } = w.rewind(idOf(w, 'second'));
    expect(entries).toMatchObject([{ kind: 'REWIND', reason: 'REWIND', by: ann }]);
    expect(reply).toMatchObject({
      acceptance: { text: 'second', superseded: 4, revision: w.state.projection.revision },
    });
    expect(told(w)).toEqual(['first', 'one']);
    expect(w.journal.slice(0, -1)).toEqual(before);
    expect(said(w)).toEqual(['first', 'second']);
    expectPaired(w);
  });

  it('begins nothing, and the next message goes on from there', () => {
    const w = talked();
    const { effects } = w.rewind(idOf(w, 'second'));
    expect(effects).toEqual([]);
    expect(shows(w)).toBe('IDLE');
    w.send('instead');
    w.store();
    expectAsked(w, 'first', 'one', 'instead');
  });

  it('of a turn that failed leaves nothing failed', () => {
    const w = createWorld();
    w.send('first');
    w.store();
    w.fail({ kind: 'BAD_REQUEST' });
    expect(shows(w)).toBe('ERROR');
    w.rewind(idOf(w, 'first'));
    expect(shows(w)).toBe('IDLE');
    expect(told(w)).toEqual([]);
  });

  it('twice in a row goes back twice, and what was taken back is one span (D-59)', () => {
    const w = talked();
    const [first, second] = ['first', 'second'].map((text) => all(w, 'USER').find((e) => e.text === text)!);
    w.rewind(second!.id);
    // After a rewind no turn is the last one.
    w.rewind(first!.id, ann, null);
    expect(told(w)).toEqual([]);
    expect(w.state.projection.superseded).toEqual([
      { after: first!.revision - 1, through: w.state.projection.revision - 1 },
    ]);
  });

  it('apart from an earlier one leaves two spans, and what is between them is told', () => {
    const w = talked();
    w.rewind(idOf(w, 'second'));
    w.send('third');
    w.store();
    w.answer({ text: 'three' });
    w.send('fourth');
    w.store();
    w.answer({ text: 'four' });
    w.rewind(idOf(w, 'fourth'));
    expect(told(w)).toEqual(['first', 'one', 'third', 'three']);
    const { superseded } = w.state.projection;
    expect(superseded).toHaveLength(2);
    expect(superseded[0]!.through).toBeLessThan(superseded[1]!.after);
  });

  it('by another is taken: what is taken back runs on nobody’s credentials', () => {
    const w = talked();
    expect(w.rewind(idOf(w, 'second'), bob).reply?.type).toBe('accepted');
  });

  it('leaves what waits where it is, held', () => {
    const w = createWorld();
    w.send('first');
    w.store();
    w.send('second');
    w.fail({ kind: 'BAD_REQUEST' });
    w.rewind(idOf(w, 'first'));
    expect(w.state.projection.queue).toMatchObject({ held: true, items: [{ text: 'second' }] });
    w.resumeQueue();
    w.store();
    expect(told(w)).toEqual(['second']);
  });

  it('to a steer cuts behind the results before it', () => {
    const w = createWorld();
    w.send('first');
    w.store();
    w.declare('read_file');
    w.store();
    w.prepare('read');
    w.store();
    w.steer('rather this');
    w.end(w.running[0]!.call.callId);
    w.store();
    w.answer({ text: 'hi' });
    w.rewind(idOf(w, 'rather this'));
    expect(told(w)).toEqual(['first', '', 'done']);
    expectPaired(w);
  });

  it('to what is no message of a person, or is taken back already, is refused', () => {
    const w = createWorld();
    w.send('first');
    w.store();
    w.declare('write_file');
    w.prepare('write');
    w.decide('DENIED', { feedback: 'not there' });
    w.store();
    w.answer({ text: 'hi' });
    const notFound = { refusal: { code: 'MESSAGE_NOT_FOUND' } };
    for (const id of ['none', last(w, 'ASSISTANT').id, idOf(w, 'not there')])
      expect(w.rewind(id).reply).toMatchObject(notFound);
    w.rewind(idOf(w, 'first'));
    expect(w.rewind(idOf(w, 'first')).reply).toMatchObject(notFound);
    expect(w.resend(idOf(w, 'first'), 'again').reply).toMatchObject(notFound);
    expect(w.retry().reply).toMatchObject(notFound);
  });

  it('survives a crash and a reload: who loads sees what was left (D-70)', () => {
    const w = talked();
    w.rewind(idOf(w, 'second'));
    w.store();
    const { conversation } = w.state;
    w.crash();
    expect(w.state.conversation).toEqual(conversation);
    expect(told(w)).toEqual(['first', 'one']);
    w.send('third');
    w.store();
    expectAsked(w, 'first', 'one', 'third');
  });

  it('that was not durable was never made', () => {
    const w = talked();
    w.rewind(idOf(w, 'second'));
    w.crash();
    expect(told(w)).toEqual(['first', 'one', 'second', '', 'done', 'two']);
  });
});

describe('who loads a workstream', () => {
  it('is handed every entry, and tells the model only those that are not superseded (D-59)', () => {
    const w = talked();
    w.resend(idOf(w, 'second'), 'instead');
    w.store();
    const { projection } = w.state;
    const loaded = loadedState({ id: 'w', incarnation: 'i', epoch: 2, projection, conversation: w.durable });
    expect(loaded.conversation).toEqual(w.state.conversation);
    expect(loaded.conversation.some((e) => isSuperseded(projection, e.revision))).toBe(false);
  });
});

describe('a message that is edited and sent again', () => {
  it('takes the place of the old one and what came after, and is asked about at once', () => {
    const w = talked();
    const { reply, entries } = w.resend(idOf(w, 'second'), 'rather');
    expect(entries.map((e) => e.kind)).toEqual(['REWIND', 'TURN', 'USER']);
    expect(last(w, 'REWIND')).toMatchObject({ reason: 'EDIT', by: ann });
    const { id, text } = last(w, 'USER');
    expect(text).toBe('rather');
    expect(reply).toMatchObject({ acceptance: { disposition: 'STARTED', messageId: id } });
    w.store();
    expectAsked(w, 'first', 'one', 'rather');
  });

  it('by another runs as that other, in his words (D-12)', () => {
    const w = talked();
    w.resend(idOf(w, 'second'), 'from bob', bob);
    expect(w.state.projection.turn?.principal).toEqual(bob);
    expect(last(w, 'USER')).toMatchObject({ text: 'from bob', author: bob });
  });

  it('leaves what is held where it is', () => {
    const w = createWorld();
    w.send('first');
    w.store();
    w.send('second');
    w.fail({ kind: 'BAD_REQUEST' });
    w.resend(idOf(w, 'first'), 'rather');
    w.store();
    w.answer({ text: 'hi' });
    expect(queued(w)).toEqual(['second']);
    expect(w.state.projection.queue.held).toBe(true);
  });
});

describe('a retry', () => {
  it('of the last message asks about it as if nothing had been answered', () => {
    const w = talked();
    const { reply, entries } = w.retry('MESSAGE');
    expect(entries.map((e) => e.kind)).toEqual(['REWIND', 'TURN']);
    expect(last(w, 'REWIND').reason).toBe('RETRY');
    expect(reply).toMatchObject({
      acceptance: {
        disposition: 'STARTED',
        messageId: idOf(w, 'second'),
        turnId: w.state.projection.turn!.id,
      },
    });
    w.store();
    expectAsked(w, 'first', 'one', 'second');
  });

  it('of the last result keeps what was done and asks for another answer to that', () => {
    const w = talked();
    w.retry('LAST_RESULT');
    w.store();
    expectAsked(w, 'first', 'one', 'second', '', 'done');
    expectPaired(w);
  });

  it('of the last result after a stop keeps the results of the calls that were stopped (I38)', () => {
    const w = createWorld();
    w.send('first');
    w.store();
    w.declare('a', 'b');
    w.store();
    w.prepare('read');
    w.store();
    w.force();
    w.store();
    w.retry('LAST_RESULT');
    w.store();
    expect(w.state.conversation.map((e) => e.kind)).toEqual(['USER', 'ASSISTANT', 'TOOL', 'TOOL']);
    expectPaired(w);
  });

  it('of the last result where there is none is about the message', () => {
    const w = createWorld();
    w.send('first');
    w.store();
    w.piece('half');
    w.fail({ kind: 'BAD_REQUEST' });
    w.retry('LAST_RESULT');
    w.store();
    expectAsked(w, 'first');
  });

  it('twice in a row asks about the same', () => {
    const w = talked();
    for (let i = 0; i < 2; i += 1) {
      w.retry();
      w.store();
      expectAsked(w, 'first', 'one', 'second');
      w.answer({ text: `again ${i}` });
    }
    expect(told(w)).toEqual(['first', 'one', 'second', 'again 1']);
  });

  it('by another is refused: it would run his message on other credentials, or on his (D-12)', () => {
    const w = talked();
    for (const from of ['MESSAGE', 'LAST_RESULT'] as const)
      expect(w.retry(from, bob).reply).toMatchObject({ refusal: { code: 'NOT_YOURS', author: ann } });
    expect(outcome(w)?.type).toBe('COMPLETED');
  });

  it('in a workstream without a message has nothing to ask about', () => {
    const w = createWorld();
    expect(w.retry().reply).toMatchObject({ refusal: { code: 'MESSAGE_NOT_FOUND' } });
  });

  it('that is lost with its process goes on about the same (D-70)', () => {
    const w = talked();
    w.retry();
    w.store();
    w.crash();
    w.store();
    expectAsked(w, 'first', 'one', 'second');
    expect(told(w)).toEqual(['first', 'one', 'second']);
  });
});

describe('going back', () => {
  const ways: readonly (readonly [string, (w: World, turnId?: string | null) => unknown])[] = [
    ['rewind', (w, turnId) => w.rewind(idOf(w, 'second'), ann, turnId).reply],
    ['resend', (w, turnId) => w.resend(idOf(w, 'second'), 'x', ann, turnId).reply],
    ['retry', (w, turnId) => w.retry('MESSAGE', ann, turnId).reply],
  ];

  it.each(ways)('by %s is refused while a turn lives, whatever it is doing (D-59)', (_, go) => {
    const w = talked();
    w.send('third');
    const { id } = w.state.projection.turn!;
    const busy = { refusal: { code: 'BUSY', currentTurnId: id } };
    expect(go(w)).toMatchObject(busy);
    w.store();
    w.declare('shell');
    w.prepare('write');
    w.store();
    expect(go(w)).toMatchObject(busy);
    w.decide('APPROVED');
    w.store();
    w.stop();
    expect(go(w)).toMatchObject(busy);
    expect(kinds(w)).not.toContain('REWIND');
  });

  it.each(ways)('by %s is refused to who saw another turn last, or none (D-62)', (_, go) => {
    const w = talked();
    const stale = { refusal: { code: 'STALE_TURN', currentTurnId: w.state.projection.turn!.id } };
    expect(go(w, 'another')).toMatchObject(stale);
    expect(go(w, null)).toMatchObject(stale);
    w.rewind(idOf(w, 'second'));
    expect(go(w, 'another')).toMatchObject({ refusal: { code: 'STALE_TURN', currentTurnId: null } });
    expect(all(w, 'REWIND')).toHaveLength(1);
  });
});
