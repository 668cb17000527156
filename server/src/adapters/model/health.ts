/**
 * Owns: how the endpoints have answered, and which of them are asked last for a while (D-37).
 * Does not own: what a call failed of (`faults.ts`).
 *
 * Invariant: nothing is asked in order to find out; a degraded endpoint gets a call of its own accord when its term is
 * over or nothing else is left, and is well again when that call is accepted.
 */
import type { FaultKind } from '../../ports/model.ts';

/** Failures in a row by which an endpoint is degraded. */
const failuresToDegrade = 5;
/** How long it is asked last before it is given another chance, milliseconds. */
const restMs = 60_000;

/** What says something about the endpoint. The others are about the request, the account or the answer. */
const counts: ReadonlySet<FaultKind> = new Set<FaultKind>([
  'CONNECTION',
  'TIMEOUT',
  'OVERLOADED',
  'RATE_LIMIT',
  'WEB_PAGE',
  'PROVIDER_ERROR',
]);

export interface Health {
  /** A call was accepted. */
  succeeded(endpoint: string): void;
  /** A call failed before it was accepted. */
  failed(endpoint: string, kind: FaultKind, message: string, now: number): void;
  /** Its last failures, when they are enough. Null: it is not degraded. */
  problemOf(endpoint: string): string | null;
  stateOf(endpoint: string): 'UNKNOWN' | 'HEALTHY' | 'DEGRADED';
  /** True while it is degraded and at rest: ask it last. */
  rests(endpoint: string, now: number): boolean;
  /** Forgets the endpoints that are not among these. */
  keep(endpoints: ReadonlySet<string>): void;
}

export function createHealth(): Health {
  const known = new Map<
    string,
    { readonly failures: number; readonly last: string; readonly until: number }
  >();
  const isDegraded = (endpoint: string): boolean => (known.get(endpoint)?.failures ?? 0) >= failuresToDegrade;
  return {
    succeeded: (endpoint) => void known.set(endpoint, { failures: 0, last: '', until: 0 }),
    failed(endpoint, kind, message, now) {
      if (!counts.has(kind)) return;
      const failures = (known.get(endpoint)?.failures ?? 0) + 1;
      known.set(endpoint, { failures, last: message, until: now + restMs });
    },
    problemOf(endpoint) {
      const state = known.get(endpoint);
      if (!state || !isDegraded(endpoint)) return null;
      return `${state.failures} calls in a row failed, so it is asked last for a while. The last one: ${state.last}`;
    },
    stateOf: (endpoint) => (isDegraded(endpoint) ? 'DEGRADED' : known.has(endpoint) ? 'HEALTHY' : 'UNKNOWN'),
    rests: (endpoint, now) => isDegraded(endpoint) && now < known.get(endpoint)!.until,
    keep(endpoints) {
      for (const endpoint of known.keys()) if (!endpoints.has(endpoint)) known.delete(endpoint);
    },
  };
}
