/** Owns: telling tokens apart without keeping them. */
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';

const BYTES = 16;

/**
 * 32 hex digits that are the same for the same token, known without asking anybody, from which the token cannot be had
 * (its 256 bits are random). `crypto.subtle` would need a secure context, and Weir may be served over plain HTTP.
 */
export const fingerprint = (token: string): string =>
  bytesToHex(sha256(utf8ToBytes(token)).subarray(0, BYTES));
