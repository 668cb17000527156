/** Owns: the need for randomness. */
export interface Ids {
  /** 128 random bits as 32 lower-case hex digits. */
  random128(): string;
}
