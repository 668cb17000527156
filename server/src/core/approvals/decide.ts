/**
 * Owns: a person's decision on one call (D-64). The first wins under any race; what runs is hash-equal to what was
 * approved (I39, I40); a message, a steer or a stop never implies yes (I41). Anybody may decide, but only the turn's
 * principal may say something with it: feedback is a message, and runs on his credentials (D-12).
 */
import {
  isBlank,
  liveTurn,
  openCycles,
  type ApprovalCycle,
  type ApprovalDecision,
  type Author,
} from 'schema/projection';
import type { Command } from '../inputs.ts';
import { refuse } from '../refusals.ts';
import { admit, taken, type CommandResult, type StepDraft } from '../step-draft.ts';
import { settleCall, withProgress } from '../turn/batch.ts';
import { advance } from '../turn/calls.ts';
import { compactInTurn } from '../turn/compacted.ts';
import { askModel } from '../turn/model-call.ts';
import { settleTurn } from '../turn/settle.ts';

type Decide = Extract<Command, { readonly type: 'decide' }>;

export function decideApproval(draft: StepDraft, by: Author, command: Decide): CommandResult {
  const { projection } = draft.state;
  const cycle = projection.cycles.find((c) => c.id === command.cycleId);
  const item = cycle?.items.find((i) => i.callId === command.callId);
  if (item?.decision) return refuse({ code: 'ALREADY_DECIDED', decision: item.decision });
  if (!cycle || !item || cycle.status !== 'OPEN')
    return refuse({ code: 'APPROVAL_GONE', currentCycleIds: openCycles(projection).map((c) => c.id) });
  if (item.argumentsHash !== command.argumentsHash)
    return refuse({ code: 'ARGUMENTS_CHANGED', currentHash: item.argumentsHash });
  const feedback = command.feedback === null || isBlank(command.feedback) ? null : command.feedback;
  const principal = liveTurn(projection)?.principal;
  if (feedback !== null && principal && principal.id !== by.id)
    return refuse({ code: 'NOT_YOURS', author: principal });

  const decision: ApprovalDecision = {
    verdict: command.verdict,
    source: 'PERSON',
    by,
    feedback,
    at: draft.at,
  };
  const items = cycle.items.map((i) => (i === item ? { ...i, decision } : i));
  const closed = items.every((i) => i.decision !== null);
  const decided: ApprovalCycle = {
    ...cycle,
    items,
    status: closed ? 'SETTLED' : 'OPEN',
    closedAt: closed ? draft.at : null,
  };
  const noted = admit(draft, { kind: 'APPROVAL', cycle: decided });
  if (cycle.kind === 'BUDGET')
    return taken(budgetDecided(noted, decision), { type: 'Accepted', cycle: decided });
  const consequence =
    command.verdict === 'APPROVED'
      ? withProgress(noted, [item.callId], { type: 'allowed', basis: item.basis })
      : settleCall(noted, item.callId, {
          outcome: 'DENIED',
          effect: 'NONE',
          content: 'The person denied this call; it did not run.',
        });
  return taken(advance(consequence), { type: 'Accepted', cycle: decided });
}

/** Granted, it goes on where it was, and the model is told what was said with it; denied, the turn is over, and its message stays (D-33). */
function budgetDecided(draft: StepDraft, { verdict, by, feedback }: ApprovalDecision): StepDraft {
  if (verdict === 'DENIED')
    return settleTurn(draft, {
      type: 'CANCELED',
      reason: 'BUDGET_DENIED',
      message:
        'The token budget is spent, and more was denied. Set a larger one, or send a message to be asked again.',
      unconfirmed: [],
    });
  const { batch, turn } = draft.state.projection;
  if (turn?.kind === 'COMPACT') return compactInTurn(draft);
  // What was said with it follows the results.
  if (batch) return advance(draft);
  return askModel(
    feedback === null
      ? draft
      : admit(draft, { kind: 'USER', text: feedback, author: by, source: 'FEEDBACK' }),
  );
}
