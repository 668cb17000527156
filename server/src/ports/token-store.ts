/**
 * Owns: the need to keep access tokens and one-time codes. Only hashes (SHA-256, hex) come in here.
 */
import type { Receipt } from '../core/journal/receipt.ts';

export interface TokenRow {
  readonly id: string;
  readonly name: string;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly lastUsedAt: string | null;
}

export interface TokenStore {
  addCode(hash: string, expiresAt: Date): Promise<void>;
  /** One transaction: uses up the code and adds the token; null when the code is unknown, used or expired. */
  exchangeCode(
    codeHash: string,
    token: { readonly id: string; readonly name: string; readonly hash: string },
  ): Promise<TokenRow | null>;
  /** The token, unless revoked; notes its use at most once a minute. */
  find(hash: string): Promise<TokenRow | null>;
  /** Adds it together with a receipt under (`scope`, `key`); `duplicate` when the key is taken. */
  create(
    token: { readonly id: string; readonly name: string; readonly hash: string },
    receipt: Receipt,
  ): Promise<{ readonly type: 'created'; readonly token: TokenRow } | { readonly type: 'duplicate' }>;
  /** Revokes it (again does no harm); null when there is none. */
  revoke(id: string): Promise<TokenRow | null>;
  /** Which of these ids are not of a token that is good; one question, however many. */
  goneOf(ids: readonly string[]): Promise<readonly string[]>;
  list(): Promise<readonly TokenRow[]>;
}
