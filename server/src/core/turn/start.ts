/**
 * Owns: how a turn begins (D-33): claim a generation, pin the principal, admit the USER entry, ask the model once
 * that is durable.
 */
import type { Author, Turn } from 'schema/projection';
import { admit, mint, type StepDraft } from '../step-draft.ts';
import { askForBudget, isSpent } from './budget.ts';
import { beginCompaction } from './compaction.ts';
import { askModel } from './model-call.ts';
import { afterTurn, drain, type Drained } from './queue.ts';
import { newTurn } from './transitions.ts';

export const startTurn = (draft: StepDraft, author: Author, text: string, messageId: string): StepDraft =>
  askModel(admit(claimTurn(draft, author), { kind: 'USER', text, author, source: 'MESSAGE' }, messageId));

/** A turn on what is in the conversation already: the model is asked again (D-59). */
export const startTurnAgain = (draft: StepDraft, author: Author): StepDraft =>
  askModel(claimTurn(draft, author));

/** Starts a turn on the first neighbours in the queue; nothing waits: nothing happens. */
export function startFromQueue(draft: StepDraft): {
  readonly draft: StepDraft;
  readonly drained: Drained | null;
} {
  const drained = drain(draft.state.projection.queue);
  if (!drained) return { draft, drained };
  const emptied = admit(draft, { kind: 'QUEUE', queue: afterTurn(drained.rest) });
  return { draft: startTurn(emptied, drained.author, drained.text, drained.id), drained };
}

/** A turn that only summarises; null: there is nothing to summarise. */
export function startCompacting(draft: StepDraft, principal: Author): StepDraft | null {
  const claimed = claimTurn(draft, principal, { kind: 'COMPACT' });
  const compacting = beginCompaction(claimed, 'MANUAL');
  return compacting && isSpent(claimed.state) ? askForBudget(claimed) : compacting;
}

/** A turn on what the server itself has to say, which `say` writes down; `depth` watches from a person (D-85). */
export const startTurnOn = (
  draft: StepDraft,
  { author, depth }: { readonly author: Author; readonly depth: number },
  say: (draft: StepDraft) => StepDraft,
): StepDraft => askModel(say(claimTurn(draft, author, { depth })));

function claimTurn(
  draft: StepDraft,
  principal: Author,
  { kind = 'CHAT', depth = 0 }: { readonly kind?: Turn['kind']; readonly depth?: number } = {},
): StepDraft {
  const [d, turnId] = mint(draft);
  const turn = newTurn(turnId, kind, d.state.projection.generation + 1, principal, d.at);
  return admit(d, { kind: 'TURN', turn: depth === 0 ? turn : { ...turn, depth } });
}
