/**
 * Owns: how models and their endpoints have answered, and who is asked last for a while (D-37); and why the last call of
 * a model failed, where that was not the request's own fault.
 * Does not own: what a call failed of (`faults.ts`).
 *
 * Invariant: nothing is asked in order to find out; what is degraded gets a call of its own accord when its term is over
 * or nothing else is left, and is well again when one is accepted. A model is no better than its endpoint is for all, nor
 * than it was itself: that a neighbour answers says nothing of a model that does not, or was not asked.
 */
import type { FaultKind, ModelInfo } from '../../ports/model.ts';
import type { Binding } from './binding.ts';

/** Failures in a row by which one is degraded. */
const failuresToDegrade = 5;
/** How long it is asked last before it is given another chance, milliseconds. */
const restMs = 60_000;

/** What says something about the endpoint, for all of its models. */
const isOfTheEndpoint: ReadonlySet<FaultKind> = new Set<FaultKind>([
  'CONNECTION',
  'TIMEOUT',
  'OVERLOADED',
  'WEB_PAGE',
  'PROVIDER_ERROR',
]);

/** What says something about one model, its account or its settings, and that waiting does not mend. */
const lasts: ReadonlySet<FaultKind> = new Set<FaultKind>(['AUTHENTICATION', 'QUOTA', 'NOT_FOUND']);

/** What says something about one model, and may be over at the next call: others of its endpoint may do better. */
const isItsOwn: ReadonlySet<FaultKind> = new Set<FaultKind>([
  // A limit is that of a key or a model.
  'RATE_LIMIT',
  // No answer had begun, so that what came in its place is none of the model's.
  'MALFORMED',
]);

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
  /**
   * It is asked now: where its rest is over, it is given to this one call, and the others go on as if it rested. What is
   * given gives that back, where the call was stopped and has found out nothing.
   */
  asked(model: Subject, now: number): () => void;
  /** True while it or its endpoint is degraded and at rest: ask it last. */
  rests(model: Subject, now: number): boolean;
  /** Forgets the endpoints that are not among these. */
  keep(endpoints: ReadonlySet<string>): void;
}

/** Of a model, or of an endpoint. */
interface Row {
  /** In a row, of those that count. */
  readonly failures: number;
  /** Of what the last call failed; empty: it was accepted. */
  readonly last: string;
  /** When its rest began: at the last failure that counts, or at the call that was to find out. */
  readonly at: number;
}

const well: Row = { failures: 0, last: '', at: 0 };

const worse = ({ failures }: Row, last: string, at: number): Row => ({ failures: failures + 1, last, at });

const isDegraded = ({ failures }: Row): boolean => failures >= failuresToDegrade;

/** Where the clock was set back, nothing rests. */
const isOver = ({ at }: Row, now: number): boolean => now < at || now >= at + restMs;

/** Lets a row rest from now on where its rest is over; what is given takes that back, unless the row has changed since. */
function lend<Key>(
  rows: { get(key: Key): Row | undefined; set(key: Key, row: Row): unknown },
  key: Key,
  now: number,
): () => void {
  const before = rows.get(key);
  if (!before || !isOver(before, now)) return () => undefined;
  const lent: Row = { ...before, at: now };
  rows.set(key, lent);
  return () => {
    if (rows.get(key) === lent) rows.set(key, before);
  };
}

export function createHealth(): Health {
  const models = new WeakMap<Subject, Row>();
  const endpoints = new Map<string, Row>();
  /** What is known of it: first of itself, then of its endpoint. */
  const rowsOf = (model: Subject): readonly Row[] =>
    [models.get(model), endpoints.get(model.endpoint.baseUrl)].filter((row) => row !== undefined);
  return {
    succeeded(model) {
      models.set(model, well);
      endpoints.set(model.endpoint.baseUrl, well);
    },
    failed(model, kind, message, now) {
      const { baseUrl } = model.endpoint;
      const own = models.get(model) ?? well;
      if (lasts.has(kind)) models.set(model, { ...own, last: message });
      const shared = isOfTheEndpoint.has(kind);
      if (shared || isItsOwn.has(kind)) models.set(model, worse(own, message, now));
      if (shared) endpoints.set(baseUrl, worse(endpoints.get(baseUrl) ?? well, message, now));
    },
    problemOf(model) {
      const own = models.get(model);
      const rows = rowsOf(model);
      const degraded = rows.find(isDegraded);
      if (degraded) {
        const calls = degraded === own ? 'calls in a row failed' : 'calls in a row to its endpoint failed';
        return `${degraded.failures} ${calls}, so it is asked last for a while. The last one: ${degraded.last}`;
      }
      const failing = rows.find(({ last }) => last !== '');
      if (!failing) return null;
      return `${failing === own ? 'The last call failed.' : 'Its endpoint fails.'} ${failing.last}`;
    },
    stateOf(model) {
      const rows = rowsOf(model);
      if (rows.some(isDegraded)) return 'DEGRADED';
      if (rows.some(({ last }) => last !== '')) return 'FAILING';
      return models.has(model) ? 'HEALTHY' : 'UNKNOWN';
    },
    asked(model, now) {
      const givers = [lend(models, model, now), lend(endpoints, model.endpoint.baseUrl, now)];
      return () => givers.forEach((giveBack) => giveBack());
    },
    rests: (model, now) => rowsOf(model).some((row) => isDegraded(row) && !isOver(row, now)),
    keep(known) {
      for (const endpoint of endpoints.keys()) if (!known.has(endpoint)) endpoints.delete(endpoint);
    },
  };
}
