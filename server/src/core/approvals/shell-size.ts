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

/** Whether the parser would take much longer than the text is long, which it does not for what is left out of `code`. */
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
  /\\[^]|\$'(?:[^'\\]|\\[^])*'?|'[^']*'?|"(?:[^"\\]|\\[^])*"?|(?<![^\s;&|()])#[^\n]*|<<<|<<(-?)[ \t]*((?:'[^'\n]*'|"[^"\n]*"|\\.|[^\s'"\\;&|<>()`$])+)|[\n|;&(){}`$*?[<>]/g;

/** A here-document whose text begins after the line. */
interface Begun {
  readonly delimiter: string;
  readonly isQuoted: boolean;
  /** Tabs before the line that closes it are not looked at. */
  readonly isIndented: boolean;
}

/**
 * How many of these there are, each quoted piece as one; where there are more than `enough`, the count so far. And the text
 * without what its quoted here-documents hold.
 */
export function signsIn(text: string, enough: number): { readonly signs: number; readonly code: string } {
  let code = '';
  let taken = 0;
  let signs = 0;
  let bodies = 0;
  const begun: Begun[] = [];
  /** What does not end after one place does not after a later one. */
  const endless = new Set<string>();
  token.lastIndex = 0;
  for (let match = token.exec(text); match !== null && signs <= enough; match = token.exec(text)) {
    const [found, dash, word] = match;
    if (word !== undefined) {
      const delimiter = word.replace(/(['"])(.*?)\1|\\(.)/g, '$2$3');
      begun.push({ delimiter, isQuoted: /['"\\]/.test(word), isIndented: dash === '-' });
    }
    signs += found.startsWith('"') ? 1 + expansionsIn(found) : 1;
    if (found !== '\n') continue;
    for (const each of begun.splice(0)) {
      const start = token.lastIndex - 1;
      const end = ++bodies > maxBodies || endless.has(each.delimiter) ? -1 : endOf(text, each, start);
      if (end < 0) {
        endless.add(each.delimiter);
        break;
      }
      if (each.isQuoted) {
        code += text.slice(taken, start);
        taken = end;
      } else signs += expansionsIn(text.slice(start, end));
      token.lastIndex = end;
    }
  }
  return { signs, code: code + text.slice(taken) };
}

/** Where the line ends that closes a here-document, the first after `start`, a line break; -1 when none does. */
function endOf(text: string, { delimiter, isIndented }: Begun, start: number): number {
  const isClosedAt = (end: number): boolean => {
    let before = end - delimiter.length - 1;
    if (isIndented) while (text[before] === '\t') before--;
    return before >= start && text[before] === '\n';
  };
  const line = `${isIndented ? '' : '\n'}${delimiter}\n`;
  for (let at = text.indexOf(line, start); at >= 0; at = text.indexOf(line, at + 1)) {
    const end = at + line.length - 1;
    if (isClosedAt(end)) return end;
  }
  return text.endsWith(delimiter) && isClosedAt(text.length) ? text.length : -1;
}

/** Commands in what is quoted are counted only where there may be some. */
const expansionsIn = (text: string): number =>
  countOf(text, /\$\(|`/.test(text) ? /[\n|;&(){}`$*?[<>]/g : /\$/g);
