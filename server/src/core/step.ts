/**
 * Owns: the one function by which a workstream changes (D-1). One input, one step, one batch.
 *
 * Does not own: what each input means (the families in `turn/`, `approvals/`, `workstream/`), or doing anything
 * (the actor's performers).
 *
 * Invariants: pure; a stale stamp changes nothing (D-5); a refusal changes nothing (D-11); entries of a step have
 * consecutive revisions after the head (I1); held deeds leave only when their batch is durable and the turn they
 * belong to still lives, unlatched, under the same claim (D-2).
 */
import { applyEntries, liveTurn, type Entry, type FeedItem } from 'schema/projection';
import type { Effect } from './effects.ts';
import { isCurrent } from './fence.ts';
import type { Input, Timed, World } from './inputs.ts';
import { receiptKey, type Receipt } from './journal/receipt.ts';
import { storable } from './kit/storable.ts';
import { spentBy, type ModelCall } from './models/spending.ts';
import { isRecorded, refuse, type Acceptance, type CoreRefusal } from './refusals.ts';
import { isOfTurn, openDraft, patch, perform, record, type StepDraft } from './step-draft.ts';
import { modelDelta, modelEnded } from './turn/answer.ts';
import { callsPrepared, toolEnded, toolOutput } from './turn/calls.ts';
import { conversationReadToCompact, summaryEnded, summaryNotice } from './turn/compacted.ts';
import { backoffOver, modelNotice } from './turn/model-call.ts';
import { recover } from './turn/recovery.ts';
import { orphanEnded, stopOverdue } from './turn/stop.ts';
import { runCommand } from './workstream/commands.ts';
import { setClosing } from './workstream/lifecycle.ts';
import { watchesFired } from './watches/fires.ts';
import { titleSuggested } from './workstream/title.ts';
import { isLatched, told, type RecordedReceipt, type State } from './workstream/state.ts';

/** The answer of a command. It holds once batch `batch` is durable; a refusal that may pass (null) holds at once. */
export type Reply =
  | { readonly type: 'accepted'; readonly acceptance: Acceptance; readonly batch: number }
  | { readonly type: 'refused'; readonly refusal: CoreRefusal; readonly batch: number | null };

export interface Step {
  readonly state: State;
  /** Number of the batch to store, or null when there is nothing to store. */
  readonly batch: number | null;
  readonly entries: readonly Entry[];
  readonly receipts: readonly Receipt[];
  /** Model calls to be kept. */
  readonly calls: readonly ModelCall[];
  /** Overlay items to show, in order, after the entries. */
  readonly items: readonly FeedItem[];
  readonly effects: readonly Effect[];
  readonly reply: Reply | null;
}

/** Receipts of durable commands kept in memory; older ones are found in the database. */
const receiptsKept = 1_000;

export function step(state: State, timed: Timed): Step {
  const draft = openDraft(state, timed.at, timed.seed);
  const { input } = timed;
  switch (input.type) {
    case 'command':
      return stepCommand(draft, input);
    case 'world': {
      const counted = countCalls(draft, input.calls ?? []);
      return close(
        isCurrent(state, input.stamp)
          ? stepWorld(counted, input.event)
          : orphanEnded(counted, input.stamp, input.event),
        null,
      );
    }
    case 'acknowledged':
      return close(acknowledge(draft, input), null);
    case 'closing':
      return close(setClosing(draft, input.on), null);
    case 'recover':
      return close(recover(draft), null);
  }
}

function stepCommand(draft: StepDraft, input: Extract<Input, { type: 'command' }>): Step {
  const known = draft.state.receipts.get(receiptKey(input.key));
  if (known)
    return close(
      draft,
      known.inputHash === input.key.inputHash
        ? replyOf(known.outcome, known.batch)
        : // What it was used for may be lost with its batch; the key is free again then.
          { type: 'refused', refusal: refuse({ code: 'KEY_REUSED' }), batch: known.batch },
    );
  const result = runCommand(draft, input.by, input.command);
  if (result.type === 'Rejected') {
    const refusal = storable(result);
    // One that nobody could check may have been accepted in an earlier epoch: it is not refused for good.
    return isRecorded(refusal) && !input.key.unchecked
      ? close(record(draft, input.key, refusal), replyOf(refusal, draft.state.batches + 1))
      : close(draft, { type: 'refused', refusal, batch: null });
  }
  // What a person wrote may come back in the answer, and the answer is stored too (D-51).
  const acceptance = storable(result.acceptance);
  return close(record(result.draft, input.key, acceptance), replyOf(acceptance, draft.state.batches + 1));
}

const replyOf = (outcome: Receipt['outcome'], batch: number): Reply =>
  outcome['type'] === 'Rejected'
    ? { type: 'refused', refusal: outcome as unknown as CoreRefusal, batch }
    : { type: 'accepted', acceptance: outcome as unknown as Acceptance, batch };

function stepWorld(draft: StepDraft, event: World): StepDraft {
  switch (event.type) {
    case 'modelDelta':
      return modelDelta(draft, event.messageId, event);
    case 'modelNotice':
      return modelNotice(draft, event.messageId, event.code, event.message);
    case 'modelEnded':
      return modelEnded(draft, event.messageId, event.outcome, event.room ?? null);
    case 'summaryNotice':
      return summaryNotice(draft, event.compactionId, event.message);
    case 'summaryEnded':
      return summaryEnded(draft, event.compactionId, event.outcome);
    case 'callsPrepared':
      return callsPrepared(draft, event.calls);
    case 'toolOutput':
      return toolOutput(draft, event.callId, event.text);
    case 'toolEnded':
      return toolEnded(draft, event.callId, event.result);
    case 'conversationRead':
      return conversationRead(draft, event.entries);
    case 'titleSuggested':
      return titleSuggested(draft, event.title, event.question);
    case 'watchesFired':
      return watchesFired(draft, event.fires);
    case 'backoffOver':
      return backoffOver(draft, event.messageId);
    case 'stopOverdue':
      return stopOverdue(draft, event.turnId);
  }
}

/** What had been left in the database until it was needed; read once more, it adds nothing. */
function conversationRead(draft: StepDraft, entries: readonly Entry[]): StepDraft {
  const { conversation, conversationFrom, projection } = draft.state;
  const older = entries.filter((entry) => entry.revision <= conversationFrom);
  const read = patch(draft, {
    conversation: told(projection, [...older, ...conversation]),
    conversationFrom: 0,
  });
  return conversationReadToCompact(read);
}

/** What was spent is spent, whatever becomes of what it was spent on (D-5). */
const countCalls = (draft: StepDraft, calls: readonly ModelCall[]): StepDraft => ({
  ...patch(draft, { spent: calls.reduce((sum, call) => sum + spentBy(call), draft.state.spent) }),
  calls: [...draft.calls, ...calls],
});

/** A batch is durable: deeds that waited for it are due, if what they belong to still stands. */
function acknowledge(draft: StepDraft, ack: Extract<Input, { type: 'acknowledged' }>): StepDraft {
  const { state } = draft;
  if (ack.epoch !== state.epoch || ack.batch <= state.durableBatches) return draft;
  const turn = liveTurn(state.projection);
  const due = state.held.filter((held) => held.after <= ack.batch);
  const standing = due.filter(
    ({ deed }) => isCurrent(state, deed.stamp) && !(isOfTurn(deed) && isLatched(turn)),
  );
  const acknowledged: State = {
    ...state,
    durableBatches: ack.batch,
    durable: applyEntries(
      state.durable,
      state.pending.filter((entry) => entry.revision <= ack.through),
    ),
    pending: state.pending.filter((entry) => entry.revision > ack.through),
    held: state.held.filter((held) => held.after > ack.batch),
  };
  return perform({ ...draft, state: acknowledged }, ...standing.map(({ deed }) => deed));
}

function close(draft: StepDraft, reply: Reply | null): Step {
  const makesBatch = draft.entries.length > 0 || draft.receipts.length > 0 || draft.calls.length > 0;
  const batches = draft.state.batches + (makesBatch ? 1 : 0);
  // A step that stores nothing waits for the batches before it, and for nothing if they are durable already.
  const wait = batches > draft.state.durableBatches;
  const held = wait ? draft.held.map((deed) => ({ after: batches, deed })) : [];
  return {
    state: {
      ...draft.state,
      batches,
      held: [...draft.state.held, ...held],
      receipts: withReceipts(draft, batches),
    },
    batch: makesBatch ? batches : null,
    entries: draft.entries,
    receipts: draft.receipts,
    calls: draft.calls,
    items: draft.items,
    effects: wait ? draft.effects : [...draft.effects, ...draft.held],
    reply,
  };
}

function withReceipts(draft: StepDraft, batch: number): ReadonlyMap<string, RecordedReceipt> {
  const { receipts, durableBatches } = draft.state;
  if (draft.receipts.length === 0) return receipts;
  const next = new Map(receipts);
  for (const receipt of draft.receipts) next.set(receiptKey(receipt), { ...receipt, batch });
  for (const [key, receipt] of next) {
    if (next.size <= receiptsKept || receipt.batch > durableBatches) break;
    next.delete(key);
  }
  return next;
}
