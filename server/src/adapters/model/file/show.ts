/**
 * Owns: what of the model file is repeated in a sentence about it.
 *
 * Invariant: of what was written nothing is repeated but words of Weir's own (its settings, the demo) and aliases that serve,
 * which are shown elsewhere too. Anything else may be a key, which somebody wrote or pasted into the wrong place: no pattern
 * knows one from a name, so that its place is told instead.
 */
import { demoAlias } from '../demo.ts';
import { hideAsWritten } from '../hide.ts';
import { settingsAt } from './format.ts';

/** Stands for a name that is not repeated. */
const unnamed = '…';
/** Shorter secrets are not looked for in whole sentences, of whose words they may be one ("none", "ollama"). */
const leastInSentence = 8;

export interface Voice {
  /** Whether an alias may be repeated. */
  isNamed(alias: string): boolean;
  /** A place in the file, in names; of no setting that Weir does not know. */
  placeOf(path: readonly PropertyKey[]): string;
  /** A second net: the sentence without the secrets that are known. */
  checked(sentence: string): string;
}

/** How is spoken while these aliases serve and these texts must never be shown. */
export function createVoice(aliases: readonly string[], secrets: readonly string[]): Voice {
  const served = new Set([...aliases, demoAlias].filter((alias) => hideAsWritten(alias, secrets) === alias));
  const isKnown = (name: string, before: readonly PropertyKey[]): boolean => {
    if (before.length === 1 && before[0] === 'models') return served.has(name);
    // The places of a list, and what a setting has in it.
    return /^\d+$/.test(name) || settingsAt(before).includes(name);
  };
  const long = secrets.filter(({ length }) => length >= leastInSentence);
  return {
    isNamed: (alias) => served.has(alias),
    placeOf: (path) =>
      path.map((name, i) => (isKnown(String(name), path.slice(0, i)) ? String(name) : unnamed)).join('.') ||
      'the file',
    checked: (sentence) => hideAsWritten(sentence, long),
  };
}

/** The one of these words that is likely to be meant by another; null: none of them. */
export function nearestOf(written: string, words: readonly string[]): string | null {
  const [best] = words
    .filter((word) => Math.abs(word.length - written.length) <= tolerance(word))
    .map((word) => ({ word, edits: editsBetween(written.toLowerCase(), word.toLowerCase()) }))
    .filter(({ word, edits }) => edits <= tolerance(word))
    .toSorted((a, b) => a.edits - b.edits);
  return best?.word ?? null;
}

const tolerance = (word: string): number => Math.max(1, Math.floor(word.length / 3));

/** How many letters are put in, taken out or replaced between two words (Levenshtein). */
function editsBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    row = next;
  }
  return row[b.length]!;
}
