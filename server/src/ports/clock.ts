/** Owns: the need for time. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Runs `f` once after `ms`; the returned function cancels it. */
  after(ms: number, f: () => void): () => void;
}
