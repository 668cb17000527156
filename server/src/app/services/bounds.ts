/** Owns: which instructions and which budget a workstream may be given. */
import type { InvalidInput } from 'schema/outcome';
import { isBlank } from 'schema/projection';
import { invalid } from '../views/refusals.ts';

/** Longest instructions of a workstream, UTF-16 code units. */
const maxInstructions = 20_000;
/** Least budget there is, tokens: below it a person would be asked before every answer. */
const leastBudget = 1_000;

interface Asked {
  /** Null: not said. */
  readonly instructions: string | null;
  readonly tokenBudget: number | null;
}

/** As the core takes it: absent is not said, empty and 0 are none. */
export interface Bounds {
  readonly instructions?: string;
  readonly tokenBudget?: number;
}

/** What is asked for, if it can be had. */
export function chooseBounds({
  instructions,
  tokenBudget,
}: Asked): { readonly type: 'chosen'; readonly bounds: Bounds } | InvalidInput {
  if (instructions !== null && instructions.length > maxInstructions)
    return invalid(
      'instructions',
      `Instructions may have at most 20,000 characters; these have ${instructions.length}. Put the rest in AGENTS.md in the folder of the workstream.`,
    );
  if (tokenBudget !== null && tokenBudget !== 0 && !(tokenBudget >= leastBudget))
    return invalid('tokenBudget', 'A budget is at least 1,000 tokens, or 0 for none.');
  return {
    type: 'chosen',
    bounds: {
      ...(instructions !== null && { instructions: isBlank(instructions) ? '' : instructions }),
      ...(tokenBudget !== null && { tokenBudget }),
    },
  };
}

/** What of it a new workstream is set to. */
export const withoutNone = ({ instructions, tokenBudget }: Bounds): Bounds => ({
  ...(instructions && { instructions }),
  ...(tokenBudget && { tokenBudget }),
});
