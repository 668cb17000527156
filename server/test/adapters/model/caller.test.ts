import { expect, test } from 'vitest';
import type { Asked, Attempted } from '../../../src/adapters/model/caller.ts';
import { createTestClock } from '../../support/clock.ts';
import { lastMessage } from '../../support/scripted-provider.ts';
import { bytes, chunk, connect, connectInPieces, question, sse, tool } from './harness.ts';

const answered = (outcome: Attempted) => {
  if (outcome.type !== 'answered') throw new Error(`not answered: ${JSON.stringify(outcome)}`);
  return outcome;
};

test('a plain answer streams as it comes and ends with text, usage and the name of the model', async () => {
  await using link = await connect();
  const heard = await link.answer({
    stream: ['Hel', 'lo'],
    usage: { prompt_tokens: 7, completion_tokens: 2 },
  });
  expect(heard.deltas).toEqual([
    { type: 'text', text: 'Hel' },
    { type: 'text', text: 'lo' },
  ]);
  expect(heard.outcome).toEqual({
    type: 'answered',
    text: 'Hello',
    reasoning: '',
    calls: [],
    finish: 'STOP',
    usage: { inputTokens: 7, outputTokens: 2 },
    alias: 'alias',
    model: 'm1',
  });
});

test('text is handed on before the answer is complete', async () => {
  await using link = await connect();
  link.provider.script([{ stream: ['first', { gate: 'rest' }, ' second'] }]);
  const early = Promise.withResolvers<string>();
  const asked = link.ask(question, undefined, (delta) => early.resolve(delta.text));
  expect(await early.promise).toBe('first');
  link.provider.release('rest');
  expect(answered((await asked).outcome).text).toBe('first second');
});

test('the request body of a conversation with tool results is exactly this', async () => {
  await using link = await connect();
  link.provider.script([{ stream: ['done'] }]);
  const call = { callId: 'aa', providerId: 'p1', name: 'read_file', arguments: '{"path":"a"}' };
  const request: Asked = {
    ...question,
    messages: [
      { role: 'system', text: 'be brief' },
      { role: 'user', text: 'look' },
      { role: 'assistant', text: '', calls: [call, { ...call, callId: 'bb', arguments: '{"path": "b' }] },
      { role: 'tool', callId: 'aa', text: 'A' },
      { role: 'tool', callId: 'bb', text: 'the arguments are not JSON' },
      { role: 'assistant', text: '', calls: [] },
      { role: 'user', text: 'go on' },
    ],
    tools: [tool('read_file')],
  };
  await link.ask(request);
  expect(link.provider.requests).toEqual([
    {
      model: 'm1',
      messages: [
        { role: 'system', content: 'be brief' },
        { role: 'user', content: 'look' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: 'p1', type: 'function', function: { name: 'read_file', arguments: '{"path":"a"}' } },
            { id: 'call_bb', type: 'function', function: { name: 'read_file', arguments: '{}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'p1', content: 'A' },
        { role: 'tool', tool_call_id: 'call_bb', content: 'the arguments are not JSON' },
        { role: 'user', content: 'go on' },
      ],
      tools: [
        {
          type: 'function',
          function: {
            name: 'read_file',
            description: 'the read_file tool',
            parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
          },
        },
      ],
      stream: true,
      stream_options: { include_usage: true },
    },
  ]);
});

test('a tool round: the call comes back with text before it, and its result is answered', async () => {
  await using link = await connect();
  link.provider.script([
    { stream: ['Looking. ', { call: { name: 'shell', id: 'c1', arguments: { command: 'ls' } } }] },
    { when: (body) => lastMessage(body).tool_call_id === 'c1', stream: ['Two files.'] },
  ]);
  const first = answered((await link.ask()).outcome);
  expect(first).toMatchObject({
    text: 'Looking. ',
    finish: 'TOOL_CALLS',
    calls: [{ providerId: 'c1', name: 'shell', arguments: '{"command":"ls"}' }],
  });
  const calls = first.calls.map((call) => ({ ...call, callId: 'ours' }));
  const second = await link.ask({
    ...question,
    messages: [
      ...question.messages,
      { role: 'assistant', text: first.text, calls },
      { role: 'tool', callId: 'ours', text: 'a\nb' },
    ],
  });
  expect(answered(second.outcome).text).toBe('Two files.');
  link.provider.assertDone();
});

test('parallel calls keep their order, interleaved or not', async () => {
  await using link = await connect();
  const piece = (index: number, fn: object, id?: string) =>
    chunk({ tool_calls: [{ index, ...(id && { id }), type: 'function', function: fn }] });
  const heard = await link.answer(
    bytes(
      sse([
        piece(0, { name: 'read_file', arguments: '' }, 'a'),
        piece(1, { name: 'shell', arguments: '' }, 'b'),
        piece(0, { arguments: '{"path":' }),
        piece(1, { arguments: '{"command":"x"}' }),
        piece(0, { arguments: '"p"}' }),
        chunk({}, 'tool_calls'),
      ]),
    ),
  );
  expect(answered(heard.outcome).calls).toEqual([
    { providerId: 'a', name: 'read_file', arguments: '{"path":"p"}' },
    { providerId: 'b', name: 'shell', arguments: '{"command":"x"}' },
  ]);
});

test('reasoning is a channel of its own, under either name, and once when sent under both', async () => {
  await using link = await connect();
  const heard = await link.answer(
    bytes(
      sse([
        chunk({ reasoning: 'A', reasoning_content: 'A' }),
        chunk({ reasoning: 'B', reasoning_content: null, content: '' }),
        chunk({ content: 'X' }, 'stop'),
      ]),
    ),
  );
  expect(heard.reasoning).toBe('AB');
  expect(heard.outcome).toMatchObject({ reasoning: 'AB', text: 'X' });
});

test('an answer cut off at the length limit says LENGTH and keeps text and calls for the caller (D-38)', async () => {
  await using link = await connect();
  const heard = await link.answer({
    stream: ['so far', { call: { name: 'shell', id: 'c', arguments: '{"comm' } }],
    finish: 'length',
  });
  expect(heard.outcome).toMatchObject({
    finish: 'LENGTH',
    text: 'so far',
    calls: [{ providerId: 'c', name: 'shell', arguments: '{"comm' }],
  });
});

test('calls are there because they were sent, whatever the finish reason says (D-38)', async () => {
  await using link = await connect();
  const heard = await link.answer({ stream: [{ call: { name: 'shell' } }], finish: 'stop' });
  expect(answered(heard.outcome).calls).toHaveLength(1);
});

test('the result is the same however the bytes are cut', async () => {
  await using link = await connectInPieces();
  const raw = Buffer.from(
    `\uFEFF: keep-alive\r\n\r\nid: 1\r\ndata: ${JSON.stringify(chunk({ content: '<think>ь' }))}\r\n\r\n` +
      `data:${JSON.stringify(chunk({ content: '🌍</th' }))}\n\n: ping\n\ndata: ${JSON.stringify(chunk({ content: 'ink>\n\nЯ🌍' }))}\r\r` +
      sse([
        chunk({ tool_calls: [{ index: 0, id: 'c', function: { name: 'shell', arguments: '{"command":' } }] }),
        chunk({ tool_calls: [{ index: 0, function: { arguments: '"é"}' } }] }, 'tool_calls'),
        { choices: null, usage: { prompt_tokens: 3, completion_tokens: 4 } },
      ]),
  );
  const whole = await link.answer(bytes(raw));
  expect(whole.outcome).toEqual({
    type: 'answered',
    text: 'Я🌍',
    reasoning: 'ь🌍',
    calls: [{ providerId: 'c', name: 'shell', arguments: '{"command":"é"}' }],
    finish: 'TOOL_CALLS',
    usage: { inputTokens: 3, outputTokens: 4 },
    alias: 'alias',
    model: 'alias',
  });
  const single = await link.answerInPieces([...raw].map((byte) => Uint8Array.of(byte)));
  expect(single.outcome).toEqual(whole.outcome);
  // The end of the stream is a read of its own, unless [DONE] came first.
  expect(link.reads()).toBeGreaterThanOrEqual(raw.length - 2);
  for (let at = 1; at < raw.length; at += 3) {
    const heard = await link.answerInPieces([raw.subarray(0, at), raw.subarray(at)]);
    expect(heard.outcome, `cut at byte ${at}`).toEqual(whole.outcome);
    expect(heard.text).toBe('Я🌍');
  }
});

test('no delta ends in half of a surrogate pair', async () => {
  await using link = await connect();
  const heard = await link.answer(
    bytes(sse([chunk({ content: 'a\ud83c' }), chunk({ content: '\udf0d' }, 'stop')])),
  );
  expect(heard.deltas.map((d) => d.text)).toEqual(['a', '🌍']);
});

/** It was sent, and so much of it can be told. */
const nothingYet = { usage: null, calls: 0 };
const halfACall = chunk(
  { tool_calls: [{ index: 0, id: 'c1', function: { name: 'shell', arguments: '{"path":"a' } }] },
  null,
  { usage: { prompt_tokens: 70, completion_tokens: 1 } },
);
const halfACallSoFar = {
  usage: { inputTokens: 70, outputTokens: 1 },
  calls: 'shell'.length + '{"path":"a'.length,
};

test('an aborted call tells what had come of the calls in it, which nobody saw, and what was counted (D-5)', async () => {
  await using link = await connect();
  link.provider.script([bytes(sse([halfACall, chunk({ content: 'x' })]))]);
  const controller = new AbortController();
  const heard = await link.ask(question, controller.signal, () => controller.abort());
  expect(heard.outcome).toEqual({ type: 'aborted', unfinished: halfACallSoFar });
});

test('one that is stopped as the whole answer is there tells what was counted of it (D-5)', async () => {
  await using link = await connect();
  const counted = { usage: { prompt_tokens: 7, completion_tokens: 2 } };
  link.provider.script([bytes(sse([chunk({ content: 'whole' }, 'stop', counted)]))]);
  const controller = new AbortController();
  const heard = await link.ask(question, controller.signal, () => controller.abort());
  expect(heard.outcome).toEqual({
    type: 'aborted',
    unfinished: { usage: { inputTokens: 7, outputTokens: 2 }, calls: 0 },
  });
});

test.each([
  ['breaks off', sse([halfACall], ''), 'MALFORMED', halfACallSoFar],
  ['has an error in it', sse([halfACall, { error: { message: 'oh' } }]), 'PROVIDER_ERROR', halfACallSoFar],
  ['says nothing', sse([chunk({}, 'stop')]), 'EMPTY', nothingYet],
])('an answer that %s tells what had come of it (D-5)', async (_, raw, kind, unfinished) => {
  await using link = await connect();
  expect((await link.answer(bytes(raw))).outcome).toMatchObject({ type: 'failed', kind, unfinished });
});

test('a body that is an empty answer tells what was counted, and any other that is none tells nothing (D-5)', async () => {
  await using link = await connect();
  const body = { ...chunk({}, 'stop'), usage: { prompt_tokens: 7, completion_tokens: 0 } };
  expect((await link.answer(bytes(JSON.stringify(body)))).outcome).toMatchObject({
    kind: 'EMPTY',
    unfinished: { usage: { inputTokens: 7, outputTokens: 0 }, calls: 0 },
  });
  for (const raw of ['<html></html>', '{"error":{"message":"no"}}', '{"detail":"no"}'])
    expect((await link.answer(bytes(raw))).outcome).not.toHaveProperty('unfinished');
});

test.each([400, 401, 402, 404, 429, 500, 503])(
  'a call that is refused with %i tells nothing',
  async (status) => {
    await using link = await connect();
    expect((await link.answer({ status })).outcome).not.toHaveProperty('unfinished');
  },
);

test.each<[string, string]>([
  ['an error event', sse([chunk({ role: 'assistant' }), { error: { message: 'no', code: 503 } }])],
  ['an error between events', ': ping\n\n{"error":{"message":"no"}}\n\n'],
  ['a finish reason that is an error', sse([chunk({}, 'error')])],
])(
  'a call that is refused with %s in place of an answer tells nothing, unless something was counted',
  async (_, raw) => {
    await using link = await connect();
    const { outcome } = await link.answer(bytes(raw));
    expect(outcome).toMatchObject({ type: 'failed', accepted: false });
    expect(outcome).not.toHaveProperty('unfinished');
    const counted = chunk({}, null, { usage: { prompt_tokens: 7, completion_tokens: 0 } });
    expect((await link.answer(bytes(`${sse([counted], '')}${raw}`))).outcome).toMatchObject({
      unfinished: { usage: { inputTokens: 7, outputTokens: 0 }, calls: 0 },
    });
  },
);

test('a call that cannot reach anybody tells nothing', async () => {
  const link = await connect();
  await link[Symbol.asyncDispose]();
  const { outcome } = await link.ask();
  expect(outcome).toMatchObject({ kind: 'CONNECTION' });
  expect(outcome).not.toHaveProperty('unfinished');
});

test('a call that was sent and never answered tells that it was sent (D-5)', async () => {
  const clock = createTestClock();
  await using link = await connect({ clock });
  const gate = Promise.withResolvers<void>();
  link.provider.respond(async () => {
    await gate.promise;
    return { stream: ['late'] };
  });
  const asked = link.ask();
  await link.provider.waitForRequest(1);
  await clock.advance(300_000);
  expect((await asked).outcome).toMatchObject({ kind: 'TIMEOUT', unfinished: nothingYet });
  gate.resolve();
});

test('no more is counted from the cache than was read, and no more thought than was written', async () => {
  await using link = await connect();
  const counted = {
    prompt_tokens: 7,
    completion_tokens: 2,
    prompt_tokens_details: { cached_tokens: 9 },
    completion_tokens_details: { reasoning_tokens: 5 },
  };
  const { outcome } = await link.answer(bytes(sse([chunk({ content: 'x' }, 'stop', { usage: counted })])));
  expect(answered(outcome).usage).toEqual({
    inputTokens: 7,
    outputTokens: 2,
    cachedInputTokens: 7,
    reasoningTokens: 2,
  });
});

test('an aborted call ends at once and closes the connection at the provider', async () => {
  await using link = await connect();
  link.provider.script([{ stream: ['word', { gate: 'never' }, 'more'] }]);
  const controller = new AbortController();
  const heard = await link.ask(question, controller.signal, () => controller.abort());
  expect(heard.outcome).toEqual({ type: 'aborted', unfinished: nothingYet });
  expect(heard.text).toBe('word');
  await link.provider.waitForAbort(1);
});

test('a call aborted before the response begins ends at once too', async () => {
  await using link = await connect();
  const gate = Promise.withResolvers<void>();
  link.provider.respond(async () => {
    await gate.promise;
    return { stream: ['late'] };
  });
  const controller = new AbortController();
  const asked = link.ask(question, controller.signal);
  await link.provider.waitForRequest(1);
  controller.abort();
  expect((await asked).outcome).toEqual({ type: 'aborted', unfinished: nothingYet });
  await link.provider.waitForAbort(1);
  gate.resolve();
});

test('a call that is aborted before it begins makes no request', async () => {
  await using link = await connect();
  expect((await link.ask(question, AbortSignal.abort())).outcome).toEqual({ type: 'aborted' });
  expect(link.provider.requests).toEqual([]);
});

test('nothing is handed on after an abort, not even what had arrived in the same piece', async () => {
  await using link = await connect();
  link.provider.script([bytes(sse([chunk({ content: 'one' }), chunk({ content: 'two' }, 'stop')]))]);
  const controller = new AbortController();
  const heard = await link.ask(question, controller.signal, () => controller.abort());
  expect(heard).toMatchObject({ outcome: { type: 'aborted' }, text: 'one' });
});

test('120 s without a byte end a stream that had begun, and any byte starts them afresh (D-37)', async () => {
  const clock = createTestClock();
  await using link = await connect({ clock });
  link.provider.script([{ stream: ['a', { gate: 'alive' }, 'b', { gate: 'never' }] }]);
  const heardText = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let n = 0;
  const asked = link.ask(question, undefined, () => heardText[n++]?.resolve());
  await heardText[0]?.promise;
  await clock.waitForTimers();
  await clock.advance(119_000);
  link.provider.release('alive');
  await heardText[1]?.promise;
  await clock.waitForTimers();
  await clock.advance(119_999);
  expect(clock.pending).toBe(1);
  await clock.advance(1);
  expect((await asked).outcome).toMatchObject({
    type: 'failed',
    kind: 'IDLE_STREAM',
    accepted: true,
    message: expect.stringContaining('no data for 120 s') as string,
  });
  await link.provider.waitForAbort(1);
  expect(clock.pending).toBe(0);
});

test('an answer is complete on [DONE] although the provider keeps the connection open, which is then let go', async () => {
  const clock = createTestClock();
  await using link = await connect({ clock });
  link.provider.script([
    { ...bytes(''), stream: [{ raw: sse([chunk({ content: 'x' }, 'stop')]) }, { gate: 'never' }] },
  ]);
  expect(answered((await link.ask()).outcome).text).toBe('x');
  await clock.advance(1_000);
  await link.provider.waitForAbort(1);
});

test('an endpoint that refuses to be asked for usage is asked without, and not asked again', async () => {
  await using link = await connect();
  const plain = (body: object): boolean => !('stream_options' in body);
  link.provider.script([
    { status: 400, body: { error: { message: 'Unknown parameter: stream_options' } } },
    { when: plain, stream: ['a'], usage: null },
    { when: plain, stream: ['b'], usage: null },
  ]);
  expect(answered((await link.ask()).outcome)).toMatchObject({ text: 'a', usage: null });
  expect(answered((await link.ask()).outcome).text).toBe('b');
  link.provider.assertDone();
});

test('the key travels in the header only, and without a key there is none', async () => {
  await using link = await connect({ apiKey: 'sk-abc' });
  await link.answer({ stream: ['x'] });
  expect(link.provider.requestHeaders[0]?.authorization).toBe('Bearer sk-abc');
  await using open = await connect({ apiKey: '' });
  await open.answer({ stream: ['x'] });
  expect(open.provider.requestHeaders[0]?.authorization).toBeUndefined();
});

const text = (outcome: Attempted) => (outcome.type === 'answered' ? outcome.text : outcome);

test.each([
  [
    'usage on every chunk, the largest count per field',
    sse([
      chunk({ content: 'ok' }, null, { usage: { prompt_tokens: 5, completion_tokens: 1 } }),
      chunk({}, 'stop', { usage: { prompt_tokens: null, completion_tokens: 9 } }),
    ]),
  ],
  ['no blank line after the last event', `data: ${JSON.stringify(chunk({ content: 'ok' }, 'stop'))}`],
  ['a finish reason and no [DONE]', sse([chunk({ content: 'ok' }, 'stop')], '')],
  ['[DONE] and no finish reason', sse([chunk({ content: 'ok' })])],
  [
    'an empty finish reason on each chunk',
    sse([
      { choices: [{ index: 0, delta: { content: 'o' }, finish_reason: '' }] },
      chunk({ content: 'k' }, 'stop'),
    ]),
  ],
  [
    'a finish reason too early',
    sse([chunk({ content: '' }, 'stop'), chunk({ content: 'ok' }), chunk({}, 'stop')]),
  ],
  [
    'a chunk without choices, and one whose delta is null',
    sse([{ usage: null }, chunk(null), chunk({ content: 'ok' }, 'stop')]),
  ],
  [
    'several choices, of which the first counts',
    sse([
      {
        choices: [
          { index: 0, delta: { content: 'o' } },
          { index: 1, delta: { content: 'no' } },
        ],
      },
      { choices: [{ index: 1, delta: { content: 'no' } }] },
      chunk({ content: 'k' }, 'stop'),
    ]),
  ],
  [
    'content as a list of parts',
    sse([
      chunk(
        {
          content: [
            { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] },
            { type: 'text', text: 'ok' },
          ],
        },
        'stop',
      ),
    ]),
  ],
  [
    'a stray closing think tag',
    sse([chunk({ reasoning_content: 'plan' }), chunk({ content: '</think>\n\nok' }, 'stop')]),
  ],
  ['a refusal', sse([chunk({ content: null, refusal: 'ok' }, 'stop')])],
  [
    'a completion that was not streamed',
    JSON.stringify(
      { model: 'm', choices: [{ message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }] },
      null,
      2,
    ),
  ],
])('the answer is read from %s', async (_, raw) => {
  await using link = await connect();
  const heard = await link.answer(bytes(raw));
  expect(text(heard.outcome)).toBe('ok');
  expect(heard.text).toBe('ok');
});

test('usage is merged field by field', async () => {
  await using link = await connect();
  const heard = await link.answer(
    bytes(
      sse([
        chunk({ content: 'ok' }, null, { usage: { prompt_tokens: 5 } }),
        chunk({}, 'stop', { usage: { prompt_tokens: null, completion_tokens: 9 } }),
      ]),
    ),
  );
  expect(answered(heard.outcome).usage).toEqual({ inputTokens: 5, outputTokens: 9 });
});

test('a finish reason stays when a later chunk has none', async () => {
  await using link = await connect();
  const heard = await link.answer(
    bytes(sse([chunk({ content: 'ok' }, 'length'), chunk({}), { choices: [] }], '')),
  );
  expect(heard.outcome).toMatchObject({ text: 'ok', finish: 'LENGTH' });
});

test('a literal tag inside an answer stays text', async () => {
  await using link = await connect();
  const heard = await link.answer({ stream: ['Use the ', '<think>', ' tag'] });
  expect(answered(heard.outcome)).toMatchObject({ text: 'Use the <think> tag', reasoning: '' });
});
