import fc from 'fast-check';
import { expect, test } from 'vitest';
import { toChatRequest } from '../../../src/adapters/model/wire/chat-request.ts';
import { firstWants } from '../../../src/adapters/model/wire/wants.ts';
import type { Asked } from '../../../src/adapters/model/caller.ts';
import type { ModelMessage } from '../../../src/ports/model.ts';
import { bindingFor } from './harness.ts';

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

const lower = (rounds: readonly (readonly ModelMessage[])[]) =>
  toChatRequest({ binding, wants, asked: { ...asked, messages: rounds.flat() } }).messages;

test('ids are unique on the wire, the same in call and result, and arguments are always an object (D-35)', () => {
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
  );
});

test('a longer conversation begins with the bytes of the shorter one', () => {
  fc.assert(
    fc.property(conversation, (rounds) => {
      const before = lower(rounds.slice(0, -1));
      expect(lower(rounds).slice(0, before.length)).toEqual(before);
    }),
  );
});
