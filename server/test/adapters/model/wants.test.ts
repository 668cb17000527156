/** Owns: what an endpoint turns out to want, told by how it refuses, over HTTP. */
import { expect, test } from 'vitest';
import type { Asked } from '../../../src/adapters/model/caller.ts';
import { chunk, exchange, question, sse, type BindingParts, type Served } from './harness.ts';

const ok = sse([chunk({ content: 'ok' }, 'stop')]);
const okResponses = sse([
  {
    type: 'response.completed',
    response: { output: [{ type: 'message', content: [{ type: 'output_text', text: 'ok' }] }] },
  },
]);
const refusal = (message: string, status = 400): Served => ({ status, body: { error: { message } } });
const asked: Asked = { ...question, tools: [] };

/** Refuses once, then takes what comes; what was sent each time, over two calls. */
async function taught(message: string, more: BindingParts, one: Partial<Asked> = {}, status = 400) {
  const answer = more.dialect === 'RESPONSES' ? okResponses : ok;
  const ask = { ...asked, ...one };
  const { heard, received } = await exchange([refusal(message, status), answer, answer], more, [ask, ask]);
  expect(heard.map(({ text }) => text)).toEqual(['ok', 'ok']);
  return received.map(({ body }) => body);
}

test('an endpoint that refuses to count tokens is asked without, and remembered (Q21)', async () => {
  const bodies = await taught('Unknown parameter: stream_options', {});
  expect(bodies.map((body) => 'stream_options' in body)).toEqual([true, false, false]);
});

test('A33: an endpoint that demands the thoughts is told all of them, and remembered', async () => {
  const native = {
    alias: 'alias',
    model: 'm1',
    dialect: 'CHAT' as const,
    parts: [{ field: 'reasoning_content' }],
  };
  const messages: Asked['messages'] = [
    { role: 'assistant', text: 'a', calls: [], reasoning: 'hm', native },
    { role: 'assistant', text: 'b', calls: [] },
    { role: 'assistant', text: 'c', calls: [], reasoning: 'of another', native: { ...native, model: 'm2' } },
    { role: 'user', text: 'go on' },
  ];
  const bodies = await taught(
    'The `reasoning_content` in the thinking mode must be passed back to the API.',
    {},
    { messages },
  );
  const user = { role: 'user', content: 'go on' };
  const plain = ['a', 'b', 'c'].map((content) => ({ role: 'assistant', content }));
  const told = [
    { role: 'assistant', content: 'a', reasoning_content: 'hm' },
    { role: 'assistant', content: 'b', reasoning_content: '' },
    { role: 'assistant', content: 'c', reasoning_content: '' },
  ];
  expect(bodies.map((body) => body['messages'])).toEqual([
    [...plain, user],
    [...told, user],
    [...told, user],
  ]);
});

test.each([
  ['max_completion_tokens', 'max_tokens', 'body: max_completion_tokens: Extra inputs are not permitted'],
  [
    'max_tokens',
    'max_completion_tokens',
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
  ],
] as const)(
  'the limit goes in the other field where %s is refused, and stays there',
  async (first, then, message) => {
    const bodies = await taught(message, { maxOutput: 700, traits: { outputField: first } }, {}, 422);
    expect(bodies.map((body) => [body[first], body[then]])).toEqual([
      [700, undefined],
      [undefined, 700],
      [undefined, 700],
    ]);
  },
);

test.each(['CHAT', 'RESPONSES'] as const)(
  'a temperature that is refused is left out, and remembered: %s',
  async (dialect) => {
    const message =
      "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.";
    const bodies = await taught(message, { dialect }, { temperature: 0.2 });
    expect(bodies.map((body) => body['temperature'])).toEqual([0.2, undefined, undefined]);
  },
);

test.each([
  ['CHAT', 'reasoning_effort', 'high', 'Unrecognized request argument supplied: reasoning_effort'],
  ['CHAT', 'reasoning_effort', 'high', '"little-model" does not support thinking'],
  ['RESPONSES', 'reasoning', { effort: 'high' }, "Unsupported parameter: 'reasoning.effort'"],
] as const)(
  'an effort that is refused is left out, and remembered: %s, %s',
  async (dialect, field, value, message) => {
    const bodies = await taught(message, { dialect }, { effort: 'HIGH' });
    expect(bodies.map((body) => body[field])).toEqual([value, undefined, undefined]);
  },
);

test('a refused effort says nothing about another one', async () => {
  const message = "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model.";
  const { received } = await exchange([refusal(message), ok, ok], {}, [
    { ...asked, effort: 'MINIMAL' },
    { ...asked, effort: 'HIGH' },
  ]);
  expect(received.map(({ body }) => body['reasoning_effort'])).toEqual(['minimal', undefined, 'high']);
});

test.each([
  [
    180_225,
    16_384,
    196_608,
    "This model's maximum context length is 196608 tokens. However, you requested 16384 output tokens and your prompt contains at least 180225 input tokens, for a total of at least 196609 tokens.",
  ],
  [
    3_500,
    800,
    4_096,
    "This model's maximum context length is 4,096 tokens. However, you requested 4,300 tokens (3,500 in the messages, 800 in the completion). Please reduce the length of the messages or completion.",
  ],
  [
    3_500,
    800,
    4_096,
    "'max_tokens' or 'max_completion_tokens' is too large: 800. This model's maximum context length is 4096 tokens and your request has 3500 input tokens (800 > 4096 - 3500).",
  ],
  [
    199_000,
    8_192,
    200_000,
    'input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000, decrease one',
  ],
])(
  'A36: a prompt of %i and an answer of %i that are over a window of %i are tried once with the room that is left',
  async (prompt, maxOutput, window, message) => {
    const bodies = await taught(message, { maxOutput, traits: { outputField: 'max_tokens' } });
    const limits = bodies.map((body) => body['max_tokens'] as number);
    expect(limits[1]).toBeLessThan(window - prompt);
    expect(limits[1]).toBeGreaterThanOrEqual((window - prompt) / 2);
    expect(limits[1]).toBeGreaterThan(0);
    // The next conversation is another length.
    expect([limits[0], limits[2]]).toEqual([maxOutput, maxOutput]);
  },
);

test('A36: in the responses dialect too, also where no limit was set', async () => {
  const message =
    "This model's maximum context length is 8192 tokens. However, you requested 4096 output tokens and your prompt contains 6000 input tokens.";
  const bodies = await taught(message, { dialect: 'RESPONSES' });
  expect(bodies.map((body) => body['max_output_tokens'])).toEqual([
    undefined,
    8_192 - 6_000 - 274,
    undefined,
  ]);
});

test('A35: a prompt that leaves no room is not tried again, and is an overflow', async () => {
  const message =
    "This model's maximum context length is 262144 tokens. However, you requested 0 output tokens and your prompt contains at least 262145 input tokens, for a total of at least 262145 tokens.";
  const { outcome, received } = await exchange([refusal(message), ok], { maxOutput: 100 });
  expect(outcome).toMatchObject({ kind: 'CONTEXT_OVERFLOW', accepted: false, status: 400 });
  expect(received).toHaveLength(1);
});

test('thoughts that the provider cannot read any more are left out of that conversation', async () => {
  const native = {
    alias: 'alias',
    model: 'm1',
    dialect: 'RESPONSES' as const,
    parts: [{ type: 'reasoning', id: 'rs', summary: [], encrypted_content: 'b3BhcXVl' }],
  };
  const bodies = await taught(
    'The encrypted content could not be verified. (invalid_encrypted_content)',
    { dialect: 'RESPONSES', traits: { reasoning: true } },
    { messages: [{ role: 'assistant', text: 'a', calls: [], native }] },
  );
  expect(bodies.map((body) => JSON.stringify(body).includes('b3BhcXVl'))).toEqual([true, false, true]);
});

test('what was learned at once is tried at once, each lesson one time', async () => {
  const lessons = [
    'Unknown parameter: stream_options',
    "Unsupported parameter: 'max_completion_tokens'",
    "Unsupported value: 'temperature' does not support 0.2",
    "Unsupported value: 'reasoning_effort' does not support 'high'",
  ];
  const one: Asked = { ...asked, temperature: 0.2, effort: 'HIGH' };
  const { outcome, received } = await exchange(
    [...lessons.map((text) => refusal(text)), ok],
    { maxOutput: 9 },
    [one],
  );
  expect(outcome).toMatchObject({ type: 'answered', text: 'ok' });
  expect(received.at(-1)?.body).toEqual({
    model: 'm1',
    messages: [{ role: 'user', content: 'hello' }],
    stream: true,
    max_tokens: 9,
  });
});

test.each([
  ['stream_options is not a thing', {}, {}],
  ["'reasoning_content' must be passed back", {}, {}],
  ["Unsupported parameter: 'max_completion_tokens' and 'max_tokens'", { maxOutput: 9 }, {}],
  ["Unsupported value: 'temperature'", {}, { temperature: 1 }],
  ["Unsupported value: 'reasoning_effort'", {}, { effort: 'LOW' as const }],
  [
    'maximum context length is 8192 tokens. However, you requested 4096 output tokens and your prompt contains 6000',
    { maxOutput: 4_096 },
    {},
  ],
])('an endpoint that refuses for ever is asked twice: %s', async (message, more, one) => {
  const { outcome, received } = await exchange(
    Array.from({ length: 9 }, () => refusal(message)),
    more,
    [{ ...asked, ...one }],
  );
  expect(outcome).toMatchObject({ type: 'failed', accepted: false, status: 400 });
  expect(received).toHaveLength(2);
});

test('what did not help is not remembered', async () => {
  const no = refusal("'reasoning_content' must be passed back");
  const messages: Asked['messages'] = [{ role: 'assistant', text: 'a', calls: [] }];
  const { received } = await exchange([no, no, ok], {}, [
    { ...asked, messages },
    { ...asked, messages },
  ]);
  expect(received.map(({ body }) => JSON.stringify(body).includes('reasoning_content'))).toEqual([
    false,
    true,
    false,
  ]);
});

test.each([
  ['a value that is only too large', "Invalid 'temperature': decimal above maximum value", 400],
  ['a field that nobody sent', "Unsupported parameter: 'top_p'", 400],
  ['an error of the endpoint', "Unsupported value: 'temperature'", 500],
])('nothing is learned from %s', async (_, message, status) => {
  const { received } = await exchange([refusal(message, status), ok], {}, [{ ...asked, temperature: 2 }]);
  expect(received).toHaveLength(1);
});
