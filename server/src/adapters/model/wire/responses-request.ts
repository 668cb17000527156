/**
 * Owns: canonical messages → the body of a responses request, of which nothing is stored at the provider. Pure.
 *
 * Invariants: as those of `chat-request.ts`; reasoning items go only to the model that wrote them, before what followed
 * from them.
 */
import type {
  ResponseCreateParamsStreaming,
  ResponseInputItem,
  ResponseReasoningItem,
} from 'openai/resources/responses/responses';
import type { ModelMessage } from '../../../ports/model.ts';
import { partsOf, reasoningItemsIn } from './native.ts';
import {
  assignWireIds,
  isBare,
  settingsOf,
  wireArguments,
  wireEffort,
  wireName,
  type AssistantMessage,
  type Outgoing,
} from './outgoing.ts';

export function toResponsesRequest(outgoing: Outgoing): ResponseCreateParamsStreaming {
  const { binding, asked } = outgoing;
  const { temperature, effort, maxOutput, oneToolAtATime } = settingsOf(outgoing);
  const first = asked.messages.findIndex(({ role }) => role !== 'system');
  const leading = first < 0 ? asked.messages : asked.messages.slice(0, first);
  return {
    model: binding.model,
    ...(leading.length > 0 && {
      instructions: leading.map((message) => ('text' in message ? message.text : '')).join('\n\n'),
    }),
    input: toInput(asked.messages.slice(leading.length), outgoing),
    ...(asked.tools.length > 0 && {
      tools: asked.tools.map(({ name, description, parameters }) => ({
        type: 'function' as const,
        name,
        description,
        parameters: { ...parameters },
        // By default the provider would demand a stricter schema than tools have.
        strict: false,
      })),
    }),
    stream: true,
    store: false,
    ...(tellsThoughts(outgoing) && { include: ['reasoning.encrypted_content'] }),
    ...(maxOutput !== null && { max_output_tokens: maxOutput }),
    ...(temperature !== null && { temperature }),
    ...(effort !== null && { reasoning: { effort: wireEffort(effort) } }),
    ...(oneToolAtATime && { parallel_tool_calls: false }),
  };
}

const tellsThoughts = ({ binding, wants }: Outgoing): boolean => binding.traits.reasoning && wants.encrypted;

function toInput(messages: readonly ModelMessage[], outgoing: Outgoing): ResponseInputItem[] {
  const idOf = assignWireIds(messages);
  return messages.flatMap((message): ResponseInputItem[] => {
    switch (message.role) {
      case 'system':
      case 'user':
        return [{ type: 'message', role: message.role, content: message.text }];
      case 'assistant':
        return isBare(message) ? [] : toItems(message, outgoing, idOf);
      case 'tool':
        return [{ type: 'function_call_output', call_id: idOf(message.callId), output: message.text }];
    }
  });
}

function toItems(
  { text, calls, native }: AssistantMessage,
  outgoing: Outgoing,
  idOf: (callId: string) => string,
): ResponseInputItem[] {
  const thoughts = tellsThoughts(outgoing) ? reasoningItemsIn(partsOf(native, outgoing.binding)) : [];
  return [
    // As they came from this very API.
    ...thoughts.map((item) => item as unknown as ResponseReasoningItem),
    ...(text.trim() === '' ? [] : [{ type: 'message' as const, role: 'assistant' as const, content: text }]),
    ...calls.map((call) => ({
      type: 'function_call' as const,
      call_id: idOf(call.callId),
      name: wireName(call.name),
      arguments: wireArguments(call.arguments),
    })),
  ];
}
