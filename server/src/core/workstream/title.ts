/**
 * Owns: the name of a workstream that nobody has named.
 *
 * Invariants: a name given by a person is never overtaken by one that was generated; what a fork copied is never named
 * after; a name is asked for once in the life of an owner.
 */
import { isBlank, isMessage, type Configuration, type Entry, type EntryOf } from 'schema/projection';
import { choiceOf } from '../conversation/choice.ts';
import { cut } from '../kit/cut.ts';
import { admit, patch, performAfter, type StepDraft } from '../step-draft.ts';
import { isSpent } from '../turn/budget.ts';

/** Longest title, UTF-16 code units. */
export const maxTitle = 200;
/** Longest title that is generated. */
const maxGeneratedTitle = 80;
/** How much of the first exchange the name is made of, UTF-16 code units each. */
const maxTitleSource = 4_000;

/** Asks for a name once the first exchange is complete; a fork has one. */
export function askTitle(draft: StepDraft): StepDraft {
  const { projection, conversation, conversationFrom, epoch, titleAsked } = draft.state;
  const { configuration } = projection;
  const { titleSource } = configuration;
  if (projection.turn?.phase !== 'COMPLETED' || titleSource !== 'DEFAULT' || projection.origin) return draft;
  if (titleAsked || conversationFrom > 0) return draft;
  const question = firstAsked(conversation);
  const answer = conversation.findLast((e): e is EntryOf<'ASSISTANT'> => e.kind === 'ASSISTANT');
  if (!question || !answer) return draft;
  // A name is not worth asking a person for more budget: what was asked serves, which costs nothing.
  if (isSpent(draft.state)) return titleSuggested(draft, null, question);
  return performAfter(patch(draft, { titleAsked: true }), {
    type: 'suggestTitle',
    stamp: { epoch, generation: null },
    // A name needs no thinking, and gets none where the model can do without (A47).
    model: { ...choiceOf(configuration), effort: 'NONE' },
    lane: answer.alias ?? configuration.model,
    question: cut(question, maxTitleSource),
    answer: cut(answer.text, maxTitleSource),
  });
}

/** What a person said first, as far as it is told: where that is summarised, what is carried of it. */
function firstAsked(conversation: readonly Entry[]): string | null {
  const [first] = conversation;
  const carried = first?.kind === 'CHECKPOINT' ? first.request?.text : undefined;
  return carried ?? conversation.find(isMessage)?.text ?? null;
}

/** A name has come; without one the question's own first words do. Too late is never. */
export function titleSuggested(draft: StepDraft, suggested: string | null, question: string): StepDraft {
  const { configuration, lifecycle } = draft.state.projection;
  if (configuration.titleSource !== 'DEFAULT' || lifecycle !== 'OPEN') return draft;
  const name = titleOf(suggested ?? '');
  // What ends in a colon is no name but the head of a thought that some models write into their answer (A47).
  const title = (/[:\uFF1A]$/.test(name) ? '' : name) || titleOf(question);
  if (title === '') return draft;
  const named: Configuration = { ...configuration, title, titleSource: 'GENERATED' };
  return admit(draft, { kind: 'CONFIGURATION', configuration: named });
}

/** What writes the text around it the other way about, so that it reads as what it is not. */
const turning = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g;

/**
 * The first line that a person can see something of, without quotes around it and not too long; in linear time, whatever
 * a model says.
 */
function titleOf(text: string): string {
  for (const part of cut(text, maxTitleSource).split(/[\r\n]+/)) {
    const line = bare(part.replace(turning, '').replace(/\p{Cc}/gu, ' '));
    const short = beginningOf(line);
    if (!isBlank(short)) return short === line ? line : `${short}…`;
  }
  return '';
}

/** All of it, or whole words as far as there is room. */
function beginningOf(line: string): string {
  if (line.length <= maxGeneratedTitle) return line;
  const short = cut(line, maxGeneratedTitle);
  const space = short.lastIndexOf(' ');
  return (space > maxGeneratedTitle / 2 ? short.slice(0, space) : short).trimEnd();
}

const before = /[\s"'“”«»#*_`-]/;
const after = /[\s"'“”«»*_`.]/;

/** Pairs of signs that stress what is between them, as Markdown has them; not those within a word, or around nothing. */
const stressed = [
  /(?<![\p{L}\p{N}*])(\*{1,3})([^\s*](?:[^*]*[^\s*])?)\1(?![\p{L}\p{N}*])/gu,
  /(?<![\p{L}\p{N}_])(_{1,3})([^\s_](?:[^_]*[^\s_])?)\1(?![\p{L}\p{N}_])/gu,
];
const quotes = [
  ['"', '"'],
  ['“', '”'],
  ['«', '»'],
  ['`', '`'],
] as const;

/** Without what stands around a name, of which a pair is taken or left. */
function bare(line: string): string {
  const plain = stressed.reduce((text, pair) => text.replace(pair, '$2'), line);
  let from = 0;
  let to = plain.length;
  while (from < to && before.test(plain[from]!)) from += 1;
  while (from < to && after.test(plain[to - 1]!)) to -= 1;
  const name = plain.slice(from, to);
  const [head, tail] = [plain.slice(0, from), plain.slice(to)];
  const opening = quotes.find(([open, close]) => head.includes(open) && left(close, name, tail))?.[0] ?? '';
  const closing = quotes.find(([open, close]) => tail.includes(close) && left(open, name, head))?.[1] ?? '';
  return opening + name + closing;
}

/** Whether this half of a pair is in the name, and not beside it. */
const left = (sign: string, name: string, beside: string): boolean =>
  name.includes(sign) && !beside.includes(sign);
