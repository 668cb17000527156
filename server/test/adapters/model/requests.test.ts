/**
 * Owns: canonical messages → the exact body of a request, in either dialect.
 */
import fc from 'fast-check';
import type { ChatCompletionMessageParam } from 'openai/resources';
import { expect, test } from 'vitest';
import { createBodyWriter } from '../../../src/adapters/model/wire/body.ts';
import { chatForm } from '../../../src/adapters/model/wire/chat-request.ts';
import { firstWants } from '../../../src/adapters/model/wire/wants.ts';
import type { Asked } from '../../../src/adapters/model/caller.ts';
import type { ModelMessage } from '../../../src/ports/model.ts';
import { bindingFor, exchange, question, tool, type BindingParts } from './harness.ts';

/** Assistant messages with calls, each call answered by a tool message. */
const conversation = fc
  .array(
    fc.record({
      text: fc.string(),
      calls: fc.array(
        fc.record({
          // Few values, so that they collide, also with ids made from ours.
          providerId: fc.constantFrom('', ' ', 'x', 'call_c1', 'call_c1_2', 'y'.repeat(65)),
          name: fc.string(),
          arguments: fc.oneof(fc.json(), fc.string(), fc.constantFrom('', '[]', 'null', '{"a":1}')),
        }),
        { maxLength: 4 },
      ),
    }),
    { maxLength: 6 },
  )
  .map((rounds) => {
    let n = 0;
    return rounds.map((round) => ({
      ...round,
      calls: round.calls.map((call) => ({ ...call, callId: `c${n++}` })),
    }));
  })
  .map((rounds) =>
    rounds.map((round): readonly ModelMessage[] => [
      { role: 'assistant', text: round.text, calls: round.calls },
      ...round.calls.map((call) => ({ role: 'tool' as const, callId: call.callId, text: 'r' })),
    ]),
  );

const binding = bindingFor('http://models.test/v1');
const wants = firstWants(binding);
const asked: Asked = { messages: [], tools: [], temperature: null, effort: null };

/** The body of the one request that asks this, as it came over HTTP, and where it came. */
async function sent(asked: Partial<Asked>, more: BindingParts = {}) {
  const answer = more.dialect === 'RESPONSES' ? responsesAnswer : chatAnswer;
  const { received } = await exchange([answer], more, [{ ...question, tools: [], ...asked }]);
  return received[0]!;
}

const chatAnswer = 'data: {"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}\n\n';
const responsesAnswer =
  'data: {"type":"response.completed","response":{"output":[{"type":"message","content":[{"type":"output_text","text":"ok"}]}]}}\n\n';

function lower(rounds: readonly (readonly ModelMessage[])[]): readonly ChatCompletionMessageParam[] {
  const pieces = createBodyWriter(chatForm).write({
    binding,
    wants,
    asked: { ...asked, messages: rounds.flat() },
  });
  return (JSON.parse(Buffer.concat(pieces).toString('utf8')) as { messages: ChatCompletionMessageParam[] })
    .messages;
}

test('A10, A31, A32, A38: ids are unique on the wire, the same in call and result, and arguments are always an object (D-35)', () => {
  fc.assert(
    fc.property(conversation, (rounds) => {
      const messages = lower(rounds);
      const calls = messages.flatMap((m) => (m.role === 'assistant' ? (m.tool_calls ?? []) : []));
      const ids = calls.map((call) => call.id);
      expect(new Set(ids).size).toBe(ids.length);
      expect(messages.flatMap((m) => (m.role === 'tool' ? [m.tool_call_id] : []))).toEqual(ids);
      for (const call of calls) {
        if (call.type !== 'function') throw new Error('not a function call');
        expect(call.id.trim()).not.toBe('');
        expect(call.function.name).toMatch(/^[\w-]{1,64}$/);
        const parsed: unknown = JSON.parse(call.function.arguments);
        expect(Object.prototype.toString.call(parsed)).toBe('[object Object]');
      }
      for (const m of messages) if (m.role === 'assistant') expect(m.content || m.tool_calls).toBeTruthy();
    }),
    { seed: 20_261_130 },
  );
});

test('a longer conversation begins with the messages of the shorter one', () => {
  fc.assert(
    fc.property(conversation, (rounds) => {
      const before = lower(rounds.slice(0, -1));
      expect(lower(rounds).slice(0, before.length)).toEqual(before);
    }),
    { seed: 20_261_130 },
  );
});

const read = { callId: 'aa', providerId: 'p1', name: 'read_file', arguments: '{"path":"a"}' };
const shell = { callId: 'bb', providerId: 'p1', name: 'shell', arguments: '{"command": "l' };
const talk: readonly ModelMessage[] = [
  { role: 'system', text: 'be brief' },
  { role: 'user', text: 'look' },
  { role: 'assistant', text: 'Looking.', calls: [read, shell] },
  { role: 'tool', callId: 'aa', text: 'A' },
  { role: 'tool', callId: 'bb', text: 'the arguments are not JSON' },
  { role: 'assistant', text: ' ', calls: [] },
  { role: 'user', text: 'go on' },
];
const schema = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] };
const everything: BindingParts = {
  maxOutput: 900,
  traits: { parallelTools: false, reasoning: true, outputField: 'max_tokens' },
};

test('a chat request holds what somebody set and nothing else (payload floor)', async () => {
  expect(await sent({})).toEqual({
    path: '/v1/chat/completions',
    body: {
      model: 'm1',
      messages: [{ role: 'user', content: 'hello' }],
      stream: true,
      stream_options: { include_usage: true },
    },
  });
  expect((await sent({}, { traits: { streamOptions: false } })).body).not.toHaveProperty('stream_options');
});

test('a chat request of a conversation with everything set is exactly this', async () => {
  const asked = { messages: talk, tools: [tool('read_file')], temperature: 0, effort: 'HIGH' } as const;
  expect((await sent(asked, everything)).body).toEqual({
    model: 'm1',
    messages: [
      { role: 'system', content: 'be brief' },
      { role: 'user', content: 'look' },
      {
        role: 'assistant',
        content: 'Looking.',
        tool_calls: [
          { id: 'p1', type: 'function', function: { name: 'read_file', arguments: '{"path":"a"}' } },
          { id: 'call_bb', type: 'function', function: { name: 'shell', arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'p1', content: 'A' },
      { role: 'tool', tool_call_id: 'call_bb', content: 'the arguments are not JSON' },
      { role: 'user', content: 'go on' },
    ],
    tools: [
      {
        type: 'function',
        function: { name: 'read_file', description: 'the read_file tool', parameters: schema },
      },
    ],
    stream: true,
    stream_options: { include_usage: true },
    max_tokens: 900,
    temperature: 0,
    reasoning_effort: 'high',
    parallel_tool_calls: false,
  });
});

test('a responses request holds what somebody set and nothing else (payload floor)', async () => {
  expect(await sent({}, { dialect: 'RESPONSES' })).toEqual({
    path: '/v1/responses',
    body: {
      model: 'm1',
      input: [{ type: 'message', role: 'user', content: 'hello' }],
      stream: true,
      store: false,
    },
  });
});

test('a responses request of a conversation with everything set is exactly this', async () => {
  const asked = { messages: talk, tools: [tool('read_file')], temperature: 0, effort: 'HIGH' } as const;
  expect((await sent(asked, { ...everything, dialect: 'RESPONSES' })).body).toEqual({
    model: 'm1',
    instructions: 'be brief',
    input: [
      { type: 'message', role: 'user', content: 'look' },
      { type: 'message', role: 'assistant', content: 'Looking.' },
      { type: 'function_call', call_id: 'p1', name: 'read_file', arguments: '{"path":"a"}' },
      { type: 'function_call', call_id: 'call_bb', name: 'shell', arguments: '{}' },
      { type: 'function_call_output', call_id: 'p1', output: 'A' },
      { type: 'function_call_output', call_id: 'call_bb', output: 'the arguments are not JSON' },
      { type: 'message', role: 'user', content: 'go on' },
    ],
    tools: [
      {
        type: 'function',
        name: 'read_file',
        description: 'the read_file tool',
        parameters: schema,
        strict: false,
      },
    ],
    stream: true,
    store: false,
    include: ['reasoning.encrypted_content'],
    max_output_tokens: 900,
    temperature: 0,
    reasoning: { effort: 'high' },
    parallel_tool_calls: false,
  });
});

test('no model is told to call one tool at a time that has no tools', async () => {
  expect((await sent({}, { traits: { parallelTools: false } })).body).not.toHaveProperty(
    'parallel_tool_calls',
  );
});

test('system messages before all others are instructions, and later ones keep their place', async () => {
  const messages: readonly ModelMessage[] = [
    { role: 'system', text: 'one' },
    { role: 'system', text: 'two' },
    { role: 'user', text: 'hello' },
    { role: 'system', text: 'three' },
  ];
  expect((await sent({ messages }, { dialect: 'RESPONSES' })).body).toMatchObject({
    instructions: 'one\n\ntwo',
    input: [{ role: 'user' }, { role: 'system', content: 'three' }],
  });
});

test.each([
  ['NULL', { content: null }],
  ['EMPTY', { content: '' }],
  ['ABSENT', {}],
] as const)(
  'A42: an answer of calls alone has for its text what its model takes: %s',
  async (emptyText, content) => {
    const messages: readonly ModelMessage[] = [{ role: 'assistant', text: '', calls: [read] }];
    const { messages: wire } = (await sent({ messages }, { traits: { emptyText } })).body as {
      messages: readonly object[];
    };
    expect(wire).toEqual([{ role: 'assistant', ...content, tool_calls: [expect.anything()] }]);
  },
);

test('A42: what stands for no text is null, unless the model is set up otherwise', async () => {
  const messages: readonly ModelMessage[] = [{ role: 'assistant', text: '', calls: [read] }];
  expect((await sent({ messages })).body['messages']).toMatchObject([{ content: null }]);
});

const native = (parts: readonly unknown[], more: object = {}) => ({
  alias: 'alias',
  model: 'm1',
  dialect: 'CHAT' as const,
  parts,
  ...more,
});

test('A33: thoughts go back in the field in which they came, to the model that wants them', async () => {
  const messages: readonly ModelMessage[] = [
    { role: 'assistant', text: 'a', calls: [], reasoning: 'hm', native: native([{ field: 'reasoning' }]) },
    {
      role: 'assistant',
      text: 'b',
      calls: [],
      reasoning: 'ah',
      native: native([{ field: 'reasoning_content' }]),
    },
    { role: 'assistant', text: 'c', calls: [], reasoning: 'in tags' },
  ];
  expect((await sent({ messages }, { traits: { replayReasoning: true } })).body['messages']).toEqual([
    { role: 'assistant', content: 'a', reasoning: 'hm' },
    { role: 'assistant', content: 'b', reasoning_content: 'ah' },
    { role: 'assistant', content: 'c' },
  ]);
  expect((await sent({ messages })).body['messages']).toEqual(
    ['a', 'b', 'c'].map((content) => ({ role: 'assistant', content })),
  );
});

const signature = { google: { thought_signature: 'c2ln' } };
const strangers = [
  ['another alias', { alias: 'other' }],
  ['another model', { model: 'm2' }],
  ['another dialect', { dialect: 'RESPONSES' as const }],
] as const;

test('what came beside a call goes back beside it', async () => {
  const messages: readonly ModelMessage[] = [
    {
      role: 'assistant',
      text: '',
      calls: [read, shell],
      native: native([{ call: 1, extra_content: signature }]),
    },
  ];
  const [message] = (await sent({ messages })).body['messages'] as [{ tool_calls: readonly object[] }];
  expect(message.tool_calls[0]).not.toHaveProperty('extra_content');
  expect(message.tool_calls[1]).toHaveProperty('extra_content', signature);
});

test.each(strangers)('what is native to %s is told to no other', async (_, more) => {
  const parts = [{ field: 'reasoning' }, { call: 0, extra_content: signature }];
  const messages: readonly ModelMessage[] = [
    { role: 'assistant', text: '', calls: [read], reasoning: 'hm', native: native(parts, more) },
  ];
  const { body } = await sent({ messages }, { traits: { replayReasoning: true } });
  expect(JSON.stringify(body)).not.toMatch(/c2ln|hm|reasoning/);
});

const thought = {
  type: 'reasoning',
  id: 'rs_1',
  status: 'completed',
  summary: [],
  encrypted_content: 'b3BhcXVl',
};
const thinker: BindingParts = { dialect: 'RESPONSES', traits: { reasoning: true } };
const thoughtful = (more: object = {}): readonly ModelMessage[] => [
  {
    role: 'assistant',
    text: '',
    calls: [read],
    native: native([thought, { ...thought, id: 'rs_2', encrypted_content: null }], {
      dialect: 'RESPONSES',
      ...more,
    }),
  },
  { role: 'tool', callId: 'aa', text: 'A' },
];

test('encrypted thoughts go back before what followed from them, without their status', async () => {
  expect((await sent({ messages: thoughtful() }, thinker)).body['input']).toEqual([
    { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'b3BhcXVl' },
    { type: 'function_call', call_id: 'p1', name: 'read_file', arguments: '{"path":"a"}' },
    { type: 'function_call_output', call_id: 'p1', output: 'A' },
  ]);
});

test.each<[string, BindingParts, object]>([
  ['another alias', thinker, { alias: 'other' }],
  ['another model', thinker, { model: 'm2' }],
  ['another dialect', thinker, { dialect: 'CHAT' }],
  ['a model that is not said to think', { dialect: 'RESPONSES' }, {}],
])('encrypted thoughts are not told to or of %s', async (_, binding, more) => {
  const { body } = await sent({ messages: thoughtful(more) }, binding);
  expect(JSON.stringify(body)).not.toContain('b3BhcXVl');
});

test('A43: an empty answer is left out, thoughts and all', async () => {
  const messages: readonly ModelMessage[] = [
    { role: 'assistant', text: '', calls: [], reasoning: 'hm', native: native([{ field: 'reasoning' }]) },
    { role: 'user', text: 'again' },
  ];
  expect((await sent({ messages }, { traits: { replayReasoning: true } })).body['messages']).toEqual([
    { role: 'user', content: 'again' },
  ]);
  const bare: readonly ModelMessage[] = [
    { role: 'assistant', text: ' ', calls: [], native: native([thought], { dialect: 'RESPONSES' }) },
    { role: 'user', text: 'again' },
  ];
  expect((await sent({ messages: bare }, thinker)).body['input']).toMatchObject([{ role: 'user' }]);
});
