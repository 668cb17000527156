/**
 * Owns: the way of one workstream's batches into the database: one at a time, in order, until each has landed.
 * Does not own: what a batch is (core), or how it is written (the journal adapter).
 *
 * Invariants: a batch is acknowledged only when it is known to be stored (I11); a database that is away is tried again
 * for ever, 1 s doubling to 60 s, and nothing behind is tried first (D-50); an unknown outcome is resolved by reading
 * back, never by guessing (D-52); a refused fence means someone else is the owner, and the lane ends (D-4).
 */
import type { Persistence } from 'schema/projection';
import { reasonOf } from '../../core/kit/reason.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Batch, Journal } from '../../ports/journal.ts';

export interface NumberedBatch extends Batch {
  readonly number: number;
}

export interface StoreLane {
  push(batch: NumberedBatch): void;
  /** Resolves when nothing is waiting to be stored, or the lane has ended. */
  settled(): Promise<void>;
  /** Nothing more is stored; what waits is dropped. */
  end(): void;
  persistence(): Persistence;
}

/** Why a lane ended by itself: the workstream has another owner, or no row any more. */
export type LaneEnd = 'ownerLost' | 'gone';

interface StoreLaneDeps {
  readonly journal: Journal;
  readonly clock: Clock;
  /** A number in [0, 1), for jitter. */
  readonly random: () => number;
  onStored(batch: NumberedBatch): void;
  onEnd(reason: LaneEnd): void;
  onPersistence(persistence: Persistence): void;
}

const firstRetryMs = 1_000;
const lastRetryMs = 60_000;
/** A batch that is not stored by then is shown as pending. */
const pendingAfterMs = 1_000;

export function createStoreLane(deps: StoreLaneDeps): StoreLane {
  const waiting: NumberedBatch[] = [];
  const idle: (() => void)[] = [];
  let running = false;
  let ended = false;
  let persistence: Persistence = { status: 'HEALTHY' };
  let wake: (() => void) | null = null;

  function tell(next: Persistence): void {
    if (next.status === 'HEALTHY' && persistence.status === 'HEALTHY') return;
    persistence = next;
    deps.onPersistence(next);
  }

  async function run(): Promise<void> {
    running = true;
    for (let batch = waiting[0]; batch && !ended; batch = waiting[0]) {
      if (!(await store(batch))) break;
      waiting.shift();
      tell({ status: 'HEALTHY' });
      deps.onStored(batch);
    }
    running = false;
    if (ended || waiting.length === 0) for (const resolve of idle.splice(0)) resolve();
  }

  /** True once it is stored; false when it never will be. */
  async function store(batch: NumberedBatch): Promise<boolean> {
    const cancel = deps.clock.after(pendingAfterMs, () => {
      if (persistence.status === 'HEALTHY') tell({ status: 'PENDING' });
    });
    try {
      for (let retryMs = firstRetryMs; !ended; retryMs = Math.min(retryMs * 2, lastRetryMs)) {
        const outcome = await deps.journal.commit(batch);
        if (ended) return false;
        if (outcome.type === 'committed') return true;
        const verdict = outcome.type === 'unavailable' ? outcome.message : await readBack(batch, outcome);
        if (ended || verdict === 'ended') return false;
        if (verdict === 'stored') return true;
        await pause(retryMs, verdict);
      }
      return false;
    } finally {
      cancel();
    }
  }

  /** What the database says of a batch it refused: already there, never to be, or (a text) not readable now. */
  async function readBack(
    batch: NumberedBatch,
    outcome: { readonly type: 'fenced' } | { readonly type: 'conflict'; readonly message: string },
  ): Promise<string> {
    try {
      const head = await deps.journal.head(batch.workstreamId);
      if (head?.incarnation !== batch.incarnation) return finish('gone');
      if (head.epoch !== batch.epoch) return finish('ownerLost');
      if (await isStored(batch)) return 'stored';
    } catch (error) {
      return reasonOf(error);
    }
    if (outcome.type === 'fenced') return finish('ownerLost');
    if (ended) return 'ended';
    tell({ status: 'CONFLICT', message: outcome.message });
    ended = true;
    return 'ended';
  }

  async function isStored(batch: NumberedBatch): Promise<boolean> {
    if (batch.entries.length > 0 && !(await deps.journal.holds(batch.workstreamId, batch.entries)))
      return false;
    for (const { scope, key, inputHash, unchecked } of batch.receipts)
      if (!unchecked && (await deps.journal.findReceipt(scope, key))?.inputHash !== inputHash) return false;
    return true;
  }

  function finish(reason: LaneEnd): 'ended' {
    if (!ended) {
      ended = true;
      deps.onEnd(reason);
    }
    return 'ended';
  }

  function pause(ms: number, message: string): Promise<void> {
    const jittered = Math.round(ms * (0.75 + deps.random() / 2));
    const nextAttemptAt = new Date(deps.clock.now() + jittered).toISOString();
    tell({ status: 'RETRYING', nextAttemptAt, message });
    return new Promise((resolve) => {
      const cancel = deps.clock.after(jittered, resolve);
      wake = () => {
        cancel();
        resolve();
      };
    });
  }

  return {
    push(batch) {
      if (ended) return;
      waiting.push(batch);
      if (!running) void run();
    },
    settled: () =>
      ended || (waiting.length === 0 && !running)
        ? Promise.resolve()
        : new Promise((resolve) => idle.push(resolve)),
    end() {
      ended = true;
      wake?.();
      for (const resolve of idle.splice(0)) resolve();
    },
    persistence: () => persistence,
  };
}
