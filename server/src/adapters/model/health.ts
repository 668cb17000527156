/**
 * Owns: how the endpoints have answered, and which of them are asked last for a while (D-37); and why the last call of
 * a model failed, where that was not the request's own fault.
 * Does not own: what a call failed of (`faults.ts`).
 *
 * Invariant: nothing is asked in order to find out; a degraded endpoint gets a call of its own accord when its term is
 * over or nothing else is left, and is well again when that call is accepted. What a call failed of stays until another
 * one says more.
 */
import type { FaultKind, ModelInfo } from '../../ports/model.ts';
import type { Binding } from './binding.ts';

/** Failures in a row by which an endpoint is degraded. */
const failuresToDegrade = 5;
/** How long it is asked last before it is given another chance, milliseconds. */
const restMs = 60_000;

/** What says something about the endpoint: all of its models share it, and it counts. */
const counts: ReadonlySet<FaultKind> = new Set<FaultKind>([
  'CONNECTION',
  'TIMEOUT',
  'OVERLOADED',
  'RATE_LIMIT',
  'WEB_PAGE',
  'PROVIDER_ERROR',
]);

/** What says something about one model, its account or its settings. The others are about the request or the answer. */
const isOfTheModel: ReadonlySet<FaultKind> = new Set<FaultKind>(['AUTHENTICATION', 'QUOTA', 'NOT_FOUND']);

/** A model as it is set up now; one that is set up anew begins without a fault of its own. */
type Subject = Pick<Binding, 'endpoint'>;

export interface Health {
  /** A call was accepted. */
  succeeded(model: Subject): void;
  /** A call failed before it was accepted. */
  failed(model: Subject, kind: FaultKind, message: string, now: number): void;
  /** Why it does not answer: its last failure, until a call is accepted. Null: nothing is wrong. */
  problemOf(model: Subject): string | null;
  stateOf(model: Subject): ModelInfo['health'];
  /** True while its endpoint is degraded and at rest: ask it last. */
  rests(model: Subject, now: number): boolean;
  /** Forgets the endpoints that are not among these. */
  keep(endpoints: ReadonlySet<string>): void;
}

export function createHealth(): Health {
  const known = new Map<
    string,
    { readonly failures: number; readonly last: string; readonly until: number }
  >();
  const faults = new WeakMap<Subject, string>();
  const endpointOf = ({ endpoint }: Subject) => known.get(endpoint.baseUrl);
  const isDegraded = (model: Subject): boolean => (endpointOf(model)?.failures ?? 0) >= failuresToDegrade;
  return {
    succeeded(model) {
      faults.delete(model);
      known.set(model.endpoint.baseUrl, { failures: 0, last: '', until: 0 });
    },
    failed(model, kind, message, now) {
      if (isOfTheModel.has(kind)) faults.set(model, message);
      if (!counts.has(kind)) return;
      faults.delete(model);
      const failures = (endpointOf(model)?.failures ?? 0) + 1;
      known.set(model.endpoint.baseUrl, { failures, last: message, until: now + restMs });
    },
    problemOf(model) {
      const state = endpointOf(model);
      if (state && isDegraded(model))
        return `${state.failures} calls in a row failed, so it is asked last for a while. The last one: ${state.last}`;
      const last = faults.get(model) ?? state?.last ?? '';
      return last === '' ? null : `The last call failed. ${last}`;
    },
    stateOf(model) {
      if (isDegraded(model)) return 'DEGRADED';
      const state = endpointOf(model);
      if (faults.has(model) || (state?.failures ?? 0) > 0) return 'FAILING';
      return state ? 'HEALTHY' : 'UNKNOWN';
    },
    rests: (model, now) => isDegraded(model) && now < endpointOf(model)!.until,
    keep(endpoints) {
      for (const endpoint of known.keys()) if (!endpoints.has(endpoint)) known.delete(endpoint);
    },
  };
}
