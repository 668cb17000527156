/**
 * Owns: what a person or a model is told of a condition that cannot be judged: where, what, and what to write instead.
 *
 * Invariant: one sentence or two, without line breaks, and never longer than a few hundred characters, whatever the
 * condition holds.
 */
import type { ASTNode } from '@marcbachmann/cel-js';
import type { ConditionCheck } from '../../../ports/conditions.ts';
import { habitAt, type Habit, type Wrong } from './habits.ts';
import { functionNames, names, replaced } from './language.ts';
import { tooLarge } from './protocol.ts';

/** As cel-js throws it; of other errors there is only the message. */
export interface Fault extends Error {
  readonly code?: string;
  readonly summary?: string;
  readonly range?: { readonly start: number; readonly end: number };
  readonly node?: unknown;
}

export interface Explained {
  readonly message: string;
  /** Of the first character it is about; null: of the whole. */
  readonly at: number | null;
}

/** `at` counts UTF-16 code units, from 0. */
export function unsoundAt(expression: string, at: number | null, message: string): ConditionCheck {
  if (at === null) return { type: 'unsound', message, line: 1, column: null };
  const before = expression.slice(0, at).split('\n');
  return {
    type: 'unsound',
    message,
    line: before.length,
    // As the text field of an editor counts, which puts its mark there.
    column: (before.at(-1) ?? '').length + 1,
  };
}

export const locate = ({ at }: Explained): number | null => at;

export function explain(expression: string, fault: Fault): Explained {
  const at = fault.range?.start ?? null;
  // Deeper than the stack: the parser counts brackets, but not signs.
  if (fault instanceof RangeError && fault.message.includes('call stack'))
    return { message: 'The condition is nested too deeply.', at };
  if (fault instanceof RangeError && fault.message.startsWith('Invalid')) return { message: tooLarge, at };
  const habit = fault.range && habitAt(expression, fault.range, wrongIn(fault));
  if (habit) return habitual(expression, habit);
  return { message: oneLine(told(expression, fault)), at };
}

const habitual = (expression: string, { start, end, instead }: Habit): Explained => ({
  message: oneLine(`CEL does not know ${quoted(expression.slice(start, end))}: ${instead}`),
  at: start,
});

function wrongIn({ name, code }: Fault): Wrong {
  if (name === 'ParseError') return 'SYNTAX';
  return code === 'unknown_variable' ? 'NAME' : 'TYPE';
}

function told(expression: string, fault: Fault): string {
  const summary = fault.summary ?? fault.message;
  const node = fault.node as ASTNode | undefined;
  const source = fault.range ? wholeAt(expression, fault.range) : '';
  switch (fault.code) {
    case 'unexpected_token':
    case 'unexpected_character':
      return source.trim() === ''
        ? 'The condition ends here, and something is missing.'
        : `${quoted(source)} cannot stand here.`;
    case 'expected_token':
      return source.trim() === ''
        ? `The condition ends here, and ${expected(summary)} is missing.`
        : `${quoted(source)} cannot stand here: ${expected(summary)} is missing.`;
    case 'unterminated_string':
    case 'unterminated_triple_quoted_string':
      return `The text that begins here has no end: close it with ${
        expression
          .slice(fault.range?.start)
          .match(/["']+/)?.[0]
          .slice(0, fault.code === 'unterminated_string' ? 1 : 3) ?? 'its quotes'
      }, and write \`\\\\\` for a backslash in it.`;
    case 'newline_in_string':
      return 'A text ends in the line it begins in: close it there, write `\\n` for a line end in it, or put it between `"""`.';
    case 'invalid_escape_sequence':
    case 'invalid_octal_escape':
    case 'octal_escape_out_of_range':
    case 'invalid_hex_escape':
    case 'invalid_unicode_escape':
    case 'invalid_unicode_surrogate':
      return `${quoted(source)} means nothing in a text: write \`\\\\\` for a backslash, as in \`"\\\\d+"\`, or put r before the text, as in \`r"\\d+"\`.`;
    case 'limit_exceeded':
      return `The condition is too large here, or nested too deeply: ${summary}.`;
    case 'unknown_variable':
      return `There is no name ${quoted(source)} here. There are: ${names.join(', ')}.`;
    case 'no_matching_overload':
      return uncallable(summary);
    case 'no_such_overload':
      return unfit(summary, node);
    case 'invalid_logical_operand':
      return operand(node);
    case 'invalid_condition_type':
      return `Before \`?\`, and in a macro, stands what is true or false. ${summary}: ${spellingOf(node)}`;
    case 'incompatible_ternary_branches':
      return `Both sides of \`:\` have the same type, here true or false: write for instance \`exit_code == 0 ? output != "" : false\`. ${summary}.`;
    case 'cannot_index_type':
      return summary.includes("'string'")
        ? 'A text has no items: write `output.startsWith("x")` to ask how it begins, `output.substring(0, 1)` for the first character of one that is not empty, `output.splitlines()[0]` for its first line, or `data` for the JSON in it.'
        : `${summary}.`;
    case 'no_such_key':
      return `The data has no ${quoted(summary.replace(/^No such key: /, ''))}, or is no JSON: \`data.get("key")\` gives null for what is not there, and \`has(data.key)\` says whether it is.`;
    case 'index_out_of_bounds':
      return `The list is not that long: \`list.get(-1)\` is its last item, and null if there is none.`;
    case 'invalid_comprehension_range':
      return summary.includes("'null'")
        ? 'There is nothing to go through, for this is null: the output is no JSON, or the key is not there.'
        : 'Only a list or a map can be gone through.';
    case 'unsupported_type':
      return 'This is nothing that a condition can work with.';
    default:
      return summary;
  }
}

/** What stands there; whole characters, where the parser saw half of one. */
function wholeAt(
  expression: string,
  { start, end }: { readonly start: number; readonly end: number },
): string {
  const isHalf = (at: number): boolean => (expression.codePointAt(at - 1) ?? 0) > 0xffff;
  return expression.slice(isHalf(start) ? start - 1 : start, isHalf(end) ? end + 1 : end);
}

/** `found no matching overload for 'sum(dyn)'`, `… 'null.contains(string)'` */
function uncallable(summary: string): string {
  const [, receiver, name = '', given = ''] = /'(?:([^('.]+(?:<.*>)?)\.)?(\w+)\((.*)\)'/.exec(summary) ?? [];
  const said = unreplaced(name);
  if (receiver === 'null')
    return `Null has no \`${said}\`: ask first, as in \`prev_output != null && prev_output.contains("x")\` or \`data != null && …\`.`;
  if (receiver === 'list' && said === 'contains') return 'A list has no `contains`: write `"x" in data`.';
  if (receiver !== undefined)
    return `A ${receiver.replace(/<.*/, '')} has no \`${said}(${given})\`. Texts have contains, startsWith, endsWith, matches, strip, lower, upper, splitlines, split, substring and indexOf; lists and maps have get, exists, all, filter and map.`;
  if (isKnown(said))
    return given.includes('null')
      ? `\`${said}\` does not take null: the output is no JSON, or the key is not there.`
      : `\`${said}\` does not take ${given === '' ? 'nothing' : given}.`;
  return `There is no function \`${said}(${given})\`. There are: ${functionNames}.`;
}

const isKnown = (name: string): boolean => functionNames.split(', ').includes(name) || ownOfCel.has(name);
const ownOfCel = new Set(['size', 'string', 'double', 'uint', 'type', 'timestamp', 'duration', 'dyn', 'has']);

/** `no such overload: string == null`, `… !string` */
function unfit(summary: string, node: ASTNode | undefined): string {
  const [, left, operator = '', right] =
    /^no such overload: (.+?) (==|!=|in|[-+*/%]|[<>]=?) (.+)$/.exec(
      summary.replaceAll(/dyn<(\w+)[^ ]*>/g, '$1'),
    ) ?? [];
  const negated = /^no such overload: !(.+)$/.exec(summary);
  if (negated) {
    const inner = node?.op === '!_' ? sourceOf(node.args) : '';
    return `\`!\` needs what is true or false, not a ${negated[1]}${inner === '' ? '' : `: write \`${emptiness(negated[1] ?? '', inner)}\``}.`;
  }
  if (left === undefined) return `${summary}.`;
  if (left === 'bool' && /^[<>]=?$/.test(operator) && node && isChained(node)) return chained(node);
  if (operator === '%' && left === 'string')
    return 'Texts are put together with `+`: write `"exit " + str(exit_code)`.';
  if (left === 'string' && right === 'int')
    return `A text and a number do not go together with \`${operator}\`: write \`int(…)\` around the text.`;
  if (left === 'string' && right === 'null') return 'A text is never null: write `output == ""`.';
  if (isOfNumbers(left) && isOfNumbers(right) && /^(?:==|!=|in)$/.test(operator))
    return `Whole numbers and fractions in lists and maps are compared as data: write \`dyn(…)\` around both sides of \`${operator}\`.`;
  if (operator === 'in')
    return `\`in\` looks for a text in a text, an item in a list or a key in a map, not for a ${left} in a ${right}.`;
  return `\`${operator}\` is not defined for ${left} and ${right}.`;
}

/** `list<int>`, `map<string, double>`, `double` */
const isOfNumbers = (type = ''): boolean => /(?:^|[< ])(?:u?int|double)>*$/.test(type);

const isChained = (node: ASTNode): boolean =>
  Array.isArray(node.args) && isComparison(node.args[0] as ASTNode | undefined);
const isComparison = (node: ASTNode | undefined): boolean =>
  node !== undefined && /^(?:[<>]=?|==|!=)$/.test(node.op);

/** `0 < n < 10` → `0 < n && n < 10` */
function chained(node: ASTNode): string {
  const [first, last] = node.args as [ASTNode, ASTNode];
  const [, middle] = first.args as [ASTNode, ASTNode];
  return `Comparisons are not chained: write \`${short(`${sourceOf(first)} && ${sourceOf(middle)} ${node.op} ${sourceOf(last)}`)}\`.`;
}

/** Which side of `&&` or `||` is not true or false, and how to make it so. */
function operand(node: ASTNode | undefined): string {
  const sides = node && Array.isArray(node.args) ? (node.args as ASTNode[]) : [];
  const wrong = sides.find((side) => !/^(?:bool|dyn)/.test(typeOf(side)));
  const what = 'On both sides of `&&` and `||` stands what is true or false';
  return wrong
    ? `${what}, and ${quoted(sourceOf(wrong))} is a ${typeOf(wrong).replace(/<.*/, '')}: ${spelling(typeOf(wrong), sourceOf(wrong))}`
    : `${what}: write for instance \`output != ""\` or \`data != null\`.`;
}

const spellingOf = (node: ASTNode | undefined): string =>
  node ? spelling(typeOf(node), sourceOf(node)) : 'write a comparison.';

/** Known once it was checked. */
const typeOf = (node: ASTNode): string =>
  (node as ASTNode & { readonly checkedType?: { readonly name: string } }).checkedType?.name ?? 'dyn';

const sourceOf = (node: ASTNode): string => node.input.slice(node.start, node.end);

/** How to ask of a value of this type what was meant by naming it alone. */
export function spelling(type: string, source: string): string {
  const text = source.trim();
  const simple = /^[\w.]+(?:\([^()]*\)|\[[^[\]]*\])*$/.test(text) ? text : `(${text})`;
  const of = text.length <= 80 && !text.includes('\n') ? simple : '(…)';
  const kind = type.replace(/<.*/, '');
  if (kind === 'null') return `write \`${text === 'null' ? 'data' : of} == null\`.`;
  return `write \`${presence(kind, of)}\`.`;
}

function presence(kind: string, of: string): string {
  switch (kind) {
    case 'string':
      return `${of} != ""`;
    case 'int':
      return `${of} != 0`;
    case 'uint':
      return `${of} != 0u`;
    case 'double':
      return `${of} != 0.0`;
    case 'list':
    case 'map':
      return `len(${of.replace(/^\((.*)\)$/s, '$1')}) > 0`;
    default:
      return `${of} != null`;
  }
}

/** The opposite. */
const emptiness = (type: string, of: string): string =>
  presence(type.replace(/<.*/, ''), short(of)).replace(' != ', ' == ').replace(' > 0', ' == 0');

const unreplaced = (name: string): string =>
  [...replaced].find(([own, by]) => by === name && own !== 'double')?.[0] ?? name;

/** `Expected RPAREN, got EOF` */
function expected(summary: string): string {
  const name = /^Expected (\w+)/.exec(summary)?.[1] ?? '';
  return written[name] === undefined ? 'something' : `\`${written[name]}\``;
}

const written: Readonly<Record<string, string>> = {
  RPAREN: ')',
  RBRACKET: ']',
  RBRACE: '}',
  COLON: ':',
  IDENTIFIER: 'name',
};

const short = (text: string): string =>
  text.length > 80 ? `${wholeAt(text, { start: 0, end: 80 })}…` : text;
const quoted = (text: string): string => `\`${short(text.trim()).replaceAll('`', "'")}\``;

/** Control characters, too, that a text in the condition may hold. */
const oneLine = (message: string): string => {
  const line = message.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim();
  return line.length > 500 ? `${wholeAt(line, { start: 0, end: 498 })}…` : line;
};
