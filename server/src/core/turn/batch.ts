/**
 * Owns: single moves of a call in the open batch. Which move is due when is decided in `calls.ts`, `stop.ts`,
 * `recovery.ts` and `approvals/decide.ts`.
 */
import type { Call, ToolResult } from 'schema/projection';
import { admit, patch, type StepDraft } from '../step-draft.ts';
import type { Progress, State } from '../workstream/state.ts';

/** Writes how a call ended; a call that is not open is left alone, so none is settled twice. */
export const settleCall = (draft: StepDraft, callId: string, result: ToolResult): StepDraft => {
  const call = openCall(draft.state, callId);
  if (!call) return draft;
  const { [callId]: _, ...progress } = draft.state.progress;
  return patch(admit(draft, { kind: 'TOOL_SETTLED', callId, name: call.name, result }), { progress });
};

export const withProgress = (draft: StepDraft, callIds: readonly string[], progress: Progress): StepDraft =>
  patch(draft, {
    progress: { ...draft.state.progress, ...Object.fromEntries(callIds.map((id) => [id, progress])) },
  });

/** The declared call, if it is in the open batch and not settled. */
export const openCall = (state: State, callId: string): Call | undefined =>
  state.projection.batch?.calls.find((open) => open.call.callId === callId && open.result === null)?.call;
