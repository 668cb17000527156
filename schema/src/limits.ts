/**
 * Owns: how much one operation may ask for, and saying so when it asks for more.
 * Does not own: page sizes (`types/page.ts`), or when this is asked (the server's transport, before any resolver runs).
 */
import { createComplexityRule } from '@pothos/plugin-complexity';
import {
  GraphQLError,
  parse,
  validate,
  type DocumentNode,
  type GraphQLSchema,
  type ParseOptions,
  type Source,
} from 'graphql';

/**
 * A full snapshot with 200 entries of history takes about a third of depth, breadth and complexity. `tokens` and
 * `nesting` (of brackets) bound the text before anything is made of it: the largest operation of our client has 400
 * tokens, everything there is to select of a workstream 1,000.
 */
export const operationLimits = {
  depth: 16,
  breadth: 1_500,
  complexity: 150_000,
  /** UTF-16 code units; texts that were parsed are kept by the server, so none may be large. */
  text: 100_000,
  tokens: 10_000,
  nesting: 200,
} as const;

const code = 'OPERATION_TOO_LARGE';

const refuse = (message: string): GraphQLError =>
  new GraphQLError(message, { extensions: { code, http: { spec: true, status: 400 } } });

/** `parse`, which throws OPERATION_TOO_LARGE for a text that has more tokens or is nested deeper than is allowed. */
export function parseOperation(source: string | Source, options: ParseOptions = {}): DocumentNode {
  const { text, tokens, nesting } = operationLimits;
  const body = typeof source === 'string' ? source : source.body;
  if (body.length > text)
    throw refuse(`The operation has more than ${text} characters. Hand values over as variables.`);
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

/** Why this operation is too large; empty when it is not. Wrong variables are left to execution, which names them better. */
export function tooLarge(
  operation: {
    readonly schema: GraphQLSchema;
    readonly document: DocumentNode;
    readonly operationName?: string | null | undefined;
    readonly variableValues?: Readonly<Record<string, unknown>> | null | undefined;
  },
  context: object,
): readonly GraphQLError[] {
  const rule = createComplexityRule({
    context,
    variableValues: operation.variableValues ?? {},
    operationName: operation.operationName ?? null,
    validate: (asked, report) => {
      const message = describe(asked);
      if (message !== null) report(new GraphQLError(message, { extensions: { code } }));
    },
  });
  try {
    return validate(operation.schema, operation.document, [rule]).filter(
      (e) => e.extensions['code'] === code,
    );
  } catch (error) {
    const overflow = stackOverflow(error);
    if (overflow) return [overflow];
    throw error;
  }
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
