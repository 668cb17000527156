/**
 * Owns: what an endpoint may send to hold Weir up, to make it do something twice, or to have it keep what it cannot read
 * again. Whatever it is, it ends as an answer or as a fault of the right kind, in time.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Attempted } from '../../../src/adapters/model/caller.ts';
import {
  createFault,
  faultFromDescription,
  retryAfterOf,
  scopeOf,
  type FaultScope,
} from '../../../src/adapters/model/faults.ts';
import { createChatReader } from '../../../src/adapters/model/wire/chat-reader.ts';
import { createDrain } from '../../../src/adapters/model/wire/drain.ts';
import { createReading } from '../../../src/adapters/model/wire/events.ts';
import { createResponsesReader } from '../../../src/adapters/model/wire/responses-reader.ts';
import type { Outgoing } from '../../../src/adapters/model/wire/outgoing.ts';
import { lessons } from '../../../src/adapters/model/wire/wants.ts';
import { watchStalls } from '../../support/stalls.ts';
import { bindingFor, chunk, connect, exchange, question, sse } from './harness.ts';

const readers = { CHAT: createChatReader, RESPONSES: createResponsesReader };

/** Reads a stream as it would arrive in pieces of a size, without a network between. */
function read(dialect: keyof typeof readers, raw: string, size = Number.POSITIVE_INFINITY): Attempted {
  const binding = bindingFor('http://models.test/v1', { dialect });
  const tools = new Set(question.tools.map((tool) => tool.name));
  const reading = createReading(
    readers[dialect](),
    createDrain(binding, tools, () => undefined),
    scopeOf(binding),
  );
  const bytes = Buffer.from(raw);
  for (let at = 0; at < bytes.length; at += size) {
    const outcome = reading.feed(bytes.subarray(at, Math.min(bytes.length, at + size)));
    if (outcome) return outcome;
  }
  return reading.end();
}

const responses = (events: readonly object[]): Attempted => read('RESPONSES', sse(events, ''));

/** Processor time of this thread that work takes, milliseconds. */
function cost<T>(work: () => T): { readonly ms: number; readonly result: T } {
  const stalls = watchStalls();
  const result = work();
  return { ms: stalls.longestMs(), result };
}

/** Far more than the work needs, and far less than it took where it grew with the square of what was sent. */
const inTime = 2_000;

const nested = (depth: number): string => '{"a":'.repeat(depth) + '1' + '}'.repeat(depth);

const scope: FaultScope = {
  alias: 'm1',
  host: 'models.test:1',
  model: 'm1',
  secrets: ['Key/with+odd=chars9'],
  source: 'FILE',
};

describe('an answer of the responses API is the same however often and in whatever order it is told', () => {
  interface Told {
    readonly type: string;
    readonly output_index?: number;
  }
  const message = (text: string) => ({
    type: 'message',
    id: 'msg',
    content: [{ type: 'output_text', text }],
  });
  const call = (n: number, input: string) => ({
    type: 'function_call',
    id: `fc_${n}`,
    call_id: `call_${n}`,
    name: n % 2 ? 'shell' : 'read_file',
    arguments: input,
  });
  const pieces = (text: string): string[] => text.match(/.{1,3}/gsu) ?? [];

  /** A good stream, in the groups that its events can be taken apart into. */
  function stream(text: string, inputs: readonly string[]) {
    const output = [message(text), ...inputs.map((input, i) => call(i + 1, input))];
    const announced: Told[] = output.map((item, output_index) => ({
      type: 'response.output_item.added',
      output_index,
      item: item.type === 'message' ? { ...item, content: [] } : { ...item, arguments: '' },
    }));
    const deltas: Told[] = output.flatMap((item, output_index) =>
      pieces('arguments' in item ? item.arguments : text).map((delta) => ({
        type: 'arguments' in item ? 'response.function_call_arguments.delta' : 'response.output_text.delta',
        item_id: item.id,
        output_index,
        content_index: 0,
        delta,
      })),
    );
    const done: Told[] = output.flatMap((item, output_index) => [
      'arguments' in item
        ? {
            type: 'response.function_call_arguments.done',
            item_id: item.id,
            output_index,
            arguments: item.arguments,
          }
        : { type: 'response.output_text.done', item_id: item.id, output_index, content_index: 0, text },
      { type: 'response.output_item.done', output_index, item },
    ]);
    const end: Told = {
      type: 'response.completed',
      response: { model: 'm1', output },
    } as Told;
    return { announced, deltas, done, end };
  }

  const input = fc.record({ command: fc.string({ maxLength: 12 }) }).map((value) => JSON.stringify(value));

  test('announcements and what is done, repeated, left out and anywhere', () => {
    fc.assert(
      fc.property(
        fc
          .string({ minLength: 1, maxLength: 20, unit: 'grapheme-ascii' })
          .filter((text) => text.trim() !== ''),
        fc.array(input, { minLength: 1, maxLength: 4 }),
        fc.infiniteStream(fc.nat({ max: 1_000_000 })),
        (text, inputs, numbers) => {
          const next = (below: number): number => numbers.next().value % below;
          const { announced, deltas, done, end } = stream(`t${text}`, inputs);
          const events = [...deltas];
          const put = (event: Told): void => void events.splice(next(events.length + 1), 0, event);
          for (const event of announced) for (let n = 1 + next(2); n > 0; n--) put(event);
          for (const event of done) for (let n = next(3); n > 0; n--) put(event);
          const good = responses([...announced, ...deltas, ...done, end]);
          expect(good).toMatchObject({ type: 'answered', text: `t${text}` });
          expect(good).toHaveProperty('calls.length', inputs.length);
          expect(responses([...events, end])).toEqual(good);
        },
      ),
      { numRuns: 300, seed: 20_261_130 },
    );
  });

  test('every event twice, where events are numbered', () => {
    const { announced, deltas, done, end } = stream('ha ha ha ha ha', ['{"command":"ls ls ls"}', '{}']);
    const events = [...announced, ...deltas, ...done, end].map((event, i) => ({
      ...event,
      sequence_number: i,
    }));
    expect(responses(events.flatMap((event) => [event, event]))).toEqual(responses(events));
  });

  test('and numbers that mean nothing take nothing away', () => {
    const { announced, deltas } = stream('ha ha ha ha ha', ['{"command":"ls ls ls"}']);
    const events = [...announced, ...deltas, { type: 'response.completed', response: {} }];
    const good = responses(events);
    expect(responses(events.map((event) => ({ ...event, sequence_number: 0 })))).toEqual(good);
    expect(responses(events.map((event, i) => ({ ...event, sequence_number: i % 2 })))).toEqual(good);
    const again = { type: 'response.output_text.delta', item_id: 'msg', delta: 'ha', sequence_number: 0 };
    expect(responses([again, again, { type: 'response.completed', response: {} }])).toMatchObject({
      text: 'haha',
    });
  });

  test('a call whose arguments come under an id of their own before it is announced is one call', () => {
    const added = { type: 'response.output_item.added', item: { ...call(1, ''), arguments: '' } };
    const item = call(1, '{"command":"ls"}');
    const outcome = responses([
      { type: 'response.function_call_arguments.delta', item_id: 'other', delta: '{"command":"ls"}' },
      added,
      { type: 'response.output_item.done', item },
      { type: 'response.completed', response: { output: [item] } },
    ]);
    expect(outcome).toMatchObject({
      calls: [{ providerId: 'call_1', name: 'shell', arguments: '{"command":"ls"}' }],
    });
    expect(outcome).toHaveProperty('calls.length', 1);
  });

  test('deltas that do not say whose they are make one text', () => {
    const outcome = responses([
      ...['a', 'b', 'c'].map((delta) => ({ type: 'response.output_text.delta', delta })),
      { type: 'response.completed', response: {} },
    ]);
    expect(outcome).toMatchObject({ text: 'abc' });
  });

  const end = { type: 'response.completed', response: {} };
  const added = (item: object) => ({ type: 'response.output_item.added', output_index: 0, item });

  test.each<[string, object]>([
    ['in a piece', { type: 'response.function_call_arguments.delta', item_id: 'x', delta: '{"a":1}' }],
    ['as a whole', { type: 'response.function_call_arguments.done', item_id: 'x', arguments: '{"a":1}' }],
    ['as nothing', { type: 'response.function_call_arguments.done', item_id: 'x', arguments: '' }],
  ])(
    'arguments that come %s, of a call that does not, are an answer with a part missing (D-37)',
    (_, lone) => {
      const text = { type: 'response.output_text.delta', item_id: 'm', delta: 'so' };
      for (const events of [
        [lone, end],
        [text, lone, end],
      ])
        expect(responses(events)).toMatchObject({
          type: 'failed',
          kind: 'MALFORMED',
          accepted: true,
          message: expect.stringContaining('arguments came of a call that did not') as string,
        });
      // What is missing of an answer that was cut is no fault: none of its calls are run (D-38).
      expect(responses([text, lone, { type: 'response.incomplete', response: {} }])).toMatchObject({
        text: 'so',
        finish: 'LENGTH',
      });
    },
  );

  test('a call that is announced and has no name is one that the tools refuse (D-35)', () => {
    const nameless = { type: 'function_call', id: 'x', call_id: 'c', arguments: '' };
    const done = { type: 'response.function_call_arguments.done', item_id: 'x', arguments: '{"a":1}' };
    const outcome = responses([added(nameless), done, end]);
    expect(outcome).toMatchObject({ calls: [{ providerId: 'c', name: '', arguments: '{"a":1}' }] });
  });

  test('arguments that a call with a name has too are no second one', () => {
    const delta = { type: 'response.function_call_arguments.delta', item_id: 'x', delta: '{"a":1}' };
    const item = { ...call(1, '{"a":1}'), id: 'y' };
    const twice = responses([delta, added(item), { ...delta, item_id: 'y' }, end]);
    expect(twice).toMatchObject({ calls: [{ name: 'shell', arguments: '{"a":1}' }] });
    expect(twice).toHaveProperty('calls.length', 1);
  });

  test('arguments of two calls with one id, before either is announced, are known by their place', () => {
    const items = [call(1, '{"command":"a"}'), call(3, '{"command":"b"}')].map((item) => ({
      ...item,
      id: 'same',
    }));
    const outcome = responses([
      ...items.map(({ arguments: delta }, output_index) => ({
        type: 'response.function_call_arguments.delta',
        item_id: 'same',
        output_index,
        delta,
      })),
      ...items.map((item, output_index) => ({ type: 'response.output_item.added', output_index, item })),
      { type: 'response.completed', response: { output: items } },
    ]);
    expect(outcome).toMatchObject({
      calls: [{ arguments: '{"command":"a"}' }, { arguments: '{"command":"b"}' }],
    });
  });

  test('arguments that are held without a name are no longer than is taken', () => {
    const delta = 'x'.repeat(1_000_000);
    const event = { type: 'response.function_call_arguments.delta', item_id: 'x', delta };
    expect(responses([event, event, event])).toMatchObject({ type: 'failed', kind: 'TOO_LONG' });
  });

  test('a call that is done twice, or announced twice, under names that change or with none, is one', () => {
    const end = { type: 'response.completed', response: {} };
    const done = (n: number) => ({
      type: 'response.output_item.done',
      output_index: 0,
      item: { ...call(n, '{"command":"a"}'), name: 'shell' },
    });
    expect(responses([done(1), done(2), end])).toHaveProperty('calls.length', 1);
    const added = { type: 'response.output_item.added', item: { type: 'function_call', name: 'shell' } };
    const delta = { type: 'response.function_call_arguments.delta', delta: '{"command":"a"}' };
    expect(responses([added, added, delta, end])).toHaveProperty('calls.length', 1);
    expect(responses([added, delta, added, { ...delta, delta: '{}' }, end])).toHaveProperty(
      'calls.length',
      2,
    );
  });

  test('two calls of one id at two places are two, though nothing else tells them apart', () => {
    const done = (output_index: number, command: string) => ({
      type: 'response.output_item.done',
      output_index,
      item: { type: 'function_call', id: 'same', name: 'shell', arguments: JSON.stringify({ command }) },
    });
    const outcome = responses([done(0, 'a'), done(1, 'b'), { type: 'response.completed', response: {} }]);
    expect(outcome).toHaveProperty('calls.length', 2);
  });

  test('two calls that stand at the same place by mistake are two, each told twice', () => {
    const items = [call(1, '{"command":"a"}'), call(2, '{"path":"b"}')];
    const outcome = responses([
      ...[...items, ...items].map((item) => ({ type: 'response.output_item.done', output_index: 0, item })),
      { type: 'response.completed', response: {} },
    ]);
    expect(outcome).toHaveProperty('calls.length', 2);
  });
});

describe('one answer does not hold up the others', () => {
  const announced = Array.from({ length: 1_900 }, (_, i) => ({
    type: 'response.output_item.added',
    output_index: i + 5_000_000,
    item: { type: 'message', id: `m${i}` },
  }));
  const oneOf = (count: number, delta: object): object =>
    chunk({ tool_calls: Array.from({ length: count }, (_, i) => ({ index: i, ...delta })) });

  test.each<[string, () => unknown]>([
    ['dots without end', () => createFault('BAD_REQUEST', scope, { detail: `${'.'.repeat(100_000)}x` })],
    [
      'words of an overflow without end',
      () => faultFromDescription(scope, { error: { message: 'input token count '.repeat(30_000) } }, null),
    ],
    [
      'a code without end',
      () => faultFromDescription(scope, { error: { code: 'input token count '.repeat(30_000) } }, null),
    ],
  ])('an error of %s', (_, work) => {
    expect(cost(work).ms).toBeLessThan(inTime);
  });

  test('a refusal of many numbers', () => {
    const said = `${'exceeds context limit '.repeat(90)}${'1'.repeat(2_000)}`;
    const lesson = lessons.find(({ name }) => name === 'output limit')!;
    const { ms, result } = cost(() => lesson.learn(said.slice(0, 4_000), {} as Outgoing));
    expect(result).toBeNull();
    expect(ms).toBeLessThan(150);
  });

  test('an output of more items than are taken', () => {
    const output = Array.from({ length: 60_000 }, () => ({ type: 'message' }));
    const { ms, result } = cost(() =>
      responses([...announced, { type: 'response.completed', response: { output } }]),
    );
    expect(result).toMatchObject({ type: 'failed', kind: 'TOO_LONG' });
    expect(ms).toBeLessThan(inTime);
  });

  test('more items announced than are taken', () => {
    const more = Array.from({ length: 200 }, (_, i) => ({
      ...announced[0],
      output_index: i,
      item: { type: 'message' },
    }));
    expect(responses([...announced, ...more])).toMatchObject({ type: 'failed', kind: 'TOO_LONG' });
  });

  test('many deltas for one of many items', () => {
    const reader = createResponsesReader();
    for (const event of announced) reader.read(event, '');
    const delta = { type: 'response.output_text.delta', item_id: 'unknown', output_index: 3, delta: 'a' };
    const { ms } = cost(() => {
      for (let i = 0; i < 50_000; i++) reader.read(delta, '');
    });
    expect(ms).toBeLessThan(inTime);
  });

  test('many pieces in one event for one of many calls', () => {
    const raw = sse([
      oneOf(999, { id: 'x', function: { name: 'x' } }),
      chunk({ tool_calls: Array.from({ length: 1_000_000 }, () => ({ index: 0 })) }),
    ]);
    const { ms, result } = cost(() => read('CHAT', raw));
    expect(result).toMatchObject({ type: 'failed', kind: 'TOO_LONG' });
    expect(ms).toBeLessThan(inTime);
  });

  test('many events of many pieces for one of many calls', () => {
    const many = sse(
      [chunk({ tool_calls: Array.from({ length: 1_000 }, () => ({ index: 0, id: 'x' })) })],
      '',
    );
    const raw = sse([oneOf(999, { id: 'x', function: { name: 'x' } })], '') + many.repeat(500);
    expect(cost(() => read('CHAT', raw)).ms).toBeLessThan(inTime);
  });
});

describe('what an answer keeps can be read again', () => {
  test.each(['constructor', '__proto__'])('a finish reason of %s is one that Weir does not know', (word) => {
    expect(read('CHAT', sse([chunk({ content: 'hi' }, word)]))).toMatchObject({ finish: 'OTHER' });
  });

  test('a count of more tokens than any model reads is none, and one of the most is (broke: 2,147,483,647 were booked)', () => {
    const usage = { prompt_tokens: 2 ** 31 - 1, completion_tokens: 10_000_000 };
    expect(read('CHAT', sse([chunk({ content: 'hi' }, 'stop', { usage })]))).toMatchObject({
      usage: { inputTokens: 0, outputTokens: 10_000_000 },
    });
    const more = { usage: { input_tokens: 2 ** 24 + 1, output_tokens: 3 } };
    expect(
      responses([
        { type: 'response.output_text.delta', delta: 'hi' },
        { type: 'response.completed', response: more },
      ]),
    ).toMatchObject({ usage: { inputTokens: 0, outputTokens: 3 } });
  });

  test.each<[string, string]>([
    ['deep', nested(3_000)],
    ['long', JSON.stringify({ signature: 'x'.repeat(300_000) })],
  ])('what comes beside a call and is too %s is left out', (_, extra) => {
    const raw = (inner: string): string =>
      `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"shell","arguments":"{}"},"extra_content":${inner}}]},"finish_reason":"tool_calls"}]}\n\ndata: [DONE]\n\n`;
    const outcome = read('CHAT', raw(extra));
    expect(outcome).toMatchObject({ type: 'answered', calls: [{ name: 'shell' }] });
    expect(outcome).not.toHaveProperty('native');
    expect(read('CHAT', raw(nested(60)))).toHaveProperty('native.parts.length', 1);
  });

  test('what comes beside a call again and again is kept up to what is kept of an answer', () => {
    const beside = (n: number) => ({ n, signature: 'x'.repeat(200_000) });
    const events = Array.from({ length: 20 }, (_, n) =>
      chunk({ tool_calls: [{ index: 0, id: 'c', function: { name: 'shell' }, extra_content: beside(n) }] }),
    );
    expect(read('CHAT', sse([...events, chunk({}, 'tool_calls')]))).toMatchObject({
      calls: [{ name: 'shell' }],
      native: { parts: [{ call: 0, extra_content: { n: 9 } }] },
    });
  });

  test('encrypted thoughts in an item that is too deep are left out', () => {
    const item = {
      type: 'reasoning',
      encrypted_content: 'x',
      summary: [],
      more: JSON.parse(nested(3_000)) as unknown,
    };
    const outcome = responses([
      { type: 'response.output_item.done', item },
      { type: 'response.output_text.delta', delta: 'hi' },
      { type: 'response.completed', response: {} },
    ]);
    expect(outcome).toMatchObject({ type: 'answered', text: 'hi' });
    expect(outcome).not.toHaveProperty('native');
  });
});

describe('a credential is hidden in whatever way it is written', () => {
  const secret = scope.secrets[0]!;
  const bytes = Buffer.from(secret);
  test.each<[string, string]>([
    ['as it is', secret],
    ['in base64', bytes.toString('base64')],
    ['in base64 for a URL', bytes.toString('base64url')],
    ['within something in base64', Buffer.from(`{"k":"${secret}"}`).toString('base64')],
    ['in hexadecimal digits', bytes.toString('hex')],
    ['in large hexadecimal digits', bytes.toString('hex').toUpperCase()],
    ['for a URL', encodeURIComponent(secret)],
    ['for a URL, twice', encodeURIComponent(encodeURIComponent(secret))],
    ['for HTML', secret.replaceAll('/', '&#47;').replaceAll('+', '&#x2B;').replaceAll('=', '&equals;')],
    ['for JSON', [...secret].map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')],
    ['in large letters', secret.toUpperCase()],
    ['with characters of no width', [...secret].join('\u200B')],
    ['with a control character', `${secret.slice(0, 9)}\u0007${secret.slice(9)}`],
    ['in colours', `${secret.slice(0, 6)}\u001B[31m${secret.slice(6, 12)}\u001B[0m${secret.slice(12)}`],
    ['in two lines', `${secret.slice(0, 9)}\n${secret.slice(9)}`],
  ])('%s', (_, shown) => {
    const { message } = createFault('AUTHENTICATION', scope, { detail: `Incorrect key ${shown} given` });
    expect(message).toMatch(/Incorrect key \S*\[hidden\]\S* given/);
    expect(message).not.toContain(shown);
  });

  test('where a long text is cut in the middle of it', () => {
    const detail = `${' '.repeat(4_096 - 12)}${secret}`;
    expect(createFault('AUTHENTICATION', scope, { detail }).message).not.toContain('Key/');
  });

  test('in the names that Weir gives itself', () => {
    const { message } = createFault('AUTHENTICATION', { ...scope, model: `m-${secret}` });
    expect(message).toContain('[hidden]');
    expect(message).not.toContain(secret);
  });

  test('and names that only resemble a key stay, since people go by them', () => {
    const names = { alias: 'LM Studio', model: 'hf-internal-testing/tiny', host: 'lmstudio.test:1234' };
    const { message } = createFault('AUTHENTICATION', { ...scope, ...names, secrets: ['lm-studio'] });
    expect(message).toContain('Model "LM Studio" (hf-internal-testing/tiny at lmstudio.test:1234) refused');
  });

  test('and a key of somebody else into which characters of no width were put', () => {
    const { message } = createFault('AUTHENTICATION', scope, { detail: 'no s\u200Bk-abcdefghijk' });
    expect(message).toContain('no [hidden]');
  });

  test('words that only resemble a short one are left', () => {
    const { message } = createFault(
      'AUTHENTICATION',
      { ...scope, secrets: ['team'] },
      { detail: 'the A team' },
    );
    expect(message).toContain('the A [hidden]');
    const { message: other } = createFault(
      'OTHER',
      { ...scope, secrets: ['team'] },
      { detail: 'not every one ate a meal' },
    );
    expect(other).toContain('not every one ate a meal');
  });
});

describe('a fault is of the kind that it is', () => {
  const odd = { toString: 1, valueOf: 1 };
  test.each<[string, string, string]>([
    [
      'an error whose code is no value',
      sse([chunk({ content: 'a' }), { error: { message: 'x', code: odd } }]),
      'PROVIDER_ERROR',
    ],
    [
      'an error within lists without end',
      `event: error\ndata: ${'['.repeat(50_000)}${']'.repeat(50_000)}\n\n`,
      'PROVIDER_ERROR',
    ],
    [
      'arguments deeper than can be written down',
      `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"shell","arguments":${nested(100_000)}}}]}}]}\n\n`,
      'MALFORMED',
    ],
    [
      'arguments deeper than can be written down, in an answer of one piece',
      `{"choices":[{"message":{"tool_calls":[{"function":{"name":"shell","arguments":${nested(100_000)}}}]}}]}`,
      'MALFORMED',
    ],
  ])('%s', async (_, raw, kind) => {
    const { outcome } = await exchange([raw]);
    expect(outcome).toMatchObject({ type: 'failed', kind });
    expect(outcome).not.toMatchObject({
      message: expect.stringMatching(/Cannot convert|Maximum call/) as string,
    });
  });

  test.each([
    [400, 'BAD_REQUEST', nested(9_000)],
    [401, 'AUTHENTICATION', `${'['.repeat(30_000)}${']'.repeat(30_000)}`],
    [429, 'RATE_LIMIT', nested(9_000)],
  ])(
    'a refusal with status %i deeper than can be written down is still %s, in its own words',
    async (status, kind, more) => {
      await using link = await connect();
      for (const body of [
        `{"error":{"message":"not so","more":${more}}}`,
        `[{"more":${more},"message":"not so"}]`,
      ])
        expect((await link.answer({ status, body })).outcome).toMatchObject({
          kind,
          status,
          message: expect.stringContaining(`HTTP ${status}, not so`) as string,
        });
    },
  );

  test('a wait of more digits than there are numbers is a long one', () => {
    for (const name of ['retry-after', 'retry-after-ms']) {
      const retryAfterMs = retryAfterOf(new Headers({ [name]: '9'.repeat(400) }), 0);
      expect(createFault('RATE_LIMIT', scope, { retryAfterMs }).message).toContain('try again in 25 days');
    }
  });
});

describe('an answer that did not get through is none, and its calls are not run', () => {
  const output = [
    { type: 'message', id: 'm', content: [{ type: 'output_text', text: 'I will now' }] },
    { type: 'function_call', id: 'f', call_id: 'c', name: 'shell', arguments: '{}' },
  ];
  const ends = ['response.done', 'response.completed', 'response.incomplete'].flatMap((type) =>
    ['cancelled', 'in_progress', 'queued', 'failed', 'COMPLETE?', 7, {}].map(
      (status) => [type, status] as const,
    ),
  );

  test.each(ends)('a response told by %s whose status is %j (D-30)', (type, status) => {
    const told = output.map((item, output_index) => ({
      type: 'response.output_item.done',
      output_index,
      item,
    }));
    // One that says from the first that it failed was not begun, whatever it holds.
    for (const [events, accepted] of [
      [[...told, { type, response: { status, output: [] } }], true],
      [[{ type, response: { status, output } }], false],
    ] as const)
      expect(responses(events)).toMatchObject({
        type: 'failed',
        kind: status === 'failed' ? 'OVERLOADED' : 'PROVIDER_ERROR',
        accepted,
      });
    expect(read('RESPONSES', JSON.stringify({ status, output }))).toMatchObject({
      type: 'failed',
      accepted: false,
    });
  });

  test.each([undefined, null, '', 'completed'])('but one whose status is %j is an answer', (status) => {
    const answer = { type: 'answered', text: 'I will now', calls: [{ name: 'shell' }], finish: 'TOOL_CALLS' };
    expect(responses([{ type: 'response.completed', response: { status, output } }])).toMatchObject(answer);
    expect(read('RESPONSES', JSON.stringify({ status, output }))).toMatchObject(answer);
  });

  test.each(['error', 'abort', 'cancelled', 'CANCELED', 'in_progress'])(
    'a chat completion whose finish reason is %s',
    (word) => {
      const calls = { tool_calls: [{ index: 0, id: 'c', function: { name: 'shell', arguments: '{}' } }] };
      expect(read('CHAT', sse([chunk(calls, word)]))).toMatchObject({ kind: 'PROVIDER_ERROR' });
    },
  );
});

test('a line that strays into an event, however it is cut, makes no shorter answer', () => {
  const good = sse([chunk({ content: 'one ' }), chunk({ content: 'two' }), chunk({}, 'stop')]);
  for (let at = 0; at <= good.length; at++) {
    const outcomes = [1, 7, Number.POSITIVE_INFINITY].map((size) =>
      read('CHAT', `${good.slice(0, at)}ping\n${good.slice(at)}`, size),
    );
    expect(outcomes[0]).toEqual(outcomes[2]);
    expect(outcomes[1]).toEqual(outcomes[2]);
    if (outcomes[2]?.type === 'answered') expect(outcomes[2].text.replace('ping', '')).toBe('one two');
  }
});
