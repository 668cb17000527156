import { expect, test } from 'vitest';
import { callDemo } from '../../../src/adapters/model/demo.ts';
import type { ModelDelta, ModelMessage, ModelOutcome } from '../../../src/ports/model.ts';
import { createTestClock } from '../../support/clock.ts';
import { tool } from './harness.ts';

const tools = ['shell', 'write_file', 'read_file', 'list_files', 'edit_file'].map(tool);

function begin(messages: readonly ModelMessage[], offered = tools) {
  const clock = createTestClock();
  const controller = new AbortController();
  const deltas: ModelDelta[] = [];
  const outcome = callDemo(
    { clock },
    {
      workstreamId: 'w1',
      model: { alias: 'demo', temperature: null, effort: null },
      lane: null,
      givenUp: [],
      messages,
      tools: offered,
    },
    controller.signal,
    (delta) => deltas.push(delta),
  );
  return { clock, controller, deltas, outcome };
}

async function demo(messages: readonly ModelMessage[], offered = tools) {
  const run = begin(messages, offered);
  await run.clock.advance(60_000);
  const outcome: ModelOutcome = await run.outcome;
  if (outcome.type !== 'answered') throw new Error(`not answered: ${outcome.type}`);
  const joined = (type: ModelDelta['type']) =>
    run.deltas.flatMap((d) => (d.type === type ? [d.text] : [])).join('');
  expect(joined('text')).toBe(outcome.text);
  expect(joined('reasoning')).toBe(outcome.reasoning);
  return outcome;
}

const user = (text: string): ModelMessage => ({ role: 'user', text });

test.each<[string, string, object]>([
  ['run: ls -la | head', 'shell', { command: 'ls -la | head' }],
  ['write notes.txt: milk: two', 'write_file', { path: 'notes.txt', content: 'milk: two' }],
  ['read src/a b.ts', 'read_file', { path: 'src/a b.ts' }],
  ['list src', 'list_files', { path: 'src' }],
  ['List', 'list_files', { path: '.' }],
  [
    'edit a.txt: old words => new words',
    'edit_file',
    { path: 'a.txt', old_text: 'old words', new_text: 'new words' },
  ],
])('"%s" calls %s', async (text, name, input) => {
  const outcome = await demo([user(text)]);
  expect(outcome.finish).toBe('TOOL_CALLS');
  expect(outcome.calls.map((c) => [c.name, JSON.parse(c.arguments) as unknown])).toEqual([[name, input]]);
});

test('several phrases on several lines become text, reasoning and calls of one answer', async () => {
  const outcome = await demo([user('think: two steps\nsay: first this\nrun: pwd\nlist .\nsay: then that')]);
  expect(outcome).toMatchObject({ reasoning: 'two steps', text: 'first this\nthen that' });
  expect(outcome.calls.map((c) => c.name)).toEqual(['shell', 'list_files']);
});

test('anything else is answered with a help text that lists every phrase', async () => {
  const { text, finish } = await demo([user('what can you do?')]);
  expect(finish).toBe('STOP');
  expect(text).toContain('I am a demo, not a language model');
  for (const word of ['run:', 'write', 'read', 'list', 'edit', 'say:', 'think:', 'slow:']) {
    expect(text).toContain(`\`${word}`);
  }
});

const round: readonly ModelMessage[] = [
  user('run: ls'),
  { role: 'assistant', text: '', calls: [{ callId: 'c', providerId: '', name: 'shell', arguments: '{}' }] },
  { role: 'tool', callId: 'c', text: 'a\nb\nc\nd' },
];

test('after tool results it says in short what came back, and asks for nothing', async () => {
  expect(await demo(round)).toMatchObject({ text: '`shell` came back: a\nb\nc …', calls: [] });
});

test('feedback that came with a decision is repeated, and a phrase in it is obeyed', async () => {
  expect((await demo([...round, user('not that file')])).text).toContain('You said: not that file');
  expect((await demo([...round, user('say: as you like')])).text).toBe('as you like');
});

test('an earlier result is no business of a later message', async () => {
  const later = [...round, { role: 'assistant' as const, text: 'done', calls: [] }, user('say: next')];
  expect((await demo(later)).text).toBe('next');
});

test('a tool that was not offered is not called', async () => {
  const outcome = await demo([user('run: ls')], []);
  expect(outcome).toMatchObject({ calls: [], text: 'I was not offered a tool named shell.' });
});

test('"slow:" streams one word every 150 ms', async () => {
  const run = begin([user('slow: one two three')]);
  await run.clock.advance(149);
  expect(run.deltas).toEqual([]);
  await run.clock.advance(1);
  expect(run.deltas).toEqual([{ type: 'text', text: 'one' }]);
  await run.clock.advance(150);
  expect(run.deltas).toHaveLength(2);
  run.controller.abort();
  await run.outcome;
});

test('it can be stopped between any two words, and then says and keeps nothing more', async () => {
  for (let words = 0; words <= 3; words++) {
    const run = begin([user('slow: one two three')]);
    await run.clock.advance(150 * words);
    run.controller.abort();
    expect(await run.outcome).toEqual({ type: 'aborted' });
    expect(run.deltas).toHaveLength(words);
    expect(run.clock.pending).toBe(0);
  }
});
