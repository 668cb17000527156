/**
 * Owns: how many tokens a text is likely to be, before a provider has counted it (D-39). Every model counts in its own
 * way, so this is a guess, corrected by what its provider counted last (`meter.ts`).
 *
 * Invariant: linear in the text, whatever is in it, and bounded: of a long one only parts are looked at.
 */
import type { Entry, EntryBody, EntryOf } from 'schema/projection';
import { estimateTokenCount, type LanguageConfig } from 'tokenx';
import type { ToolDefinition } from '../conversation/message.ts';

/** What stands around each message on the wire: role, separators, ids. */
const perMessage = 4;
/** A text that is longer is judged by its beginning, middle and end, of a third each; UTF-16 units. */
const longest = 60_000;

/** Hashes, ids, base64: runs of letters with digits among them are no words, and cost about one token for two letters. */
const codes: LanguageConfig = { pattern: /^(?=\D*\d)[A-Za-z0-9]{9,}$/, averageCharsPerToken: 2 };

/** Tokens of a text, never below one for 10 units: white space costs something as well. */
export function estimateTokens(text: string): number {
  if (text.length > longest) {
    const part = longest / 3;
    const middle = Math.floor((text.length - part) / 2);
    const sample = [text.slice(0, part), text.slice(middle, middle + part), text.slice(-part)];
    const tokens = sample.reduce((sum, piece) => sum + estimateTokens(piece), 0);
    return Math.ceil((tokens * text.length) / longest);
  }
  return Math.max(Math.ceil(text.length / 10), estimateTokenCount(text, { languageConfigs: [codes] }));
}

/** What the model is told of an entry; 0 for what it is told nothing of. */
export function tokensOf(body: EntryBody): number {
  switch (body.kind) {
    case 'USER':
    case 'SYSTEM':
    case 'CANCELLATION':
      return perMessage + estimateTokens(body.text);
    case 'TOOL':
      return perMessage + estimateTokens(body.content);
    case 'ASSISTANT':
      return body.calls.reduce(
        (sum, call) => sum + perMessage + estimateTokens(call.name) + estimateTokens(call.arguments),
        perMessage + estimateTokens(body.text) + (body.context?.replayed ? thoughtsOf(body) : 0),
      );
    case 'CHECKPOINT':
      return perMessage + estimateTokens(body.summary) + estimateTokens(body.request?.text ?? '');
    default:
      return 0;
  }
}

/**
 * Tokens of what it thought, which some models are told again and most are not: as it is shown, or what only its model can
 * read.
 */
export const thoughtsOf = (answer: Pick<EntryOf<'ASSISTANT'>, 'reasoning' | 'native' | 'usage'>): number =>
  Math.max(answer.reasoning === '' ? 0 : estimateTokens(answer.reasoning), hiddenThoughtsOf(answer));

/**
 * Of what only its model can read: as it was counted, but no more than what is told again can hold, or one wrong count would
 * fill the window; and as long as that is where it was not counted, or counted as nothing.
 */
export function hiddenThoughtsOf({ native, usage }: Pick<EntryOf<'ASSISTANT'>, 'native' | 'usage'>): number {
  if (!native) return 0;
  const units = unitsIn(native.parts);
  const counted = usage?.reasoningTokens ?? 0;
  return counted > 0 ? Math.min(counted, Math.ceil(units / 2)) : Math.ceil(units / 4);
}

/** UTF-16 units of all texts in JSON values, which may stand within each other however deep. */
function unitsIn(values: readonly unknown[]): number {
  let units = 0;
  const left = [...values];
  while (left.length > 0) {
    const value = left.pop();
    if (typeof value === 'string') units += value.length;
    // One by one: as arguments of one call they would be more than the stack takes.
    else if (typeof value === 'object' && value !== null)
      for (const inner of Object.values(value) as unknown[]) left.push(inner);
  }
  return units;
}

/** What the model is told of it, also where an earlier build wrote it and did not say. */
export const weightOf = (entry: Entry): number => entry.tokens ?? tokensOf(entry);

/** Of a conversation as it is told. */
export const weightOfAll = (told: readonly Entry[]): number =>
  told.reduce((sum, entry) => sum + weightOf(entry), 0);

/** What is told beside the conversation: the system prompt and the definitions of the tools. */
export const overheadOf = (system: string, tools: readonly ToolDefinition[]): number =>
  tools.reduce(
    (sum, { name, description, parameters }) =>
      sum + perMessage + estimateTokens(name + description + JSON.stringify(parameters)),
    perMessage + estimateTokens(system),
  );
