/**
 * Owns: that each model call that ended is counted, once, as it was (D-5), whoever owned the workstream by then. It keeps
 * its own book of what ended and of what was written, so that it believes neither the server nor the fake database.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Usage } from 'schema/projection';
import type { ModelCall, RecordedCall } from '../../src/ports/usage.ts';
import type { Violate } from './laws.ts';
import type { Process } from './scheduler.ts';

/** A model call whose end was heard, and that cost something. */
export interface Ended {
  readonly id: string;
  readonly by: Process;
  readonly workstreamId: string;
  /** As its provider counted it; null: it did not, or not so that it can be believed. */
  readonly usage: Usage | null;
}

export interface UsageLaws {
  ended(call: Ended): void;
  /** Written with a batch of this epoch, or beside any (null). */
  written(workstreamId: string, calls: readonly ModelCall[], epoch: number | null): void;
  /** `spent`: as the row says. */
  claimed(workstreamId: string, epoch: number, spent: number): void;
  /** What the owner of this epoch has to know of what was spent. */
  knownTo(workstreamId: string, epoch: number): number;
  /** The row begins anew; what was counted stays. */
  removed(workstreamId: string): void;
  /** A server gave up counting, and said so. */
  gaveUp(by: Process): void;
  /** All is quiet: what is stored is what ended. */
  atRest(workstreamId: string, stored: readonly RecordedCall[], spent: number): void;
}

const tokensOf = ({ usage }: ModelCall): number => usage.inputTokens + usage.outputTokens;

export function createUsageLaws(violate: Violate): UsageLaws {
  const due = new Map<string, Ended>();
  const known = new Map<string, ModelCall>();
  const spent = new Map<string, number>();
  /** What is known to an owner: what was spent when it claimed, and what it wrote since. */
  const owners = new Map<string, { readonly epoch: number; readonly spent: number }>();
  const forgiven = new Set<Process>();

  return {
    ended: (call) => void due.set(call.id, call),
    written(id, calls, epoch) {
      for (const call of calls) {
        const before = known.get(call.id);
        if (before && !isDeepStrictEqual(before, call)) violate('D-5', `${call.id} is told otherwise`);
        if (before) continue;
        if (!due.has(call.id)) violate('D-5', `${call.id} is counted, and did not end`);
        known.set(call.id, call);
        spent.set(id, (spent.get(id) ?? 0) + tokensOf(call));
        const owner = owners.get(id);
        if (owner && owner.epoch === epoch) owners.set(id, { epoch, spent: owner.spent + tokensOf(call) });
      }
    },
    claimed(id, epoch, row) {
      const sum = spent.get(id) ?? 0;
      if (row !== sum) violate('D-5', `${row} are spent for ${id}, by its calls ${sum}`);
      owners.set(id, { epoch, spent: sum });
    },
    knownTo: (id, epoch) => {
      const owner = owners.get(id);
      return owner?.epoch === epoch ? owner.spent : 0;
    },
    removed(id) {
      spent.delete(id);
      owners.delete(id);
    },
    gaveUp: (by) => void forgiven.add(by),
    atRest(id, stored, row) {
      const sum = spent.get(id) ?? 0;
      if (row !== sum) violate('D-5', `in the end ${row} are spent, by its calls ${sum}`);
      const byId = new Map(stored.map((call) => [call.id, call]));
      if (byId.size !== stored.length) violate('D-5', 'a call is stored twice');
      for (const call of due.values()) {
        if (call.workstreamId !== id) continue;
        const found = byId.get(call.id);
        // Who died took with it what it had not written.
        if (!found) {
          if (call.by.alive && !forgiven.has(call.by)) violate('D-5', `${call.id} is not counted`);
          continue;
        }
        if (found.estimated === (call.usage !== null))
          violate('D-5', `${call.id} is ${found.estimated ? '' : 'not '}estimated`);
        if (call.usage ? !isDeepStrictEqual(found.usage, call.usage) : tokensOf(found) <= 0)
          violate('D-5', `${call.id} is counted as ${JSON.stringify(found.usage)}`);
      }
      for (const call of stored)
        if (!due.has(call.id)) violate('D-5', `${call.id} is stored, and did not end`);
    },
  };
}
