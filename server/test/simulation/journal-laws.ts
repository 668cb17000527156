/**
 * Owns: what must hold of everything that lands in the database, watched batch by batch as it lands. It keeps its own
 * book (who owns, what was written, what it folds to), so that it believes neither the server nor the fake database.
 */
import { isDeepStrictEqual } from 'node:util';
import {
  applyEntry,
  emptyProjection,
  isSettled,
  liveTurn,
  openCycles,
  stateOf,
  type ApprovalDecision,
  type Entry,
  type EntryOf,
  type Projection,
  type Turn,
} from 'schema/projection';
import type { Batch, CommitOutcome, Receipt } from '../../src/ports/journal.ts';
import { createContextLaws, type ContextLaws } from './context-laws.ts';
import type { Violate } from './laws.ts';
import { createUsageLaws, type UsageLaws } from './usage-laws.ts';

/** What is known of one workstream's rows. */
export interface Book {
  readonly id: string;
  readonly incarnation: string;
  readonly epoch: number;
  readonly session: string | null;
  readonly entries: readonly Entry[];
  readonly fold: Projection;
}

export interface JournalLaws {
  readonly context: ContextLaws;
  readonly usage: UsageLaws;
  book(workstreamId: string): Book | null;
  /** What landed under a key: one, or more of a Stop that could not look. */
  receipts(scope: string, key: string): readonly Receipt[];
  /** Marks (`m1;`) of every message that is said, queued or withdrawn, each as often as it is there. */
  places(workstreamId: string): ReadonlyMap<string, number>;
  /** Marks of the messages that were withdrawn, or edited into others. */
  withdrawn(workstreamId: string): readonly string[];
  published(batch: Batch): void;
  claimed(
    workstreamId: string,
    epoch: number,
    session: string,
    who: string,
    isLive: (session: string) => boolean,
  ): void;
  released(workstreamId: string): void;
  /** `stored`: the rows as they are now. */
  committed(batch: Batch, outcome: CommitOutcome, who: string, stored: readonly Entry[]): void;
  /** A model was asked under this claim; its answer is known by this word. */
  asked(workstreamId: string, word: string, epoch: number, generation: number): void;
  /** Something began under this claim. */
  begun(workstreamId: string, what: string, epoch: number, generation: number): void;
  /** Its end was heard. */
  over(what: string): void;
  /** Deleted by an administrator; what it was is forgotten. */
  removed(workstreamId: string): void;
}

interface Notes {
  readonly ended: Set<string>;
  readonly started: Set<string>;
  /** Declared and not answered. */
  readonly open: Set<string>;
  readonly answered: Set<string>;
  readonly decisions: Map<string, ApprovalDecision>;
  /** Calls that a person was asked about. */
  readonly asked: Set<string>;
  readonly said: Map<string, number>;
  /** Marks that left the queue in this batch and are not said yet, and those that were withdrawn. */
  readonly leaving: Set<string>;
  readonly withdrawn: Set<string>;
  /** Ids of messages in the order they were accepted, and of those said in that order; steers and edits overtake. */
  readonly accepted: string[];
  readonly inOrder: string[];
  readonly idOf: Map<string, string>;
  /** What persons wrote and no rewind took back. */
  standing: readonly EntryOf<'USER'>[];
  /** The last entry, if it took something back. */
  rewound: EntryOf<'REWIND'>['reason'] | null;
  principal: string | null;
}

/** By what an answer of the simulated model is known. */
export const wordOf = (call: number): string => `#${call};`;
const wordsIn = (text: string): readonly string[] => text.match(/#\d+;/g) ?? [];

export const marksIn = (text: string): readonly string[] => text.match(/m\d+;/g) ?? [];

/** Which client wrote it: marks say so. */
const authorOf = (mark: string): string => (Number(mark.slice(1, -1)) % 2 === 0 ? 'ada' : 'bob');

const claimOf = (epoch: number, generation: number): string => `${epoch}.${generation}`;

const placeOf = (scope: string, key: string): string => `${scope}\n${key}`;

export function createJournalLaws(violate: Violate): JournalLaws {
  const books = new Map<string, Book>();
  const notes = new Map<string, Notes>();
  const receipts = new Map<string, readonly Receipt[]>();
  const created = new Set<string>();
  const questions = new Map<string, string>();
  const underway = new Map<string, string>();
  const context = createContextLaws(violate);
  const usage = createUsageLaws(violate);

  function begin(batch: Batch): void {
    context.begun(batch.workstreamId);
    notes.set(batch.workstreamId, {
      ended: new Set(),
      started: new Set(),
      open: new Set(),
      answered: new Set(),
      decisions: new Map(),
      asked: new Set(),
      said: new Map(),
      leaving: new Set(),
      withdrawn: new Set(),
      accepted: [],
      inOrder: [],
      idOf: new Map(),
      standing: [],
      rewound: null,
      principal: null,
    });
    books.set(batch.workstreamId, {
      id: batch.workstreamId,
      incarnation: batch.incarnation,
      epoch: batch.epoch,
      session: null,
      entries: [],
      fold: emptyProjection,
    });
  }

  function record(batch: Batch): void {
    for (const receipt of batch.receipts) {
      const place = placeOf(receipt.scope, receipt.key);
      const known = receipts.get(place) ?? [];
      // A Stop that could not look may have been done before; it begins nothing.
      if (known.some((other) => isDeepStrictEqual(other, receipt))) continue;
      if (known.length > 0 && !receipt.unchecked)
        violate('I20', `${receipt.key} of ${receipt.scope} is recorded twice`);
      receipts.set(place, [...known, receipt]);
    }
  }

  /** `copied`: not written by a server, but restored. */
  function write(batch: Batch, copied = false): void {
    const book = books.get(batch.workstreamId)!;
    const before = book.fold;
    let fold = book.fold;
    for (const entry of batch.entries) {
      if (entry.revision !== fold.revision + 1)
        violate('I1', `${entry.kind} is written at ${entry.revision}, after ${fold.revision}`);
      if (!copied) answersItsQuestion(book.id, entry, before);
      check(book, fold, entry);
      const earlier = fold;
      fold = applyEntry(fold, entry);
      context.landed(book.id, earlier, entry, fold, copied);
      unfinished(fold, entry);
    }
    books.set(book.id, { ...book, entries: [...book.entries, ...batch.entries], fold });
    if (!isDeepStrictEqual(batch.projection, fold)) violate('I5', `at ${fold.revision}`);
    if (batch.state !== stateOf(fold)) violate('I29', `${batch.state} is written, ${stateOf(fold)} it is`);
    recovered(batch, before, fold);
    const { leaving, withdrawn } = notes.get(book.id)!;
    for (const mark of leaving) {
      withdrawn.add(mark);
      // An answer that shows the queue is that of a command which changed it.
      if (!copied && !batch.receipts.some(({ outcome }) => 'queue' in outcome))
        violate('I21', `${mark} left the queue and was not said`);
    }
    leaving.clear();
    wholeness(book.id);
  }

  /** What a model says is written under the claim it was asked under. */
  function answersItsQuestion(id: string, entry: Entry, before: Projection): void {
    if (entry.kind !== 'ASSISTANT' && entry.kind !== 'CANCELLATION') return;
    const claims = [claimOf(entry.epoch, entry.generation)];
    // What a forced turn keeps of an answer was shown under the claim it gives up in the same batch.
    if (entry.kind === 'CANCELLATION' && before.turn?.id === entry.turnId)
      claims.push(claimOf(entry.epoch, before.turn?.generation ?? 0));
    for (const word of wordsIn(entry.text))
      if (!claims.includes(questions.get(`${id}${word}`) ?? ''))
        violate('I28', `${entry.kind} at ${entry.revision} is ${word}, asked for under another claim`);
  }

  /** One entry, seen from the fold before it. */
  function check(book: Book, fold: Projection, entry: Entry): void {
    const n = notes.get(book.id)!;
    const where = `${entry.kind} at ${entry.revision}`;
    const live = liveTurn(fold);
    if (entry.generation < fold.generation) violate('I28', `${where} has generation ${entry.generation}`);
    if (entry.turnId !== null && n.ended.has(entry.turnId)) violate('I34', where);
    const latched = live?.phase === 'INTERRUPTING';
    const refuseLatched = (): void => {
      if (latched && entry.turnId === live.id) violate('I31', where);
    };
    switch (entry.kind) {
      case 'TURN':
        if (isSettled(entry.turn) && openCycles(fold).length > 0) violate('I42', `${where} leaves one open`);
        checkTurn(book.id, n, live, entry);
        break;
      case 'USER':
        checkUser(n, entry);
        break;
      case 'REWIND':
        if (live) violate('D-59', `${where}, from under turn ${live.id}`);
        n.standing = n.standing.filter((said) => said.revision <= entry.after);
        break;
      case 'ASSISTANT':
        refuseLatched();
        if (n.open.size > 0) violate('I38', `${where}, with ${[...n.open].join()} unanswered`);
        for (const call of entry.calls) n.open.add(call.callId);
        break;
      case 'TOOL_STARTED':
        refuseLatched();
        if (n.started.has(entry.callId)) violate('I37', `${where}: ${entry.callId} started before`);
        n.started.add(entry.callId);
        break;
      case 'TOOL':
        if (n.answered.has(entry.callId)) violate('I38', `${where}: ${entry.callId} is answered twice`);
        else if (!n.open.delete(entry.callId)) violate('I38', `${where}: nobody declared ${entry.callId}`);
        n.answered.add(entry.callId);
        if (!n.started.has(entry.callId) && entry.effect !== 'NONE')
          violate('D-9', `${where}: ${entry.effect} of a call that never started`);
        break;
      case 'APPROVAL':
        if (entry.cycle.status === 'OPEN') refuseLatched();
        for (const { callId, name, decision } of entry.cycle.items) {
          const known = n.decisions.get(callId);
          const { approvalMode, approvalModeBy } = fold.configuration;
          if (!decision) n.asked.add(callId);
          else if (!known && decision.source !== 'PERSON') {
            if (n.asked.has(callId))
              violate('I41', `${where}: ${decision.source} answers ${callId}, which is asked`);
            if (decision.source !== approvalMode || !isDeepStrictEqual(decision.by, approvalModeBy))
              violate('I41', `${where}: ${decision.source} answers ${callId}, the mode is ${approvalMode}`);
            if (name === 'run' && decision.source !== 'TRUST_ALL')
              violate('I41', `${where}: ${decision.source} lets a command run`);
          }
          if (known && !isDeepStrictEqual(known, decision)) violate('I39', `${where}: ${callId}`);
          if (decision) n.decisions.set(callId, decision);
        }
        break;
      case 'QUEUE':
        for (const item of fold.queue.items) for (const mark of marksIn(item.text)) n.leaving.add(mark);
        for (const item of entry.queue.items) {
          accept(n, item.id, item.text);
          for (const mark of marksIn(item.text)) n.leaving.delete(mark);
        }
        break;
      default:
        break;
    }
    // Until its turn has begun.
    if (entry.kind === 'REWIND') n.rewound = entry.reason;
    else if (entry.kind !== 'TURN' || isSettled(entry.turn)) n.rewound = null;
  }

  function accept(n: Notes, id: string, text: string): void {
    for (const mark of marksIn(text)) if (!n.idOf.has(mark)) n.idOf.set(mark, id);
    if (!n.accepted.includes(id)) n.accepted.push(id);
  }

  function checkTurn(
    id: string,
    n: Notes,
    live: Turn | null,
    { turn, revision, epoch, generation }: EntryOf<'TURN'>,
  ): void {
    const where = `turn ${turn.id} at ${revision}`;
    if ((turn.outcome !== null) !== (turn.settledAt !== null) || isSettled(turn) !== (turn.outcome !== null))
      violate('I27', where);
    if (n.ended.has(turn.id)) violate('I26', `${where} ended before`);
    if (live && live.id !== turn.id) violate('I25', `${where}, beside ${live.id}`);
    if (live?.phase === 'INTERRUPTING' && turn.phase !== 'INTERRUPTING' && turn.phase !== 'CANCELED')
      violate('I31', `${where} leaves INTERRUPTING for ${turn.phase}`);
    if (isSettled(turn)) {
      if (n.open.size > 0) violate('I38', `${where} ends with ${[...n.open].join()} unanswered`);
      n.ended.add(turn.id);
      for (const [what, claim] of underway)
        if (claim === `${id} ${claimOf(epoch, generation)}`)
          violate('D-66', `${where} ends with ${what} under way under the same claim`);
    }
    // A retry says nothing of its own: it runs what its principal wrote last.
    if (n.rewound === 'RETRY' && n.standing.at(-1)?.author.id !== turn.principal.id)
      violate('D-12', `${where} runs what ${n.standing.at(-1)?.author.id} wrote, as ${turn.principal.id}`);
    n.principal = turn.principal.id;
  }

  function checkUser(n: Notes, entry: EntryOf<'USER'>): void {
    const { id, source, text, author, revision } = entry;
    if (author.id !== n.principal) violate('D-12', `USER at ${revision} in a turn of ${n.principal}`);
    if (source === 'FEEDBACK') return;
    const marks = marksIn(text);
    if (!marks.some((mark) => n.idOf.has(mark))) accept(n, id, text);
    const overtakes = source === 'STEER' || n.rewound === 'EDIT';
    n.standing = [...n.standing, entry];
    for (const mark of marks) {
      if (authorOf(mark) !== author.id) violate('D-12', `${mark} is said by ${author.id}`);
      n.said.set(mark, (n.said.get(mark) ?? 0) + 1);
      n.leaving.delete(mark);
      const message = n.idOf.get(mark) ?? id;
      if (overtakes) n.accepted.splice(n.accepted.indexOf(message), 1);
      else n.inOrder.push(message);
    }
  }

  /** Approvals, seen from the fold after an entry. */
  function unfinished(fold: Projection, entry: Entry): void {
    if (entry.kind !== 'TURN' && entry.kind !== 'APPROVAL') return;
    const live = liveTurn(fold);
    for (const cycle of openCycles(fold)) {
      // Latch and superseding are two entries of one batch: the end of the batch is what counts.
      if (cycle.turnId !== live?.id)
        violate('I42', `cycle ${cycle.id} at ${entry.revision}, turn ${live?.id}`);
    }
  }

  function recovered(batch: Batch, before: Projection, after: Projection): void {
    if (openCycles(after).length > 0 && liveTurn(after)?.phase === 'INTERRUPTING')
      violate('I42', `a stopping turn has an open approval at ${after.revision}`);
    if (!batch.entries.some((entry) => entry.kind === 'RECOVERY')) return;
    if (before.turn?.phase === 'INTERRUPTING' || !liveTurn(after)) return;
    const still = new Set(openCycles(after).map((cycle) => cycle.id));
    for (const cycle of openCycles(before))
      if (!still.has(cycle.id)) violate('I44', `cycle ${cycle.id} is gone after the recovery`);
  }

  /** Said, queued or withdrawn, once, and in order. */
  function wholeness(id: string): void {
    for (const [mark, count] of places(id)) if (count !== 1) violate('I21', `${mark} is in ${count} places`);
    const { inOrder, accepted } = notes.get(id)!;
    const order = [...inOrder, ...books.get(id)!.fold.queue.items.map((item) => item.id)];
    const expected = accepted.filter((message) => order.includes(message));
    if (!isDeepStrictEqual(order, expected))
      violate('I22', `accepted ${expected.join()} but said or queued ${order.join()}`);
  }

  function places(id: string): ReadonlyMap<string, number> {
    const all = new Map(notes.get(id)?.said);
    const add = (mark: string): unknown => all.set(mark, (all.get(mark) ?? 0) + 1);
    for (const item of books.get(id)?.fold.queue.items ?? []) marksIn(item.text).forEach(add);
    notes.get(id)?.withdrawn.forEach(add);
    return all;
  }

  return {
    context,
    usage,
    book: (id) => books.get(id) ?? null,
    receipts: (scope, key) => receipts.get(placeOf(scope, key)) ?? [],
    places,
    withdrawn: (id) => [...(notes.get(id)?.withdrawn ?? [])],
    published(batch) {
      for (const { scope, key } of batch.receipts) {
        if (created.has(placeOf(scope, key))) violate('I20', `${key} of ${scope} made two workstreams`);
        created.add(placeOf(scope, key));
      }
      begin(batch);
      record(batch);
      write(batch, true);
    },
    claimed(id, epoch, session, who, isLive) {
      const book = books.get(id);
      if (!book) return violate('D-22', `${who} claimed ${id}, which is not there`);
      if (epoch <= book.epoch) violate('D-22', `${who} claimed epoch ${epoch} after ${book.epoch}`);
      if (book.session !== null && book.session !== session && isLive(book.session))
        violate('D-100', `${who} took ${id} from ${book.session}, which lives`);
      books.set(id, { ...book, epoch, session });
    },
    released(id) {
      const book = books.get(id);
      if (book) books.set(id, { ...book, session: null });
    },
    committed(batch, outcome, who, stored) {
      if (outcome.type === 'conflict') violate('D-51', `${who}: ${outcome.message}`);
      if (outcome.type !== 'committed') return;
      const book = books.get(batch.workstreamId);
      const what = `a batch of ${who} from ${batch.expectedHead + 1}`;
      if (book?.incarnation !== batch.incarnation) return violate('D-4', `${what} is of another incarnation`);
      if (book.epoch !== batch.epoch)
        return violate('D-4', `${what} of epoch ${batch.epoch} landed in epoch ${book.epoch}`);
      if (batch.entries.length > 0 && book.fold.revision !== batch.expectedHead)
        return violate('D-4', `${what} landed at head ${book.fold.revision}`);
      record(batch);
      usage.written(batch.workstreamId, batch.calls, batch.epoch);
      if (batch.entries.length > 0) write(batch);
      const mine = books.get(batch.workstreamId)!.entries;
      if (stored.length !== mine.length) violate('I1', `${stored.length} rows, ${mine.length} were written`);
      for (const [i, entry] of stored.entries())
        if (entry.id !== mine[i]?.id) violate('I3', `revision ${i + 1} is another entry now`);
    },
    asked: (id, word, epoch, generation) => void questions.set(`${id}${word}`, claimOf(epoch, generation)),
    begun: (id, what, epoch, generation) => void underway.set(what, `${id} ${claimOf(epoch, generation)}`),
    over: (what) => void underway.delete(what),
    removed(id) {
      for (const [what, claim] of underway) if (claim.startsWith(`${id} `)) underway.delete(what);
      books.delete(id);
      notes.delete(id);
      context.removed(id);
      usage.removed(id);
    },
  };
}
