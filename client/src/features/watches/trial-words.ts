/** Owns: what a condition would say, told to a person, and the place in it that is wrong. Pure. */
import type { ResultOf, tryWatchConditionQuery } from 'schema/client-kit';

export type Trial = ResultOf<typeof tryWatchConditionQuery>['tryWatchCondition'];

export interface TrialSaid {
  readonly tone: 'good' | 'calm' | 'bad';
  /** What it comes to, in a few words. */
  readonly head: string;
  /** Why; null: there is nothing to add. */
  readonly why: string | null;
}

/** `none`: there is no condition, so it fires when the output changes. */
export function trialSaid({ soundness, line, column, verdict, message }: Trial, none: boolean): TrialSaid {
  if (soundness === 'UNSOUND') {
    const place = [
      ...(line === null ? [] : [`line ${line}`]),
      ...(column === null ? [] : [`column ${column}`]),
    ];
    return {
      tone: 'bad',
      head: place.length > 0 ? `It is wrong in ${place.join(', ')}` : 'It is wrong',
      why: message,
    };
  }
  switch (verdict) {
    case 'HOLDS':
      return { tone: 'good', head: 'HOLDS: it would fire', why: message };
    case 'HOLDS_NOT':
      return {
        tone: 'calm',
        head: 'Does not hold: it would not fire',
        why:
          message ??
          (none
            ? 'Without a condition it fires when the output differs from that of the poll before.'
            : null),
      };
    case 'FAILED':
      return { tone: 'bad', head: 'It cannot be judged by this output', why: message };
    case null:
      return {
        tone: 'calm',
        head: 'It can be used',
        why: 'There is no output to judge it by yet: type a sample.',
      };
  }
}

export interface Pointed {
  readonly before: string;
  /** The character it is about; a space where the line ends there. */
  readonly at: string;
  readonly after: string;
}

/** The line of the condition that is wrong, parted at the place; null: no place is known. Both count from 1. */
export function pointedAt(expression: string, line: number | null, column: number | null): Pointed | null {
  const text = line === null ? undefined : expression.split('\n')[line - 1];
  if (text === undefined || column === null) return null;
  const before = text.slice(0, column - 1);
  const at = String.fromCodePoint(text.codePointAt(before.length) ?? 0x20);
  return { before, at, after: text.slice(before.length + at.length) };
}
