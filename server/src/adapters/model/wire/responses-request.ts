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
import type { Form } from './body.ts';
import { partsOf, reasoningItemsIn } from './native.ts';
import {
  isBare,
  settingsOf,
  wireArguments,
  wireEffort,
  wireName,
  type AssistantMessage,
  type Outgoing,
} from './outgoing.ts';

/** Without the list, what the SDK knows of such a request. */
type Settings = Omit<ResponseCreateParamsStreaming, 'model' | 'instructions' | 'input'>;

export const responsesForm: Form = {
  list: 'input',
  leading,
  before: ({ binding, asked: { messages } }) => ({
    model: binding.model,
    ...(leading(messages) > 0 && {
      instructions: messages
        .slice(0, leading(messages))
        .map((message) => ('text' in message ? message.text : ''))
        .join('\n\n'),
    }),
  }),
  items: toInput,
  manner: (outgoing) => (tellsThoughts(outgoing) ? 'thoughts' : ''),
  after: toSettings,
};

/** System messages before all others are its instructions. */
function leading(messages: readonly ModelMessage[]): number {
  const first = messages.findIndex(({ role }) => role !== 'system');
  return first < 0 ? messages.length : first;
}

function toSettings(outgoing: Outgoing): Settings {
  const { asked } = outgoing;
  const { temperature, effort, maxOutput, oneToolAtATime } = settingsOf(outgoing);
  return {
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

function toInput(
  message: ModelMessage,
  outgoing: Outgoing,
  idOf: (callId: string) => string,
): readonly ResponseInputItem[] {
  switch (message.role) {
    case 'system':
    case 'user':
      return [{ type: 'message', role: message.role, content: message.text }];
    case 'assistant':
      return isBare(message) ? [] : toItems(message, outgoing, idOf);
    case 'tool':
      return [{ type: 'function_call_output', call_id: idOf(message.callId), output: message.text }];
  }
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
