/**
 * Owns: reading, checking and evaluating one condition, in the process that is made for that (`judge-process.ts`).
 *
 * Invariants: whatever is in a condition, it is answered, and never thrown; only true and false are verdicts; each step is
 * measured before the next one is taken (`sized`), for V8 does not count a single large text against its limit in time.
 */
import type { ASTNode, Environment, ParseResult } from '@marcbachmann/cel-js';
import type { ConditionCheck, ConditionFacts, Verdict } from '../../../ports/conditions.ts';
import { dataOf } from './json.ts';
import { replaced, sized, typeName } from './language.ts';
import { explain, locate, spelling, unsoundAt, type Fault } from './messages.ts';
import { forgetPatterns, patternOf } from './patterns.ts';

/** What an ASTNode has besides what its types tell. */
interface Evaluated {
  readonly meta: { readonly evaluate: (...given: readonly unknown[]) => unknown };
  setMeta(key: 'evaluate', value: (...given: readonly unknown[]) => unknown): unknown;
}

export function checkCondition(language: Environment, expression: string): ConditionCheck {
  try {
    const { type } = read(language, expression);
    if (type === 'bool' || type === 'dyn') return { type: 'sound' };
    return unsoundAt(
      expression,
      null,
      `A condition gives true or false, and this gives ${named(type)}: ${spelling(type, expression)}`,
    );
  } catch (error) {
    const fault = explain(expression, error as Fault);
    return unsoundAt(expression, locate(fault), fault.message);
  }
}

export function judgeCondition(language: Environment, expression: string, facts: ConditionFacts): Verdict {
  try {
    const { parsed } = read(language, expression);
    const value: unknown = parsed(namesOf(facts));
    if (typeof value === 'boolean') return { type: value ? 'holds' : 'holdsNot' };
    const type = typeName(value);
    return failed(
      `A condition gives true or false, and this gave ${named(type)}: ${spelling(type, expression)}`,
    );
  } catch (error) {
    return failed(explain(expression, error as Fault).message);
  }
}

const failed = (message: string): Verdict => ({ type: 'failed', message });
const named = (type: string): string => (type === 'int' ? 'an int' : type === 'null' ? 'null' : `a ${type}`);

/** Throws what is wrong with it. */
function read(
  language: Environment,
  expression: string,
): { readonly parsed: ParseResult; readonly type: string } {
  forgetPatterns();
  const parsed = language.parse(expression);
  const nodes = [...nodesOf(parsed.ast)];
  for (const node of nodes) prepare(node);
  const { error, type = 'dyn' } = parsed.check();
  if (error) throw error;
  for (const node of nodes) measure(node as unknown as Evaluated);
  return { parsed, type };
}

/** Every node that stands in the text; those that macros make of them come to them in the end. */
function* nodesOf(root: ASTNode): Generator<ASTNode> {
  const waiting = [root];
  for (let node = waiting.pop(); node; node = waiting.pop()) {
    yield node;
    const parts: readonly unknown[] = Array.isArray(node.args) ? node.args.flat(2) : [node.args];
    waiting.push(...parts.filter(isNode));
  }
}

const isNode = (part: unknown): part is ASTNode =>
  typeof part === 'object' && part !== null && 'op' in part && 'args' in part;

/** Calls of what is replaced are renamed; bytes are refused, and so are broken patterns and reaching for what no data has. */
function prepare(node: ASTNode): void {
  if (node.op === 'call' || node.op === 'rcall') {
    const [name] = node.args;
    if (name === 'bytes') throw refusal(node, 'Bytes are not for conditions: `output` is a text already.');
    if (node.op === 'rcall' && name === 'matches') checkPattern(node.args[2][0]);
    // A tuple of the parser's own making, which nothing has read yet.
    (node.args as unknown[])[0] = replaced.get(name) ?? name;
  }
  if (node.op === 'value' && node.args instanceof Uint8Array)
    throw refusal(node, 'Bytes are not for conditions: write the text without the b before it.');
  if (node.op === '.' && /^__.*__$|^(?:constructor|prototype)$/.test(node.args[1]))
    throw refusal(
      node,
      `There is no \`.${node.args[1]}\` here. A key of that name is read as \`data["${node.args[1]}"]\`.`,
    );
}

/** One that is written in the condition; what another one is shows at a poll. */
function checkPattern(node: ASTNode | undefined): void {
  if (node?.op !== 'value' || typeof node.args !== 'string') return;
  try {
    patternOf(node.args);
  } catch (error) {
    throw refusal(node, (error as Error).message);
  }
}

const refusal = (node: ASTNode, message: string): Fault =>
  Object.assign(new Error(message), { summary: message, range: { start: node.pos, end: node.end } });

function measure(node: Evaluated): void {
  const { evaluate } = node.meta;
  node.setMeta('evaluate', (...given) => sized(evaluate(...given)));
}

/** `data` is read from the output when, and if, it is asked for. */
function namesOf({ output, prevOutput, exitCode, poll, elapsedSeconds }: ConditionFacts): object {
  let data: { readonly value: unknown } | null = null;
  return {
    output,
    get data() {
      data ??= { value: dataOf(output) };
      return data.value;
    },
    exit_code: BigInt(exitCode),
    prev_output: prevOutput,
    changed: output !== prevOutput,
    poll: BigInt(poll),
    elapsed: BigInt(elapsedSeconds),
  };
}
