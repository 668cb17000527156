/**
 * Owns: a batch of tool calls, from its declaration to its results (D-34).
 *
 *   declared → preparing → allowed | asking → (approved) allowed → running → settled;  invalid, denied → settled
 *
 * Invariants: at most `slots` calls of a turn run at once; none runs before its ASSISTANT and TOOL_STARTED entries
 * are durable (D-2, I36); results become TOOL entries in call order, all in one batch, before the next model call (I38).
 */
import {
  compactionAdvice,
  liveTurn,
  outputTail,
  type ApprovalDecision,
  type ApprovalItem,
  type Call,
  type Configuration,
  type ToolResult,
} from 'schema/projection';
import { rule } from '../approvals/policy.ts';
import type { PreparedCall } from '../approvals/prepared.ts';
import { isOverSoft, usedOf } from '../context/meter.ts';
import { sizeResults } from '../context/sizing.ts';
import { adviceToWindDown } from '../context/texts.ts';
import { estimateTokens } from '../context/tokens.ts';
import { admit, mint, patch, perform, performAfter, show, stampOf, type StepDraft } from '../step-draft.ts';
import { actionOf, runWatchTool, whyInVain, type WatchAction } from '../watches/tool.ts';
import { contextOf, isLatched } from '../workstream/state.ts';
import { openCall, settleCall, withProgress } from './batch.ts';
import { askForBudget, isSpent } from './budget.ts';
import { beginCompaction, isHopeless, isOwed } from './compaction.ts';
import { askModel } from './model-call.ts';
import { landSteers } from './queue.ts';
import { finishStop } from './stop.ts';

/** Calls of one turn that may run at the same time (D-34). */
const slots = 4;

export interface Prepared {
  readonly callId: string;
  readonly prepared: PreparedCall;
}

/** Validates and previews these calls of the open batch. */
export function prepareCalls(draft: StepDraft, callIds: readonly string[]): StepDraft {
  const calls = (draft.state.projection.batch?.calls ?? [])
    .map((open) => open.call)
    .filter((call) => callIds.includes(call.callId));
  if (calls.length === 0) return draft;
  return perform(withProgress(draft, callIds, { type: 'preparing' }), {
    type: 'prepareCalls',
    stamp: stampOf(draft.state),
    calls,
    workspace: draft.state.projection.configuration.workspace,
  });
}

/**
 * What the calls would do is known: some are settled, some may run, the rest is one question to a person. What the
 * mode answers in a person's place stands in the same rows (D-64).
 */
export function callsPrepared(draft: StepDraft, all: readonly Prepared[]): StepDraft {
  const prepared = all.filter(({ callId }) => draft.state.progress[callId]?.type === 'preparing');
  if (isLatched(liveTurn(draft.state.projection)) || prepared.length === 0) return draft;
  const { configuration } = draft.state.projection;
  const items: ApprovalItem[] = [];
  let d = draft;
  for (const { callId, prepared: p } of prepared) {
    const call = openCall(d.state, callId);
    if (!call) continue;
    if (p.type === 'invalid') {
      d = settleCall(d, callId, { outcome: 'ERROR', effect: 'NONE', content: p.message });
      continue;
    }
    const { argumentsHash, preview, basis } = p;
    const action = actionOf(call.name, basis);
    const inVain = action && whyInVain(d, action, earlierActions(d, callId, prepared));
    if (inVain !== null) {
      d = settleCall(d, callId, { outcome: 'ERROR', effect: 'NONE', content: inVain });
      continue;
    }
    const ruling = rule(p.access, configuration.approvalMode);
    const decision = ruling === 'TRUSTED' ? trusted(configuration, d.at) : null;
    if (ruling !== 'FREE')
      items.push({
        callId,
        name: call.name,
        arguments: call.arguments,
        argumentsHash,
        preview,
        basis,
        decision,
      });
    d = withProgress(d, [callId], ruling === 'ASK' ? { type: 'asking' } : { type: 'allowed', basis });
  }
  return advance(items.length > 0 ? openCycle(d, items) : d);
}

/** What the calls before this one are to do to watches, and have not done yet. */
function earlierActions(
  draft: StepDraft,
  callId: string,
  prepared: readonly Prepared[],
): readonly WatchAction[] {
  const calls = draft.state.projection.batch?.calls ?? [];
  return calls
    .slice(
      0,
      calls.findIndex(({ call }) => call.callId === callId),
    )
    .filter(({ result }) => result === null)
    .flatMap(({ call }) => {
      const now = prepared.find((other) => other.callId === call.callId)?.prepared;
      const known = draft.state.progress[call.callId];
      const basis = now?.type === 'ready' ? now.basis : known?.type === 'allowed' ? known.basis : null;
      const action = actionOf(call.name, basis);
      return action ? [action] : [];
    });
}

/** Starts what may start, and closes the batch when everything in it is settled. */
export function advance(draft: StepDraft): StepDraft {
  return closeBatch(fillSlots(draft));
}

/** A call has ended, as its tool saw it. */
export function toolEnded(draft: StepDraft, callId: string, result: ToolResult): StepDraft {
  if (draft.state.progress[callId]?.type !== 'running') return draft;
  if (!isLatched(liveTurn(draft.state.projection))) return advance(settleCall(draft, callId, result));
  // Bytes of a stopped call were never reviewed: its effect is kept, its output is not (D-65, I60).
  const content = `Stopped while running. Effect on the world: ${result.effect}.`;
  return finishStop(settleCall(draft, callId, { ...result, outcome: 'CANCELED', content }));
}

/** Live output of a running call: shown, never an entry. */
export function toolOutput(draft: StepDraft, callId: string, text: string): StepDraft {
  if (draft.state.progress[callId]?.type !== 'running' || text === '') return draft;
  const { overlay } = draft.state;
  const known = overlay.tools[callId] ?? { offset: 0, text: '' };
  const next = outputTail({ offset: known.offset, text: known.text + text });
  const shown = patch(draft, { overlay: { ...overlay, tools: { ...overlay.tools, [callId]: next } } });
  return show(shown, { type: 'ToolOutputChunk', callId, offset: known.offset + known.text.length, text });
}

/** The decision that the mode makes, in the name of who set it. */
function trusted({ approvalMode, approvalModeBy }: Configuration, at: string): ApprovalDecision | null {
  if (approvalMode === 'ASK') return null;
  return { verdict: 'APPROVED', source: approvalMode, by: approvalModeBy, feedback: null, at };
}

function openCycle(draft: StepDraft, items: readonly ApprovalItem[]): StepDraft {
  const [d, id] = mint(draft);
  const turnId = liveTurn(d.state.projection)!.id;
  const open = items.some((item) => item.decision === null);
  return admit(d, {
    kind: 'APPROVAL',
    cycle: open
      ? { id, kind: 'TOOLS', turnId, status: 'OPEN', items, openedAt: d.at, closedAt: null }
      : { id, kind: 'TOOLS', turnId, status: 'SETTLED', items, openedAt: d.at, closedAt: d.at },
  });
}

function fillSlots(draft: StepDraft): StepDraft {
  let d = draft;
  for (const open of draft.state.projection.batch?.calls ?? []) {
    const running = Object.values(d.state.progress).filter((p) => p.type === 'running').length;
    if (running >= slots) break;
    const progress = d.state.progress[open.call.callId];
    if (progress?.type !== 'allowed') continue;
    const { call } = open;
    const action = actionOf(call.name, progress.basis);
    if (action) {
      d = doneHere(d, call, action);
      continue;
    }
    d = performAfter(
      withProgress(admit(d, { kind: 'TOOL_STARTED', callId: call.callId, name: call.name }), [call.callId], {
        type: 'running',
      }),
      {
        type: 'runTool',
        stamp: stampOf(d.state),
        call,
        basis: progress.basis,
        workspace: d.state.projection.configuration.workspace,
      },
    );
  }
  return d;
}

/** A call that only writes in the journal: it is done with the entry that says so. */
function doneHere(draft: StepDraft, call: Call, action: WatchAction): StepDraft {
  const { cycles, turn } = draft.state.projection;
  const item = cycles.flatMap((cycle) => cycle.items).find(({ callId }) => callId === call.callId);
  const started = admit(draft, { kind: 'TOOL_STARTED', callId: call.callId, name: call.name });
  const done = runWatchTool(started, action, item?.decision?.by ?? turn!.principal);
  return settleCall(done.draft, call.callId, done.result);
}

function closeBatch(draft: StepDraft): StepDraft {
  const { batch } = draft.state.projection;
  if (!batch || batch.calls.some((open) => open.result === null)) return draft;
  const { window, scale } = contextOf(draft.state);
  const most = (window ?? 0) / 2 / scale;
  const tokens = batch.calls.reduce(
    (sum, { result }) => sum + Math.min(most, estimateTokens(result!.content)),
    0,
  );
  if (!isOwed(draft.state, tokens)) return finishBatch(draft);
  // Asked now, the results still wait for the summary when it is granted.
  if (isSpent(draft.state)) return askForBudget(draft);
  return beginCompaction(draft, 'TOOLS') ?? finishBatch(draft);
}

/** All results in one batch, as long as there is room for, then what was said meanwhile; then the model is asked. */
export function finishBatch(draft: StepDraft): StepDraft {
  const { batch, cycles } = draft.state.projection;
  if (!batch) return draft;
  const feedback = cycles
    .flatMap((cycle) => cycle.items)
    .flatMap(({ decision }) => (decision?.feedback ? [{ by: decision.by, text: decision.feedback }] : []));
  const results = sizeResults(
    batch.calls.map(({ result }) => result!),
    contextOf(draft.state),
  );
  const answered = batch.calls.reduce(
    (d, { call }, i) => admit(d, { kind: 'TOOL', callId: call.callId, name: call.name, ...results[i]! }),
    draft,
  );
  // The advice stands before what a person says, which is the last word.
  const heard = feedback.reduce(
    (d, { by, text }) => admit(d, { kind: 'USER', text, author: by, source: 'FEEDBACK' }),
    advise(answered),
  );
  return askModel(landSteers(heard));
}

/** Once in a turn the model is told that its context is nearly full, so that it can wind down (D-40). */
function advise(draft: StepDraft): StepDraft {
  const context = contextOf(draft.state);
  if (context.advised || context.window === null || !isOverSoft(context)) return draft;
  // What came to nothing before will not come after it winds down.
  if (isHopeless(draft.state)) return draft;
  const percent = Math.min(100, Math.round((usedOf(context) / context.window) * 100));
  return admit(draft, { kind: 'SYSTEM', text: adviceToWindDown(percent), source: compactionAdvice });
}
