import { expect, test } from 'vitest';
import { maxAnswer } from '../../../src/adapters/model/wire/drain.ts';
import { createThinkTagSplitter } from '../../../src/adapters/model/wire/think-tags.ts';
import { maxCalls } from '../../../src/adapters/model/wire/tool-calls.ts';
import type { Piece } from '../../support/scripted-provider.ts';
import { chunk, connect, sse } from './harness.ts';

const part = 'x'.repeat(maxAnswer / 8);
const call = (input: string, index = 0) => ({
  tool_calls: [{ index, function: { name: 'shell', arguments: input } }],
});
const parts = (delta: (text: string) => object, count: number): Piece[] =>
  Array.from({ length: count }, () => ({ chunk: chunk(delta(part)) }));
/** No test opens it: whoever waits for what comes after it waits for ever. */
const never: Piece = { gate: 'never' };
const tooLong = {
  type: 'failed',
  kind: 'TOO_LONG',
  message: expect.stringMatching(/longer than Weir takes; ask for less/) as string,
};

test('the longest answer is taken whole', async () => {
  await using link = await connect();
  const { outcome, text } = await link.answer({
    stream: [
      ...parts((t) => ({ content: t }), 4),
      ...parts((t) => ({ reasoning: t }), 3),
      ...parts((t) => call(t), 1),
    ],
  });
  expect(outcome).toMatchObject({ type: 'answered', text: part.repeat(4), calls: [{ arguments: part }] });
  expect(text).toHaveLength(4 * part.length);
});

test.each<[string, Piece[]]>([
  ['text', parts((t) => ({ content: t }), 8)],
  ['reasoning', parts((t) => ({ reasoning_content: t }), 8)],
  ['arguments', parts((t) => call(t), 8)],
  [
    'all of them together',
    [
      ...parts((t) => ({ content: t }), 3),
      ...parts((t) => ({ reasoning: t }), 3),
      ...parts((t) => call(t), 2),
    ],
  ],
  ['white space that may come before a tag', parts((t) => ({ content: ' '.repeat(t.length) }), 8)],
])('an answer of more %s than is taken ends there, with nothing more read', async (_, stream) => {
  await using link = await connect();
  link.provider.script([{ stream: [...stream, { chunk: chunk({ content: 'y' }) }, never] }]);
  const { outcome, text, reasoning } = await link.ask();
  expect(outcome).toMatchObject(tooLong);
  expect(text.length + reasoning.length).toBeLessThanOrEqual(maxAnswer);
  expect(text).not.toContain('y');
});

test('an answer of 1,000 calls is taken, and one of more ends there', async () => {
  await using link = await connect();
  const calls = Array.from({ length: maxCalls }, (_, i) => chunk(call('{}', i)));
  const { outcome } = await link.answer({ stream: [{ raw: sse(calls, '') }] });
  expect(outcome).toMatchObject({ type: 'answered' });
  link.provider.script([{ stream: [{ raw: sse([...calls, chunk(call('{}', maxCalls))], '') }, never] }]);
  expect((await link.ask()).outcome).toMatchObject(tooLong);
});

test.each([
  ['an event without end', 'data: '],
  ['an event of lines without end', 'data: x\ndata: '],
  ['a body without events and without end', '{"choices":'],
  ['a completion that was not streamed and is longer than is taken', '{"choices":[{"message":{"content":"'],
])('%s ends where it is longer than is taken', async (_, begin) => {
  await using link = await connect();
  const raw = 'x'.repeat(8 * maxAnswer);
  link.provider.script([{ stream: [{ raw: begin }, { raw }, never] }]);
  expect((await link.ask()).outcome).toMatchObject(tooLong);
});

test('a completion in one piece that is longer than is taken is refused too', async () => {
  await using link = await connect();
  const content = 'x'.repeat(maxAnswer + 1);
  const raw = JSON.stringify({ choices: [{ message: { content }, finish_reason: 'stop' }] });
  const heard = await link.answer({ stream: [{ raw }], finish: null, usage: null, done: false });
  expect(heard.outcome).toMatchObject(tooLong);
  expect(heard.text).toBe('');
});

test('white space before the first word is given back, however many pieces it came in', () => {
  let text = '';
  const splitter = createThinkTagSplitter({ text: (t) => (text += t), reasoning: () => undefined });
  for (let i = 0; i < 200_000; i++) splitter.push('\n ');
  splitter.push('<th');
  splitter.push('at');
  splitter.end();
  expect(text === '\n '.repeat(200_000) + '<that').toBe(true);
});
