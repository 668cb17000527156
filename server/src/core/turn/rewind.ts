/**
 * Owns: going back in the conversation (D-59). What is taken back is superseded, never deleted, and the world is not
 * changed back: files stay as the calls left them.
 *
 * Invariants: nothing is superseded while a turn lives, and nothing that is summarised; a message typed by A is asked again by A only (D-12); a cut
 * never parts a declared call from its TOOL entry, because it lies before a message or behind a result (I38).
 */
import {
  isMessage,
  liveTurn,
  type Author,
  type CarriedRequest,
  type Entry,
  type EntryOf,
} from 'schema/projection';
import { markOfCut } from '../context/meter.ts';
import type { Command } from '../inputs.ts';
import { refuse, type CoreRefusal } from '../refusals.ts';
import { admit, mint, taken, takenAs, type CommandResult, type StepDraft } from '../step-draft.ts';
import type { State } from '../workstream/state.ts';
import { startTurn, startTurnAgain } from './start.ts';

type Of<T extends Command['type']> = Extract<Command, { readonly type: T }>;
type Said = EntryOf<'USER'>;

/** Takes back a message and all that came after it. */
export function rewind(draft: StepDraft, by: Author, command: Of<'rewind'>): CommandResult {
  const found = messageToCut(draft.state, command.turnId, command.messageId);
  if (found.type === 'Rejected') return found;
  const { said } = found;
  const { text } = said;
  const superseded = draft.state.conversation.filter((e) => e.revision >= said.revision).length;
  const cut = cutAfter(draft, said.revision - 1, 'REWIND', by);
  const { revision } = cut.state.projection;
  return taken(cut, { type: 'Accepted', revision, text, superseded });
}

/** Says something else in the place of a message. */
export function resend(draft: StepDraft, by: Author, command: Of<'resend'>): CommandResult {
  const found = messageToCut(draft.state, command.turnId, command.messageId);
  if (found.type === 'Rejected') return found;
  const { said } = found;
  const cut = cutAfter(draft, said.revision - 1, 'EDIT', by);
  const [d, messageId] = mint(cut);
  return takenAs(startTurn(d, by, command.text, messageId), 'STARTED', messageId);
}

/**
 * Asks the model again. MESSAGE: about the last message, as if nothing had been answered. LAST_RESULT: keeps what the
 * turn did, and asks for another answer to that.
 */
export function retry(draft: StepDraft, by: Author, command: Of<'retry'>): CommandResult {
  const refusal = cannotCut(draft.state, command.turnId);
  if (refusal) return refusal;
  const { conversation } = draft.state;
  const said = conversation.findLast(isMessage);
  const kept = command.from === 'MESSAGE' ? said : conversation.findLast(isGround);
  // Its message may be summarised, and what came of it not.
  const carried = carriedIn(conversation);
  const author = said?.author ?? carried?.author;
  const messageId = said?.id ?? carried?.messageId;
  if (!author || messageId === undefined || !kept) return notFound(draft.state);
  if (author.id !== by.id) return refuse({ code: 'NOT_YOURS', author });
  const cut = cutAfter(draft, kept.revision, 'RETRY', by);
  return takenAs(startTurnAgain(cut, by), 'STARTED', messageId);
}

/** The entry that takes back all after `after`, and how full the context is without that. */
function cutAfter(
  draft: StepDraft,
  after: number,
  reason: EntryOf<'REWIND'>['reason'],
  by: Author,
): StepDraft {
  const { conversation, projection } = draft.state;
  const left = conversation.filter((entry) => entry.kind === 'CHECKPOINT' || entry.revision <= after);
  const context = markOfCut(projection.context, left, projection.configuration.model);
  return admit(draft, { kind: 'REWIND', after, reason, by, context });
}

const carriedIn = (conversation: readonly Entry[]): CarriedRequest | null => {
  const [first] = conversation;
  return first?.kind === 'CHECKPOINT' ? first.request : null;
};

const notFound = (state: State): CoreRefusal =>
  refuse({ code: 'MESSAGE_NOT_FOUND', watermark: state.projection.checkpoint?.watermark ?? null });

function messageToCut(
  state: State,
  turnId: string | null,
  messageId: string,
): CoreRefusal | { readonly type: 'said'; readonly said: Said } {
  const refusal = cannotCut(state, turnId);
  if (refusal) return refusal;
  const said = state.conversation.find((entry) => entry.id === messageId);
  return said && isMessage(said) ? { type: 'said', said } : notFound(state);
}

/** What was not read cannot be judged: whoever asks reads it first. */
const isRead = (state: State): boolean => state.conversationFrom === 0;

/** Who wants to cut has seen all there is, and nothing is under way. */
function cannotCut(state: State, turnId: string | null): CoreRefusal | null {
  const live = liveTurn(state.projection);
  if (live) return refuse({ code: 'BUSY', currentTurnId: live.id });
  if (!isRead(state)) return refuse({ code: 'BUSY', currentTurnId: null });
  const last = state.projection.turn?.id ?? null;
  return last === turnId ? null : refuse({ code: 'STALE_TURN', currentTurnId: last });
}

/** What an answer can be asked for. */
const isGround = (entry: Entry): boolean =>
  entry.kind === 'USER' || entry.kind === 'TOOL' || entry.kind === 'SYSTEM';
