/**
 * Owns: an endpoint with a window, as strict as the strictest: it counts in its own way (so many bytes of UTF-8 a token,
 * the definitions of the tools included), takes a request with its answer or refuses it, and wants every call followed by
 * its result.
 * Does not own: what the model says; that is the script of a test.
 */
import type { ChatBody, Piece, Step } from './scripted-provider.ts';

/** With 3, English prose counts 1.6 times what we take it for, and code or digits half of that. */
const bytesPerToken = Number(process.env['CONTEXT_BYTES_PER_TOKEN'] ?? 4);
const measure = (value: unknown): number =>
  Math.ceil(Buffer.byteLength(JSON.stringify(value)) / bytesPerToken);

export const tokensOfBody = ({ messages, tools = [] }: ChatBody): number => measure([messages, tools]);

/** True for a request to summarise a conversation, or accounts of its parts. */
export const asksForSummary = ({ messages }: ChatBody): boolean =>
  messages[0]?.role === 'system' && String(messages[0].content).startsWith('You write the account');

export interface Seen {
  readonly tokens: number;
  readonly summary: boolean;
  /** Why it was not taken; null: it was. */
  readonly refused: 'too long' | 'not a conversation' | null;
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number } | null;
}

export interface Answer {
  readonly text: string;
  readonly calls?: readonly { readonly name: string; readonly arguments: unknown }[];
  /** In its own words. */
  readonly finish?: string;
}

export const tooLongFor = (window: number, tokens: number): string =>
  `This model's maximum context length is ${window} tokens. However, you requested ${tokens} tokens. Please reduce the length of the messages.`;

/** Answers as an endpoint that reads `window` tokens does; `seen` takes up every request, in order. */
export function strictly(
  window: number,
  seen: Seen[],
  say: (body: ChatBody) => Answer,
): (body: ChatBody) => Step {
  return (body) => {
    const summary = asksForSummary(body);
    const tokens = tokensOfBody(body);
    const asked = Number(body['max_completion_tokens'] ?? 0);
    const wrong = wrongOrder(body);
    if (wrong !== null) {
      seen.push({ tokens, summary, refused: 'not a conversation', usage: null });
      return { status: 400, body: { error: { message: wrong, type: 'invalid_request_error' } } };
    }
    if (tokens + asked > window) {
      seen.push({ tokens, summary, refused: 'too long', usage: null });
      return { status: 400, body: { error: { message: tooLongFor(window, tokens + asked), type: 'x' } } };
    }
    const { text, calls = [], finish } = say(body);
    const room = Math.min(asked > 0 ? asked : window, window - tokens);
    const written = measure([text, ...calls.map((call) => JSON.stringify(call.arguments))]);
    const fits = written <= room;
    const usage = { prompt_tokens: tokens, completion_tokens: Math.min(written, room) };
    seen.push({ tokens, summary, refused: null, usage });
    const said: readonly Piece[] = fits
      ? [...halves(text), ...calls.map((call) => ({ call }))]
      : [cutTo(text, room * bytesPerToken)];
    return { stream: said, usage, ...(fits ? finish !== undefined && { finish } : { finish: 'length' }) };
  };
}

const halves = (text: string): readonly string[] => {
  const characters = [...text];
  const at = Math.ceil(characters.length / 2);
  return [characters.slice(0, at).join(''), characters.slice(at).join('')].filter((part) => part !== '');
};

const cutTo = (text: string, bytes: number): string =>
  new TextDecoder('utf-8', { ignoreBOM: true })
    .decode(Buffer.from(text).subarray(0, bytes))
    .replace(/\uFFFD$/, '');

/** Each declared call is answered by the messages that follow it, in any order, and nothing else is (B1). */
export function wrongOrder({ messages }: ChatBody): string | null {
  let open = new Set<string>();
  for (const [i, message] of messages.entries()) {
    if (message.role === 'tool') {
      if (!open.delete(message.tool_call_id ?? '')) return `messages.${i}: a result of no call`;
      continue;
    }
    if (open.size > 0) return `messages.${i}: ${open.size} calls before it have no result`;
    open = new Set(message.tool_calls?.map((call) => call.id));
  }
  return open.size > 0 ? `${open.size} calls have no result` : null;
}
