/**
 * Owns: the chunks of one answer → deltas as they come, and the answer (or what is wrong with it) at the end.
 * Does not own: bytes and events (`events.ts`), or pieces of calls (`tool-calls.ts`).
 *
 * Invariants: deltas of a channel, joined, are the channel's text in the answer; no delta splits a surrogate pair;
 * one choice only, the first that speaks; calls are there because they were sent, whatever the finish reason (D-38);
 * no more than `maxAnswer` is kept or handed on.
 */
import type { Finish, Usage } from 'schema/projection';
import type { ModelAnswer, ModelDelta } from '../../ports/model.ts';
import { isRecord, listOf, textOf, type Json } from './json.ts';
import { createThinkTagSplitter } from './think-tags.ts';
import { createToolCallAssembly } from './tool-calls.ts';

/**
 * Longest answer that is taken: text, reasoning and arguments together, UTF-16 units. About half a million tokens,
 * which is more than any model writes at once, and little enough to keep, show and store. Beyond it a model (or what
 * pretends to be one) goes in circles.
 */
export const maxAnswer = 2 * 1024 * 1024;

/** How the stream ended: by `[DONE]`, or because the endpoint closed it in an orderly way. */
export type StreamEnd = 'DONE' | 'CLOSED';

export type Assembled =
  | { readonly type: 'answer'; readonly answer: ModelAnswer }
  /** Neither a finish reason nor `[DONE]`: the endpoint or something on the way cut it off. */
  | { readonly type: 'cutOff' }
  /** Nothing a person or the loop could use. */
  | { readonly type: 'empty'; readonly finish: Finish | null }
  /** The provider says it broke down while answering. */
  | { readonly type: 'broken' };

export interface AnswerAssembly {
  /**
   * A parsed chunk; also a whole completion that was not streamed. Any JSON is accepted. TOO_LONG: the answer is longer
   * than is taken (`maxAnswer`, `maxCalls`), and nothing more of it is.
   */
  add(chunk: unknown): 'MORE' | 'TOO_LONG';
  finish(end: StreamEnd): Assembled;
}

/** Most of the model's own name that is kept, UTF-16 units. */
const maxModel = 1_000;

const finishByWord: Readonly<Record<string, Finish>> = {
  stop: 'STOP',
  stop_sequence: 'STOP',
  end_turn: 'STOP',
  eos: 'STOP',
  tool_calls: 'TOOL_CALLS',
  tool_use: 'TOOL_CALLS',
  function_call: 'TOOL_CALLS',
  length: 'LENGTH',
  max_tokens: 'LENGTH',
  model_length: 'LENGTH',
  content_filter: 'CONTENT_FILTER',
  safety: 'CONTENT_FILTER',
  refusal: 'CONTENT_FILTER',
};

export function createAnswerAssembly(
  alias: string,
  toolNames: ReadonlySet<string>,
  onDelta: (delta: ModelDelta) => void,
): AnswerAssembly {
  const text = createChannel((t) => onDelta({ type: 'text', text: t }));
  const reasoning = createChannel((t) => onDelta({ type: 'reasoning', text: t }));
  const content = createThinkTagSplitter({
    text: (t) => text.push(t),
    reasoning: (t) => reasoning.push(t),
  });
  const calls = createToolCallAssembly(toolNames);
  let model = '';
  let finishWord = '';
  let choiceIndex: unknown = null;
  let usage: Usage | null = null;
  let kept = 0;
  let tooLong = false;

  /** Hands text on while there is room for it. */
  function push(channel: { push(text: string): void }, text: string): void {
    if (claim(text.length)) channel.push(text);
  }

  function claim(units: number | null): boolean {
    kept += units ?? 0;
    tooLong ||= units === null || kept > maxAnswer;
    return !tooLong;
  }

  function addDelta(delta: Json): void {
    push(reasoning, reasoningOf(delta));
    addContent(delta['content']);
    // A refusal is what the model says to the person.
    push(text, textOf(delta['refusal']));
    claim(calls.add(delta['tool_calls']));
    if (isRecord(delta['function_call'])) claim(calls.add([{ function: delta['function_call'] }]));
  }

  /** Text, or a list of parts of which some are reasoning. */
  function addContent(value: unknown): void {
    if (typeof value === 'string') return push(content, value);
    for (const part of listOf(value)) {
      if (!isRecord(part)) continue;
      if (part['type'] === 'text') push(content, textOf(part['text']));
      if (part['type'] === 'thinking') {
        const inner = part['thinking'];
        push(
          reasoning,
          textOf(inner) ||
            listOf(inner)
              .map((p) => textOf(isRecord(p) && p['text']))
              .join(''),
        );
      }
    }
  }

  return {
    add(chunk) {
      if (!isRecord(chunk) || tooLong) return tooLong ? 'TOO_LONG' : 'MORE';
      model ||= textOf(chunk['model']).slice(0, maxModel);
      usage = mergeUsage(usage, chunk['usage']);
      for (const choice of listOf(chunk['choices'])) {
        if (!isRecord(choice)) continue;
        const index = choice['index'] ?? 0;
        choiceIndex ??= index;
        if (index !== choiceIndex) continue;
        const delta = isRecord(choice['delta']) ? choice['delta'] : choice['message'];
        if (isRecord(delta)) addDelta(delta);
        // '' and null mean "not yet"; some providers name a reason early and go on, so the last one counts.
        finishWord = textOf(choice['finish_reason']) || finishWord;
      }
      return tooLong ? 'TOO_LONG' : 'MORE';
    },
    finish(end) {
      content.end();
      text.end();
      reasoning.end();
      const assembled = calls.finish();
      const silent = text.all().trim() === '' && assembled.length === 0;
      const word = finishWord.toLowerCase();
      if (word === 'error') return { type: 'broken' };
      // [DONE] is the provider's own word that it is through; without a reason it counts as one. A plain end of the
      // stream is what a crash or a proxy makes too, and counts as complete only after a finish reason.
      if (word === '' && end === 'CLOSED') return { type: 'cutOff' };
      const named = word === '' ? null : (finishByWord[word] ?? 'OTHER');
      if (silent) return { type: 'empty', finish: named };
      const finish = named ?? (assembled.length > 0 ? 'TOOL_CALLS' : 'STOP');
      return {
        type: 'answer',
        answer: {
          type: 'answered',
          text: text.all(),
          reasoning: reasoning.all(),
          calls: assembled,
          finish,
          usage,
          model: model || alias,
        },
      };
    },
  };
}

/** The same thought may come under both names in one chunk. */
const reasoningOf = (delta: Json): string => textOf(delta['reasoning_content']) || textOf(delta['reasoning']);

/** Counts come in one chunk, in each, or field by field; the latest number of each field counts. */
function mergeUsage(usage: Usage | null, sent: unknown): Usage | null {
  if (!isRecord(sent)) return usage;
  const inputTokens = countOf(sent['prompt_tokens']) ?? usage?.inputTokens;
  const outputTokens = countOf(sent['completion_tokens']) ?? usage?.outputTokens;
  if (inputTokens === undefined && outputTokens === undefined) return usage;
  return { inputTokens: inputTokens ?? 0, outputTokens: outputTokens ?? 0 };
}

const countOf = (x: unknown): number | undefined =>
  typeof x === 'number' && Number.isSafeInteger(x) && x >= 0 ? x : undefined;

/** Collects text and hands it on, holding back the first half of a surrogate pair until its other half is there. */
function createChannel(emit: (text: string) => void) {
  const parts: string[] = [];
  let half = '';
  const pass = (text: string): void => {
    if (text === '') return;
    parts.push(text);
    emit(text);
  };
  return {
    push(text: string): void {
      if (text === '') return;
      const whole = half + text;
      half = /[\uD800-\uDBFF]/.exec(whole.slice(-1))?.[0] ?? '';
      pass(whole.slice(0, whole.length - half.length));
    },
    end(): void {
      pass(half);
      half = '';
    },
    all: (): string => parts.join(''),
  };
}
