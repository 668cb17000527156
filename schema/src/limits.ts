/**
 * Owns: how much one operation may ask for, and saying so when it asks for more; how much is said about a wrong one.
 * Does not own: page sizes (`types/page.ts`), or when this is asked (the server's transport, before any resolver runs).
 *
 * Invariant: what a request costs before it runs grows with its size, never with size times number of mistakes.
 */
import { createComplexityRule } from '@pothos/plugin-complexity';
import {
  getOperationAST,
  getVariableValues,
  GraphQLError,
  Kind,
  parse,
  validate,
  visit,
  type DocumentNode,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type ParseOptions,
  type Source,
  type ValidationRule,
} from 'graphql';

/**
 * A full snapshot with 200 entries of history takes about half of depth and complexity and two fifths of breadth;
 * everything there is to select of a workstream, with as many, nine tenths. `tokens` and `nesting` (of brackets) bound the
 * text before anything is made of it: the largest operation of our client has 650 tokens, everything there is to select of
 * a workstream 1,850.
 */
export const operationLimits = {
  depth: 16,
  breadth: 1_500,
  complexity: 200_000,
  /** UTF-16 code units; texts that were parsed are kept by the server, so none may be large. */
  text: 50_000,
  /** The place of each mistake is found by counting the lines before it. */
  lines: 2_000,
  tokens: 4_000,
  nesting: 200,
  /** Pairs of fields of the same name: 400 times one name, or each of 20 names 90 times. */
  alike: 80_000,
  /** In the whole JSON of a request; making it of a text costs a quarter of a second for a million. */
  values: 2_000,
} as const;

/** Of the mistakes in a document this many are named, each this long and at this many places; of those in variables one. */
const told = { mistakes: 20, message: 1_000, places: 10 };

const code = 'OPERATION_TOO_LARGE';

const refuse = (message: string): GraphQLError =>
  new GraphQLError(message, { extensions: { code, http: { spec: true, status: 400 } } });

/** `parse`, which throws OPERATION_TOO_LARGE for a text that has more tokens or is nested deeper than is allowed. */
export function parseOperation(source: string | Source, options: ParseOptions = {}): DocumentNode {
  const { text, lines, tokens, nesting } = operationLimits;
  const body = typeof source === 'string' ? source : source.body;
  if (body.length > text)
    throw refuse(`The operation has more than ${text} characters. Hand values over as variables.`);
  if (body.split(/\r\n|[\r\n]/).length > lines) throw refuse(`The operation has more than ${lines} lines.`);
  if (nestsDeeper(body, nesting)) throw refuse(`The operation nests brackets more than ${nesting} deep.`);
  try {
    return parse(source, { ...options, maxTokens: tokens });
  } catch (error) {
    throw error instanceof GraphQLError && error.message.includes(`more than ${tokens} tokens`)
      ? refuse(
          `The operation has more than ${tokens} tokens. Ask for less, and hand values over as variables.`,
        )
      : (stackOverflow(error) ?? error);
  }
}

/** What to answer when an operation took the whole stack to be parsed or validated; null for any other error. */
export const stackOverflow = (error: unknown): GraphQLError | null =>
  error instanceof RangeError && error.message.includes('call stack')
    ? refuse('The operation is nested too deep, or its fragments use one another in too long a chain.')
    : null;

/** Looks at each character once; a bracket in a string or a comment is none. */
function nestsDeeper(text: string, limit: number): boolean {
  let depth = 0;
  let within: 'CODE' | 'COMMENT' | 'STRING' | 'BLOCK' = 'CODE';
  for (let i = 0; i < text.length; i++) {
    const c = text[i]!;
    const endsLine = c === '\n' || c === '\r';
    if (within === 'COMMENT') {
      if (endsLine) within = 'CODE';
    } else if (within === 'STRING') {
      if (c === '\\') i++;
      else if (c === '"' || endsLine) within = 'CODE';
    } else if (within === 'BLOCK') {
      if (c === '\\' && text.startsWith('"""', i + 1)) i += 3;
      else if (c === '"' && text.startsWith('"""', i)) [within, i] = ['CODE', i + 2];
    } else if (c === '#') within = 'COMMENT';
    else if (c === '"') [within, i] = text.startsWith('"""', i) ? ['BLOCK', i + 2] : ['STRING', i];
    else if (c === '{' || c === '[' || c === '(') depth++;
    else if (c === '}' || c === ']' || c === ')') depth--;
    if (depth > limit) return true;
  }
  return false;
}

/** Whether a JSON text has more than `limit` values, without making anything of it; a text that is no JSON may have any number. */
export function hasMoreValues(text: string, limit: number): boolean {
  let values = 1;
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === 0x22) quoted = !quoted;
    else if (quoted) i += c === 0x5c ? 1 : 0;
    else if ((c === 0x2c || c === 0x5b || c === 0x7b) && ++values > limit) return true;
  }
  return false;
}

/** `validate`, which names no more mistakes than a person would read. */
export function validateOperation(
  schema: GraphQLSchema,
  document: DocumentNode,
  rules?: readonly ValidationRule[],
): readonly GraphQLError[] {
  if (alikeFields(document) > operationLimits.alike)
    return [refuse('The operation selects fields of the same name too often. Ask in several operations.')];
  try {
    return validate(schema, document, rules, { maxErrors: told.mistakes }).map((error) => brief(error));
  } catch (error) {
    const overflow = stackOverflow(error);
    if (overflow) return [overflow];
    throw error;
  }
}

/** At most so many pairs of fields have to be compared to see whether they can be merged; about 2 µs each. */
function alikeFields(document: DocumentNode): number {
  const counts = new Map<string, number>();
  let pairs = 0;
  visit(document, {
    Field({ alias, name }) {
      const seen = counts.get((alias ?? name).value) ?? 0;
      pairs += seen;
      counts.set((alias ?? name).value, seen + 1);
    },
  });
  return pairs;
}

interface Operation {
  readonly schema: GraphQLSchema;
  readonly document: DocumentNode;
  readonly operationName?: string | null | undefined;
  readonly variableValues?: Readonly<Record<string, unknown>> | null | undefined;
}

/**
 * Why this valid document must not be executed: wrong variables (BAD_USER_INPUT), or it asks for too much
 * (OPERATION_TOO_LARGE); empty when it may be. Which operation is meant is left to execution when nobody can tell.
 */
export function refusalsOf(operation: Operation, context: object): readonly GraphQLError[] {
  const { schema, document } = operation;
  const meant = getOperationAST(document, operation.operationName);
  if (!meant) return [];
  const variables = getVariableValues(
    schema,
    meant.variableDefinitions ?? [],
    operation.variableValues ?? {},
    // Each further one would print the whole value again.
    { maxErrors: 1, hideSuggestions: true },
  );
  const wrong = variables.errors?.[0];
  if (wrong) return [brief(wrong, { code: 'BAD_USER_INPUT', http: { status: 400 } })];
  return tooLarge(operation, meant, context);
}

function tooLarge(
  { schema, document, variableValues }: Operation,
  meant: OperationDefinitionNode,
  context: object,
): readonly GraphQLError[] {
  const rule = createComplexityRule({
    context,
    variableValues: variableValues ?? {},
    validate: (asked, report) => {
      const message = describe(asked);
      if (message !== null) report(new GraphQLError(message, { extensions: { code } }));
    },
  });
  // It prices all operations there are; the others do not run.
  const definitions = document.definitions.filter((d) => d === meant || d.kind === Kind.FRAGMENT_DEFINITION);
  try {
    return validate(schema, { ...document, definitions }, [rule]).filter(
      (e) => e.extensions['code'] === code,
    );
  } catch (error) {
    const overflow = stackOverflow(error);
    if (overflow) return [overflow];
    throw error;
  }
}

/** GraphQL prints the whole value into each error about it, and names each place. */
function brief(error: GraphQLError, extensions = error.extensions): GraphQLError {
  const { message, nodes } = error;
  const shown = message.length > told.message ? `${message.slice(0, told.message).toWellFormed()}…` : message;
  return new GraphQLError(shown, { nodes: nodes?.slice(0, told.places), extensions });
}

function describe(asked: { depth: number; breadth: number; complexity: number }): string | null {
  const { depth, breadth, complexity } = operationLimits;
  if (asked.depth > depth) return `The operation is nested ${asked.depth} deep; at most ${depth} is allowed.`;
  if (asked.breadth > breadth)
    return `The operation selects ${asked.breadth} fields; at most ${breadth} are allowed.`;
  if (asked.complexity > complexity)
    return `The operation could return about ${asked.complexity} values; at most ${complexity} are allowed. Ask for smaller pages.`;
  return null;
}
