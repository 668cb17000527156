/**
 * Owns: what an endpoint turned out to want, told by how it refuses. Pure.
 * Does not own: asking again (`caller.ts`).
 *
 * Invariant: each lesson is learned at most once per call, so a call asks at most `lessons.length` times more.
 */
import type { Binding } from '../binding.ts';
import { answerLimitIn, namesAnswerLimit, plainNumbers, saysTooLong } from '../refusals.ts';
import { settingsOf, type Outgoing, type Wants } from './outgoing.ts';

export const firstWants = ({ traits }: Binding): Wants => ({
  usage: true,
  outputField: traits.outputField,
  reasoningBack: false,
  refused: new Set(),
  encrypted: true,
  outputLimit: null,
  outputMost: null,
  limited: true,
});

export interface Lesson {
  readonly name: string;
  /** Whether it holds for later calls too, and not only for this conversation. */
  readonly lasting: boolean;
  /** What to do differently after this refusal of what was sent; null when it says nothing about that. */
  learn(said: string, sent: Outgoing): Partial<Wants> | null;
}

/** Words of refusals of a parameter or its value. */
const unsupported =
  /unsupported|not supported|(does|do)(n't| not) support|unknown|unrecogni[sz]ed|unexpected|not permitted|not allowed|forbidden|deprecated/i;

/** Of the room that is left, this is left free: providers count prompts a little differently each time. */
const margin = (room: number): number => Math.max(16, Math.ceil(room / 8));
/** An answer of fewer tokens is none. */
const minOutput = 64;

/** In the order in which they are looked for. */
export const lessons: readonly Lesson[] = [
  {
    name: 'usage',
    lasting: true,
    learn: (said, { binding, wants }) =>
      binding.dialect === 'CHAT' &&
      binding.traits.streamOptions &&
      wants.usage &&
      /stream_options|include_usage/.test(said)
        ? { usage: false }
        : null,
  },
  {
    name: 'reasoning',
    lasting: true,
    learn: (said, { binding, wants }) =>
      binding.dialect === 'CHAT' &&
      !wants.reasoningBack &&
      /reasoning_content/.test(said) &&
      !unsupported.test(said)
        ? { reasoningBack: true }
        : null,
  },
  {
    name: 'output limit',
    lasting: false,
    learn(said) {
      const room = roomIn(said);
      return room !== null && room >= minOutput ? { outputLimit: room } : null;
    },
  },
  {
    // Of a limit that a caller wants, where the endpoint says how much its model writes at most.
    name: 'longest answer',
    lasting: true,
    learn(said, sent) {
      const { maxOutput } = settingsOf(sent);
      if (sent.binding.maxOutput !== null || maxOutput === null) return null;
      const outputMost = answerLimitIn(said, minOutput, maxOutput);
      return outputMost === null ? null : { outputMost };
    },
  },
  {
    name: 'output field',
    lasting: true,
    learn(said, sent) {
      const field = sent.wants.outputField;
      if (sent.binding.dialect !== 'CHAT' || settingsOf(sent).maxOutput === null) return null;
      if (!names(said, field) || !unsupported.test(said)) return null;
      return { outputField: field === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens' };
    },
  },
  {
    // A limit that is set is the operator's word; one that a caller wants is left out where there is no way to say it, or
    // where the model writes less at most.
    name: 'limit of the caller',
    lasting: true,
    learn(said, { binding, asked, wants }) {
      if (binding.maxOutput !== null || asked.maxOutput === undefined || !wants.limited) return null;
      // What stands behind the endpoint may call it otherwise than what was sent to it.
      return namesAnswerLimit(said) && !saysTooLong(said) ? { limited: false } : null;
    },
  },
  {
    name: 'temperature',
    lasting: true,
    learn(said, sent) {
      const { temperature } = settingsOf(sent);
      if (temperature === null || !names(said, 'temperature') || !unsupported.test(said)) return null;
      return { refused: new Set([...sent.wants.refused, `temperature ${temperature}`]) };
    },
  },
  {
    name: 'effort',
    lasting: true,
    learn(said, sent) {
      const { effort } = settingsOf(sent);
      if (effort === null || !unsupported.test(said)) return null;
      if (!/reasoning_effort|reasoning\.effort|support think|"reasoning"|'reasoning'/i.test(said))
        return null;
      return { refused: new Set([...sent.wants.refused, `effort ${effort}`]) };
    },
  },
  {
    // Thoughts that its key cannot read any more would be refused in every later request of the conversation.
    name: 'encrypted thoughts',
    lasting: false,
    learn: (said, { binding, wants }) =>
      binding.dialect === 'RESPONSES' &&
      binding.traits.reasoning &&
      wants.encrypted &&
      /encrypted[_ ]content/i.test(said)
        ? { encrypted: false }
        : null,
  },
];

const names = (said: string, parameter: string): boolean => new RegExp(`\\b${parameter}\\b`).test(said);

/**
 * Ways to say that prompt and answer together do not fit: the window and what the prompt takes of it. Bounded, since a
 * text of many beginnings would be read again from each.
 */
const overfull: readonly RegExp[] = [
  /maximum context length is (?<window>\d{1,12}) tokens.{0,300}?requested \d{1,12} output tokens and your prompt contains (?:at least )?(?<prompt>\d{1,12})/is,
  /maximum context length is (?<window>\d{1,12}) tokens.{0,300}?requested (?:about )?\d{1,12} tokens \((?<prompt>\d{1,12})/is,
  /maximum context length is (?<window>\d{1,12}) tokens and your request has (?<prompt>\d{1,12}) input tokens/is,
  /maximum context length of (?<window>\d{1,12}) tokens.{0,300}?\b(?<prompt>\d{1,12}) tokens from the input/is,
  /must be <= (?<window>\d{1,12})\. Given: (?<prompt>\d{1,12}) `?inputs/i,
  /exceeds? (?:the )?context (?:limit|length|window).{0,300}?\b(?<prompt>\d{1,12}) \+ \d{1,12} > (?<window>\d{1,12})/is,
];

/** Tokens that are left for an answer, by the numbers of a refusal; null when it has none. */
function roomIn(said: string): number | null {
  const plain = plainNumbers(said);
  for (const way of overfull) {
    const groups = way.exec(plain)?.groups;
    if (!groups) continue;
    const room = Number(groups['window']) - Number(groups['prompt']);
    return room - margin(room);
  }
  return null;
}
