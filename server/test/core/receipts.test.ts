/**
 * Owns: keys and receipts of commands (D-60), and keys of entries, example by example.
 */
import { describe, expect, it } from 'vitest';
import { commitKey } from '../../src/core/journal/entry.ts';
import { mergeHistory } from '../../src/core/journal/history.ts';
import { queued, said } from './support/telling.ts';
import { ann, bob, createWorld, place, type World } from './support/world.ts';

const key = { key: 'one-intent', inputHash: 'hello' };
const sending = (text: string) => ({ type: 'send', text, delivery: 'QUEUE', turnId: null }) as const;
const send = (w: World, over: Partial<typeof key> = {}, text = 'hello') =>
  w.command(ann, sending(text), { ...key, ...over });

describe('a command under a key', () => {
  it('tried again joins the first: the same answer, and nothing is done twice (I18)', () => {
    const w = createWorld();
    const first = send(w);
    const second = send(w);
    expect(second.reply).toEqual(first.reply);
    expect(second.batch).toBeNull();
    expect(said(w)).toEqual(['hello']);
    w.store();
    w.answer({ text: 'hi' });
    // Also when the world has moved on: it is recorded, not judged again.
    expect(send(w).reply).toEqual(first.reply);
    expect(queued(w)).toEqual([]);
  });

  it('with another input is refused (I19)', () => {
    const w = createWorld();
    send(w);
    expect(send(w, { inputHash: 'bye' }, 'bye').reply).toMatchObject({ refusal: { code: 'KEY_REUSED' } });
    expect(said(w)).toEqual(['hello']);
  });

  it('is called reused only once what it was used for is durable, for until then that may be lost (broke: a stale owner refused for good what was recorded)', () => {
    const w = createWorld();
    const { batch } = send(w);
    expect(send(w, { inputHash: 'bye' }, 'bye').reply).toMatchObject({
      refusal: { code: 'KEY_REUSED' },
      batch,
    });
    w.crash();
    expect(send(w, { inputHash: 'bye' }, 'bye').reply?.type).toBe('accepted');
  });

  it('is another command for another principal', () => {
    const w = createWorld();
    send(w);
    w.command(bob, sending('hello'), key);
    expect(queued(w)).toEqual(['hello']);
  });

  it('that was refused for now leaves no receipt and may be tried again (D-11, D-60)', () => {
    const w = createWorld();
    send(w, { key: 'first' });
    const unwilling = { ...sending('now or never'), delivery: 'REJECT' } as const;
    const reply = w.command(ann, unwilling, { key: 'now', inputHash: 'n' });
    expect(reply).toMatchObject({ batch: null, receipts: [], reply: { refusal: { code: 'BUSY' } } });
    w.store();
    w.answer({ text: 'hi' });
    expect(w.command(ann, unwilling, { key: 'now', inputHash: 'n' }).reply?.type).toBe('accepted');
  });

  it('that was refused for good is recorded alone, and stays refused (D-60)', () => {
    const w = createWorld();
    send(w, { key: 'first' });
    const stop = { type: 'stop', turnId: 'another', force: false } as const;
    const refused = w.command(ann, stop, { key: 'stop', inputHash: 's' });
    expect(refused).toMatchObject({
      entries: [],
      receipts: [{ key: 'stop', outcome: { type: 'Rejected', code: 'STALE_TURN' } }],
      reply: { type: 'refused', refusal: { code: 'STALE_TURN' } },
    });
    w.stop();
    // Now that nothing runs it would be calm; but it was answered.
    expect(w.command(ann, stop, { key: 'stop', inputHash: 's' })).toMatchObject({
      batch: null,
      reply: refused.reply,
    });
    expect(w.command(ann, stop, { key: 'stop', inputHash: 'o' }).reply).toMatchObject({
      refusal: { code: 'KEY_REUSED' },
    });
  });

  it('is recorded in the batch of its entries, with the answer (D-3, D-60)', () => {
    const w = createWorld();
    const { reply, batch, receipts } = send(w);
    expect(reply).toMatchObject({ type: 'accepted', batch });
    expect(receipts).toEqual([
      { scope: 'ann/w1', ...key, outcome: reply?.type === 'accepted' ? reply.acceptance : null },
    ]);
  });

  it('is remembered here for the last thousand; older ones once durable are found in the database', () => {
    const w = createWorld();
    const calm = { type: 'stop', turnId: null, force: false } as const;
    for (let i = 0; i < 1_100; i += 1) w.command(ann, calm, { key: `k${i}` });
    expect(w.state.receipts.size).toBe(1_100);
    w.store();
    w.command(ann, calm, { key: 'one more' });
    expect(w.state.receipts.size).toBe(1_000);
    expect(w.state.receipts.has('ann/w1\none more')).toBe(true);
    expect(w.state.receipts.has('ann/w1\nk0')).toBe(false);
  });
});

describe('a receipt', () => {
  it('is storable whatever a person wrote (broke: NUL in feedback came back in the recorded answer, D-51)', () => {
    const w = createWorld();
    w.send('go');
    w.store();
    w.declare('write_file');
    w.prepare('write');
    const decided = w.decide('APPROVED', { feedback: 'nul \0 and lone \ud800' });
    expect(JSON.stringify(decided.receipts.map((r) => r.outcome))).not.toMatch(/\\u0000|\\ud800/);
    expect(decided.reply).toMatchObject({
      acceptance: { cycle: { items: [{ decision: { feedback: 'nul \ufffd and lone \ufffd' } }] } },
    });
  });
});

describe('the commit key of an entry', () => {
  it('allows one result for a call and one end for a turn, whatever goes wrong above it (I26, I38)', () => {
    const result = { outcome: 'OK', effect: 'NONE', content: '' } as const;
    const tool = { kind: 'TOOL', callId: 'c', name: 't', ...result } as const;
    expect(commitKey(place(5, tool))).toBe(commitKey(place(9, tool)));
    const settle = { kind: 'TOOL_SETTLED', callId: 'c', name: 't', result } as const;
    expect(commitKey(place(5, settle))).not.toBe(commitKey(place(5, tool)));
  });

  it('is of the entry itself for all that may come more than once', () => {
    const queue = { kind: 'QUEUE', queue: { items: [], held: false } } as const;
    expect(commitKey(place(5, queue))).not.toBe(commitKey(place(6, queue)));
  });
});

describe('history', () => {
  it('shows each entry once, in place, though the suffix was taken before the prefix was read (D-53)', () => {
    const entries = [1, 2, 3, 4, 5].map((r) => place(r, { kind: 'SYSTEM', text: `${r}`, source: 'test' }));
    expect(mergeHistory(entries.slice(0, 4), entries.slice(2))).toEqual(entries);
    expect(mergeHistory([], entries)).toEqual(entries);
    expect(mergeHistory(entries, [])).toEqual(entries);
  });
});
