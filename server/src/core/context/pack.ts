/**
 * Owns: how a conversation is laid before who is to summarise it (D-40): as plain lines, in as few requests as its
 * window allows, and how long a summary may become.
 * Does not own: what is asked about it, or asking (`app/actor/summary.ts`).
 *
 * Invariants: every line stands in exactly one batch, in order, and each batch within its budget; what somebody wrote
 * never looks like a line of its own, since only what is said here begins at the margin; a summary is at most as long as
 * its cap, however often it is summarised again (G4).
 */
import { compactionAdvice, type Author, type Call, type Entry } from 'schema/projection';
import { cut, cutHead, cutMiddle } from '../kit/cut.ts';
import { estimateTokens } from './tokens.ts';

/** Where the window is not known, tokens. */
const usualWindow = 8_192;
/** Longest summary that is asked for, and of the window at most a quarter; tokens. */
const maxAsked = 32_768;
/** Longest summary that is kept, and of the window at most a quarter; tokens. */
const maxKept = 8_000;
/** Of the window, left free for what an endpoint puts around a request. */
const slack = 0.05;
/** Of what is left, filled: an estimate is wrong by as much. */
const certain = 0.75;
/** A budget below that is of no use: then the endpoint has the word. Tokens. */
const leastBudget = 128;
/** Of a message that is longer, beginning and end are shown. UTF-16 units. */
const maxShown = 2_000;
const headShown = 1_000;
const tailShown = 500;
/** A block is parted into pieces no smaller than this. UTF-16 units. */
const leastPiece = 32;
const maxName = 200;
const goesOn = '[goes on] ';

/** One or several lines that are shown together, and about how many tokens they are. */
export interface Block {
  readonly text: string;
  readonly tokens: number;
}
export type Batch = readonly Block[];

export interface Plan {
  /** Tokens that whoever is asked reads, its answer included, as far as is known. */
  readonly window: number;
  /** Most tokens that are asked for. */
  readonly maxOutput: number;
  /** Tokens of lines in one request. */
  readonly budget: number;
  /** Longest summary, and the longest of a part: so long that several of them go into one request. Tokens. */
  readonly cap: number;
  readonly partCap: number;
}

/** For a model that reads `window` tokens (null: not known), with `prompt` tokens around the lines. */
export function planFor(window: number | null, prompt: number): Plan {
  const size = window ?? usualWindow;
  const quarter = Math.max(1, Math.floor(size / 4));
  const maxOutput = Math.min(maxAsked, quarter);
  const room = size - maxOutput - prompt - size * slack;
  const budget = Math.max(leastBudget, Math.floor(room * certain));
  const cap = Math.min(maxKept, quarter);
  return { window: size, maxOutput, budget, cap, partCap: Math.min(cap, Math.floor(budget / 4)) };
}

/** Of lines that begin at the margin with `text`; what comes after its first line is set in. */
export function blockOf(text: string): Block {
  const lines = text.replace(/\r\n|[\n\v\f\r\u0085\u2028\u2029]/g, '\n  ');
  return counted(lines);
}

// A line break is a token as well.
const counted = (text: string): Block => ({ text, tokens: estimateTokens(text) + 1 });

/** What is shown of a conversation; control entries, and what the server told the model about its context, never are. */
export const linesOf = (entries: readonly Entry[]): readonly Block[] => entries.flatMap(linesOfEntry);

function linesOfEntry(entry: Entry): readonly Block[] {
  switch (entry.kind) {
    case 'CHECKPOINT':
      return [
        blockOf(`EARLIER SUMMARY: ${entry.summary}`),
        ...(entry.request ? [said(person(entry.request.author), entry.request.text)] : []),
      ];
    case 'USER':
      return entry.source === 'COMPACTION_RESUME' ? [] : [said(person(entry.author), entry.text)];
    case 'SYSTEM':
      return entry.source === compactionAdvice ? [] : [said('SERVER', entry.text)];
    case 'ASSISTANT':
      return [
        ...(entry.text === '' ? [] : [said('MODEL', entry.text)]),
        ...entry.calls.map(lineOfCall),
        ...(entry.discarded.length === 0
          ? []
          : [said('SERVER', `these calls of it were not run: ${entry.discarded.join(', ')}`)]),
      ];
    case 'CANCELLATION':
      return [
        said(
          entry.reason === 'STOPPED' ? 'MODEL, stopped by the person' : 'MODEL, which broke off',
          entry.text,
        ),
      ];
    case 'TOOL': {
      const outcome = entry.outcome === 'OK' ? '' : `, ${entry.outcome}`;
      const effect = entry.effect === 'UNKNOWN' ? ', effect UNKNOWN' : '';
      return [said(`RESULT of ${cut(entry.name, maxName)}${outcome}${effect}`, entry.content)];
    }
    default:
      return [];
  }
}

const person = ({ name }: Author): string => `PERSON (${cut(name, maxName)})`;

const lineOfCall = (call: Call): Block => said(`MODEL calls ${cut(call.name, maxName)}`, call.arguments);

const said = (who: string, text: string): Block => blockOf(`${who}: ${shown(text)}`);

function shown(text: string): string {
  if (text.length <= maxShown) return text;
  const head = cut(text, headShown);
  const tail = cutHead(text, tailShown);
  return `${head}\n[… ${text.length - head.length - tail.length} characters are not shown …]\n${tail}`;
}

/** In order, each batch as full as it can be; a block that is too large for one is parted. */
export function pack(blocks: readonly Block[], budget: number): readonly Batch[] {
  const batches: Block[][] = [];
  let left = 0;
  for (const block of blocks.flatMap((whole) => partedTo(whole, budget))) {
    if (batches.length === 0 || block.tokens > left) {
      batches.push([]);
      left = budget;
    }
    batches.at(-1)!.push(block);
    left -= block.tokens;
  }
  return batches;
}

function partedTo(block: Block, budget: number): readonly Block[] {
  const pieces: Block[] = [];
  let rest = block;
  while (rest.tokens > budget && rest.text.length > 2 * leastPiece) {
    let units = Math.floor((rest.text.length * budget) / rest.tokens);
    let [head, tail] = parted(rest.text, units);
    for (; counted(head).tokens > budget && units > leastPiece; [head, tail] = parted(rest.text, units))
      units = Math.floor(units * 0.8);
    pieces.push(counted(head));
    rest = counted(tail);
  }
  return [...pieces, rest];
}

/** After about so many units, between two words if there is a place near; no character is broken. */
function parted(text: string, units: number): readonly [string, string] {
  const most = cut(text, Math.min(text.length - 1, Math.max(leastPiece, units)));
  const gap = Math.max(most.lastIndexOf('\n'), most.lastIndexOf(' '));
  const at = gap > most.length * 0.8 ? gap + 1 : most.length;
  return [text.slice(0, at), goesOn + text.slice(at)];
}

/** A summary no longer than its cap: beginning and end of one that is. */
export function capped(summary: string, cap: number): string {
  const whole = summary.trim();
  const tokens = estimateTokens(whole);
  let text = whole;
  for (let part = 1; estimateTokens(text) > cap; part *= 0.9) {
    const units = Math.floor((whole.length * cap * part) / tokens);
    // Too little for a beginning, an end, and a word about what is between.
    if (units < leastPiece) return cut(whole, Math.floor(cap / 2));
    text = cutMiddle(whole, units);
  }
  return text;
}
