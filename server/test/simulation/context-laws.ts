/**
 * Owns: what must hold of how full a context is and of what is done about it, watched entry by entry as it lands, and
 * whenever a model is asked: summaries (D-40), room (D-39), and budgets (D-33).
 * Does not own: what model calls are counted (`usage-laws.ts`).
 */
import {
  liveTurn,
  type CompactionTrigger,
  type Entry,
  type EntryOf,
  type Projection,
} from 'schema/projection';
import type { State } from '../../src/core/workstream/state.ts';
import type { Violate } from './laws.ts';
import { nothingTold, openAnswer, toCarry, toldAfter, unanswered, weightOf, type Told } from './told.ts';

/** A request as its endpoint sees it. */
export interface Request {
  /** Of a compaction; null: for an answer. */
  readonly compactionId: string | null;
  /**
   * Tokens of it, as an honest endpoint counts them but for what the server itself puts around what is told, and those
   * that its model is said to read.
   */
  readonly tokens: number;
  readonly window: number | null;
  /** Which call of a compaction it is, from 1 on. */
  readonly part: number;
}

export interface ContextLaws {
  begun(workstreamId: string): void;
  /** An entry lands: the folds before and after it. `copied`: from elsewhere, where it was written under another claim. */
  landed(workstreamId: string, before: Projection, entry: Entry, after: Projection, copied: boolean): void;
  /** A summary was asked for; it is known by this word. */
  summaryAsked(word: string, compactionId: string, claim: string): void;
  /** A model is asked by who owns the workstream. `counted`: what it cost so far, of what its owner knows. */
  asked(workstreamId: string, who: string, request: Request, counted: number): void;
  /** What an actor would tell a model. */
  holds(who: string, state: State, durable: readonly Entry[]): void;
  removed(workstreamId: string): void;
}

interface Notes {
  told: Told;
  /** Compactions that were begun, and why those since the last answer were. */
  readonly begun: Set<string>;
  sinceAnswer: CompactionTrigger[];
  /** Before a grant of budget room was tried for, since the last answer: what ended for want of it may be tried again. */
  triedBefore: boolean;
  /** What may be spent, and what it was before each entry since the last that made anybody ask. */
  limit: number | null;
  limits: readonly (number | null)[];
  budget: number | undefined;
}

/** By what a summary of the simulated model is known. */
export const summaryWordOf = (call: number): string => `§${call};`;

/** A request is carried whole when it is no longer than this. UTF-16 units. */
const surelyCarried = 300;
/** Tokens that no estimate has: of the name of who writes, told before a message when several do. */
const unestimated = 16;

export function createContextLaws(violate: Violate): ContextLaws {
  const notes = new Map<string, Notes>();
  const summaries = new Map<string, string>();

  function landed(id: string, before: Projection, entry: Entry, after: Projection, copied: boolean): void {
    const n = notes.get(id)!;
    const compacting = liveTurn(before)?.compaction ?? null;
    if (compacting && forbidden.has(entry.kind))
      violate('D-40', `${entry.kind} at ${entry.revision}, in the middle of a summary`);
    if (entry.kind === 'CHECKPOINT') checkpoint(n, before, entry, copied);
    n.told = toldAfter(n.told, entry);
    if (after.context.told !== weightOf(n.told.entries))
      violate(
        'D-39',
        `after ${entry.kind} at ${entry.revision} it is told ${weightOf(n.told.entries)}, not ${after.context.told}`,
      );
    compactions(n, before, entry);
    budget(n, entry);
  }

  function compactions(n: Notes, before: Projection, entry: Entry): void {
    const granted =
      entry.kind === 'APPROVAL' &&
      entry.cycle.kind === 'BUDGET' &&
      entry.cycle.items.some((item) => item.decision?.verdict === 'APPROVED');
    if (granted) n.triedBefore ||= n.sinceAnswer.length > 0;
    // For another model nothing was tried yet.
    const another =
      entry.kind === 'CONFIGURATION' && entry.configuration.model !== before.configuration.model;
    if (entry.kind === 'ASSISTANT' || another) n.triedBefore = false;
    if (entry.kind === 'ASSISTANT' || another || granted) n.sinceAnswer = [];
    if (entry.kind !== 'TURN') return;
    const { compaction, outcome } = entry.turn;
    if (compaction && !n.begun.has(compaction.id)) {
      n.begun.add(compaction.id);
      const { trigger } = compaction;
      // One more, when the endpoint says that what is asked does not fit after all.
      const may = trigger === 'OVERFLOW' ? !n.sinceAnswer.includes('OVERFLOW') : n.sinceAnswer.length === 0;
      n.sinceAnswer.push(trigger);
      if (!may)
        violate(
          'D-39',
          `TURN at ${entry.revision} begins summaries ${n.sinceAnswer.join(', ')} since the last answer`,
        );
    }
    if (outcome !== null) {
      n.sinceAnswer = [];
      n.triedBefore = false;
    }
  }

  function checkpoint(n: Notes, before: Projection, entry: EntryOf<'CHECKPOINT'>, copied: boolean): void {
    const where = `CHECKPOINT at ${entry.revision}`;
    const wrong = (what: string): void => violate('D-40', `${where} ${what}`);
    const turn = liveTurn(before);
    const compaction = turn?.phase === 'COMPACTING' ? (turn.compaction ?? null) : null;
    if (!compaction) return wrong(`in a turn that is ${turn?.phase}`);
    if (compaction.trigger !== entry.trigger) wrong(`is for ${entry.trigger}, not ${compaction.trigger}`);
    const word = /§\d+;/.exec(entry.summary)?.[0] ?? '';
    const claim = claimOf(compaction.id, entry.epoch, entry.generation);
    if (!copied && summaries.get(word) !== claim)
      wrong(`has summary ${word} of ${summaries.get(word)}, not of ${claim}`);
    const was = n.told.entries[0]?.kind === 'CHECKPOINT' ? n.told.entries[0].watermark : 0;
    const { watermark } = entry;
    if (watermark <= was || watermark >= entry.revision) wrong(`has watermark ${watermark} after ${was}`);
    const kept = n.told.entries.filter((e) => e.kind !== 'CHECKPOINT' && e.revision > watermark);
    const [result] = kept;
    if (result?.kind === 'TOOL') wrong(`parts ${result.callId} from its call`);
    const open = openAnswer(n.told);
    if (open && open.revision <= watermark)
      wrong(`stands for an answer with open calls, at ${open.revision}`);
    for (const input of unanswered(n.told))
      if (input.revision <= watermark)
        wrong(`stands for an input that nobody answered, at ${input.revision}`);
    const told = weightOf([entry, ...kept]);
    if (told >= weightOf(n.told.entries)) wrong(`makes ${told} of ${weightOf(n.told.entries)}`);
    const matter = toCarry(n.told, watermark);
    const carried = entry.request?.text ?? '';
    const whole = matter.length <= surelyCarried ? carried === matter : isPartOf(carried, matter);
    if (!whole) wrong(`carries ${JSON.stringify(carried)}, not ${JSON.stringify(matter)}`);
  }

  function budget(n: Notes, entry: Entry): void {
    if (entry.kind === 'CONFIGURATION' && entry.configuration.tokenBudget !== n.budget) {
      n.budget = entry.configuration.tokenBudget;
      n.limit = n.budget ?? null;
    }
    if (entry.kind === 'APPROVAL' && entry.cycle.budget && n.limit !== null) {
      const [item] = entry.cycle.items;
      const { spent, grant } = entry.cycle.budget;
      if (item?.decision && item.decision.source !== 'PERSON')
        violate('D-33', `${item.decision.source} answers a question about the budget at ${entry.revision}`);
      if (item?.decision?.verdict === 'APPROVED') n.limit = Math.max(n.limit, spent + grant);
    }
    // A question that is on its way is asked, whatever is configured meanwhile.
    n.limits = quiet.has(entry.kind) ? [...n.limits, n.limit] : [n.limit];
  }

  return {
    begun: (id) =>
      void notes.set(id, {
        told: nothingTold,
        begun: new Set(),
        sinceAnswer: [],
        triedBefore: false,
        limit: null,
        limits: [null],
        budget: undefined,
      }),
    landed,
    summaryAsked: (word, compactionId, claim) => void summaries.set(word, `${compactionId} ${claim}`),
    asked(id, who, { compactionId, tokens, window, part }, counted) {
      const n = notes.get(id);
      if (!n) return;
      // The parts of a summary belong together.
      if (part === 1 && n.limits.every((limit) => limit !== null && counted >= limit))
        violate('D-33', `${who} asks a model when ${counted} are spent of ${n.limits.at(-1)}`);
      const isUntried = n.sinceAnswer.length === 0 && !n.triedBefore;
      if (compactionId === null && window !== null && tokens > window + unestimated && isUntried)
        violate('D-39', `${who} asks for an answer to ${tokens} tokens, which does not fit into ${window}`);
    },
    holds(who, state, durable) {
      if (state.conversationFrom > 0) return;
      const { entries } = state.pending.reduce(toldAfter, notes.get(state.workstreamId)?.told ?? nothingTold);
      if (state.durable.revision !== durable.length) return;
      const names = (all: readonly Entry[]): string => all.map((e) => e.revision).join();
      if (names(entries) !== names(state.conversation))
        violate('D-40', `${who} would tell ${names(state.conversation)}, and ${names(entries)} it is`);
    },
    removed: (id) => void notes.delete(id),
  };
}

/** What nobody says, or takes back, while a summary is made. */
const forbidden: ReadonlySet<Entry['kind']> = new Set(['USER', 'ASSISTANT', 'SYSTEM', 'REWIND']);
/** What a person may change while a question is on its way. */
const quiet: ReadonlySet<Entry['kind']> = new Set(['CONFIGURATION', 'QUEUE']);

const claimOf = (compactionId: string, epoch: number, generation: number): string =>
  `${compactionId} ${epoch}.${generation}`;

/** All of it; or its beginning and end, and a word about how much is left out between. */
const isPartOf = (carried: string, matter: string): boolean =>
  carried !== '' &&
  carried.length <= matter.length + 60 &&
  carried.slice(0, 20) === matter.slice(0, 20) &&
  carried.slice(-20) === matter.slice(-20);
