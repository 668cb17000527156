/**
 * Owns: what is kept of the bodies of a conversation from request to request: never anything but what the whole, written
 * at once, would be.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Native } from 'schema/projection';
import type { Binding } from '../../../src/adapters/model/binding.ts';
import { createBodyWriter, type Form } from '../../../src/adapters/model/wire/body.ts';
import { chatForm } from '../../../src/adapters/model/wire/chat-request.ts';
import { createWireIds, type Outgoing, type Wants } from '../../../src/adapters/model/wire/outgoing.ts';
import { responsesForm } from '../../../src/adapters/model/wire/responses-request.ts';
import { firstWants } from '../../../src/adapters/model/wire/wants.ts';
import type { ModelMessage } from '../../../src/ports/model.ts';
import { bindingFor, tool } from './harness.ts';

const textOf = (pieces: readonly Uint8Array[]): string => Buffer.concat(pieces).toString('utf8');

/** The body with nothing kept: the whole as one object, written by JSON itself. */
function plain(form: Form, outgoing: Outgoing): string {
  const { messages } = outgoing.asked;
  const ids = createWireIds();
  messages.forEach(ids.assign);
  const items = messages
    .slice(form.leading(messages))
    .flatMap((message) => form.items(message, outgoing, ids.idOf));
  return JSON.stringify({ ...form.before(outgoing), [form.list]: items, ...form.after(outgoing) });
}

const forms: Readonly<Record<Binding['dialect'], Form>> = { CHAT: chatForm, RESPONSES: responsesForm };

const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string(),
  fc.constantFrom('', ' ', '\ud800', 'é"\\\n'),
);

const native: fc.Arbitrary<Native> = fc.record({
  alias: fc.constantFrom('alias', 'other'),
  model: fc.constantFrom('m1', 'm2'),
  dialect: fc.constantFrom('CHAT' as const, 'RESPONSES' as const),
  parts: fc.array(
    fc.constantFrom(
      { field: 'reasoning' },
      { field: 'reasoning_content' },
      { call: 0, extra_content: { google: { thought_signature: 'c2ln' } } },
      { type: 'reasoning', id: 'rs_1', status: 'completed', summary: [], encrypted_content: 'b3BhcXVl' },
      'unknown',
    ),
    { maxLength: 3 },
  ),
});

/** What is said next: a person's message, or an answer and the results of its calls. */
const round = fc.oneof(
  fc.record({ text }).map(({ text }) => ({ user: text })),
  fc.record({
    text,
    reasoning: fc.option(text, { nil: undefined }),
    native: fc.option(native, { nil: undefined }),
    calls: fc.array(
      fc.record({
        providerId: fc.constantFrom('', 'x', 'call_c1', 'call_c2', 'y'.repeat(65)),
        name: fc.constantFrom('shell', 'wéird name', ''),
        arguments: fc.constantFrom('{"a":1}', '{"a": ', '[]'),
      }),
      { maxLength: 3 },
    ),
  }),
);

/** One request after another: what is taken back, what is said since, and how the endpoint wants it told. */
const requests = fc.array(
  fc.record({
    back: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat({ max: 6 }) }),
    said: fc.array(round, { maxLength: 3 }),
    system: fc.oneof({ weight: 4, arbitrary: fc.constant('be brief') }, { weight: 1, arbitrary: text }),
    wants: fc.record({ reasoningBack: fc.boolean(), encrypted: fc.boolean(), usage: fc.boolean() }),
    tools: fc.boolean(),
  }),
  { minLength: 1, maxLength: 8 },
);

const traits = fc.record({
  reasoning: fc.boolean(),
  replayReasoning: fc.boolean(),
  emptyText: fc.constantFrom('NULL' as const, 'EMPTY' as const, 'ABSENT' as const),
});

/** The requests of one conversation, its messages the same ones for as long as they stand. */
function* asked(binding: Binding, list: typeof requests extends fc.Arbitrary<infer T> ? T : never) {
  let calls = 0;
  let system: ModelMessage = { role: 'system', text: 'be brief' };
  let conversation: readonly ModelMessage[] = [];
  for (const request of list) {
    if (request.system !== system.text) system = { role: 'system', text: request.system };
    const said = request.said.flatMap((one): readonly ModelMessage[] => {
      if ('user' in one) return [{ role: 'user', text: one.user }];
      const { reasoning, native, ...answer } = one;
      const declared = answer.calls.map((call) => ({ ...call, callId: `c${(calls += 1)}` }));
      return [
        {
          role: 'assistant',
          text: answer.text,
          calls: declared,
          ...(reasoning !== undefined && { reasoning }),
          ...(native && { native }),
        },
        ...declared.map(({ callId }) => ({ role: 'tool' as const, callId, text: `result of ${callId}` })),
      ];
    });
    conversation = [...conversation.slice(0, Math.max(0, conversation.length - request.back)), ...said];
    const wants: Wants = { ...firstWants(binding), ...request.wants };
    const tools = request.tools ? [tool('shell')] : [];
    const messages = [system, ...conversation];
    yield { binding, wants, asked: { messages, tools, temperature: 0, effort: 'HIGH' as const } };
  }
}

test.each(['CHAT', 'RESPONSES'] as const)(
  'the bytes of every %s request of a conversation are those of the whole written at once, whatever was taken back or learned',
  (dialect) => {
    const form = forms[dialect];
    fc.assert(
      fc.property(requests, traits, (list, more) => {
        const binding = bindingFor('http://models.test/v1', { dialect, traits: more });
        const writer = createBodyWriter(form);
        const sent: { readonly pieces: readonly Uint8Array[]; readonly expected: string }[] = [];
        for (const outgoing of asked(binding, list)) {
          const [pieces, expected] = [writer.write(outgoing), plain(form, outgoing)];
          expect(textOf(pieces)).toBe(expected);
          sent.push({ pieces, expected });
        }
        // What is on its way is never changed by what comes after it.
        for (const { pieces, expected } of sent) expect(textOf(pieces)).toBe(expected);
      }),
      { numRuns: 300, seed: 20_261_130 },
    );
  },
);

test('two conversations that begin with the same messages do not get into each other', () => {
  const binding = bindingFor('http://models.test/v1');
  const writer = createBodyWriter(chatForm);
  const wants = firstWants(binding);
  const begin: readonly ModelMessage[] = [
    { role: 'system', text: 'be brief' },
    { role: 'user', text: 'hello' },
  ];
  for (const last of ['one', 'two', 'one']) {
    const messages = [...begin, { role: 'user' as const, text: last }];
    const outgoing = { binding, wants, asked: { messages, tools: [], temperature: null, effort: null } };
    expect(textOf(writer.write(outgoing))).toBe(plain(chatForm, outgoing));
  }
});

test('of a conversation that goes on, only what is new is written: no message is looked into twice', () => {
  const binding = bindingFor('http://models.test/v1');
  const looked = new Map<ModelMessage, number>();
  const form: Form = {
    ...chatForm,
    items(message, ...more) {
      looked.set(message, (looked.get(message) ?? 0) + 1);
      return chatForm.items(message, ...more);
    },
  };
  const writer = createBodyWriter(form);
  const messages: ModelMessage[] = [{ role: 'system', text: 'be brief' }];
  for (let n = 0; n < 50; n += 1) {
    messages.push({ role: 'user', text: `question ${n}` }, { role: 'assistant', text: 'so', calls: [] });
    const asked = { messages: [...messages], tools: [], temperature: null, effort: null };
    const [kept] = writer.write({ binding, wants: firstWants(binding), asked });
    expect(kept!.length).toBeGreaterThan(n * 40);
  }
  expect([...looked.values()].every((times) => times === 1)).toBe(true);
  expect(looked.size).toBe(messages.length);
});
