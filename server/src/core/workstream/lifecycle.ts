/**
 * Owns: what becomes of a workstream as a whole: closing and opening (D-23), resting unloaded (D-24), its name.
 *
 * Invariants: CLOSED has no live turn, and nothing but opening or deleting follows it; a name given by a person is never
 * overtaken by one that was generated; what a fork copied is never named after.
 */
import {
  liveTurn,
  openItems,
  type Author,
  type Configuration,
  type EntryOf,
  type Projection,
} from 'schema/projection';
import { admit, patch, performAfter, type StepDraft } from '../step-draft.ts';
import { endOrphans, stopTurn } from '../turn/stop.ts';
import type { State } from './state.ts';

/** Longest title, UTF-16 code units. */
export const maxTitle = 200;
/** Longest title that is generated. */
const maxGeneratedTitle = 80;
/** How much of the first exchange the name is made of, UTF-16 code units each. */
const maxTitleSource = 4_000;

/** Shuts the door and ends what runs, also what outlived its turn; or opens it again, with nothing else undone. */
export const setClosing = (draft: StepDraft, on: boolean): StepDraft => {
  const shut = patch(draft, { closing: on });
  return on ? stopTurn(endOrphans(shut)) : shut;
};

/** Nothing is under way any more; what waits in the queue stays there, held (D-63). CLOSED is door enough. */
export function closeWorkstream(draft: StepDraft, by: Author): StepDraft {
  const { queue } = draft.state.projection;
  const held =
    queue.items.length > 0 && !queue.held
      ? admit(draft, { kind: 'QUEUE', queue: { ...queue, held: true } })
      : draft;
  return patch(admit(held, { kind: 'LIFECYCLE', lifecycle: 'CLOSED', by }), { closing: false });
}

export const openWorkstream = (draft: StepDraft, by: Author): StepDraft =>
  admit(draft, { kind: 'LIFECYCLE', lifecycle: 'OPEN', by });

/**
 * True when a workstream can leave memory, and lose nothing by it: no turn works, all is durable, nothing it began is
 * still out, but for a name, which is asked for again. A turn that waits for a person may go: the decision loads it
 * (D-24).
 */
export function canUnload(state: State): boolean {
  const { projection, pending, batches, durableBatches, held, attempt, orphans, closing } = state;
  if (pending.length > 0 || durableBatches < batches || held.length > 0 || closing) return false;
  if (attempt !== null || orphans.length > 0) return false;
  return liveTurn(projection) === null || onlyWaits(projection);
}

/** True when the live turn waits for a person and for nothing else. */
export function onlyWaits(projection: Projection): boolean {
  const turn = liveTurn(projection);
  const asked = new Set(openItems(projection).map((item) => item.callId));
  const calls = projection.batch?.calls ?? [];
  return (
    turn !== null &&
    turn.phase !== 'INTERRUPTING' &&
    asked.size > 0 &&
    calls.every((open) => open.result !== null || asked.has(open.call.callId))
  );
}

/** Asks for a name once the first exchange is complete; a fork has one. */
export function askTitle(draft: StepDraft): StepDraft {
  const { projection, conversation, conversationFrom, epoch, titleAsked } = draft.state;
  const { titleSource, model } = projection.configuration;
  if (projection.turn?.phase !== 'COMPLETED' || titleSource !== 'DEFAULT' || projection.origin) return draft;
  if (titleAsked || conversationFrom > 0) return draft;
  const question = conversation.find((e): e is EntryOf<'USER'> => e.kind === 'USER');
  const answer = conversation.findLast((e): e is EntryOf<'ASSISTANT'> => e.kind === 'ASSISTANT');
  if (!question || !answer) return draft;
  return performAfter(patch(draft, { titleAsked: true }), {
    type: 'suggestTitle',
    stamp: { epoch, generation: null },
    alias: model,
    question: question.text.slice(0, maxTitleSource),
    answer: answer.text.slice(0, maxTitleSource),
  });
}

/** A name has come; without one the question's own first words do. Too late is never. */
export function titleSuggested(draft: StepDraft, suggested: string | null, question: string): StepDraft {
  const { configuration, lifecycle } = draft.state.projection;
  if (configuration.titleSource !== 'DEFAULT' || lifecycle !== 'OPEN') return draft;
  const title = titleOf(suggested ?? '') || titleOf(question);
  if (title === '') return draft;
  const named: Configuration = { ...configuration, title, titleSource: 'GENERATED' };
  return admit(draft, { kind: 'CONFIGURATION', configuration: named });
}

/** The first line that says something, without quotes around it and not too long. */
function titleOf(text: string): string {
  const line = text
    .split(/[\r\n]+/)
    .map((l) => l.replace(/^[\s"'“”«»#*_`-]+|[\s"'“”«»*_`.]+$/gu, ''))
    .find((l) => l !== '');
  if (line === undefined || line.length <= maxGeneratedTitle) return line ?? '';
  // Half a pair is no character.
  const cut = line.slice(0, maxGeneratedTitle).replace(/[\ud800-\udbff]$/, '');
  const space = cut.lastIndexOf(' ');
  return `${(space > maxGeneratedTitle / 2 ? cut.slice(0, space) : cut).trimEnd()}…`;
}
