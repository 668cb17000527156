/**
 * Owns: canonical messages → the body of a chat completion request. Pure.
 *
 * Invariants: call ids are unique within a request and the same in call and result (D-35); arguments on the wire are
 * always the text of a JSON object; no assistant message is empty; the same conversation gives the same bytes, and
 * a longer one begins with them (prompt caches live on that).
 */
import type { ChatCompletionCreateParamsStreaming, ChatCompletionMessageParam } from 'openai/resources';
import type { Call } from 'schema/projection';
import type { ModelMessage, ModelRequest } from '../../ports/model.ts';
import { isRecord, parseJson } from './json.ts';

/** The request body. `withUsage` asks for the token count, which some endpoints refuse to be asked for. */
export function toWireRequest(
  model: string,
  request: ModelRequest,
  withUsage: boolean,
): ChatCompletionCreateParamsStreaming {
  return {
    model,
    messages: toWireMessages(request.messages),
    ...(request.tools.length > 0 && {
      tools: request.tools.map(({ name, description, parameters }) => ({
        type: 'function' as const,
        function: { name, description, parameters: { ...parameters } },
      })),
    }),
    stream: true,
    ...(withUsage && { stream_options: { include_usage: true } }),
  };
}

function toWireMessages(messages: readonly ModelMessage[]): ChatCompletionMessageParam[] {
  const idOf = assignWireIds(messages);
  return messages.flatMap((message): ChatCompletionMessageParam[] => {
    switch (message.role) {
      case 'system':
        return [{ role: 'system', content: message.text }];
      case 'user':
        return [{ role: 'user', content: message.text }];
      case 'assistant':
        return toWireAssistant(message, idOf);
      case 'tool':
        return [{ role: 'tool', tool_call_id: idOf(message.callId), content: message.text }];
    }
  });
}

function toWireAssistant(
  message: Extract<ModelMessage, { role: 'assistant' }>,
  idOf: (callId: string) => string,
): ChatCompletionMessageParam[] {
  if (message.calls.length === 0) {
    // Strict endpoints refuse an assistant message with neither text nor calls, for ever after.
    return message.text.trim() === '' ? [] : [{ role: 'assistant', content: message.text }];
  }
  return [
    {
      role: 'assistant',
      content: message.text === '' ? null : message.text,
      tool_calls: message.calls.map((call) => ({
        id: idOf(call.callId),
        type: 'function',
        function: { name: toWireName(call.name), arguments: toWireArguments(call.arguments) },
      })),
    },
  ];
}

/**
 * The provider's own id where it is usable and not taken by an earlier call, else one made from ours. Earlier calls
 * keep their ids as a conversation grows.
 */
function assignWireIds(messages: readonly ModelMessage[]): (callId: string) => string {
  const ids = new Map<string, string>();
  const taken = new Set<string>();
  const assign = (call: Pick<Call, 'callId' | 'providerId'>): void => {
    if (ids.has(call.callId)) return;
    let id = call.providerId.trim();
    if (id === '' || id.length > 64) id = `call_${call.callId}`;
    if (taken.has(id)) id = `call_${call.callId}`;
    for (let n = 2; taken.has(id); n++) id = `call_${call.callId}_${n}`;
    taken.add(id);
    ids.set(call.callId, id);
  };
  for (const message of messages) if (message.role === 'assistant') message.calls.forEach(assign);
  return (callId) => ids.get(callId) ?? `call_${callId}`;
}

/** Arguments the model wrote badly stay so in the journal; sent back, they would be refused in every later request. */
const toWireArguments = (text: string): string => (isRecord(parseJson(text)) ? text : '{}');

const toWireName = (name: string): string => name.replace(/[^\w-]/g, '_').slice(0, 64) || 'unknown';
