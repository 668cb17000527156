import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createFrame, frameMs } from '../../src/app/actor/frame.ts';
import { createTestClock } from '../support/clock.ts';

const splits = (text: string): boolean => /[\ud800-\udbff]$/.test(text) || /^[\udc00-\udfff]/.test(text);

describe('A frame', () => {
  it('gathers what comes within 33 ms into one piece for each channel', async () => {
    const clock = createTestClock();
    const pieces: unknown[] = [];
    const frame = createFrame(clock, ['text', 'reasoning'], (p) => pieces.push(p));
    for (const word of ['a', 'b', 'c']) frame.add('text', word);
    frame.add('reasoning', 'why');
    expect(pieces).toEqual([]);
    expect(clock.pending).toBe(1);
    await clock.advance(frameMs);
    expect(pieces).toEqual([{ text: 'abc', reasoning: 'why' }]);
    await clock.advance(1_000);
    expect(pieces).toHaveLength(1);
    frame.add('text', 'd');
    frame.flush();
    expect(pieces[1]).toEqual({ text: 'd', reasoning: '' });
    frame.flush();
    expect(pieces).toHaveLength(2);
    expect(clock.pending).toBe(0);
  });

  it('keeps half a pair until the other half comes, and gives it up at the end', async () => {
    const clock = createTestClock();
    const pieces: string[] = [];
    const frame = createFrame(clock, ['text'], ({ text }) => pieces.push(text));
    frame.add('text', 'x\ud83d');
    await clock.advance(frameMs);
    frame.add('text', '\ude00y\ud83d');
    await clock.advance(frameMs);
    expect(pieces).toEqual(['x', '\u{1f600}y']);
    frame.flush();
    expect(pieces[2]).toBe('\ud83d');
  });

  it('passes on each text whole, in order, once, and no piece splits a pair (contract rule 3)', async () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 30 });
    const channel = fc.constantFrom('text' as const, 'reasoning' as const);
    const cuts = fc.array(fc.record({ channel, length: fc.integer({ min: 1, max: 5 }), wait: fc.nat(40) }), {
      maxLength: 60,
    });
    await fc.assert(
      fc.asyncProperty(text, text, cuts, async (said, thought, moves) => {
        const clock = createTestClock();
        const whole = { text: said, reasoning: thought };
        const rest = { ...whole };
        const got = { text: [] as string[], reasoning: [] as string[] };
        const frame = createFrame(clock, ['text', 'reasoning'], (pieces) => {
          for (const name of ['text', 'reasoning'] as const)
            if (pieces[name] !== '') got[name].push(pieces[name]);
        });
        for (const { channel: name, length, wait } of [
          ...moves,
          { channel: 'text' as const, length: 1e9, wait: 0 },
          { channel: 'reasoning' as const, length: 1e9, wait: 0 },
        ]) {
          // Cut anywhere, inside pairs too, as a provider may.
          frame.add(name, rest[name].slice(0, length));
          rest[name] = rest[name].slice(length);
          if (wait > 30) await clock.advance(wait);
        }
        frame.flush();
        expect({ text: got.text.join(''), reasoning: got.reasoning.join('') }).toEqual(whole);
        expect([...got.text, ...got.reasoning].filter(splits)).toEqual([]);
      }),
      { numRuns: 60 },
    );
  });
});
