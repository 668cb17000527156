/**
 * Owns: storage without a database, for tests of the app: the same ports, kept in memory, that a test can take away,
 * slow down and interfere with. `contracts/storage.ts` runs on this and on PostgreSQL, so that they do not differ.
 *
 * Invariants: values go in and out through JSON, as jsonb gives them back; every call answers in a later turn of the
 * event loop, as a database does.
 */
import {
  isConversation,
  isSettled,
  isStopping,
  isSuperseded,
  type Entry,
  type EntryOf,
} from 'schema/projection';
import {
  emptyProjection,
  type ApprovalCycle,
  type Projection,
  type WorkstreamState,
} from 'schema/projection';
import { flawOf } from '../../src/adapters/storage/commit-batch.ts';
import type { Storage } from '../../src/adapters/storage/index.ts';
import { createOneAtATime } from '../../src/app/services/one-at-a-time.ts';
import { entryRow } from '../../src/adapters/storage/rows.ts';
import { commitKey } from '../../src/core/journal/entry.ts';
import { endsAt, snippetOf, type SearchQuery, type Term } from '../../src/core/journal/search-query.ts';
import { searchText, wordsOf } from '../../src/core/journal/search-text.ts';
import { receiptKey } from '../../src/core/journal/receipt.ts';
import { onlyWaits } from '../../src/core/workstream/lifecycle.ts';
import type { Page, PageRange, Position, SummaryRow } from '../../src/ports/catalog.ts';
import type { Clock } from '../../src/ports/clock.ts';
import {
  pageBytes,
  receiptKeysLoaded,
  type Batch,
  type CommitOutcome,
  type Receipt,
} from '../../src/ports/journal.ts';
import { failedLoadsBeforeQuarantine, type Session } from '../../src/ports/ownership.ts';
import { folderKey, type Doomed, type Removed, type Sweeper } from '../../src/ports/removal.ts';
import { StorageUnavailableError } from '../../src/ports/storage-unavailable.ts';
import type { TokenRow } from '../../src/ports/token-store.ts';
import { storable } from '../../src/core/kit/storable.ts';
import { spentBy } from '../../src/core/models/spending.ts';
import { createMemoryWatches } from './memory-watches.ts';
import type { ModelCall, RecordedCall, UsageGroup, UsageKey, UsageTotal } from '../../src/ports/usage.ts';

export interface MemoryStorage extends Storage {
  /** From now on nothing answers: commits are `unavailable`, the rest rejects. */
  goAway(): void;
  comeBack(): void;
  /** The next `count` commits, of whatever, are written, but their answer is lost (D-52). */
  loseAnswers(count?: number): void;
  /** The next commits are refused as data the database cannot hold. */
  refuseData(on: boolean): void;
  /** Calls from now on wait until `release`, and are then done in order. */
  hold(): void;
  release(): void;
  /** How many calls wait for `release`. */
  readonly heldCalls: number;
  /** Another process becomes the owner, whatever this one thinks. */
  takeOver(workstreamId: string): void;
  /** The workstream is deleted from under its owner. */
  remove(workstreamId: string): void;
  /** It is being made again, with all that is its own. */
  forgeCreating(workstreamId: string): void;
  /** The session's term is over; terms end when a test says so, never by the clock. */
  expire(sessionId: string): void;
  /** It was made, and last changed, so many milliseconds earlier. */
  age(workstreamId: string, ms: number): void;
  /** Every attempt to commit, in order, landed or not. */
  readonly attempts: readonly Batch[];
  /** Entries as they are stored. */
  entries(workstreamId: string): readonly Entry[];
  owner(workstreamId: string): string | null;
  /** Rows in CREATING and everything else that a rollback must not leave behind. */
  readonly rows: number;
}

interface Row {
  readonly id: string;
  readonly incarnation: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly lifecycle: 'CREATING' | 'OPEN' | 'CLOSED';
  readonly folder: string;
  readonly epoch: number;
  readonly owner: string | null;
  readonly host: string | null;
  readonly revision: number;
  readonly projection: Projection;
  readonly state: WorkstreamState;
  readonly quarantine: string | null;
  readonly failedLoads: number;
  readonly entries: readonly Entry[];
  readonly cycles: ReadonlyMap<string, ApprovalCycle>;
  readonly spent: number;
}

interface SessionRow {
  readonly id: string;
  readonly nodeId: string;
  readonly host: string;
  readonly ended: boolean;
}

interface Token extends TokenRow {
  readonly hash: string;
  readonly revoked: boolean;
}

const stored = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
const place = (scope: string, key: string): string => JSON.stringify([scope, key]);

export function createMemoryStorage(clock: Clock): MemoryStorage {
  const rows = new Map<string, Row>();
  const sessions = new Map<string, SessionRow>();
  const receipts = new Map<string, Receipt>();
  /** Keys of commands on each workstream. */
  const commandKeys = new Map<string, Set<string>>();
  const codes = new Map<string, { readonly expiresAt: number; readonly used: boolean }>();
  const tokens = new Map<string, Token>();
  /** In the order they were counted; they outlive their workstream. */
  const modelCalls = new Map<string, RecordedCall>();
  const attempts: Batch[] = [];
  /** What the list shows of each, and at which look that was noticed; and what was deleted before which. */
  const listed = new Map<string, { readonly shown: string; readonly at: number }>();
  const deletions: { readonly id: string; readonly at: number }[] = [];
  /** Folders of what is gone that were not let go yet; and one thing at a time with each. */
  const leftFolders = new Set<string>();
  const withFolder = createOneAtATime();
  let looks = 0;
  let away = false;
  let lost = 0;
  let refusing = false;
  let held: (() => void)[] | null = null;

  /** Waits as a call over a connection does, then does `work` in one go, as a transaction does. */
  async function answer<T>(work: () => T): Promise<T> {
    await arrived();
    if (away) throw new StorageUnavailableError('The database does not answer (TEST).');
    return work();
  }

  /** What was done, unless the answer that says so is lost. */
  async function told<T>(work: () => T): Promise<T> {
    const outcome = await answer(work);
    if (lost === 0) return outcome;
    lost -= 1;
    throw new StorageUnavailableError('The database does not answer (TEST).');
  }

  async function arrived(): Promise<void> {
    if (held) await new Promise<void>((resolve) => held!.push(resolve));
    else await new Promise<void>((resolve) => setImmediate(resolve));
  }

  const isLive = (id: string | null): boolean => id !== null && sessions.get(id)?.ended === false;
  const hostOf = (id: string): string | null => sessions.get(id)?.host ?? null;
  const watches = createMemoryWatches({
    clock,
    isLive,
    workstream(id) {
      const row = rows.get(id);
      return row && { ...row, workspace: row.projection.configuration.workspace };
    },
  });
  const change = (row: Row, part: Partial<Row>): void => void rows.set(row.id, { ...row, ...part });
  const visible = (): readonly Row[] =>
    newestFirst(
      [...rows.values()].filter((row) => row.lifecycle !== 'CREATING'),
      positionOfRow,
    );

  const summary = (row: Row): SummaryRow => ({
    id: row.id,
    title: row.projection.configuration.title,
    state: row.quarantine === null ? row.state : 'ERROR',
    stopping: isStopping(row.projection),
    lifecycle: row.lifecycle === 'CLOSED' ? 'CLOSED' : 'OPEN',
    model: row.projection.configuration.model,
    revision: row.revision,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  });

  /** Notes what the list shows by now. (What changed and changed back between two looks is missed, unlike in SQL.) */
  function notice(): void {
    looks += 1;
    for (const row of visible()) {
      const { revision: _, createdAt: _made, updatedAt: _changed, ...shows } = summary(row);
      const shown = JSON.stringify(shows);
      if (listed.get(row.id)?.shown !== shown) listed.set(row.id, { shown, at: looks });
    }
  }

  function drop(row: Row): void {
    rows.delete(row.id);
    listed.delete(row.id);
    watches.drop(row.id);
    if (row.lifecycle !== 'CREATING') deletions.push({ id: row.id, at: looks + 1 });
    if (/\/[0-9a-f]{32}$/.test(row.folder)) leftFolders.add(row.folder);
  }

  /** The row after the batch, or why the tables refuse it. */
  function written(row: Row, batch: Batch): Row | { readonly conflict: string } {
    const { entries, projection } = batch;
    // Calls are made storable where they are written.
    const data = JSON.stringify({ ...batch, calls: [] });
    if (!data.isWellFormed() || /\\u0000|\\ud[89a-f]/i.test(data))
      return { conflict: 'The database refuses the data (22P05).' };
    const keys = new Set(row.entries.map(commitKey));
    let live = row.projection.turn && !isSettled(row.projection.turn) ? row.projection.turn.id : null;
    for (const entry of entries) {
      if (keys.has(commitKey(entry)))
        return { conflict: 'The database refuses the data (23505, entry_commit_key_unique).' };
      keys.add(commitKey(entry));
      if (entry.kind !== 'TURN') continue;
      if (live !== null && live !== entry.turn.id)
        return { conflict: 'The database refuses the data (23505, turn_one_live).' };
      live = isSettled(entry.turn) ? null : entry.turn.id;
    }
    const cycles = new Map(row.cycles);
    for (const entry of entries)
      if (entry.kind === 'APPROVAL') cycles.set(entry.cycle.id, stored(entry.cycle));
    for (const entry of entries)
      if (entry.kind === 'TURN' && isSettled(entry.turn))
        for (const [id, cycle] of cycles)
          if (cycle.turnId === entry.turn.id && cycle.status === 'OPEN')
            cycles.set(id, { ...cycle, status: 'SUPERSEDED', closedAt: entry.turn.settledAt });
    return {
      ...row,
      lifecycle: projection.lifecycle,
      folder: projection.configuration.workspace,
      revision: batch.expectedHead + entries.length,
      projection: stored(projection),
      state: batch.state,
      updatedAt: projection.updatedAt ?? row.updatedAt,
      entries: [...row.entries, ...stored(entries)],
      cycles,
    };
  }

  function commit(batch: Batch): CommitOutcome {
    const flaw = flawOf(batch);
    if (flaw) return { type: 'conflict', message: flaw };
    if (refusing) return { type: 'conflict', message: 'The database refuses the data (TEST).' };
    const row = rows.get(batch.workstreamId);
    const opens = batch.entries.some((entry) => entry.kind === 'LIFECYCLE') || batch.entries.length === 0;
    if (
      row?.incarnation !== batch.incarnation ||
      row.epoch !== batch.epoch ||
      row.revision !== batch.expectedHead ||
      row.lifecycle === 'CREATING' ||
      (row.lifecycle === 'CLOSED' && !opens)
    )
      return { type: 'fenced' };
    const next = written(row, batch);
    if ('conflict' in next) return { type: 'conflict', message: next.conflict };
    const firm = batch.receipts.filter((r) => !r.unchecked);
    const taken = firm.filter((r) => receipts.has(place(r.scope, r.key)));
    const same = firm.every((r) => receipts.get(place(r.scope, r.key))?.inputHash === r.inputHash);
    if (taken.length > 0 && !(batch.entries.length === 0 && same))
      return { type: 'conflict', message: 'A receipt of this batch is recorded already.' };
    const refused = watches.commit(row.id, batch.entries);
    if (refused !== null) return { type: 'conflict', message: `The database refuses the data (${refused}).` };
    rows.set(row.id, next);
    countCalls(row.id, batch.calls);
    for (const { unchecked, ...receipt } of batch.receipts)
      if (!unchecked || !receipts.has(place(receipt.scope, receipt.key))) {
        receipts.set(place(receipt.scope, receipt.key), stored(receipt));
        commandKeys.set(row.id, (commandKeys.get(row.id) ?? new Set()).add(receiptKey(receipt)));
      }
    return { type: 'committed' };
  }

  /** Each once, by its id. */
  function countCalls(workstreamId: string, calls: readonly ModelCall[]): void {
    for (const call of calls) {
      if (modelCalls.has(call.id)) continue;
      modelCalls.set(call.id, {
        ...stored(storable(call)),
        workstreamId,
        at: new Date(clock.now()).toISOString(),
      });
      const row = rows.get(workstreamId);
      if (row) change(row, { spent: row.spent + spentBy(call) });
    }
  }

  const callsOf = (workstreamId: string): readonly RecordedCall[] =>
    [...modelCalls.values()].filter((call) => call.workstreamId === workstreamId);

  function keysOf(id: string): ReadonlySet<string> | null {
    const keys = new Set(commandKeys.get(id));
    return keys.size > receiptKeysLoaded ? null : keys;
  }

  function removeRow(row: Row): Removed {
    const { id, incarnation } = row;
    drop(row);
    for (const [name, receipt] of receipts)
      if (commandKeys.get(id)?.has(receiptKey(receipt))) receipts.delete(name);
    commandKeys.delete(id);
    return { id, incarnation };
  }

  const payloadBytes = (id: string, entry: Entry): number =>
    Buffer.byteLength(JSON.stringify(entryRow(id, entry).payload));

  const sweep = (
    { except }: Sweeper,
    olderThanMs: number,
    due: (row: Row) => boolean,
    doomed?: Doomed,
  ): Promise<readonly Removed[]> =>
    told(() => {
      const some = [...rows.values()]
        .filter((row) => {
          const since = row.lifecycle === 'CLOSED' ? row.updatedAt : row.createdAt;
          return clock.now() - Date.parse(since) > olderThanMs && !except.includes(row.id) && due(row);
        })
        .slice(0, 100);
      doomed?.(some);
      return some.map(removeRow);
    });

  return {
    journal: {
      async commit(batch) {
        await arrived();
        attempts.push(batch);
        const unavailable = { type: 'unavailable', message: 'The database does not answer (TEST).' } as const;
        if (away) return unavailable;
        const outcome = commit(batch);
        if (lost === 0) return outcome;
        lost -= 1;
        return unavailable;
      },
      head: (id) =>
        answer(() => {
          const row = rows.get(id);
          return row
            ? {
                incarnation: row.incarnation,
                epoch: row.epoch,
                revision: row.revision,
                lifecycle: row.lifecycle,
              }
            : null;
        }),
      holds: (id, entries) =>
        answer(() => entries.every((e) => rows.get(id)?.entries[e.revision - 1]?.id === e.id)),
      read: (id, { after, through, limit, maxBytes = Infinity, from = 'OLDEST' }) =>
        answer(() => {
          const all = (rows.get(id)?.entries ?? []).filter(
            (e) => e.revision > after && e.revision <= through,
          );
          const asked = (from === 'OLDEST' ? all : all.toReversed()).slice(0, Math.max(0, limit));
          let bytes = 0;
          const beyond =
            maxBytes === Infinity
              ? -1
              : asked.findIndex((e, i) => (bytes += payloadBytes(id, e)) > maxBytes && i > 0);
          const page = beyond === -1 ? asked : asked.slice(0, beyond);
          return stored(from === 'OLDEST' ? page : page.toReversed());
        }),
      storedBytes: (id, { after, through, enough }) =>
        answer(() => {
          let bytes = 0;
          for (const e of rows.get(id)?.entries ?? [])
            if (e.revision > after && e.revision <= through && bytes <= enough) bytes += payloadBytes(id, e);
          return bytes;
        }),
      epochAt: (id, revision) => answer(() => rows.get(id)?.entries[revision - 1]?.epoch ?? null),
      lastRevisionOf: (id, revision, epoch) =>
        answer(
          () =>
            (rows.get(id)?.entries ?? []).findLast((e) => e.revision <= revision && e.epoch <= epoch)
              ?.revision ?? 0,
        ),
      conversation: (id, { incarnation, through, superseded, checkpoint, signal }) =>
        answer(() => {
          signal?.throwIfAborted();
          const row = rows.get(id);
          if (row?.incarnation !== incarnation) return null;
          const entries = stored(row.entries);
          const summary = entries.filter((e) => e.id === checkpoint?.id);
          if (checkpoint && summary.length === 0) return null;
          return summary.concat(
            entries.filter(
              (e) =>
                isConversation(e.kind) &&
                e.kind !== 'CHECKPOINT' &&
                e.revision > (checkpoint?.watermark ?? 0) &&
                e.revision <= through &&
                !superseded.some((span) => e.revision > span.after && e.revision <= span.through),
            ),
          );
        }),
      checkpointAt: (id, through) =>
        answer(
          () =>
            stored(rows.get(id)?.entries ?? []).findLast(
              (e): e is EntryOf<'CHECKPOINT'> => e.kind === 'CHECKPOINT' && e.revision <= through,
            ) ?? null,
        ),
      rewinds: (id, through) =>
        answer(() =>
          stored(rows.get(id)?.entries ?? []).filter(
            (e): e is EntryOf<'REWIND'> => e.kind === 'REWIND' && e.revision <= through,
          ),
        ),
      receiptKeys: (id) => answer(() => keysOf(id)),
      findReceipt: (scope, key) => answer(() => stored(receipts.get(place(scope, key)) ?? null)),
    },

    ownership: {
      claim: (id, sessionId) =>
        answer(() => {
          const row = rows.get(id);
          if (!row || row.lifecycle === 'CREATING') return { type: 'notFound' };
          if (row.quarantine !== null) return { type: 'quarantined', reason: row.quarantine };
          if (!isLive(sessionId) || (row.owner !== sessionId && isLive(row.owner)))
            return { type: 'elsewhere' };
          change(row, { epoch: row.epoch + 1, owner: sessionId, host: hostOf(sessionId) });
          return {
            type: 'claimed',
            workstream: {
              id,
              incarnation: row.incarnation,
              epoch: row.epoch + 1,
              projection: stored(row.projection),
              spent: row.spent,
              previousHost: row.owner === null ? null : (sessions.get(row.owner)?.host ?? null),
              failedLoads: row.failedLoads,
              createdAt: row.createdAt,
            },
          };
        }),
      release: (id, sessionId, epoch) =>
        answer(() => {
          const row = rows.get(id);
          if (row?.owner === sessionId && row.epoch === epoch && row.lifecycle !== 'CREATING')
            change(row, { owner: null });
        }),
      held: (sessionId) =>
        answer(() =>
          visible()
            .filter((row) => row.owner === sessionId)
            .map(({ id, epoch }) => ({ id, epoch })),
        ),
      liveTurns: (sessionId) =>
        answer(() =>
          visible()
            .toReversed()
            .filter(
              (row) =>
                row.lifecycle === 'OPEN' &&
                row.quarantine === null &&
                row.projection.turn !== null &&
                !isSettled(row.projection.turn) &&
                !onlyWaits(row.projection) &&
                (row.owner === sessionId || !isLive(row.owner)),
            )
            .map((row) => row.id),
        ),
      over: (ids) => answer(() => ids.filter((id) => sessions.has(id) && !isLive(id))),
      recordFailedLoad: (id, reason) =>
        answer(() => {
          const row = rows.get(id);
          if (!row) return 0;
          const failedLoads = reason === null ? 0 : row.failedLoads + 1;
          const quarantine = failedLoads >= failedLoadsBeforeQuarantine ? reason : row.quarantine;
          change(row, { failedLoads, quarantine: reason === null ? null : quarantine });
          return failedLoads;
        }),
    },

    catalog: {
      get: (id) =>
        answer(() => {
          const row = rows.get(id);
          if (!row || row.lifecycle === 'CREATING') return null;
          const { incarnation, epoch, revision, quarantine, createdAt, updatedAt } = row;
          const owner = isLive(row.owner) ? row.owner : null;
          const projection = stored(row.projection);
          return { id, incarnation, epoch, revision, projection, owner, quarantine, createdAt, updatedAt };
        }),
      list: (range, lifecycle) =>
        answer(() =>
          pageOf(
            visible()
              .filter((row) => !lifecycle || row.lifecycle === lifecycle)
              .map(summary),
            range,
            positionOfRow,
          ),
        ),
      overview: ({ newest, living }) =>
        answer(() => {
          const [first, rest] = [visible().slice(0, newest), visible().slice(newest)];
          const last = first.at(-1);
          const waits = (row: Row): number => (row.state === 'ATTENTION' ? 0 : 1);
          const has = (lifecycle: 'OPEN' | 'CLOSED'): boolean =>
            rest.some((row) => row.lifecycle === lifecycle);
          return {
            newest: first.map(summary),
            living: rest
              .filter((row) => row.projection.turn !== null && !isSettled(row.projection.turn))
              .toSorted((a, b) => waits(a) - waits(b))
              .slice(0, living)
              .map(summary),
            older:
              last && rest.length > 0
                ? { after: positionOfRow(last), open: has('OPEN'), closed: has('CLOSED') }
                : null,
          };
        }),
      openCycles: (range) =>
        answer(() => {
          const open = visible().flatMap((row) =>
            [...row.cycles.values()]
              .filter((cycle) => cycle.status === 'OPEN')
              .map((cycle) => ({ workstreamId: row.id, cycle: stored(cycle) })),
          );
          return pageOf(newestFirst(open, positionOfCycle), range, positionOfCycle);
        }),
      decisionOf: (id, cycleId, callId) =>
        answer(
          () =>
            visible()
              .find((row) => row.id === id)
              ?.cycles.get(cycleId)
              ?.items.find((item) => item.callId === callId)?.decision ?? null,
        ),
    },

    elsewhere: {
      look: (ids, since) =>
        answer(() => {
          notice();
          const isNews = (noticed: { readonly at: number } | undefined): boolean =>
            since !== null && noticed !== undefined && noticed.at > Number(since);
          return {
            mark: String(looks),
            asked: visible()
              .filter((row) => ids.includes(row.id))
              .map((row) => ({ ...summary(row), incarnation: row.incarnation, epoch: row.epoch })),
            changed: visible()
              .filter((row) => isNews(listed.get(row.id)))
              .map(summary),
            deleted: deletions.filter(isNews).map(({ id }) => id),
          };
        }),
    },

    search: {
      find: (query, { workstreamId, first, after }) =>
        answer(() => {
          const all = visible()
            .filter((row) => workstreamId === null || row.id === workstreamId)
            .flatMap((row) =>
              row.entries.map((entry) => ({
                workstreamId: row.id,
                title: row.projection.configuration.title,
                entry: stored(entry),
                superseded: isSuperseded(row.projection, entry.revision),
                text: searchText(entry),
              })),
            )
            .filter(({ text }) => text !== null && matches(text, query))
            .toSorted((a, b) => (isBefore(a, b) ? 1 : -1));
          const rest =
            after === null ? all : all.filter((found) => isBefore(found, { ...after, entry: after }));
          let size = 0;
          const page = rest.slice(0, first).filter(({ entry }) => {
            const fits = size < pageBytes;
            size += JSON.stringify(entry).length;
            return fits;
          });
          return {
            type: 'found',
            items: page.map(({ text, ...found }) => ({ ...found, snippet: snippetOf(text ?? '', query) })),
            hasNext: rest.length > page.length,
          };
        }),
    },

    reservations: {
      reserve: ({ id, incarnation, sessionId, folder = '' }) =>
        told(() => {
          if (rows.has(id)) throw new Error('This id is taken.');
          const at = new Date(clock.now()).toISOString();
          rows.set(id, {
            id,
            incarnation,
            owner: sessionId,
            host: hostOf(sessionId),
            createdAt: at,
            updatedAt: at,
            lifecycle: 'CREATING',
            folder,
            epoch: 0,
            revision: 0,
            projection: emptyProjection,
            state: 'CREATING',
            quarantine: null,
            failedLoads: 0,
            entries: [],
            cycles: new Map(),
            spent: 0,
          });
        }),
      settleIn: (id, incarnation, folder) =>
        withFolder(folderKey(folder), () =>
          told(() => {
            const row = rows.get(id);
            if (row?.incarnation === incarnation && row.lifecycle === 'CREATING') change(row, { folder });
          }),
        ),
      publish: (batch, signal) =>
        told(() => {
          signal?.throwIfAborted();
          const flaw = flawOf(batch);
          if (flaw) throw new Error(flaw);
          const row = rows.get(batch.workstreamId);
          if (
            row?.incarnation !== batch.incarnation ||
            row.lifecycle !== 'CREATING' ||
            row.revision !== batch.expectedHead
          )
            return { type: 'gone' };
          if (batch.receipts.some((r) => receipts.has(place(r.scope, r.key)))) return { type: 'duplicate' };
          const next = written(row, batch);
          if ('conflict' in next) throw new Error(next.conflict);
          const refused = watches.commit(row.id, batch.entries);
          if (refused !== null) throw new Error(`The database refuses the data (${refused}).`);
          rows.set(row.id, { ...next, epoch: batch.epoch, owner: null });
          for (const receipt of batch.receipts)
            receipts.set(place(receipt.scope, receipt.key), stored(receipt));
          return { type: 'published' };
        }),
      rollback: (id, incarnation) =>
        told(() => {
          const row = rows.get(id);
          if (row?.incarnation === incarnation && row.lifecycle === 'CREATING') drop(row);
        }),
    },

    removal: {
      remove: ({ workstreamId: id, incarnation, epoch, sessionId, receipt }) =>
        told(() => {
          const row = rows.get(id);
          if (row?.incarnation !== incarnation || row.lifecycle === 'CREATING')
            return { type: 'notFound' } as const;
          if (row.owner !== sessionId && isLive(row.owner)) return { type: 'elsewhere' } as const;
          if (epoch !== null && row.epoch !== epoch) return { type: 'fenced' } as const;
          if (receipts.has(place(receipt.scope, receipt.key))) return { type: 'duplicate' } as const;
          receipts.set(place(receipt.scope, receipt.key), stored(receipt));
          removeRow(row);
          return { type: 'removed' } as const;
        }),
      reap: (by, olderThanMs) =>
        sweep(
          by,
          olderThanMs,
          (row) => row.lifecycle === 'CREATING' && (row.owner === by.sessionId || !isLive(row.owner)),
        ),
      sweepUnused: (by, olderThanMs, doomed) =>
        sweep(
          by,
          olderThanMs,
          (row) =>
            row.lifecycle === 'OPEN' &&
            !isLive(row.owner) &&
            row.projection.configuration.titleSource === 'DEFAULT' &&
            row.projection.configuration.instructions === undefined &&
            row.projection.configuration.tokenBudget === undefined &&
            row.entries.length === 2,
          doomed,
        ),
      sweepClosed: (by, olderThanMs, doomed) =>
        sweep(by, olderThanMs, (row) => row.lifecycle === 'CLOSED' && !isLive(row.owner), doomed),
      leftFolders: (beginning) =>
        answer(() =>
          [...leftFolders]
            .filter((path) => path.startsWith(beginning))
            .toSorted()
            .slice(0, 100),
        ),
      letGo: (folder, take) =>
        withFolder(folderKey(folder), async () => {
          let [noted, committed] = [false, false];
          const used = await answer(() => {
            noted = leftFolders.delete(folder);
            return [...rows.values()].some((row) => folderKey(row.folder) === folderKey(folder));
          });
          try {
            const outcome = used ? 'inUse' : await take();
            return await told(() => {
              committed = true;
              return outcome;
            });
          } finally {
            if (noted && !committed) leftFolders.add(folder);
          }
        }),
    },

    usage: {
      record: (id, calls) => told(() => countCalls(id, calls)),
      groups: ({ from, through, workstreamId, by, limit }) =>
        answer(() => {
          const asked = [...modelCalls.values()].filter(
            ({ at, workstreamId: id }) =>
              at.slice(0, 10) >= from &&
              at.slice(0, 10) <= through &&
              (workstreamId === null || id === workstreamId),
          );
          const groups = Map.groupBy(asked, (call) => JSON.stringify(keyOf(call, by)));
          if (by.length === 0 && asked.length === 0) groups.set(JSON.stringify(noKey), []);
          return [...groups]
            .map(([key, calls]): UsageGroup => ({ ...(JSON.parse(key) as typeof noKey), ...totalOf(calls) }))
            .toSorted(newestAndMostFirst)
            .slice(0, limit);
        }),
      totalOf: (id) => answer(() => totalOf(callsOf(id))),
      totalOfTurn: (id, turnId) =>
        answer(() => totalOf(callsOf(id).filter((call) => call.turnId === turnId))),
      calls: (id, { limit, before }) =>
        answer(() => {
          const all = callsOf(id).toSorted((a, b) => (`${a.at} ${a.id}` < `${b.at} ${b.id}` ? 1 : -1));
          const from = before === null ? 0 : all.findIndex((call) => call.id === before) + 1;
          return stored(before !== null && from === 0 ? [] : all.slice(from, from + limit));
        }),
    },

    watches: {
      claim: (request) => told(() => watches.store.claim(request)),
      giveBack: (...asked) => answer(() => watches.store.giveBack(...asked)),
      untilDue: (request) => answer(() => watches.store.untilDue(request)),
      record: (outcome) => told(() => watches.store.record(outcome)),
      held: (claims) => answer(() => watches.store.held(claims)),
      waiting: (request) => answer(() => watches.store.waiting(request)),
      deliveries: (request) => answer(() => watches.store.deliveries(request)),
      get: (id) => answer(() => watches.store.get(id)),
      list: (request) => answer(() => watches.store.list(request)),
      polls: (id, page) => answer(() => watches.store.polls(id, page)),
      counts: (request) => answer(() => watches.store.counts(request)),
    },

    tokens: {
      addCode: (hash, expiresAt) =>
        answer(() => void codes.set(hash, { expiresAt: expiresAt.getTime(), used: false })),
      exchangeCode: (hash, token) =>
        answer(() => {
          const code = codes.get(hash);
          if (!code || code.used || code.expiresAt <= clock.now()) return null;
          codes.set(hash, { ...code, used: true });
          return addToken(token);
        }),
      find: (hash) =>
        answer(() => {
          const token = [...tokens.values()].find((t) => t.hash === hash && !t.revoked);
          if (!token) return null;
          const { id, lastUsedAt } = token;
          if (lastUsedAt === null || clock.now() - Date.parse(lastUsedAt) > 60_000)
            tokens.set(id, { ...token, lastUsedAt: new Date(clock.now()).toISOString() });
          return tokenRow(token);
        }),
      create: (token, receipt) =>
        answer(() => {
          if (receipts.has(place(receipt.scope, receipt.key))) return { type: 'duplicate' };
          receipts.set(place(receipt.scope, receipt.key), stored(receipt));
          return { type: 'created', token: addToken(token) };
        }),
      revoke: (id) =>
        answer(() => {
          const token = tokens.get(id);
          if (!token) return null;
          tokens.set(id, { ...token, revoked: true });
          return tokenRow(token);
        }),
      goneOf: (ids) => answer(() => ids.filter((id) => tokens.get(id)?.revoked !== false)),
      list: () => answer(() => [...tokens.values()].filter((t) => !t.revoked).map(tokenRow)),
    },

    sessions: {
      begin: (nodeId, host) =>
        answer(() => {
          const holder = [...sessions.values()].find((s) => s.nodeId === nodeId && isLive(s.id));
          if (holder) return { type: 'busy' };
          const id = `session-${sessions.size + 1}`;
          sessions.set(id, { id, nodeId, host, ended: false });
          return { type: 'begun', session: createSession(id, nodeId) };
        }),
    },
    describe: () => Promise.resolve('memory'),
    close: () => Promise.resolve(),

    exclusive: false,
    identity: null,
    goAway: () => void (away = true),
    comeBack: () => void (away = false),
    loseAnswers: (count = 1) => void (lost = count),
    refuseData: (on) => void (refusing = on),
    hold: () => void (held ??= []),
    release() {
      const waiting = held ?? [];
      held = null;
      for (const go of waiting) go();
    },
    get heldCalls() {
      return held?.length ?? 0;
    },
    takeOver(id) {
      const row = rows.get(id)!;
      change(row, { epoch: row.epoch + 1, owner: 'another' });
    },
    remove(id) {
      const row = rows.get(id);
      if (row) drop(row);
    },
    forgeCreating: (id) => change(rows.get(id)!, { lifecycle: 'CREATING' }),
    age(id, ms) {
      const at = new Date(clock.now() - ms).toISOString();
      change(rows.get(id)!, { createdAt: at, updatedAt: at });
    },
    expire: (id) => void sessions.set(id, { ...sessions.get(id)!, ended: true }),
    attempts,
    entries: (id) => rows.get(id)?.entries ?? [],
    owner: (id) => rows.get(id)?.owner ?? null,
    get rows() {
      return rows.size;
    },
  };

  function createSession(id: string, nodeId: string): Session {
    return {
      id,
      nodeId,
      renew: () => answer(() => isLive(id)),
      end: () =>
        answer(() => void sessions.set(id, { ...sessions.get(id)!, ended: true })).catch(() => undefined),
      onLost: () => undefined,
    };
  }

  function addToken({ id, name, hash }: { id: string; name: string; hash: string }): TokenRow {
    if (name.includes('\0')) throw new Error('The database refuses the data (22021).');
    const token = { id, name, hash, createdAt: new Date(clock.now()).toISOString(), lastUsedAt: null };
    tokens.set(id, { ...token, revoked: false });
    return tokenRow({ ...token, revoked: false });
  }
}

const noKey: Pick<UsageGroup, 'day' | 'workstreamId' | 'alias'> = {
  day: null,
  workstreamId: null,
  alias: null,
};

const keyOf = ({ at, workstreamId, alias }: RecordedCall, by: readonly UsageKey[]): typeof noKey => ({
  day: by.includes('DAY') ? at.slice(0, 10) : null,
  workstreamId: by.includes('WORKSTREAM') ? workstreamId : null,
  alias: by.includes('MODEL') ? alias : null,
});

function totalOf(calls: readonly RecordedCall[]): UsageTotal {
  const sum = (of: (call: RecordedCall) => number): number => calls.reduce((all, call) => all + of(call), 0);
  return {
    calls: calls.length,
    inputTokens: sum(({ usage }) => usage.inputTokens),
    cachedInputTokens: sum(({ usage }) => usage.cachedInputTokens ?? 0),
    outputTokens: sum(({ usage }) => usage.outputTokens),
    reasoningTokens: sum(({ usage }) => usage.reasoningTokens ?? 0),
    cost: calls.some(({ cost }) => cost !== null) ? sum(({ cost }) => cost ?? 0) : null,
    estimatedCalls: sum(({ estimated }) => (estimated ? 1 : 0)),
  };
}

function newestAndMostFirst(a: UsageGroup, b: UsageGroup): number {
  if (a.day !== b.day) return (a.day ?? '') < (b.day ?? '') ? 1 : -1;
  const more = b.inputTokens + b.outputTokens - (a.inputTokens + a.outputTokens);
  return more === 0 ? (`${a.workstreamId} ${a.alias}` < `${b.workstreamId} ${b.alias}` ? -1 : 1) : more;
}

/** As the database finds it, but for phrases in very long texts (`search-vector.ts`). */
function matches(text: string, { wanted, unwanted }: SearchQuery): boolean {
  const words = [...wordsOf(text)];
  const has = (term: Term): boolean => words.some((_, i) => endsAt(words, i + 1, term));
  return wanted.every(has) && !unwanted.some(has);
}

interface Placed {
  readonly workstreamId: string;
  readonly entry: { readonly at: string; readonly revision: number };
}

/** True when `a` stands behind `b`, where the newest comes first. */
function isBefore(a: Placed, b: Placed): boolean {
  if (a.entry.at !== b.entry.at) return a.entry.at < b.entry.at;
  if (a.workstreamId !== b.workstreamId) return a.workstreamId < b.workstreamId;
  return a.entry.revision < b.entry.revision;
}

/** Compares as the position does: times are ISO 8601 of one length. */
const rank = ({ at, id }: Position): string => `${at} ${id}`;
const positionOfRow = (row: { readonly createdAt: string; readonly id: string }): Position => ({
  at: row.createdAt,
  id: row.id,
});
const positionOfCycle = ({ cycle }: { readonly cycle: ApprovalCycle }): Position => ({
  at: cycle.openedAt,
  id: cycle.id,
});
const newestFirst = <T>(all: readonly T[], positionOf: (item: T) => Position): readonly T[] =>
  all.toSorted((a, b) => (rank(positionOf(a)) < rank(positionOf(b)) ? 1 : -1));

function pageOf<T>(
  all: readonly T[],
  { first, after }: PageRange,
  positionOf: (item: T) => Position,
): Page<T> {
  const rest = after === null ? all : all.filter((item) => rank(positionOf(item)) < rank(after));
  return { items: rest.slice(0, first), hasNext: rest.length > first, totalCount: all.length };
}

const tokenRow = ({ id, name, createdAt, lastUsedAt }: Token): TokenRow => ({
  id,
  name,
  createdAt,
  lastUsedAt,
});
