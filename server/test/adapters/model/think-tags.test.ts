import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  createThinkTagSplitter,
  type ThinkTagSplitter,
} from '../../../src/adapters/model/wire/think-tags.ts';

function split(startsOpen: boolean, feed: (splitter: ThinkTagSplitter) => void) {
  let text = '';
  let reasoning = '';
  const splitter = createThinkTagSplitter(
    { text: (t) => (text += t), reasoning: (t) => (reasoning += t) },
    startsOpen,
  );
  feed(splitter);
  splitter.end();
  return { text, reasoning };
}

/** The same by looking at the whole text at once. */
function splitWhole(text: string, startsOpen: boolean) {
  const name = '(?:think|thinking|reasoning|thought)';
  const opened = new RegExp(`^\\s*<${name}>`).exec(text);
  const closed = new RegExp(`^\\s*</${name}>`).exec(text);
  if (closed) return { text: text.slice(closed[0].length).trimStart(), reasoning: '' };
  if (!opened && !startsOpen) return { text, reasoning: '' };
  const inside = text.slice(opened?.[0].length ?? 0);
  const close = new RegExp(`</${name}>`).exec(inside);
  if (!close) return { text: '', reasoning: inside };
  return {
    text: inside.slice(close.index + close[0].length).trimStart(),
    reasoning: inside.slice(0, close.index),
  };
}

const names = ['think', 'thinking', 'reasoning', 'thought'] as const;
const fragment = fc.oneof(
  fc.constantFrom(...names.flatMap((name) => [`<${name}>`, `</${name}>`])),
  fc.constantFrom(
    '<',
    '</',
    '</th',
    '<thin',
    'ink>',
    '</reasonin',
    '>',
    ' ',
    '\n\n',
    'a',
    'the answer',
    '🌍',
    '</b>',
  ),
  fc.string({ maxLength: 4 }),
);

test('thoughts are told from text the same way however the text is cut', () => {
  fc.assert(
    fc.property(
      fc.array(fragment, { maxLength: 8 }).map((parts) => parts.join('')),
      fc.array(fc.nat(5), { maxLength: 40 }),
      fc.boolean(),
      (text, lengths, startsOpen) => {
        const cut = split(startsOpen, (splitter) => {
          let at = 0;
          for (const length of lengths) {
            splitter.push(text.slice(at, at + length));
            at += length;
          }
          splitter.push(text.slice(at));
        });
        expect(cut).toEqual(splitWhole(text, startsOpen));
      },
    ),
    { numRuns: 2_000, seed: 20_261_130 },
  );
});

const inTurn = (startsOpen: boolean, ...steps: readonly (string | { by: 'THOUGHT' | 'CALL' })[]) =>
  split(startsOpen, (splitter) => {
    for (const step of steps) {
      if (typeof step === 'string') splitter.push(step);
      else splitter.interrupt(step.by);
    }
  });
const thought = { by: 'THOUGHT' } as const;
const call = { by: 'CALL' } as const;

test.each(names.map((name) => [name]))('a thought may stand between tags of the name %s', (name) => {
  expect(inTurn(false, `<${name}>hm</${name}>\n\nyes`)).toEqual({ reasoning: 'hm', text: 'yes' });
});

test('a thought is closed by whichever of these tags comes first', () => {
  expect(inTurn(false, '<think>hm</thought>yes</think>')).toEqual({ reasoning: 'hm', text: 'yes</think>' });
});

test('a tag after visible text is text', () => {
  expect(inTurn(false, 'a <think>b</think>')).toEqual({ reasoning: '', text: 'a <think>b</think>' });
});

test('what might have become a tag comes out at the end', () => {
  expect(inTurn(false, '<thin')).toEqual({ reasoning: '', text: '<thin' });
  expect(inTurn(false, '<think>a</th')).toEqual({ reasoning: 'a</th', text: '' });
});

test('a text that begins inside of a thought is one until a closing tag', () => {
  expect(inTurn(true, 'hm', '</think>\nyes')).toEqual({ reasoning: 'hm', text: 'yes' });
  expect(inTurn(true, '<thi', 'nk>hm</think>yes')).toEqual({ reasoning: 'hm', text: 'yes' });
});

test('a text begins inside of no thought when thoughts come beside it', () => {
  expect(inTurn(true, thought, 'yes')).toEqual({ reasoning: '', text: 'yes' });
});

test('a thought that was never closed does not swallow the answer after a call or after other thoughts', () => {
  expect(inTurn(false, '<think>hm', call, 'yes')).toEqual({ reasoning: 'hm', text: 'yes' });
  expect(inTurn(false, '<think>hm', thought, 'yes')).toEqual({ reasoning: 'hm', text: 'yes' });
});

test('a closing tag that other thoughts cut in two is put together, and none is made up', () => {
  expect(inTurn(false, '<think>hm</th', thought, 'ink>yes')).toEqual({ reasoning: 'hm', text: 'yes' });
  expect(inTurn(false, '<think>hm</th', thought, 'e answer')).toEqual({
    reasoning: 'hm</th',
    text: 'e answer',
  });
});
