/**
 * Owns: how much of each result of a batch the model is told (D-34), when not all of it fits: beginning and end stay,
 * and what is left out is said. The whole stays in the journal, where a person reads it.
 *
 * Invariants: results share the room, so that none takes what another needs; what is small passes whole, and an error
 * is never cut away, room or not: a model that cannot see them runs the call again (G13).
 */
import type { Context, ToolResult } from 'schema/projection';
import { cutMiddle } from '../kit/cut.ts';
import { carefulScale, roomIn } from './meter.ts';
import { estimateTokens } from './tokens.ts';

/** Tokens that an error, and any small result, has in any case. */
const floor = 700;
/** For all small results of a batch together. */
const smallPool = 1_400;
/** With less than that a piece of an output says nothing. */
const least = 60;
/** What it costs to say that something is left out. */
const mark = 50;
/** Tokens around each on the wire, those of the advice to wind down, and of the window, by what estimates are wrong. */
const around = 8;
const follows = 120;
const noise = 0.03;

interface Sized {
  readonly result: ToolResult;
  readonly tokens: number;
}

/** The results as the model is told them, in the same order. */
export function sizeResults(results: readonly ToolResult[], context: Context): readonly ToolResult[] {
  if (context.window === null) return results;
  const scale = carefulScale(context);
  const each = context.window / 2 / scale;
  const sized = results.map((result) => ({ result, tokens: estimateTokens(result.content) }));
  // What stands around each of them and may follow them is not theirs, nor all that an estimate is wrong by.
  const beside = around * results.length + follows + (context.window * noise) / scale;
  const shares = share(sized, Math.max(0, Math.floor(roomIn(context) / scale - beside)));
  return sized.map(({ result, tokens }, i) => {
    const allowed = Math.min(shares[i]!, each);
    if (tokens <= allowed) return result;
    const content = fitted(result.content, Math.max(0, allowed - mark) / tokens, allowed);
    return content.length < result.content.length ? { ...result, content } : result;
  });
}

/** What is cut in the middle may be denser at its ends than the whole: it is cut until it fits. */
function fitted(content: string, part: number, allowed: number): string {
  const short = shorten(content, part);
  const tokens = estimateTokens(short);
  if (tokens <= allowed || part < 0.001) return short;
  return fitted(content, part * Math.min(0.98, allowed / tokens), allowed);
}

/** How many tokens each has: everybody as much as he needs, up to a level that all together can have. */
function share(sized: readonly Sized[], room: number): readonly number[] {
  const wanted = sized.map(({ tokens }) => tokens).toSorted((a, b) => a - b);
  let left = room;
  let level = Number.POSITIVE_INFINITY;
  for (const [i, tokens] of wanted.entries()) {
    const equal = left / (wanted.length - i);
    if (tokens > equal) {
      level = equal;
      break;
    }
    left -= tokens;
  }
  let pool = smallPool;
  return sized.map(({ result, tokens }) => {
    if (result.outcome === 'ERROR') return Math.max(level, floor);
    if (tokens <= floor && tokens <= pool) {
      pool -= tokens;
      return Math.max(level, tokens);
    }
    return level;
  });
}

const number = new Intl.NumberFormat('en');

function shorten(content: string, part: number): string {
  const units = Math.floor(content.length * part);
  if (units * 0.25 < least)
    return `[The call ran, and its output of ${number.format(content.length)} characters is not shown: there is no room for it. Do not run it again for that alone; ask for less, for example a part of a file, or the lines that matter.]`;
  return cutMiddle(
    content,
    units,
    (gone) =>
      `[… ${number.format(gone)} of ${number.format(content.length)} characters are left out here: there is no room for all of it. To see more, ask for less at a time: a part of the file, or only the lines that matter …]`,
  );
}
