/**
 * Owns: the chunks of one answer → deltas as they come, and the answer (or what is wrong with it) at the end.
 * Does not own: bytes and events (`events.ts`), pieces of calls (`tool-calls.ts`), or what an ending means
 * (`settle.ts`).
 *
 * Invariants: deltas of a channel, joined, are the channel's text in the answer; no delta splits a surrogate pair;
 * calls are there because they were sent, whatever the finish reason (D-38); no more than `maxAnswer` is kept or
 * handed on; each count of the usage is the largest that came; no
 * secret of the endpoint stands in the name of the model.
 */
import type { Native, Usage } from 'schema/projection';
import type { ModelAnswer, ModelDelta, Unfinished } from '../../../ports/model.ts';
import { plausible } from '../../../core/models/spending.ts';
import type { Binding } from '../binding.ts';
import { shownModel } from '../faults.ts';
import type { CallPiece, Chunk } from './chunk.ts';
import { isWithin } from './json.ts';
import type { ChatNative } from './native.ts';
import { isBroken, settle, type Ending, type Said, type Wrong } from './settle.ts';
import { createThinkTagSplitter } from './think-tags.ts';
import { createToolCallAssembly, type AssembledCall } from './tool-calls.ts';

/**
 * Longest answer that is taken: text, reasoning and arguments together, UTF-16 units. About half a million tokens,
 * which is more than any model writes at once, and little enough to keep, show and store. Beyond it a model (or what
 * pretends to be one) goes in circles.
 */
export const maxAnswer = 2 * 1024 * 1024;

/** Most of the model's own name that is kept, UTF-16 units. */
const maxModel = 1_000;
/** Most that is kept for the model alone, of one part and of all, as JSON, UTF-16 units; what is beyond is left out. */
const maxNativePart = 256 * 1024;
const maxNative = maxAnswer;
/** Deepest that a part may be: what is deeper can be read, and then neither written down nor looked at. */
const maxNativeDepth = 64;

export interface Drain {
  /** TOO_LONG: the answer is longer than is taken (`maxAnswer`, `maxCalls`), and nothing more of it is. */
  add(chunk: Chunk): 'MORE' | 'TOO_LONG';
  /**
   * Whether anything of an answer came: text, a thought, a call, or why it ended. Who is asked, how much was counted, and
   * that the endpoint broke down say nothing of one.
   */
  hasBegun(): boolean;
  /** Whether the answer is one, should nothing more come: what breaks from here on takes nothing from it. */
  isComplete(): boolean;
  /** What came so far, should it become no answer. */
  unfinished(): Unfinished;
  /** Once, at the end. */
  finish(ending: Ending): ModelAnswer | Wrong;
}

/** Takes up one answer of this binding's model. `toolNames` are the tools that were offered. */
export function createDrain(
  binding: Binding,
  toolNames: ReadonlySet<string>,
  onDelta: (delta: ModelDelta) => void,
): Drain {
  const text = createChannel('text');
  const reasoning = createChannel('reasoning');
  const content = createThinkTagSplitter(
    { text: (t) => speak(text, t), reasoning: (t) => speak(reasoning, t) },
    binding.traits.reasoningStartsOpen,
  );
  const calls = createToolCallAssembly(toolNames);
  const native = createNativeParts();
  let model = '';
  let word = '';
  let declined = false;
  let called = false;
  let begun = false;
  let usage: Partial<Usage> = {};
  let kept = 0;
  let tooLong = false;

  function createChannel(type: ModelDelta['type']): Channel {
    return newChannel(
      (t) => onDelta({ type, text: t }),
      (units) => claim(units),
    );
  }

  function speak(channel: Channel, said: string): void {
    channel.push(said);
    if (said.trim() !== '') (channel === text ? reasoning : text).setApart();
  }

  function claim(units: number | null): boolean {
    kept += units ?? 0;
    tooLong ||= units === null || kept > maxAnswer;
    return !tooLong;
  }

  function take(chunk: Chunk): void {
    switch (chunk.type) {
      case 'model':
        model ||= shownModel(chunk.name.slice(0, maxModel), binding.endpoint.secrets);
        return;
      case 'text':
        if (chunk.apart) text.setApart();
        if (claim(chunk.text.length)) content.push(chunk.text);
        return;
      case 'reasoning':
        if (chunk.text !== '') content.interrupt('THOUGHT');
        if (chunk.apart) reasoning.setApart();
        if (claim(chunk.text.length)) speak(reasoning, chunk.text);
        return;
      case 'refusal':
        declined ||= chunk.text.trim() !== '';
        if (claim(chunk.text.length)) speak(text, chunk.text);
        return;
      case 'calls':
        content.interrupt('CALL');
        called = true;
        // Now, and not at the end: a JSON value takes many times the memory of its text.
        claim(calls.add(chunk.pieces.map((piece) => (native.takes(piece.extra) ? piece : without(piece)))));
        return;
      case 'usage':
        usage = largest(usage, chunk.usage);
        return;
      case 'finish':
        // Some providers name a reason early and go on, so the last one counts.
        word = chunk.word.toLowerCase();
        return;
      case 'native':
        if (native.takes(chunk.part)) native.add(chunk.part);
        return;
      case 'tooLong':
        claim(null);
        return;
      // What these mean is the reader's matter: they end it.
      case 'missing':
      case 'error':
      case 'end':
        return;
    }
  }

  const said = (silent: boolean): Said => ({
    silent,
    declined,
    word,
    delivered: !silent || reasoning.isSpoken(),
    finishOptional: binding.traits.finishOptional,
  });

  return {
    add(chunk) {
      begun ||= isOfAnAnswer(chunk);
      if (!tooLong) take(chunk);
      return tooLong ? 'TOO_LONG' : 'MORE';
    },
    hasBegun: () => begun,
    isComplete() {
      if (word === '' || isBroken(word)) return false;
      const wrong = settle(said(!text.isSpoken() && !called), 'CLOSED', false);
      // Nothing said although it was through: what breaks then may be why.
      return wrong.type === 'complete' || wrong.kind !== 'EMPTY';
    },
    unfinished: () => ({
      usage: wholeUsage(usage),
      calls: calls.finish().reduce((sum, call) => sum + call.name.length + call.arguments.length, 0),
    }),
    finish(ending) {
      content.end();
      text.end();
      reasoning.end();
      const assembled = calls.finish();
      const settled = settle(said(!text.isSpoken() && assembled.length === 0), ending, assembled.length > 0);
      if (settled.type === 'wrong') return settled;
      for (const [call, { extra }] of assembled.entries())
        if (extra !== undefined) native.add({ call, extra_content: extra } satisfies ChatNative);
      const parts = native.all();
      const { alias, dialect } = binding;
      return {
        type: 'answered',
        text: text.all(),
        reasoning: reasoning.all(),
        calls: assembled.map(({ extra: _, ...call }: AssembledCall) => call),
        finish: settled.finish,
        usage: wholeUsage(usage),
        alias,
        model: model || alias,
        ...(parts.length > 0 && {
          native: { alias, model: binding.model, dialect, parts } satisfies Native,
        }),
      };
    },
  };
}

/** A chunk that begins a channel may be without a letter, as the one that only says who speaks. */
function isOfAnAnswer(chunk: Chunk): boolean {
  switch (chunk.type) {
    case 'text':
    case 'reasoning':
    case 'refusal':
      return chunk.text !== '';
    case 'calls':
      return chunk.pieces.length > 0;
    case 'finish':
      return !isBroken(chunk.word.toLowerCase());
    case 'native':
    case 'tooLong':
    case 'missing':
      return true;
    case 'model':
    case 'usage':
    case 'error':
    case 'end':
      return false;
  }
}

/** Counts come in one chunk, in each, or field by field. */
function largest(a: Partial<Usage>, b: Partial<Usage>): Partial<Usage> {
  const merged: Record<string, number> = { ...a };
  for (const [name, count] of Object.entries(b) as [string, number | undefined][])
    if (count !== undefined) merged[name] = Math.max(merged[name] ?? 0, count);
  return merged;
}

function wholeUsage({ inputTokens, outputTokens, ...more }: Partial<Usage>): Usage | null {
  if (inputTokens === undefined && outputTokens === undefined) return null;
  return plausible({ inputTokens: inputTokens ?? 0, outputTokens: outputTokens ?? 0, ...more });
}

const without = ({ extra: _, ...piece }: CallPiece): CallPiece => piece;

function createNativeParts() {
  const parts: unknown[] = [];
  let units = 0;
  return {
    /** Whether a value may be kept; what may counts as kept. */
    takes(value: unknown): boolean {
      if (value === undefined) return true;
      if (!isWithin(value, maxNativeDepth, maxNativePart)) return false;
      const long = JSON.stringify(value).length;
      if (long > maxNativePart || units + long > maxNative) return false;
      units += long;
      return true;
    },
    add: (part: unknown): void => void parts.push(part),
    all: (): readonly unknown[] => parts,
  };
}

interface Channel {
  push(text: string): void;
  /** What comes next does not go on with what there is: a blank line is put between, unless there is a line break. */
  setApart(): void;
  /** Whether more than white space was said. */
  isSpoken(): boolean;
  end(): void;
  all(): string;
}

/** Collects text and hands it on, holding back the first half of a surrogate pair until its other half is there. */
function newChannel(emit: (text: string) => void, claim: (units: number) => boolean): Channel {
  const parts: string[] = [];
  let half = '';
  let spoken = false;
  let apart = false;

  function pass(text: string): void {
    if (text === '') return;
    const line = apart && spoken && !parts.at(-1)?.endsWith('\n') && !text.startsWith('\n') && claim(2);
    const whole = line ? `\n\n${text}` : text;
    apart = false;
    spoken ||= text.trim() !== '';
    parts.push(whole);
    emit(whole);
  }

  return {
    push(text) {
      if (text === '') return;
      const whole = half + text;
      half = /[\uD800-\uDBFF]/.exec(whole.slice(-1))?.[0] ?? '';
      pass(whole.slice(0, whole.length - half.length));
    },
    setApart: () => void (apart = true),
    isSpoken: () => spoken || half !== '',
    end() {
      pass(half);
      half = '';
    },
    all: () => parts.join(''),
  };
}
