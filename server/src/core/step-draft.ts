/**
 * Owns: a step in the making: the state so far and what the step adds. Families (`turn/*`, `approvals/*`) take a
 * draft and give a draft; `step.ts` opens and closes it.
 *
 * Invariants: `admit` is the only way to make an entry; it assigns the next revision, makes the payload storable
 * (D-51), folds it, and publishes it in the same step (D-50).
 */
import {
  applyEntry,
  isConversation,
  isSettled,
  overlayAfter,
  type Entry,
  type EntryBody,
  type FeedItem,
} from 'schema/projection';
import type { Deed, Effect } from './effects.ts';
import type { CommandKey, Stamp } from './inputs.ts';
import type { Receipt } from './journal/receipt.ts';
import type { Acceptance, CoreRefusal } from './refusals.ts';
import { tokensOf } from './context/tokens.ts';
import { storable } from './kit/storable.ts';
import type { ModelCall } from './models/spending.ts';
import { liveTurnOf, type State } from './workstream/state.ts';

export interface StepDraft {
  readonly state: State;
  readonly at: string;
  readonly seed: string;
  readonly minted: number;
  readonly entries: readonly Entry[];
  readonly items: readonly FeedItem[];
  readonly effects: readonly Effect[];
  /** Deeds that wait until this step's batch is durable. */
  readonly held: readonly Deed[];
  readonly receipts: readonly Receipt[];
  /** Model calls that have ended. */
  readonly calls: readonly ModelCall[];
}

/** What a command comes to: what it made of the draft, and its answer; or why not, and then there is no draft (D-11). */
export type CommandResult =
  { readonly type: 'taken'; readonly draft: StepDraft; readonly acceptance: Acceptance } | CoreRefusal;

export const taken = (draft: StepDraft, acceptance: Acceptance): CommandResult => ({
  type: 'taken',
  draft,
  acceptance,
});

/** The answer of a command that says something to the model. */
export const takenAs = (
  draft: StepDraft,
  disposition: 'STARTED' | 'QUEUED' | 'STEERING',
  messageId: string,
): CommandResult =>
  taken(draft, {
    type: 'Accepted',
    disposition,
    messageId,
    turnId: liveTurnOf(draft.state)?.id ?? null,
    revision: draft.state.projection.revision,
  });

export const openDraft = (state: State, at: string, seed: string): StepDraft => ({
  state,
  at,
  seed,
  minted: 0,
  entries: [],
  items: [],
  effects: [],
  held: [],
  receipts: [],
  calls: [],
});

/** A new id: the input's random bits and a counter, so unique and not guessable. */
export function mint(draft: StepDraft): readonly [StepDraft, string] {
  return [{ ...draft, minted: draft.minted + 1 }, `${draft.seed}-${draft.minted.toString(36)}`];
}

export const patch = (draft: StepDraft, part: Partial<State>): StepDraft => ({
  ...draft,
  state: { ...draft.state, ...part },
});

/** Accepts an entry at the next revision. `id` is given when the entry takes the place of something already shown. */
export function admit(draft: StepDraft, body: EntryBody, id?: string): StepDraft {
  const [d, entryId] = id === undefined ? mint(draft) : ([draft, id] as const);
  const { projection } = d.state;
  const turn = body.kind === 'TURN' ? body.turn : liveTurnOf(d.state);
  const tokens = tokensOf(body);
  const entry: Entry = {
    ...storable(body),
    id: entryId,
    revision: projection.revision + 1,
    epoch: d.state.epoch,
    generation: turn?.generation ?? projection.generation,
    lane: null,
    turnId: turn?.id ?? null,
    at: d.at,
    ...(tokens > 0 && { tokens }),
  };
  const settled = entry.kind === 'TURN' && isSettled(entry.turn);
  return {
    ...patch(d, {
      projection: applyEntry(projection, entry),
      pending: [...d.state.pending, entry],
      overlay: overlayAfter(d.state.overlay, entry),
      conversation: conversationAfter(d.state.conversation, entry),
      ...(settled
        ? {
            attempt: null,
            summary: null,
            overflow: null,
            unread: 0,
            progress: {},
            held: d.state.held.filter(({ deed }) => !isOfTurn(deed)),
          }
        : {}),
    }),
    entries: [...d.entries, entry],
    held: settled ? d.held.filter((deed) => !isOfTurn(deed)) : d.held,
  };
}

/** A deed of a turn ends with it; the others belong to the workstream. */
export const isOfTurn = (deed: Deed): boolean => deed.stamp.generation !== null;

function conversationAfter(conversation: readonly Entry[], entry: Entry): readonly Entry[] {
  // A rewind goes back to what stands after the summary, at most.
  if (entry.kind === 'REWIND')
    return conversation.filter((said) => said.kind === 'CHECKPOINT' || said.revision <= entry.after);
  if (entry.kind === 'CHECKPOINT')
    return [
      entry,
      ...conversation.filter((said) => said.kind !== 'CHECKPOINT' && said.revision > entry.watermark),
    ];
  return isConversation(entry.kind) ? [...conversation, entry] : conversation;
}

/** Asks for something that need not wait. */
export const perform = (draft: StepDraft, ...effects: readonly Effect[]): StepDraft => ({
  ...draft,
  effects: [...draft.effects, ...effects],
});

/** Asks for a deed once this step's batch is durable (D-2). */
export const performAfter = (draft: StepDraft, deed: Deed): StepDraft => ({
  ...draft,
  held: [...draft.held, deed],
});

export const show = (draft: StepDraft, ...items: readonly FeedItem[]): StepDraft => ({
  ...draft,
  items: [...draft.items, ...items],
});

export const record = (draft: StepDraft, key: CommandKey, outcome: Receipt['outcome']): StepDraft => ({
  ...draft,
  receipts: [...draft.receipts, { ...key, outcome }],
});

/** The stamp of work begun now for the live turn. */
export const stampOf = (state: State): Stamp => ({
  epoch: state.epoch,
  generation: liveTurnOf(state)?.generation ?? null,
});
