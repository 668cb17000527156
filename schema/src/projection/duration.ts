/**
 * Owns: how long is meant: `30s`, `5m`, `2h30m`, `90`, and ISO 8601 as far as it is a length of time (`PT5M`, `P1D`).
 *
 * Invariant: ASCII digits, a finite number of seconds above 0, and the whole text is taken, or it is refused with what to
 * write instead.
 */
export type Duration =
  | { readonly type: 'seconds'; readonly seconds: number }
  /** One sentence. */
  | { readonly type: 'refused'; readonly problem: string };

/** `1h  5m 10s` in this order, each at most once. */
const units = /^(?:(\d{1,9})\s*h)?\s*(?:(\d{1,9})\s*m)?\s*(?:(\d{1,9})\s*s)?$/i;
const plain = /^\d{1,12}(?:\.\d{1,9})?(?:e\d{1,2})?$/i;
/** Days, hours, minutes, seconds: weeks, months and years are no length of time, or too long for any. */
const iso = /^P(?:(\d{1,9})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9}(?:\.\d{1,9})?)S)?)?$/i;
const spellings = 'Write it as 30s, 5m, 2h30m, 90 (seconds) or PT5M.';

/** No duration is longer; of a long text the patterns would take as long as its square. */
const maxLength = 100;

export function parseDuration(given: string): Duration {
  const text = given.trim();
  if (text.length > maxLength) return refused(`A duration has at most ${maxLength} characters. ${spellings}`);
  if (text === '') return refused(`The duration is empty. ${spellings}`);
  const seconds = secondsIn(text);
  if (seconds === null) return refused(`${JSON.stringify(text.slice(0, 40))} is no duration. ${spellings}`);
  if (seconds <= 0) return refused(`A duration must be above 0. ${spellings}`);
  return Number.isFinite(seconds)
    ? { type: 'seconds', seconds }
    : refused(`A duration must be finite. ${spellings}`);
}

const refused = (problem: string): Duration => ({ type: 'refused', problem });

function secondsIn(text: string): number | null {
  if (plain.test(text)) return Number(text);
  const named = units.exec(text);
  if (named) {
    const [, hours, minutes, seconds] = named;
    return sum([hours, 3_600], [minutes, 60], [seconds, 1]);
  }
  const [whole, days, hours, minutes, seconds] = iso.exec(text) ?? [];
  // "P" and "PT" alone say nothing, and a T is followed by something.
  if (whole === undefined || /T$/i.test(text)) return null;
  return sum([days, 86_400], [hours, 3_600], [minutes, 60], [seconds, 1]);
}

/** Null: not one of them is there. */
function sum(...parts: readonly (readonly [string | undefined, number])[]): number | null {
  const given = parts.filter(([count]) => count !== undefined);
  return given.length === 0 ? null : given.reduce((all, [count, of]) => all + Number(count) * of, 0);
}
