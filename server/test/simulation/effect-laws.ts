/**
 * Owns: what must hold whenever a server does something in the world: asks a model, runs a tool. What is stored it
 * knows from the journal's book, not from the server.
 */
import { isDeepStrictEqual } from 'node:util';
import { liveTurn, type Entry, type TurnPhase } from 'schema/projection';
import { lower } from '../../src/core/conversation/lower.ts';
import type { State } from '../../src/core/workstream/state.ts';
import type { ModelMessage } from '../../src/ports/model.ts';
import type { ToolCall } from '../../src/ports/tools.ts';
import type { Request } from './context-laws.ts';
import type { JournalLaws } from './journal-laws.ts';
import type { Violate } from './laws.ts';
import type { Process } from './scheduler.ts';
import { toldOf } from './told.ts';

/** What a model is asked. */
export interface Question {
  readonly messages: readonly ModelMessage[];
  /** By what its answer will be known. */
  readonly word: string;
  /** How many questions of this process about this workstream are open already. */
  readonly beside: number;
  readonly request: Request;
}

export interface EffectLaws {
  asked(who: Process, workstreamId: string, actor: State | null, question: Question): void;
  ran(
    who: Process,
    workstreamId: string,
    actor: State | null,
    call: ToolCall & { readonly basis: string | null },
    asks: boolean,
  ): void;
  /** The end of an answer (its word) or of a call (its id) was heard. */
  over(what: string): void;
}

export function createEffectLaws(journal: JournalLaws, violate: Violate): EffectLaws {
  const run = new Set<string>();

  /** A deed is of a live turn that nobody told to stop, as the actor knows and as is stored. */
  function mayBegin(
    who: Process,
    id: string,
    actor: State | null,
    what: string,
    phase: TurnPhase = 'RUNNING',
  ): void {
    const book = journal.book(id);
    if (actor && liveTurn(actor.projection)?.phase !== phase)
      violate('I31', `${who.name} ${what} though the turn does not go on`);
    // Whoever was robbed without knowing may still begin what was stored before.
    if (owns(id, actor) && liveTurn(book!.fold)?.phase !== phase)
      violate('I31', `${who.name} ${what} though no turn goes on in the database`);
  }

  /** Not of what was deleted before. */
  const isHere = (id: string, actor: State | null): actor is State =>
    actor !== null && journal.book(id)?.incarnation === actor.incarnation;

  function owns(id: string, actor: State | null): boolean {
    const book = journal.book(id);
    return book !== null && actor?.epoch === book.epoch && actor.incarnation === book.incarnation;
  }

  /** A summary is of a compaction that is stored, and known by its word to be of that. */
  function summaryAsked(who: Process, id: string, actor: State, word: string, compactionId: string): void {
    const { epoch, projection } = actor;
    journal.context.summaryAsked(word, compactionId, `${epoch}.${projection.generation}`);
    mayBegin(who, id, actor, 'asks for a summary', 'COMPACTING');
    if (owns(id, actor) && liveTurn(journal.book(id)!.fold)?.compaction?.id !== compactionId)
      violate('D-2', `${who.name} asks for a summary for ${compactionId}, which is not stored`);
  }

  /** A question is what is stored and stands, up to some place: who was robbed does not know the rest. */
  function isStored(
    id: string,
    actor: State | null,
    messages: readonly ModelMessage[],
    stands = (entries: readonly Entry[]) => toldOf(entries).entries,
  ): boolean {
    const book = journal.book(id);
    if (!book || (actor && actor.incarnation !== book.incarnation)) return true;
    const system = messages[0]?.role === 'system' ? messages[0].text : '';
    for (let n = book.entries.length; n >= 0; n -= 1)
      if (isDeepStrictEqual(lower(system, stands(book.entries.slice(0, n))), messages)) return true;
    return false;
  }

  return {
    over: (what) => journal.over(what),
    asked(who, id, actor, { messages, word, beside, request }) {
      const { compactionId } = request;
      if (actor && owns(id, actor))
        journal.context.asked(id, who.name, request, journal.usage.knownTo(id, actor.epoch));
      if (compactionId !== null) {
        if (beside > 0) violate('I43', `${who.name} asks for a summary beside ${beside} open questions`);
        if (isHere(id, actor)) journal.begun(id, word, actor.epoch, actor.projection.generation);
        if (actor) summaryAsked(who, id, actor, word, compactionId);
        return;
      }
      if (actor) journal.asked(id, word, actor.epoch, actor.projection.generation);
      if (beside > 0) violate('I43', `${who.name} asks the model beside ${beside} open questions`);
      if (isHere(id, actor)) journal.begun(id, word, actor.epoch, actor.projection.generation);
      if (!isPaired(messages)) violate('I38', `${who.name} tells the model of a call without its one result`);
      if (!isStored(id, actor, messages)) {
        const what = `${who.name} asks the model about ${JSON.stringify(messages.at(-1))}`;
        if (isStored(id, actor, messages, withoutRewinds)) violate('D-59', `${what}, and more than stands`);
        else violate('D-2', `${what}, which is not stored`);
      }
      mayBegin(who, id, actor, 'asks the model');
    },

    ran(who, id, actor, call, asks) {
      const { callId } = call;
      if (isHere(id, actor)) journal.begun(id, callId, actor.epoch, actor.projection.generation);
      if (run.has(callId)) violate('I37', `${who.name} runs ${callId} again`);
      run.add(callId);
      const book = journal.book(id);
      if (!book || (actor && actor.incarnation !== book.incarnation)) return;
      if (!book.entries.some((e) => e.kind === 'ASSISTANT' && e.calls.some((c) => c.callId === callId)))
        violate('I36', `${who.name} runs ${callId}, whose declaration is not stored`);
      const started = book.entries.find((e) => e.kind === 'TOOL_STARTED' && e.callId === callId);
      if (!started || (actor && started.epoch !== actor.epoch))
        violate('I36', `${who.name} runs ${callId}, whose start is not stored under its claim`);
      mayBegin(who, id, actor, `runs ${callId}`);
      if (!asks) return;
      const item = book.entries
        .flatMap((e) => (e.kind === 'APPROVAL' ? e.cycle.items : []))
        .findLast((i) => i.callId === callId);
      if (item?.decision?.verdict !== 'APPROVED') violate('I40', `${who.name} runs ${callId}, not approved`);
      else if (item.basis !== call.basis || item.arguments !== call.arguments)
        violate('I40', `${who.name} runs ${callId} otherwise than it was approved`);
    },
  };
}

/** What would be told if nothing had ever been taken back. */
const withoutRewinds = (entries: readonly Entry[]): readonly Entry[] =>
  toldOf(entries.filter((entry) => entry.kind !== 'REWIND')).entries;

/** After an assistant message with calls come exactly their results, in order, and nothing between. */
function isPaired(messages: readonly ModelMessage[]): boolean {
  let waiting: readonly string[] = [];
  for (const message of messages) {
    if (message.role === 'tool') {
      if (message.callId !== waiting[0]) return false;
      waiting = waiting.slice(1);
      continue;
    }
    if (waiting.length > 0) return false;
    if (message.role === 'assistant') waiting = message.calls.map((call) => call.callId);
  }
  return waiting.length === 0;
}
