/**
 * Owns: how much one operation may ask for, and saying so when it asks for more.
 * Does not own: page sizes (`types/page.ts`), or when this is asked (the server's transport, before any resolver runs).
 */
import { createComplexityRule } from '@pothos/plugin-complexity';
import { GraphQLError, validate, type DocumentNode, type GraphQLSchema } from 'graphql';

/** A full snapshot with 200 entries of history takes about a third of each. */
export const operationLimits = { depth: 16, breadth: 1_500, complexity: 150_000 } as const;

const code = 'OPERATION_TOO_LARGE';

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
  return validate(operation.schema, operation.document, [rule]).filter((e) => e.extensions['code'] === code);
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
