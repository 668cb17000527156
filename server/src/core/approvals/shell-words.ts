/**
 * Owns: what a word of a command line stands for, as far as that can be read without running it. Does not own: what
 * is started with it (`shell-reading.ts`), or what may not be (`denied.ts`).
 *
 * What is no text becomes one of the signs (`shell-signs.ts`): what is not known, what nobody may have set, and patterns.
 */
import { forEachChild, type ParsedScript, type SyntaxNode, type Word, type WordPart } from 'unbash';
import { alternativesOf } from './shell-braces.ts';
import { ANY, patterned, plain, STAR, UNKNOWN, UNSET } from './shell-signs.ts';

/** What a word may ask of the shell it is read in. */
export interface Scope {
  readonly valueOf: (name: string) => string | null;
  /** What a variable stands for that the line does not set: UNSET, or UNKNOWN where it cannot be empty. */
  readonly missing: (name: string) => string;
  readonly assign: (name: string, value: string) => void;
  /** Whoever looks whether it is empty goes on only where it is not. */
  readonly becomesSet: (name: string) => void;
  /** What a substituted script prints, or null. */
  readonly printed: (script: ParsedScript) => string | null;
  /** The path from which can be read what a process substitution prints. */
  readonly fileOf: (printed: string) => string;
  readonly positional: readonly string[];
  /** Charges for work; false when there is none left. */
  readonly spend: (amount: number) => boolean;
}

const maxAlternatives = 1_000;

/**
 * The arguments one word becomes: none, one, or several by splitting and by braces. The parser reads a word anew when
 * its parts are asked for, so that here and below one in another costs its length every time.
 */
export function fieldsOf(word: Word, scope: Scope): readonly string[] {
  if (!scope.spend(word.end - word.pos)) return [];
  if (word.parts === undefined) return [word.value];
  const list = listOf(word, scope);
  if (list !== null) return list;
  const done: string[] = [];
  let open = [''];
  let quoted = false;
  const end = (): void => {
    done.push(...open.filter((field) => field !== '' || quoted));
  };
  for (const part of word.parts) {
    const text = textOfPart(part, scope);
    if (!scope.spend((text.length + 1) * open.length + (part.type === 'BraceExpansion' ? 60 : 8))) return [];
    if (part.type === 'BraceExpansion') {
      for (const inside of part.parts ?? []) substitutionsIn(inside, scope);
      const alternatives = alternativesOf(text, maxAlternatives);
      const made = alternatives === null ? Infinity : open.length * alternatives.length;
      if (!scope.spend(made > maxAlternatives ? Infinity : 8 * made)) return [];
      open = open.flatMap((field) => (alternatives ?? []).map((alternative) => field + alternative));
    } else if (splits(part)) {
      const [first = '', ...others] = patterned(text).split(/[ \t\n]+/);
      open = open.map((field) => field + first);
      for (const other of others) {
        end();
        open = [other];
        quoted = false;
      }
    } else {
      quoted ||= /Quoted|LocaleString/.test(part.type);
      open = open.map((field) => field + text);
    }
  }
  end();
  return done;
}

/** A word where it is not split: in an assignment, after a redirection. */
export function textOf(word: Word, scope: Scope): string {
  if (!scope.spend(word.end - word.pos)) return UNKNOWN;
  return word.parts === undefined ? word.value : plain(textOfParts(word.parts, scope));
}

export function textOfParts(parts: readonly WordPart[], scope: Scope): string {
  let text = '';
  for (const part of parts) {
    const piece = textOfPart(part, scope);
    if (!scope.spend(piece.length + 8)) return UNKNOWN;
    text += piece;
  }
  return text;
}

const splits = ({ type }: WordPart): boolean =>
  type === 'SimpleExpansion' || type === 'ParameterExpansion' || type === 'CommandExpansion';

function textOfPart(part: WordPart, scope: Scope): string {
  switch (part.type) {
    case 'Literal':
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      return part.value;
    case 'DoubleQuoted':
    case 'LocaleString':
      return textOfParts(part.parts, scope);
    case 'Glob':
      return part.kind === 'star' ? STAR : ANY;
    case 'ExtendedGlob':
      return STAR;
    case 'BraceExpansion':
      return part.text;
    case 'SimpleExpansion':
      return scope.valueOf(part.text.slice(1)) ?? scope.missing(part.text.slice(1));
    case 'ParameterExpansion':
      return parameterOf(part, scope);
    case 'CommandExpansion':
      return printedBy(part, scope)?.replace(/\n+$/, '') ?? UNKNOWN;
    case 'ProcessSubstitution': {
      const printed = printedBy(part, scope);
      return printed === null || part.operator !== '<' ? UNKNOWN : scope.fileOf(printed);
    }
    case 'ArithmeticExpansion':
      substitutionsIn(part, scope);
      return UNKNOWN;
  }
}

type Parameter = Extract<WordPart, { type: 'ParameterExpansion' }>;

function parameterOf(part: Parameter, scope: Scope): string {
  const { operation, parameter } = part;
  const known = scope.valueOf(parameter);
  const isPlain = part.prefix === undefined && part.index === undefined;
  if (isPlain && operation === undefined) return known ?? scope.missing(parameter);
  if (isPlain && operation?.type === 'Default') {
    const { operator } = operation;
    const looks = operator.startsWith(':');
    const missing = known === null || (looks && known.replaceAll(UNSET, '') === '');
    if (operator.endsWith('?')) {
      if (known !== '' || looks) scope.becomesSet(parameter);
      return scope.valueOf(parameter) ?? UNKNOWN;
    }
    if (operator.endsWith('+')) {
      if (known === '') return '';
      // Nothing at all where the variable is empty: what stands beside it there is never without it.
      const value = textOf(operation.operand, scope);
      return value.includes(UNSET) ? UNSET : value;
    }
    if (!missing) return known;
    const value = textOf(operation.operand, scope);
    if (operator.endsWith('=')) scope.assign(parameter, value);
    return value;
  }
  substitutionsIn(part, scope);
  // A part of nothing is nothing, too.
  return part.prefix === undefined && known === null && operation?.type !== 'Default'
    ? scope.missing(parameter)
    : UNKNOWN;
}

type Substitution = Extract<SyntaxNode, { script: ParsedScript | undefined }>;

/** The parser reads a substitution anew when it is asked for: one in another costs its length every time. */
function printedBy(node: Substitution, scope: Scope): string | null {
  if (!scope.spend(64 + 2 * (node.end - node.pos))) return null;
  return node.script === undefined ? null : scope.printed(node.script);
}

/** What is run while something is worked out whose outcome does not matter here. */
export function substitutionsIn(node: SyntaxNode, scope: Scope, depth = 0): void {
  if (depth > 256 || !scope.spend(node.type === 'Word' ? 1 + node.end - node.pos : 1)) return;
  if ('script' in node) {
    printedBy(node, scope);
    return;
  }
  forEachChild(node, (child) => {
    substitutionsIn(child, scope, depth + 1);
  });
}

const wholeList = /^"?\$(?:[@*]|\{([@*])\}|\{(\w+)\[[@*]\]\})"?$/;

/** "$@" and "${names[@]}" are as many arguments as there are. */
function listOf({ text }: Word, scope: Scope): readonly string[] | null {
  const match = text.length > 100 ? null : wholeList.exec(text);
  if (match === null) return null;
  if (match[2] === undefined) return scope.spend(scope.positional.length) ? scope.positional : [];
  const value = scope.valueOf(match[2]);
  if (value === null) return [UNKNOWN];
  return scope.spend(value.length) ? patterned(value).split(' ') : [];
}
