/**
 * Owns: faults that people reported of systems like this one (A1 …), each as a body that is sent over HTTP and what has
 * to come of it. What concerns requests is in `requests.test.ts` and `wants.test.ts`.
 */
import { expect, test } from 'vitest';
import { createTestClock } from '../../support/clock.ts';
import {
  bytes,
  chunk,
  connect,
  createAsker,
  bindingFor,
  exchange,
  serve,
  sse,
  tool,
  type BindingParts,
} from './harness.ts';

const asked = {
  messages: [{ role: 'user', text: 'hello' }],
  tools: ['shell', 'read_file', 'get_weather', 'edit_existing_file', 't'].map(tool),
  temperature: null,
  effort: null,
} as const;

const item = (id: string | null, name: string | null, input: unknown, index?: number) => ({
  ...(index !== undefined && { index }),
  ...(id !== null && { id, type: 'function' }),
  function: { ...(name !== null && { name }), ...(input !== undefined && { arguments: input }) },
});
const calls = (...items: readonly object[]) => chunk({ tool_calls: items });
const end = (finish: string | null) => chunk({}, finish);
const call = (providerId: string, name: string, input: string) => ({ providerId, name, arguments: input });

type Case = readonly [id: string, what: string, raw: string, expected: object, more?: BindingParts];

const cases: readonly Case[] = [
  [
    'A1',
    'a call without index is one call',
    sse([calls(item('call_a', 'shell', '{"command":"ls"}')), end('tool_calls')]),
    { calls: [call('call_a', 'shell', '{"command":"ls"}')], finish: 'TOOL_CALLS' },
  ],
  [
    'A2',
    'a call without index is there when the stream closes without a word',
    sse([calls(item('call_a', 'shell', '{"command":"ls"}')), end('tool_calls')], ''),
    { calls: [call('call_a', 'shell', '{"command":"ls"}')], finish: 'TOOL_CALLS' },
  ],
  [
    'A3',
    'two calls without index in one chunk are two',
    sse([
      chunk(
        { tool_calls: [item('a', 'read_file', '{"path":"a"}'), item('b', 'read_file', '{"path":"b"}')] },
        'tool_calls',
      ),
    ]),
    { calls: [call('a', 'read_file', '{"path":"a"}'), call('b', 'read_file', '{"path":"b"}')] },
  ],
  [
    'A3',
    'what has neither index nor id goes on with the last call',
    sse([
      calls(item('a', 'read_file', '{"path":"a"}')),
      calls(item('b', 'read_file', '{"pa')),
      calls(item(null, null, 'th":"b"}')),
      end('tool_calls'),
    ]),
    { calls: [call('a', 'read_file', '{"path":"a"}'), call('b', 'read_file', '{"path":"b"}')] },
  ],
  [
    'A4',
    'another id at the same index is another call',
    sse([
      calls(item('c1', 'get_weather', '{"city":"Oslo"}', 0)),
      calls(item('c2', 'get_weather', '{"city":"Rome"}', 0)),
      end('tool_calls'),
    ]),
    { calls: [call('c1', 'get_weather', '{"city":"Oslo"}'), call('c2', 'get_weather', '{"city":"Rome"}')] },
  ],
  [
    'A6',
    'a name repeated in each chunk is one name',
    sse([
      calls(item('c1', 'read_file', '{"pa', 0)),
      calls(item('c1', 'read_file', 'th":"x"}', 0)),
      end('tool_calls'),
    ]),
    { calls: [call('c1', 'read_file', '{"path":"x"}')] },
  ],
  [
    'A7',
    'a name in fragments is one name',
    sse([
      calls(item('c1', 'edit_ex', '', 0)),
      calls(item(null, 'isting_file', undefined, 0)),
      calls(item(null, null, '{}', 0)),
      end('tool_calls'),
    ]),
    { calls: [call('c1', 'edit_existing_file', '{}')] },
  ],
  [
    'A8',
    'an id repeated in each chunk is one id',
    sse([
      ...['', '{"a"', ':1', '}'].map((part) =>
        calls({ ...item('chatcmpl-tool-aa62', 't', part, 0), name: null }),
      ),
      end('tool_calls'),
    ]),
    { calls: [call('chatcmpl-tool-aa62', 't', '{"a":1}')] },
  ],
  [
    'A9',
    'a call without arguments has an empty object',
    sse([calls(item('c1', 't', '', 0)), end('tool_calls')]),
    { calls: [call('c1', 't', '{}')] },
  ],
  [
    'A11',
    'arguments that never close stay what they are, for the loop to refuse',
    sse([calls(item('c1', 'read_file', '{"path":"a.txt","content":"hel', 0)), end('tool_calls')]),
    { calls: [call('c1', 'read_file', '{"path":"a.txt","content":"hel')] },
  ],
  [
    'A11',
    'arguments that are a list stay what they are',
    sse([calls(item('c1', 'read_file', ['a'], 0)), end('tool_calls')]),
    { calls: [call('c1', 'read_file', '["a"]')] },
  ],
  [
    'A12',
    'chunks without a choice are passed over, and usage after the finish reason counts',
    sse([
      { id: '', model: '', prompt_filter_results: [{ prompt_index: 0 }], choices: [] },
      chunk({ role: 'assistant', content: 'hi' }),
      end('stop'),
      { choices: null, usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 } },
    ]),
    { text: 'hi', usage: { inputTokens: 5, outputTokens: 1 } },
  ],
  [
    'A13',
    'a chunk without the field for choices counts',
    sse([chunk({ content: 'hi' }, 'stop'), { usage: { prompt_tokens: 9, completion_tokens: 2 } }]),
    { text: 'hi', usage: { inputTokens: 9, outputTokens: 2 } },
  ],
  [
    'A14',
    'a call with finish "stop" is a call',
    sse([calls(item('c', 'shell', '{}', 0)), end('stop')]),
    { calls: [call('c', 'shell', '{}')], finish: 'STOP' },
  ],
  [
    'A14',
    'a call with finish "length" is told to be cut off',
    sse([calls(item('c', 'shell', '{}', 0)), end('length')]),
    { finish: 'LENGTH' },
  ],
  [
    'A14',
    'a call with finish "content_filter" is told to be filtered',
    sse([calls(item('c', 'shell', '{}', 0)), end('content_filter')]),
    { finish: 'CONTENT_FILTER' },
  ],
  [
    'A15',
    'calls announced and none made are an empty answer',
    sse([chunk({ role: 'assistant', content: '' }), end('tool_calls')]),
    { type: 'failed', kind: 'EMPTY', accepted: true },
  ],
  [
    'A16',
    'an error beside no choices is an error',
    sse([{ choices: [], error: { code: 502, message: 'Worker limit reached (33/32)' } }]),
    {
      type: 'failed',
      kind: 'OVERLOADED',
      message: expect.stringContaining('Worker limit reached (33/32)') as string,
    },
  ],
  [
    'A16',
    'an error object that has no wrapper is an error',
    sse([chunk({ content: 'par' }), { object: 'error', message: 'out of memory', code: 500 }]),
    { type: 'failed', kind: 'OVERLOADED', accepted: true },
  ],
  [
    'A18',
    'a closing tag that is cut in two is no text',
    sse([
      chunk({ content: '<think>secret' }),
      chunk({ content: '</th' }),
      chunk({ content: 'ink>ANSWER' }, 'stop'),
    ]),
    { reasoning: 'secret', text: 'ANSWER' },
  ],
  [
    'A20',
    'a closing tag that nothing opened is dropped at the beginning',
    sse([chunk({ reasoning_content: 'plan' }), chunk({ content: '</think>\n\nDone.' }, 'stop')]),
    { reasoning: 'plan', text: 'Done.' },
  ],
  [
    'A20',
    'a tag within the answer is text',
    sse([chunk({ content: 'Use the ' }), chunk({ content: '<think> tag in prompts' }, 'stop')]),
    { reasoning: '', text: 'Use the <think> tag in prompts' },
  ],
  [
    'A21',
    'comments are no events',
    `: PROCESSING\n\n: PROCESSING\n\n${sse([chunk({ content: 'ok' }, 'stop')])}`,
    { text: 'ok' },
  ],
  [
    'A23',
    'the blank line after a comment is no event',
    `id: 1\n${sse([chunk({ content: 'a' })], '')}: ping\n\nid: 2\n${sse([chunk({ content: 'b' }, 'stop')])}`,
    { text: 'ab' },
  ],
  [
    'A24',
    'an end without finish reason and [DONE] is a break',
    sse([chunk({ content: 'Hello' })], ''),
    { type: 'failed', kind: 'MALFORMED', accepted: true },
  ],
  ['A24', '[DONE] without a finish reason is an end', sse([chunk({ content: 'Hello' })]), { text: 'Hello' }],
  [
    'A24',
    '[DONE] after a finish reason of null is an end',
    sse([chunk({ content: 'Hello' }), end(null)]),
    { text: 'Hello', finish: 'STOP' },
  ],
  [
    'A24',
    '[DONE] after a chunk without choices is an end',
    sse([chunk({ content: 'Hello' }), { choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } }]),
    { text: 'Hello', finish: 'STOP' },
  ],
  [
    'A24',
    'an end without finish reason and [DONE] is one for a model that is known to leave them out',
    sse([chunk({ content: 'Hello' })], ''),
    { text: 'Hello', finish: 'STOP' },
    { traits: { finishOptional: true } },
  ],
  [
    'A24',
    'an end before anything was said is none, even for such a model',
    sse([chunk({ content: '' }), { choices: [], usage: { prompt_tokens: 1, completion_tokens: 0 } }], ''),
    { type: 'failed', kind: 'MALFORMED' },
    { traits: { finishOptional: true } },
  ],
  [
    'A26',
    'a finish reason without [DONE] is an end',
    sse([chunk({ content: 'x' }, 'stop')], ''),
    { text: 'x' },
  ],
  [
    'A30',
    'arguments that are an object become its text',
    sse([chunk({ tool_calls: [item('c1', 'shell', { command: 'ls' }, 0)] }, 'tool_calls')]),
    { calls: [call('c1', 'shell', '{"command":"ls"}')] },
  ],
  [
    'A34',
    'a thought under both names is thought once',
    sse([
      chunk({ reasoning: 'A', reasoning_content: 'A' }),
      chunk({ reasoning_content: null, reasoning: 'B', content: '' }),
      chunk({ content: 'X' }, 'stop'),
    ]),
    { reasoning: 'AB', text: 'X' },
  ],
  [
    'A34',
    'what is no text under one name does not hide the other',
    sse([chunk({ reasoning_content: { text: 'no' }, reasoning: 'yes' }), chunk({ content: 'X' }, 'stop')]),
    { reasoning: 'yes', text: 'X' },
  ],
  [
    'A34',
    'thoughts in parts alone are thoughts, but for encrypted ones',
    sse([
      chunk({ reasoning_details: [{ type: 'reasoning.text', text: 'hm' }] }),
      chunk({ reasoning: ' yes', reasoning_details: [{ type: 'reasoning.text', text: ' yes' }] }),
      chunk({ content: 'X', reasoning_details: [{ type: 'reasoning.encrypted', data: 'b3BhcXVl' }] }, 'stop'),
    ]),
    { reasoning: 'hm yes', text: 'X' },
  ],
  [
    'A38',
    'one id for two calls is two calls',
    sse([
      chunk(
        {
          tool_calls: [
            item('x', 'shell', '{"command":"echo 1"}', 0),
            item('x', 'shell', '{"command":"echo 2"}', 1),
          ],
        },
        'tool_calls',
      ),
    ]),
    { calls: [call('x', 'shell', '{"command":"echo 1"}'), call('x', 'shell', '{"command":"echo 2"}')] },
  ],
  [
    'A41',
    'an answer that was filtered away says so, and is not asked for again',
    sse([
      chunk({ content: '' }),
      chunk({}, 'content_filter', { usage: { prompt_tokens: 9, completion_tokens: 0 } }),
    ]),
    { type: 'failed', kind: 'CONTENT_FILTER' },
  ],
  [
    'A41',
    'a refusal is text, and no answer that was stopped in good order',
    sse([
      chunk({ content: null, refusal: "I can't" }),
      chunk({ content: null, refusal: ' help' }),
      end('stop'),
    ]),
    { text: "I can't help", finish: 'CONTENT_FILTER' },
  ],
  [
    'A41',
    'a refusal without a word says so, and is not asked for again',
    sse([end('refusal')]),
    { type: 'failed', kind: 'REFUSAL' },
  ],
  [
    'A44',
    'arguments may come before the name',
    sse([
      calls(item('c1', null, '{"a"')),
      calls(item('c1', null, ':1}')),
      calls(item('c1', 't', undefined)),
      end('tool_calls'),
    ]),
    { calls: [call('c1', 't', '{"a":1}')] },
  ],
  [
    'A47',
    'text before and after a thought is set apart',
    sse([chunk({ content: 'A' }), chunk({ reasoning_content: 'r1' }), chunk({ content: 'B' }, 'stop')]),
    { text: 'A\n\nB', reasoning: 'r1' },
  ],
  [
    'A47',
    'thoughts before and after text are set apart',
    sse([chunk({ reasoning: 'r1' }), chunk({ content: 'A' }), chunk({ reasoning: 'r2' }), end('stop')]),
    { text: 'A', reasoning: 'r1\n\nr2' },
  ],
  [
    'A47',
    'text with a line break of its own is not set apart further',
    sse([
      chunk({ content: 'A\n' }),
      chunk({ reasoning: 'r1' }),
      chunk({ content: 'B' }),
      chunk({ reasoning: 'r2' }),
      chunk({ content: '\nC' }, 'stop'),
    ]),
    { text: 'A\nB\nC', reasoning: 'r1\n\nr2' },
  ],
  [
    'A47',
    'white space between is no run of its own',
    sse([chunk({ content: 'A' }), chunk({ reasoning: ' ' }), chunk({ content: 'B' }, 'stop')]),
    { text: 'AB', reasoning: ' ' },
  ],
  [
    'A48',
    'an empty finish reason is none',
    sse([
      { choices: [{ index: 0, delta: { content: ' if' }, finish_reason: '' }] },
      { choices: [{ index: 0, delta: { content: ' you' }, finish_reason: '' }] },
      chunk({ content: '' }, 'stop'),
    ]),
    { text: ' if you', finish: 'STOP' },
  ],
  [
    'A49',
    'a finish reason on the first chunk does not end it',
    sse([
      chunk({ content: '' }, 'stop'),
      chunk({ reasoning_content: 'hm' }),
      chunk({ content: 'Hi' }),
      end('stop'),
    ]),
    { reasoning: 'hm', text: 'Hi' },
  ],
  [
    'A49',
    'an error after a finish reason that came before anything else is the outcome',
    sse([chunk({ content: '' }, 'stop'), { error: { message: 'gone', code: 503 } }]),
    { type: 'failed', kind: 'OVERLOADED' },
  ],
  [
    'A50',
    'a whole call and "stop" in a chunk after it',
    sse([calls(item('c', 'shell', '{"command":"ls"}', 0)), end('stop')]),
    { calls: [call('c', 'shell', '{"command":"ls"}')] },
  ],
  [
    'A51',
    'an error event that ends the stream is an error, and what was thought is no answer',
    `${sse([chunk({ reasoning: 'hm' })], '')}event: error\ndata: ${JSON.stringify({
      error: {
        message: 'Tool call validation failed',
        code: 'tool_use_failed',
        failed_generation: '{}',
        status_code: 400,
      },
    })}\n\n`,
    { type: 'failed', kind: 'MALFORMED', accepted: true },
  ],
  [
    'A52',
    'an error after the finish reason is no second outcome, and its tokens count',
    `${': PROCESSING\n\n'.repeat(17)}${sse([
      chunk({ content: 'so far' }, 'length'),
      end('length'),
      {
        error: { code: 400, message: 'Token limit reached' },
        ...chunk({ role: 'assistant', content: '' }),
        usage: { prompt_tokens: 40, completion_tokens: 30 },
      },
    ])}`,
    { text: 'so far', finish: 'LENGTH', usage: { inputTokens: 40, outputTokens: 30 } },
  ],
  [
    'A52',
    'a limit reached while thinking is the outcome, not the error after it',
    sse([
      chunk({ reasoning: 'hm' }, 'length'),
      { error: { code: 400, message: 'Token limit reached' }, choices: [] },
    ]),
    { type: 'failed', kind: 'NO_ROOM', accepted: true },
  ],
  [
    'A52',
    'what is no JSON after the finish reason takes nothing away',
    sse([chunk({ content: 'ok' }, 'stop')], 'data: {"usage":\n\n'),
    { text: 'ok', finish: 'STOP' },
  ],
  [
    'Known quirk of A',
    'counts that are null or no numbers are none',
    sse([
      chunk({ content: 'ok' }, 'stop', {
        created: 1.5,
        usage: {
          prompt_tokens: 3,
          completion_tokens: null,
          prompt_tokens_details: null,
          completion_tokens_details: null,
        },
      }),
    ]),
    { text: 'ok', usage: { inputTokens: 3, outputTokens: 0 } },
  ],
  [
    'Known quirk of A',
    'tokens are counted by field, the largest of each',
    sse([
      chunk({ content: 'ok' }, null, { usage: { prompt_tokens: 7, completion_tokens: 4 } }),
      chunk({}, 'stop', {
        usage: {
          prompt_tokens: 0,
          completion_tokens: 9,
          prompt_tokens_details: { cached_tokens: 6 },
          completion_tokens_details: { reasoning_tokens: 2 },
        },
      }),
    ]),
    { usage: { inputTokens: 7, outputTokens: 9, cachedInputTokens: 6, reasoningTokens: 2 } },
  ],
  [
    'Known quirk of A',
    'a chunk with a message in place of a delta, and one whose delta is null',
    sse([
      { choices: [{ index: 0, delta: null }] },
      { choices: [{ index: 0, message: { content: 'ok' }, finish_reason: 'stop' }] },
    ]),
    { text: 'ok' },
  ],
  [
    'Known quirk of A',
    'a web page with status 200 is told for what it is',
    '<html><body>502 Bad Gateway</body></html>',
    { type: 'failed', kind: 'WEB_PAGE', accepted: false },
  ],
  [
    'Known quirk of A',
    'an error that was not streamed was never accepted',
    JSON.stringify({ error: { message: 'slow down', code: 429 } }),
    { type: 'failed', kind: 'RATE_LIMIT', accepted: false },
  ],
  [
    'Known quirk of A',
    'a prefix before the name of a tool is dropped, and a name nobody offered stays',
    sse([
      calls(item('a', 'functions.shell', '{}', 0)),
      calls(item('b', 'default_api:read_file', '{}', 1)),
      calls(item('c', 'rm', '{}', 2)),
      end('stop'),
    ]),
    { calls: [call('a', 'shell', '{}'), call('b', 'read_file', '{}'), call('c', 'rm', '{}')] },
  ],
  [
    'Q23',
    'a thought that no tag closed does not swallow what is said after a call',
    sse([
      chunk({ content: '<think>hm' }),
      calls(item('c', 'shell', '{}', 0)),
      chunk({ content: 'Done.' }, 'stop'),
    ]),
    { reasoning: 'hm', text: 'Done.' },
  ],
  [
    'Q23',
    'a thought that no tag closed does not swallow what is said after thoughts of the other kind',
    sse([chunk({ content: '<think>hm' }), chunk({ reasoning: ' yes' }), chunk({ content: 'Done.' }, 'stop')]),
    { reasoning: 'hm yes', text: 'Done.' },
  ],
  [
    'Q53',
    'of several choices the first that speaks counts',
    sse([
      { choices: [{ index: 1, delta: { content: 'ok' } }] },
      { choices: [{ index: 0, delta: { content: 'no' }, finish_reason: 'length' }] },
      { choices: [{ index: 1, delta: {}, finish_reason: 'stop' }] },
    ]),
    { text: 'ok', finish: 'STOP' },
  ],
  [
    'Q24',
    'a text that begins inside of a thought is one, for a model that is set up so',
    sse([chunk({ content: 'hm' }), chunk({ content: '</think>yes' }, 'stop')]),
    { reasoning: 'hm', text: 'yes' },
    { traits: { reasoningStartsOpen: true } },
  ],
];

test.each(cases.map(([id, what, raw, expected, more = {}]) => ({ id, what, raw, expected, more })))(
  '$id: $what',
  async ({ raw, expected, more }) => {
    const { outcome, heard } = await exchange([raw], more, [asked]);
    expect(outcome).toMatchObject({ type: 'answered', ...expected });
    if (outcome?.type !== 'answered') return;
    expect([heard[0]?.text, heard[0]?.reasoning]).toEqual([outcome.text, outcome.reasoning]);
  },
);

test('A25: an answer is complete on [DONE] although the connection stays open, which is then let go', async () => {
  const clock = createTestClock();
  await using link = await connect({ clock });
  link.provider.script([
    { ...bytes(''), stream: [{ raw: sse([chunk({ content: 'x' }, 'stop')]) }, { gate: 'never' }] },
  ]);
  expect((await link.ask()).outcome).toMatchObject({ type: 'answered', text: 'x' });
  await clock.advance(1_000);
  await link.provider.waitForAbort(1);
});

test('A28: what was said before a break was handed on, and the fault says that it had been accepted', async () => {
  const part = 'x'.repeat(500);
  const raw = sse(
    Array.from({ length: 10 }, () => chunk({ content: part })),
    '',
  );
  const { outcome, heard } = await exchange([raw]);
  expect(outcome).toMatchObject({ type: 'failed', kind: 'MALFORMED', accepted: true });
  expect(heard[0]?.text).toBe(part.repeat(10));
});

test('Q49: a connection that breaks after the finish reason takes nothing from the answer', async () => {
  const { outcome } = await exchange([{ begin: sse([chunk({ content: 'ok' }, 'stop')], '') }]);
  expect(outcome).toMatchObject({ type: 'answered', text: 'ok', finish: 'STOP', usage: null });
});

test.each([
  ['before it', sse([chunk({ content: 'ok' })], '')],
  ['after one that came before anything was said', sse([chunk({ content: '' }, 'stop')], '')],
])('Q49: a connection that breaks %s is a fault', async (_, begin) => {
  const { outcome } = await exchange([{ begin }]);
  expect(outcome).toMatchObject({ type: 'failed', kind: 'CONNECTION', accepted: true });
});

test.each([
  ['before the first event', '\n'],
  [
    'after events that say nothing of an answer',
    sse([chunk({ role: 'assistant', content: '' }), { choices: [], usage: { prompt_tokens: 1 } }], ''),
  ],
])('a connection that breaks %s was never accepted (D-37)', async (_, begin) => {
  const { outcome } = await exchange([{ begin }]);
  expect(outcome).toMatchObject({ type: 'failed', kind: 'CONNECTION', accepted: false });
});

test('Q49: silence after the finish reason takes nothing from the answer', async () => {
  const clock = createTestClock();
  await using link = await connect({ clock });
  link.provider.script([
    { ...bytes(''), stream: [{ raw: sse([chunk({ content: 'x' }, 'stop')], '') }, { gate: 'never' }] },
  ]);
  const heard = Promise.withResolvers<void>();
  const answer = link.ask(undefined, undefined, () => heard.resolve());
  await heard.promise;
  await clock.waitForTimers();
  await clock.advance(120_000);
  expect((await answer).outcome).toMatchObject({ type: 'answered', text: 'x' });
});

test('no byte at all for 120 s after the response began is a timeout, and was never accepted', async () => {
  const clock = createTestClock();
  await using link = await connect({ clock });
  link.provider.script([{ ...bytes(''), stream: [{ gate: 'never' }] }]);
  const answer = link.ask();
  await link.provider.waitForGate('never');
  await clock.waitForTimers();
  await clock.advance(300_000);
  expect((await answer).outcome).toMatchObject({ type: 'failed', kind: 'TIMEOUT', accepted: false });
});

test.each<[string, readonly object[], object]>([
  [
    'Q41: what comes after the end is not read',
    [
      {
        type: 'response.completed',
        response: { output: [{ type: 'message', content: [{ type: 'output_text', text: 'ok' }] }] },
      },
      { type: 'error', code: 'server_error', message: 'late' },
    ],
    { type: 'answered', text: 'ok' },
  ],
  [
    'Q42: an answer that was filtered while it was written says so',
    [
      { type: 'response.output_text.delta', item_id: 'm', output_index: 0, content_index: 0, delta: 'so' },
      { type: 'response.incomplete', response: { incomplete_details: { reason: 'content_filter' } } },
    ],
    { type: 'answered', text: 'so', finish: 'CONTENT_FILTER' },
  ],
  [
    'Q42: an answer that is incomplete for no reason is cut off',
    [
      { type: 'response.output_text.delta', item_id: 'm', output_index: 0, content_index: 0, delta: 'so' },
      { type: 'response.incomplete', response: {} },
    ],
    { type: 'answered', text: 'so', finish: 'LENGTH' },
  ],
  [
    'Q44: an end without a word is an empty answer',
    [{ type: 'response.completed', response: {} }],
    { kind: 'EMPTY' },
  ],
  [
    'Q41: a failure that gives no reason is one of the endpoint',
    [{ type: 'response.failed', response: { status: 'failed' } }],
    { type: 'failed', kind: 'OVERLOADED', accepted: false },
  ],
  [
    'Q40: two messages are two texts, and a repeated event is said once',
    [
      { type: 'response.output_text.delta', item_id: 'm1', output_index: 0, content_index: 0, delta: 'one' },
      { type: 'response.output_text.done', item_id: 'm1', output_index: 0, content_index: 0, text: 'one' },
      { type: 'response.output_text.done', item_id: 'm1', output_index: 0, content_index: 0, text: 'one' },
      { type: 'response.output_text.delta', item_id: 'm2', output_index: 1, content_index: 0, delta: 'two' },
      { type: 'response.completed', response: {} },
    ],
    { text: 'one\n\ntwo' },
  ],
  [
    'Q40: a call is made once, however the end calls it',
    [
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { type: 'function_call', id: 'a', call_id: 'c1', name: 'shell', arguments: '' },
      },
      {
        type: 'response.function_call_arguments.done',
        item_id: 'z',
        output_index: 0,
        arguments: '{"command":"ls"}',
      },
      {
        type: 'response.completed',
        response: {
          output: [
            { type: 'function_call', id: 'y', call_id: 'c9', name: 'shell', arguments: '{"command":"ls"}' },
          ],
        },
      },
    ],
    { calls: [call('c1', 'shell', '{"command":"ls"}')] },
  ],
  [
    'Q40: a call is made once, though nothing tells that the end means the same one',
    [
      { type: 'response.output_item.added', item: { type: 'function_call', name: 'shell' } },
      { type: 'response.function_call_arguments.delta', delta: '{"command":"ls"}' },
      {
        type: 'response.completed',
        response: {
          output: [
            { type: 'reasoning', id: 'r', summary: [{ text: 'hm' }] },
            { type: 'function_call', id: 'y', call_id: 'c9', name: 'shell', arguments: '{"command":"ls"}' },
            { type: 'function_call', id: 'z', call_id: 'c10', name: 'shell', arguments: '{"command":"pwd"}' },
          ],
        },
      },
    ],
    {
      reasoning: 'hm',
      calls: [call('', 'shell', '{"command":"ls"}'), call('c10', 'shell', '{"command":"pwd"}')],
    },
  ],
  [
    'Q40: a call of which only the arguments came has the name that the end gives it',
    [
      { type: 'response.function_call_arguments.delta', item_id: 'a', output_index: 0, delta: '{}' },
      {
        type: 'response.completed',
        response: {
          output: [{ type: 'function_call', id: 'a', call_id: 'c1', name: 'shell', arguments: '{}' }],
        },
      },
    ],
    { calls: [call('c1', 'shell', '{}')] },
  ],
  [
    'a thought that is told in full and summed up is told once',
    [
      {
        type: 'response.reasoning_text.delta',
        item_id: 'r',
        output_index: 0,
        content_index: 0,
        delta: 'long',
      },
      {
        type: 'response.reasoning_summary_text.delta',
        item_id: 'r',
        output_index: 0,
        summary_index: 0,
        delta: 'short',
      },
      { type: 'response.output_text.delta', item_id: 'm', output_index: 1, content_index: 0, delta: 'ok' },
      { type: 'response.completed', response: {} },
    ],
    { reasoning: 'long', text: 'ok' },
  ],
])('%s', async (_, events, expected) => {
  expect((await exchange([sse(events, '')], { dialect: 'RESPONSES' }, [asked])).outcome).toMatchObject(
    expected,
  );
});

test('Q26: [DONE] is no end of a response whose own end did not come', async () => {
  const raw = sse([{ type: 'response.output_text.delta', item_id: 'm', output_index: 0, delta: 'so' }]);
  const { outcome } = await exchange([raw], { dialect: 'RESPONSES' });
  expect(outcome).toMatchObject({ type: 'failed', kind: 'MALFORMED', accepted: true });
});

test('A29, A46: a stream is the same with any line ends, a mark at its beginning, and events of several lines', async () => {
  const lines = [
    'event: message',
    `data:${JSON.stringify(chunk({ content: 'ь' }))}`,
    '',
    ': ping',
    '',
    'data: {"choices":',
    'data: [{"delta":{"content":"🌍"},"finish_reason":"stop"}]}',
    '',
    'data: [DONE]',
    '',
    '',
  ];
  await using endpoint = await serve(['\n', '\r\n', '\r'].map((end) => `\uFEFF${lines.join(end)}`));
  const ask = createAsker(bindingFor(endpoint.url));
  for (let i = 0; i < 3; i++) expect((await ask()).outcome).toMatchObject({ text: 'ь🌍', finish: 'STOP' });
});
