/**
 * Owns: how a live turn goes on in another process (D-70, D-71): by what it was doing when its process died. Same
 * turn, new generation; an outcome that was not observed is UNKNOWN, never none (D-9); nothing ambiguous is run again
 * (I37); a question to a person stays open under the same ids (I44).
 */
import {
  activityOf,
  isCompacting,
  isStopping,
  liveTurn,
  openCycles,
  type BatchCall,
  type Projection,
} from 'schema/projection';
import { admit, type StepDraft } from '../step-draft.ts';
import { onlyWaits } from '../workstream/lifecycle.ts';
import { settleCall, withProgress } from './batch.ts';
import { advance, prepareCalls } from './calls.ts';
import { resumeCompaction } from './compacted.ts';
import { askModel } from './model-call.ts';
import { settleTurn } from './settle.ts';
import { finishStop } from './stop.ts';
import { transition } from './transitions.ts';

/** Recoveries in a row of a working turn that end it (D-71). */
const maxRecoveries = 3;

export function recover(draft: StepDraft): StepDraft {
  const { projection } = draft.state;
  const turn = liveTurn(projection);
  if (!turn) return draft;
  const waits = onlyWaits(projection);
  const recoveries = waits ? turn.recoveries : turn.recoveries + 1;
  const generation = projection.generation + 1;
  const reclaimed = transition(turn, turn.id, { type: 'reclaim', generation, recoveries }, draft.at);
  if (!reclaimed) return draft;
  const what = describe(projection);
  const claimed = admit(admit(draft, { kind: 'TURN', turn: reclaimed }), { kind: 'RECOVERY', ...what });
  if (isStopping(projection))
    return finishStop(markLost(claimed), 'Stopped; the server restarted meanwhile.');
  if (!waits && recoveries >= maxRecoveries) return exhausted(claimed);
  if (isCompacting(projection)) return resumeCompaction(claimed);
  // A question about the budget stands before whatever is asked of a model next.
  if (activityOf(projection) === 'BUDGET') return claimed;
  return projection.batch ? resumeBatch(markLost(claimed)) : askModel(claimed);
}

function describe(p: Projection): { readonly reason: string; readonly message: string } {
  if (isStopping(p)) return { reason: 'STOP', message: 'The server restarted while the turn was stopping.' };
  if (openCycles(p).length > 0)
    return { reason: 'APPROVAL', message: 'The workstream was loaded again; the question is still open.' };
  if (isCompacting(p))
    return {
      reason: 'COMPACTION',
      message: 'The server restarted while history was being summarised; that begins again.',
    };
  if (p.batch)
    return { reason: 'TOOLS', message: 'The server restarted while tools were running; the turn goes on.' };
  return { reason: 'MODEL', message: 'The server restarted during the answer; the model is asked again.' };
}

/** Calls that had started and whose end nobody saw. */
function markLost(draft: StepDraft): StepDraft {
  const lost = (draft.state.projection.batch?.calls ?? []).filter((c) => c.started && c.result === null);
  return lost.reduce(
    (d, { call }) =>
      settleCall(d, call.callId, {
        outcome: 'CANCELED',
        effect: 'UNKNOWN',
        // Not that it was ended: what left its group and dropped its marker is not found, and may live (D-9).
        content:
          'The server stopped while this call was running. What it did is unknown, and what it started may still run. Look before doing it again.',
      }),
    draft,
  );
}

/** Approved calls may start now, undecided ones stay open, the rest is prepared again. */
function resumeBatch(draft: StepDraft): StepDraft {
  const { batch, cycles } = draft.state.projection;
  const items = new Map(cycles.flatMap((cycle) => cycle.items).map((item) => [item.callId, item]));
  const unsettled = (batch?.calls ?? []).filter((open) => open.result === null).map(idOf);
  const approved = unsettled.filter((id) => items.get(id)?.decision?.verdict === 'APPROVED');
  const asked = unsettled.filter((id) => items.has(id) && items.get(id)?.decision === null);
  const fresh = unsettled.filter((id) => !items.has(id));
  const allowed = approved.reduce(
    (d, id) => withProgress(d, [id], { type: 'allowed', basis: items.get(id)?.basis ?? null }),
    withProgress(draft, asked, { type: 'asking' }),
  );
  return advance(prepareCalls(allowed, fresh));
}

const idOf = (open: BatchCall): string => open.call.callId;

const exhausted = (draft: StepDraft): StepDraft =>
  settleTurn(markLost(draft), {
    type: 'FAILED',
    reason: 'RECOVERY_EXHAUSTED',
    message: `The server stopped ${maxRecoveries} times in a row during this turn, so it was given up; send a message to go on.`,
    unconfirmed: [],
  });
