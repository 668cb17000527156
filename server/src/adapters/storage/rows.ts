/**
 * Owns: how entries and what they change become rows, and rows become entries and cycles again. Pure.
 *
 * Invariants: reading back what was written gives the same values; the tables of turns, approvals and the queue say
 * what the fold says (D-6): they are written from the same entries, in the same transaction (D-3).
 */
import {
  isSettled,
  isStopping,
  type ApprovalCycle,
  type ApprovalDecision,
  type ApprovalItem,
  type Entry,
  type QueuedMessage,
  type Turn,
} from 'schema/projection';
import { commitKey } from '../../core/journal/entry.ts';
import type { Batch } from '../../ports/journal.ts';
import { withoutResults } from './open-results.ts';
import { searchVector } from './search-vector.ts';

/** What a batch changes beside the journal, in the order it must be written. */
export interface RowChanges {
  /** Last word on each turn, in the order of their last entries: one settles before the next one begins. */
  readonly turns: readonly Turn[];
  /** Last word on each cycle. */
  readonly cycles: readonly ApprovalCycle[];
  /** The whole queue, when it changed. */
  readonly queue: readonly QueuedMessage[] | null;
}

export function rowChanges(entries: readonly Entry[]): RowChanges {
  const turns = new Map<string, Turn>();
  const cycles = new Map<string, ApprovalCycle>();
  let queue: readonly QueuedMessage[] | null = null;
  for (const entry of entries) {
    if (entry.kind === 'TURN') setLast(turns, entry.turn.id, entry.turn);
    if (entry.kind === 'APPROVAL') setLast(cycles, entry.cycle.id, entry.cycle);
    if (entry.kind === 'QUEUE') queue = entry.queue.items;
  }
  return { turns: [...turns.values()], cycles: [...cycles.values()], queue };
}

/** Turns that have settled: cycles of theirs that are still open are open no more, as in the fold. */
export const settledTurns = (turns: readonly Turn[]): readonly Turn[] => turns.filter(isSettled);

/** Columns of the head row after a batch. */
export function headColumns(batch: Batch) {
  const { projection } = batch;
  return {
    lifecycle: projection.lifecycle,
    revision: batch.expectedHead + batch.entries.length,
    generation: projection.generation,
    projection: withoutResults(projection),
    state: batch.state,
    title: projection.configuration.title,
    model: projection.configuration.model,
    workspace: projection.configuration.workspace,
    stopping: isStopping(projection),
    updatedAt: projection.updatedAt === null ? new Date() : new Date(projection.updatedAt),
  };
}

export function entryRow(workstream: string, entry: Entry) {
  const { id, revision, kind, epoch, generation, lane, turnId, at, ...payload } = entry;
  return {
    workstream,
    revision,
    id,
    kind,
    epoch,
    generation,
    lane,
    turnId,
    commitKey: commitKey(entry),
    payload: payload as Readonly<Record<string, unknown>>,
    at: new Date(at),
    search: searchVector(entry),
  };
}

export function entryOf(row: ReadBack<ReturnType<typeof entryRow>>): Entry {
  const { id, revision, kind, epoch, generation, lane, turnId, at, payload } = row;
  const place = { id, revision, epoch, generation, lane: lane ?? null, turnId: turnId ?? null };
  // The payload was taken from an entry of this kind; nobody else writes here.
  return { ...place, at: at.toISOString(), kind, ...payload } as Entry;
}

export function turnRow(workstream: string, turn: Turn) {
  return {
    id: turn.id,
    workstream,
    kind: turn.kind,
    phase: turn.phase,
    generation: turn.generation,
    principalId: turn.principal.id,
    principalName: turn.principal.name,
    outcome: turn.outcome?.type ?? null,
    outcomeReason: turn.outcome?.reason ?? null,
    outcomeMessage: turn.outcome?.message ?? null,
    recoveries: turn.recoveries,
    startedAt: new Date(turn.startedAt),
    settledAt: dateOrNull(turn.settledAt),
  };
}

export function cycleRow(workstream: string, cycle: ApprovalCycle) {
  return {
    id: cycle.id,
    workstream,
    kind: cycle.kind,
    turnId: cycle.turnId,
    budget: cycle.budget ?? null,
    status: cycle.status,
    openedAt: new Date(cycle.openedAt),
    closedAt: dateOrNull(cycle.closedAt),
  };
}

export function itemRow(cycle: string, item: ApprovalItem, position: number) {
  const { callId, name, arguments: args, argumentsHash, preview, basis, decision } = item;
  return {
    cycle,
    callId,
    position,
    name,
    arguments: args,
    argumentsHash,
    preview,
    basis,
    verdict: decision?.verdict ?? null,
    source: decision?.source ?? null,
    decidedById: decision?.by.id ?? null,
    decidedByName: decision?.by.name ?? null,
    feedback: decision?.feedback ?? null,
    decidedAt: dateOrNull(decision?.at ?? null),
  };
}

export function cycleOf(
  row: ReadBack<ReturnType<typeof cycleRow>>,
  items: readonly ReadBack<ReturnType<typeof itemRow>>[],
): ApprovalCycle {
  return {
    id: row.id,
    kind: row.kind,
    ...(row.budget && { budget: row.budget }),
    turnId: row.turnId,
    status: row.status,
    items: items.toSorted((a, b) => a.position - b.position).map(itemOf),
    openedAt: row.openedAt.toISOString(),
    closedAt: row.closedAt?.toISOString() ?? null,
  };
}

function itemOf(row: ReadBack<ReturnType<typeof itemRow>>): ApprovalItem {
  const { callId, name, argumentsHash, preview, basis } = row;
  const decision = decisionOf(row);
  return { callId, name, arguments: row.arguments, argumentsHash, preview, basis: basis ?? null, decision };
}

export function decisionOf(row: ReadBack<ReturnType<typeof itemRow>>): ApprovalDecision | null {
  const { verdict, source, decidedAt } = row;
  if (!verdict || !source || !decidedAt) return null;
  const by = { id: row.decidedById ?? '', name: row.decidedByName ?? '' };
  return { verdict, source, by, feedback: row.feedback ?? null, at: decidedAt.toISOString() };
}

export function queueRow(workstream: string, message: QueuedMessage, position: number) {
  const { id, text, author, delivery, turnId, afterStop, at } = message;
  const { id: authorId, name: authorName } = author;
  return {
    id,
    workstream,
    position,
    text,
    authorId,
    authorName,
    delivery,
    turnId,
    afterStop,
    at: new Date(at),
  };
}

/** A row as the ORM types it when it is read: a nullable column may also be missing. */
type ReadBack<T> = {
  readonly [K in keyof T as null extends T[K] ? never : K]: T[K];
} & {
  readonly [K in keyof T as null extends T[K] ? K : never]?: T[K] | undefined;
};

const dateOrNull = (at: string | null): Date | null => (at === null ? null : new Date(at));

/** A Map keeps the place of the first time; here the last one counts. */
function setLast<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
}
