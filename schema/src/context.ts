/** Owns: what a resolver is given. */
import type { Viewer } from './model/index.ts';
import type { Services } from './services.ts';

export interface Context {
  readonly services: Services;
  readonly viewer: Viewer;
  /** Aborts when nobody waits for the answer any more. */
  readonly caller: AbortSignal;
}
