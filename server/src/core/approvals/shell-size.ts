/**
 * Owns: how much work it will be to read a script, told from its letters before it is parsed. Does not own: how much may be done
 * for one (`shell-reading.ts`).
 *
 * What costs time is not how long a text is, but how many commands, expansions and patterns stand in it: a file of 60,000
 * characters that is written by a quoted here-document is one command. A miscount changes what the reading costs, never what
 * is found.
 *
 * Invariant: the time is linear in the text.
 */

/** The parser's time grows with the square of the here-documents that begin in one line. */
const maxHereDocuments = 1_000;
/** It looks for the end of each of these by itself, and for those that stand in each other again and again. */
const maxSubstitutions = 2_000;
const maxNested = 64;
/** The ends of so many here-documents are looked for; what more of them hold counts as if it were commands. */
const maxBodies = 50;

/** Whether the parser would take much longer than the text is long. */
export const isOutOfProportion = (text: string): boolean =>
  countOf(text, /[$<>]\(|\$\[/g) > maxSubstitutions ||
  isNested(text, /[$<>]\(|\)/g) ||
  isNested(text, /\$\{|\}/g) ||
  text.split('\n').some((line) => countOf(line, /<</g) >= maxHereDocuments);

const countOf = (text: string, what: RegExp): number => text.match(what)?.length ?? 0;

/** Whether too many of what `marks` open, by two characters, are open at once; one character closes one. */
function isNested(text: string, marks: RegExp): boolean {
  let open = 0;
  for (const [mark] of text.matchAll(marks)) {
    open = mark.length === 2 ? open + 1 : Math.max(0, open - 1);
    if (open > maxNested) return true;
  }
  return false;
}

/** What is quoted or a comment, the beginning of a here-document, or a sign by which the shell makes something of the text. */
const token =
  /\\[^]|\$'(?:[^'\\]|\\[^])*'?|'[^']*'?|"(?:[^"\\]|\\[^])*"?|(?<![^\s;&|()])#[^\n]*|<<<|<<[ \t]*(['"\\])?([\w.-]+)\1?|[\n|;&(){}`$*?[<>]/g;

/** How many of these there are, each quoted piece as one; where there are more than `enough`, the count so far. */
export function signsIn(text: string, enough: number): number {
  let signs = 0;
  let bodies = 0;
  const begun: { readonly delimiter: string; readonly isQuoted: boolean }[] = [];
  token.lastIndex = 0;
  for (let match = token.exec(text); match !== null && signs <= enough; match = token.exec(text)) {
    const [found, quote, delimiter] = match;
    if (delimiter !== undefined) begun.push({ delimiter, isQuoted: quote !== undefined });
    signs += found.startsWith('"') ? 1 + expansionsIn(found) : 1;
    if (found !== '\n') continue;
    for (const { delimiter: name, isQuoted } of begun.splice(0)) {
      const start = token.lastIndex - 1;
      const end = ++bodies > maxBodies ? -1 : endOf(text, name, start);
      if (end < 0) break;
      if (!isQuoted) signs += expansionsIn(text.slice(start, end));
      token.lastIndex = end + name.length + 1;
    }
  }
  return signs;
}

/** Where the last line break of a here-document stands; -1 when it does not end. */
function endOf(text: string, delimiter: string, start: number): number {
  const end = text.indexOf(`\n${delimiter}\n`, start);
  if (end >= 0) return end;
  const last = text.length - delimiter.length - 1;
  return last >= start && text.endsWith(`\n${delimiter}`) ? last : -1;
}

/** Commands in what is quoted are counted only where there may be some. */
const expansionsIn = (text: string): number =>
  countOf(text, /\$\(|`/.test(text) ? /[\n|;&(){}`$*?[<>]/g : /\$/g);
