/**
 * Owns: single moves of a call in the open batch. Which move is due when is decided in `calls.ts`, `stop.ts`,
 * `recovery.ts` and `approvals/decide.ts`.
 */
import type { Call, ToolResult } from 'schema/projection';
import { cutMiddle } from '../kit/cut.ts';
import { admit, patch, type StepDraft } from '../step-draft.ts';
import type { Progress, State } from '../workstream/state.ts';

/**
 * Results of a batch together, UTF-16 units: they are in the snapshot of the workstream until all are there, and one that
 * is too large cannot be read. More than a window of a million tokens holds.
 */
const maxResults = 4 * 1024 * 1024;
/** What a result may take in any case, when there is no more room for it. */
const leastResult = 2_000;

/** Writes how a call ended; a call that is not open is left alone, so none is settled twice. */
export const settleCall = (draft: StepDraft, callId: string, result: ToolResult): StepDraft => {
  const call = openCall(draft.state, callId);
  if (!call) return draft;
  const { [callId]: _, ...progress } = draft.state.progress;
  const bounded = { ...result, content: cutMiddle(result.content, roomFor(draft.state)) };
  return patch(admit(draft, { kind: 'TOOL_SETTLED', callId, name: call.name, result: bounded }), {
    progress,
  });
};

function roomFor({ projection: { batch } }: State): number {
  const taken = batch?.calls.reduce((sum, open) => sum + (open.result?.content.length ?? 0), 0) ?? 0;
  return Math.max(leastResult, maxResults - taken);
}

export const withProgress = (draft: StepDraft, callIds: readonly string[], progress: Progress): StepDraft =>
  patch(draft, {
    progress: { ...draft.state.progress, ...Object.fromEntries(callIds.map((id) => [id, progress])) },
  });

/** The declared call, if it is in the open batch and not settled. */
export const openCall = (state: State, callId: string): Call | undefined =>
  state.projection.batch?.calls.find((open) => open.call.callId === callId && open.result === null)?.call;
