/**
 * Owns: events of a chat completion → chunks.
 * Does not own: which call a piece belongs to (`tool-calls.ts`), or thoughts inside of the text (`think-tags.ts`).
 *
 * Invariant: one choice only, the first that speaks.
 */
import type { Usage } from 'schema/projection';
import type { CallPiece, Chunk, ChunkReader } from './chunk.ts';
import { isRecord, listOf, textOf, tokensOf, type Json } from './json.ts';
import { reasoningFields, type ChatNative } from './native.ts';
import { maxCalls } from './tool-calls.ts';

/** A reader for the events of one answer. */
export function createChatReader(): ChunkReader {
  let choiceIndex: unknown = null;
  let fieldIsKnown = false;

  function readReasoning(delta: Json): Chunk[] {
    // The same thought may come under both names in one event; what is no text is not for people.
    const field = reasoningFields.find((name) => textOf(delta[name]) !== '');
    if (field === undefined) return readDetails(delta['reasoning_details']);
    const chunks: Chunk[] = [{ type: 'reasoning', text: textOf(delta[field]) }];
    if (!fieldIsKnown) chunks.unshift({ type: 'native', part: { field } satisfies ChatNative });
    fieldIsKnown = true;
    return chunks;
  }

  function readDelta(delta: Json): Chunk[] {
    const chunks = [...readReasoning(delta), ...readContent(delta['content'])];
    const refusal = textOf(delta['refusal']);
    if (refusal !== '') chunks.push({ type: 'refusal', text: refusal });
    const pieces = readCallPieces(delta['tool_calls']);
    if (pieces.length > 0) chunks.push({ type: 'calls', pieces });
    if (isRecord(delta['function_call']))
      chunks.push({ type: 'calls', pieces: readCallPieces([{ function: delta['function_call'] }]) });
    return chunks;
  }

  function readChoice(choice: unknown): Chunk[] {
    if (!isRecord(choice)) return [];
    const index = choice['index'] ?? 0;
    choiceIndex ??= index;
    if (index !== choiceIndex) return [];
    const delta = isRecord(choice['delta']) ? choice['delta'] : choice['message'];
    const chunks = [...readUsage(choice['usage']), ...(isRecord(delta) ? readDelta(delta) : [])];
    // '' and null mean "not yet".
    const word = textOf(choice['finish_reason']);
    if (word !== '') chunks.push({ type: 'finish', word });
    return chunks;
  }

  function read(event: unknown): Chunk[] {
    if (!isRecord(event)) return [];
    const name = textOf(event['model']);
    const chunks: Chunk[] = name === '' ? [] : [{ type: 'model', name }];
    chunks.push(...readUsage(event['usage']));
    if (isRecord(event['x_groq'])) chunks.push(...readUsage(event['x_groq']['usage']));
    if (event['error'] || event['object'] === 'error')
      return [...chunks, { type: 'error', description: event }];
    return [...chunks, ...listOf(event['choices']).flatMap(readChoice)];
  }

  return {
    read,
    readWhole: (body) =>
      isRecord(body) && Array.isArray(body['choices']) ? [...read(body), { type: 'end' }] : null,
    doneIsEnough: true,
  };
}

/** Thoughts in parts, which some gateways send alone; what is encrypted is not for people. */
function readDetails(details: unknown): Chunk[] {
  const text = listOf(details)
    .map((part) => (isRecord(part) ? textOf(part['text']) || textOf(part['summary']) : ''))
    .join('');
  return text === '' ? [] : [{ type: 'reasoning', text }];
}

/** Text, or a list of parts of which some are thoughts. */
function readContent(content: unknown): Chunk[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  return listOf(content).flatMap((part): Chunk[] => {
    if (!isRecord(part)) return [];
    const type = textOf(part['type']);
    if (type === 'text' || type === 'output_text') return [{ type: 'text', text: textOf(part['text']) }];
    if (type !== 'thinking' && type !== 'reasoning') return [];
    return [{ type: 'reasoning', text: innerText(part['thinking'] ?? part['reasoning'] ?? part['text']) }];
  });
}

const innerText = (inner: unknown): string =>
  textOf(inner) ||
  listOf(inner)
    .map((part) => textOf(isRecord(part) && part['text']))
    .join('');

/** The `tool_calls` of one delta; what is no list, or no call in it, is ignored. */
export function readCallPieces(toolCalls: unknown): readonly CallPiece[] {
  // One more than is taken says that there are too many; the others need not be looked at.
  const some = listOf(toolCalls).slice(0, maxCalls + 1);
  return some.flatMap((item): CallPiece[] => {
    if (!isRecord(item)) return [];
    const f = isRecord(item['function']) ? item['function'] : {};
    const index = item['index'];
    const extra = item['extra_content'];
    return [
      {
        index: typeof index === 'number' && Number.isInteger(index) ? index : null,
        id: textOf(item['id']),
        name: textOf(f['name']),
        arguments: argumentsText(f['arguments']),
        ...(extra != null && { extra }),
      },
    ];
  });
}

/** Some endpoints send the arguments as a value instead of its text, and `[]` for none. */
function argumentsText(input: unknown): string {
  if (typeof input === 'string') return input;
  if (input == null || (Array.isArray(input) && input.length === 0)) return '';
  return JSON.stringify(input);
}

function readUsage(sent: unknown): Chunk[] {
  if (!isRecord(sent)) return [];
  const input = isRecord(sent['prompt_tokens_details']) ? sent['prompt_tokens_details'] : {};
  const output = isRecord(sent['completion_tokens_details']) ? sent['completion_tokens_details'] : {};
  const counts: Readonly<Record<keyof Usage, number | undefined>> = {
    inputTokens: tokensOf(sent['prompt_tokens']),
    outputTokens: tokensOf(sent['completion_tokens']),
    cachedInputTokens: tokensOf(input['cached_tokens']) ?? tokensOf(sent['prompt_cache_hit_tokens']),
    reasoningTokens: tokensOf(output['reasoning_tokens']),
  };
  return [{ type: 'usage', usage: counts as Partial<Usage> }];
}
