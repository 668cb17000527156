/** Owns: the need for secrets that are handed out once and for fingerprints that do not reveal what they are of. */
export interface Secrets {
  /** `prefix_` and 256 random bits in base64url. */
  mint(prefix: string): string;
  /** SHA-256, 64 hex digits. */
  fingerprint(text: string): string;
}
