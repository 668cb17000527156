/**
 * Owns: a turn from a message to its end, example by example (D-33, D-34, D-38, D-51).
 */
import { describe, expect, it } from 'vitest';
import { lower } from '../../src/core/conversation/lower.ts';
import { storable } from '../../src/core/kit/storable.ts';
import { all, callIds, expectAsked, kinds, last, outcome, results, said, shows } from './support/telling.ts';
import { bob, createWorld, declaration, place, type World } from './support/world.ts';

const asked = (): World => {
  const w = createWorld();
  w.send('hello');
  w.store();
  return w;
};

describe('a plain answer', () => {
  it('that ends for an unknown reason keeps its text and fails the turn: unknown is never complete (D-30, I27)', () => {
    const w = asked();
    w.answer({ text: 'so far', finish: 'OTHER' });
    expect(last(w, 'ASSISTANT')).toMatchObject({ text: 'so far', finish: 'OTHER' });
    expect(outcome(w)).toMatchObject({ type: 'FAILED', reason: 'MODEL_FINISH_UNKNOWN' });
    expect(shows(w)).toBe('ERROR');
  });

  it('goes from a message through a streamed answer to the end of the turn', () => {
    const w = createWorld();
    const sent = w.send('hello');
    expect(sent.reply).toMatchObject({
      type: 'accepted',
      acceptance: { disposition: 'STARTED', messageId: last(w, 'USER').id },
    });
    expect(shows(w)).toBe('THINKING');
    w.store();
    expectAsked(w, 'hello');
    w.piece('', 'hm');
    w.piece('hi ');
    w.piece('there');
    expect(w.follower.overlay.message).toMatchObject({ text: 'hi there', reasoning: 'hm' });
    w.answer({ text: 'hi there', reasoning: 'hm' });
    expect(kinds(w)).toEqual(['TURN', 'USER', 'ASSISTANT', 'TURN']);
    expect(w.follower.overlay.message).toBeNull();
    expect(shows(w)).toBe('IDLE');
    expect(outcome(w)).toEqual({ type: 'COMPLETED', reason: 'DONE', message: '', unconfirmed: [] });
  });

  it('is asked for only when the message is durable (D-2)', () => {
    const w = createWorld();
    expect(w.send('hello').effects).toEqual([]);
    w.commit();
    expect(w.modelCalls).toEqual([]);
    expect(w.acknowledge()?.effects).toMatchObject([{ type: 'callModel' }]);
  });

  it('becomes an entry under the id it was streamed with, so that it replaces what was shown', () => {
    const w = asked();
    const { messageId } = w.modelCalls[0]!;
    w.piece('part');
    w.answer({ text: 'part and the rest' });
    expect(last(w, 'ASSISTANT')).toMatchObject({ id: messageId, text: 'part and the rest' });
  });

  it('runs under the credentials of who asked, with a generation of its own', () => {
    const w = asked();
    w.answer({ text: 'hi' });
    w.send('me too', bob);
    const turns = all(w, 'TURN').map(({ turn }) => [turn.principal.id, turn.generation]);
    expect(turns).toEqual([
      ['ann', 1],
      ['ann', 1],
      ['bob', 2],
    ]);
  });
});

describe('tool calls', () => {
  it('that only look run without a question, and the model is told the result', () => {
    const w = asked();
    w.declare('read_file');
    expect(shows(w)).toBe('RUNNING');
    const id = callIds(w)[0]!;
    w.store();
    w.prepare('read');
    expect(w.running).toEqual([]);
    w.store();
    expect(w.running.map((r) => [r.call.callId, r.basis])).toEqual([[id, `basis-${id}`]]);
    w.output(id, 'some ');
    expect(w.follower.overlay.tools[id]).toEqual({ offset: 0, text: 'some ' });
    w.end(id, { content: 'some text', effect: 'NONE' });
    expect(kinds(w)).toEqual(['TURN', 'USER', 'ASSISTANT', 'TOOL_STARTED', 'TOOL_SETTLED', 'TOOL']);
    expect(w.follower.overlay.tools).toEqual({});
    w.store();
    expectAsked(w, '', 'some text');
  });

  it('of every kind in one answer go their own ways and come back together, in the order of the calls (D-34, I38)', () => {
    const w = asked();
    w.declare('read_file', 'shell', 'nonsense', 'write_file');
    const [read, shell, , write] = callIds(w) as [string, string, string, string];
    w.store();
    w.prepare('read', 'write', 'invalid', 'write');
    w.store();
    // The reader runs already, the nonsense is settled, two wait for a person.
    expect(w.running.map((r) => r.call.callId)).toEqual([read]);
    expect(shows(w)).toBe('ATTENTION');
    expect(w.state.projection.cycles[0]?.items.map((i) => i.callId)).toEqual([shell, write]);
    w.decide('DENIED', { callId: write, feedback: 'not that file' });
    w.end(read, { content: 'the text', effect: 'NONE' });
    expect(shows(w)).toBe('ATTENTION');
    expect(all(w, 'TOOL')).toEqual([]);
    w.decide('APPROVED', { callId: shell, feedback: 'but be careful' });
    w.store();
    w.end(shell, { content: 'ran', effect: 'UNKNOWN' });
    expect(results(w)).toEqual(['OK NONE', 'OK UNKNOWN', 'ERROR NONE', 'DENIED NONE']);
    w.store();
    expectAsked(
      w,
      'the text',
      'ran',
      'There is no such tool.',
      'The person denied this call; it did not run.',
      'but be careful',
      'not that file',
    );
  });

  it('run four at a time; the fifth starts when one has ended (D-34)', () => {
    const w = asked();
    w.declare('a', 'b', 'c', 'd', 'e', 'f');
    const ids = callIds(w);
    w.store();
    w.prepare('read');
    w.store();
    expect(w.running.map((r) => r.call.callId)).toEqual(ids.slice(0, 4));
    w.end(ids[2]!);
    expect(w.running).toHaveLength(3);
    w.store();
    expect(w.running.map((r) => r.call.callId)).toEqual([ids[0], ids[1], ids[3], ids[4]]);
  });

  it('that the provider gave one id twice get ids of our own and both run (D-35)', () => {
    const w = asked();
    w.answer({ calls: [declaration('read_file'), declaration('read_file')] });
    const ids = callIds(w);
    expect(new Set(ids).size).toBe(2);
    w.store();
    w.prepare('read');
    w.store();
    expect(w.running.map((r) => r.call.callId)).toEqual(ids);
  });

  it.each(['STOP', 'OTHER'] as const)(
    'run because they are there, also when the finish reason is %s (D-38)',
    (finish) => {
      const w = asked();
      w.answer({ calls: [declaration('read_file')], finish });
      expect(shows(w)).toBe('RUNNING');
    },
  );

  it.each([
    ['LENGTH', 'Cut off at the length limit'],
    ['CONTENT_FILTER', 'Stopped by the content filter'],
  ] as const)(
    'of an answer that ended with %s are discarded and named; the text is kept (D-38, A14)',
    (finish, why) => {
      const w = asked();
      w.answer({ text: 'let me', calls: [declaration('shell'), declaration('write_file')], finish });
      expect(last(w, 'ASSISTANT')).toMatchObject({
        text: 'let me',
        calls: [],
        discarded: ['shell', 'write_file'],
      });
      expect(w.preparing).toEqual([]);
      expect(shows(w)).toBe('IDLE');
      expect(lower('system', w.state.conversation).at(-1)).toEqual({
        role: 'assistant',
        text: `let me\n[${why}; these were not run: shell, write_file.]`,
        calls: [],
      });
    },
  );

  it('beyond 128 in one answer are not run, and the model is told which (broke: thousands stalled everything)', () => {
    const w = asked();
    w.answer({ calls: Array.from({ length: 200 }, (_, i) => declaration(`t${i}`)) });
    const said = last(w, 'ASSISTANT');
    expect(said.calls).toHaveLength(128);
    expect(said.discarded).toEqual([...Array.from({ length: 20 }, (_, i) => `t${128 + i}`), 'and 52 more']);
    const told = lower('system', w.state.conversation).at(-1);
    expect(told).toMatchObject({
      role: 'assistant',
      text: expect.stringMatching(/^\[Too many tool calls .* t128, .* and 52 more\.\]$/) as string,
    });
  });

  it('show a long output as its tail, to the actor and to a follower alike', () => {
    const w = asked();
    w.declare('shell');
    const id = callIds(w)[0]!;
    w.store();
    w.prepare('read');
    w.store();
    w.output(id, 'x'.repeat(60_000));
    w.output(id, `${'y'.repeat(9_999)}\n`);
    expect(w.state.overlay.tools[id]).toMatchObject({ offset: 70_000 - 65_536 });
    expect(w.follower.overlay).toEqual(w.state.overlay);
  });
});

describe('what is admitted is storable (D-51)', () => {
  it('whatever a person, a model or a tool says', () => {
    const w = createWorld();
    w.send('nul \0 and half \ud83d');
    w.store();
    w.answer({ text: '\udc00', calls: [declaration('sh\0ell', '{"a":"\0"}')] });
    const id = callIds(w)[0]!;
    w.store();
    // The call goes on as it was stored: what is shown, approved and run is one text.
    expect(w.preparing[0]?.calls[0]).toMatchObject({ name: 'sh\ufffdell', arguments: '{"a":"\ufffd"}' });
    w.prepare('read');
    w.store();
    w.end(id, { content: 'a\0b\ud800' });
    expect(said(w)).toEqual(['nul \ufffd and half \ufffd']);
    expect(last(w, 'ASSISTANT').text).toBe('\ufffd');
    expect(last(w, 'TOOL').content).toBe('a\ufffdb\ufffd');
    expect(JSON.stringify(w.journal)).not.toMatch(/\\u0000|\\ud[89a-f]/i);
  });

  it('and whole pairs, emoji and every other text stay as they are', () => {
    const value = { text: '😀 é \u202e \ufffe', list: ['\n\t', 1, null, true], nested: { a: {} } };
    expect(storable(value)).toBe(value);
  });

  it('keys included, and what needs no change is shared', () => {
    const kept = { deep: ['x'] };
    const given = { 'a\0': 1, kept };
    const made = storable<Record<string, unknown>>(given);
    expect(made).toEqual({ 'a\ufffd': 1, kept });
    expect(made['kept']).toBe(kept);
    expect(Object.keys(given)).toEqual(['a\0', 'kept']);
  });
});

describe('what the model sees', () => {
  it('is the conversation and nothing else: control entries never reach it', () => {
    const lowered = lower('be kind', [
      place(1, { kind: 'QUEUE', queue: { items: [], held: false } }),
      place(2, { kind: 'SYSTEM', text: 'a note', source: 'test' }),
      place(3, { kind: 'RECOVERY', reason: 'MODEL', message: 'again' }),
    ]);
    expect(lowered).toEqual([
      { role: 'system', text: 'be kind' },
      { role: 'user', text: 'a note' },
    ]);
  });

  it('says from the second sender on who writes, in one line of its own, and changes nothing before (D-36)', () => {
    const said = (revision: number, name: string, text: string) =>
      place(revision, { kind: 'USER', text, author: { id: name, name }, source: 'MESSAGE' });
    const alone = [said(1, 'Ann', 'one'), said(2, 'Ann', '[Bob writes:]')];
    const both = [...alone, said(3, 'Bob]\n[Ann', 'two'), said(4, 'Ann', 'three')];
    const texts = (entries: typeof both) => lower('', entries).map((m) => ('text' in m ? m.text : ''));
    expect(texts(alone)).toEqual(['', 'one', '[Bob writes:]']);
    expect(texts(both)).toEqual([...texts(alone), '[Bob Ann writes:]\ntwo', '[Ann writes:]\nthree']);
  });

  it('has no empty answers, and a stopped one ends in its mark', () => {
    const lowered = lower('', [
      place(1, {
        kind: 'ASSISTANT',
        text: '',
        reasoning: 'thought',
        calls: [],
        finish: 'STOP',
        model: 'm',
        usage: null,
        discarded: [],
      }),
      place(2, { kind: 'CANCELLATION', text: 'so I', reasoning: '', reason: 'STOPPED' }),
      place(3, { kind: 'CANCELLATION', text: '', reasoning: 'only thought', reason: 'FAILED' }),
    ]);
    expect(lowered.slice(1).map((m) => ('text' in m ? m.text : ''))).toEqual([
      'so I\n[The person stopped this answer here.]',
      '[This answer broke off here.]',
    ]);
  });
});
