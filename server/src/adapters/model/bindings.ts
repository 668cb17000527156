/**
 * Owns: the set of aliases at one moment, and the need to know it as it is now.
 * Does not own: where it is read from.
 */
import type { Binding } from './binding.ts';

export interface Bindings {
  /** In the order in which they are shown. */
  readonly all: readonly Binding[];
  /** Alias for workstreams that name none; null: the demo. */
  readonly default: string | null;
}

export interface BindingSource {
  current(): Bindings;
  /** Calls back after each change. */
  onChange(callback: () => void): void;
  /** Tokens the endpoint says it can read at once; null: it does not say, or was not asked yet. */
  windowOf(binding: Binding): number | null;
}

/** Of a set that never changes, and of which no endpoint was asked anything. */
export const fixedBindings = (
  all: readonly Binding[],
  byDefault: string | null = all[0]?.alias ?? null,
): BindingSource => ({
  current: () => ({ all, default: byDefault }),
  onChange: () => undefined,
  windowOf: () => null,
});
