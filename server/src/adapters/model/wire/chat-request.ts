/**
 * Owns: canonical messages → the body of a chat completion request. Pure.
 *
 * Invariants: no assistant message is empty; nothing is sent that nobody set; the same conversation gives the same
 * bytes, and a longer one begins with them (prompt caches live on that).
 */
import type { ChatCompletionCreateParamsStreaming, ChatCompletionMessageParam } from 'openai/resources';
import type { ModelMessage } from '../../../ports/model.ts';
import type { Form } from './body.ts';
import { extraIn, fieldIn, partsOf } from './native.ts';
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
type Settings = Omit<ChatCompletionCreateParamsStreaming, 'model' | 'messages'>;

export const chatForm: Form = {
  list: 'messages',
  leading: () => 0,
  before: ({ binding }) => ({ model: binding.model }),
  items: toMessages,
  manner: ({ wants }) => (wants.reasoningBack ? 'reasoning back' : ''),
  after: toSettings,
};

function toSettings(outgoing: Outgoing): Settings {
  const { binding, asked, wants } = outgoing;
  const { temperature, effort, maxOutput, oneToolAtATime } = settingsOf(outgoing);
  return {
    ...(asked.tools.length > 0 && {
      tools: asked.tools.map(({ name, description, parameters }) => ({
        type: 'function' as const,
        function: { name, description, parameters: { ...parameters } },
      })),
    }),
    stream: true,
    ...(binding.traits.streamOptions && wants.usage && { stream_options: { include_usage: true } }),
    ...(maxOutput !== null && { [wants.outputField]: maxOutput }),
    ...(temperature !== null && { temperature }),
    ...(effort !== null && { reasoning_effort: wireEffort(effort) }),
    ...(oneToolAtATime && { parallel_tool_calls: false }),
  };
}

function toMessages(
  message: ModelMessage,
  outgoing: Outgoing,
  idOf: (callId: string) => string,
): readonly ChatCompletionMessageParam[] {
  switch (message.role) {
    case 'system':
      return [{ role: 'system', content: message.text }];
    case 'user':
      return [{ role: 'user', content: message.text }];
    case 'assistant':
      return isBare(message) ? [] : [toAssistant(message, outgoing, idOf)];
    case 'tool':
      return [{ role: 'tool', tool_call_id: idOf(message.callId), content: message.text }];
  }
}

function toAssistant(
  message: AssistantMessage,
  outgoing: Outgoing,
  idOf: (callId: string) => string,
): ChatCompletionMessageParam {
  const parts = partsOf(message.native, outgoing.binding);
  const calls = message.calls.map((call, i) => {
    const extra = extraIn(parts, i);
    return {
      id: idOf(call.callId),
      type: 'function' as const,
      function: { name: wireName(call.name), arguments: wireArguments(call.arguments) },
      ...(extra !== undefined && { extra_content: extra }),
    };
  });
  return {
    role: 'assistant',
    ...contentOf(message.text, outgoing, calls.length > 0),
    ...reasoningOf(message, parts, outgoing),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

function contentOf(text: string, { binding }: Outgoing, calls: boolean): { content?: string | null } {
  if (text !== '' || !calls) return { content: text };
  const { emptyText } = binding.traits;
  return emptyText === 'ABSENT' ? {} : { content: emptyText === 'NULL' ? null : '' };
}

/** What the model thought, where it wants to be told: its own thoughts only, in the field in which they came. */
function reasoningOf(
  message: AssistantMessage,
  parts: readonly unknown[],
  { binding, wants }: Outgoing,
): Readonly<Record<string, string>> {
  const field = fieldIn(parts);
  const thought = field === null ? '' : (message.reasoning ?? '');
  // An endpoint that insists does so for each assistant message, those of other models included.
  if (wants.reasoningBack) return { reasoning_content: thought };
  return binding.traits.replayReasoning && field !== null && thought !== '' ? { [field]: thought } : {};
}
