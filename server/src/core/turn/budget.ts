/**
 * Owns: the budget of a workstream (D-33): before a model is asked, for an answer or for a summary, and when that much is
 * spent, a person is asked.
 *
 * Invariants: the question has one item without arguments, which no mode answers; what was admitted stays whatever the
 * answer is; a Stop is no answer.
 */
import { liveTurn, type ApprovalCycle } from 'schema/projection';
import { admit, mint, type StepDraft } from '../step-draft.ts';
import type { State } from '../workstream/state.ts';

/** The name in the place of a tool's. */
const name = 'budget';
/** SHA-256 (hex) over the name, a line feed and no arguments, as of every item (D-64). */
const argumentsHash = 'a3931a7883732bd1cbd768e148e6ffe0f6823912e72b592011a2c9bf14736107';

/** True when no more may be spent without asking. */
export const isSpent = ({ spent, projection: { budgetLimit } }: State): boolean =>
  budgetLimit !== null && spent >= budgetLimit;

/** Tokens that may be spent before that. */
export const allowanceOf = ({ spent, projection: { budgetLimit } }: State): number =>
  budgetLimit === null ? Number.POSITIVE_INFINITY : Math.max(0, budgetLimit - spent);

/** Asks for more; what was to be asked of a model is asked when that is granted (`approvals/decide.ts`). */
export function askForBudget(draft: StepDraft): StepDraft {
  const { spent, projection } = draft.state;
  const grant = projection.configuration.tokenBudget ?? 0;
  const limit = projection.budgetLimit ?? 0;
  const [d, id] = mint(draft);
  const [next, callId] = mint(d);
  const cycle: ApprovalCycle = {
    id,
    kind: 'BUDGET',
    budget: { spent, limit, grant },
    turnId: liveTurn(projection)!.id,
    status: 'OPEN',
    items: [
      {
        callId,
        name,
        arguments: '',
        argumentsHash,
        preview: {
          kind: 'TEXT',
          title: 'Spend more tokens?',
          body: `This workstream has spent ${tokens(spent)} tokens; its budget is ${tokens(limit)}. Approve to let it spend ${tokens(grant)} more, deny to end the turn here.`,
        },
        basis: null,
        decision: null,
      },
    ],
    openedAt: draft.at,
    closedAt: null,
  };
  return admit(next, { kind: 'APPROVAL', cycle });
}

const tokens = (n: number): string => new Intl.NumberFormat('en').format(n);
