/**
 * Owns: what an actor that has ended still has to say of model calls: that they were paid for (D-5). They are kept beside
 * any batch, for there is none any more.
 *
 * Invariant: a database that is away is asked again, but not for ever; what is given up is logged, with how much it was.
 */
import { reasonOf } from '../../core/kit/reason.ts';
import { spentBy, type ModelCall } from '../../core/models/spending.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import { StorageUnavailableError } from '../../ports/storage-unavailable.ts';
import type { UsageStore } from '../../ports/usage.ts';

export interface LateCalls {
  /** Returns at once. A call that is known already is not counted again. */
  keep(calls: readonly ModelCall[]): void;
  /** Resolves when each of them is kept or given up. */
  settled(): Promise<unknown>;
}

/** When it is tried again, milliseconds: for about two minutes. */
const retriesMs = [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000];

export function createLateCalls(deps: {
  readonly workstreamId: string;
  readonly usage: Pick<UsageStore, 'record'>;
  readonly clock: Clock;
  readonly log: Log;
}): LateCalls {
  const { workstreamId, usage, clock, log } = deps;
  const underway = new Set<Promise<void>>();

  async function record(calls: readonly ModelCall[]): Promise<void> {
    for (const retryMs of [...retriesMs, null]) {
      try {
        return await usage.record(workstreamId, calls);
      } catch (error) {
        if (retryMs !== null && error instanceof StorageUnavailableError) {
          await new Promise<void>((resolve) => void clock.after(retryMs, resolve));
          continue;
        }
        const tokens = calls.reduce((sum, call) => sum + spentBy(call), 0);
        log.error(
          { workstream: workstreamId, calls: calls.length, tokens, error: reasonOf(error) },
          'model calls of a workstream that is not run here any more could not be counted',
        );
        return;
      }
    }
  }

  return {
    keep(calls) {
      if (calls.length === 0) return;
      const recording = record(calls).finally(() => underway.delete(recording));
      underway.add(recording);
    },
    async settled() {
      while (underway.size > 0) await Promise.all(underway);
    },
  };
}
