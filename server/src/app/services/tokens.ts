/**
 * Owns: who may come in: one-time codes, tokens, and taking them back. Secrets are handed out once and kept as
 * SHA-256 hashes; they are 256 random bits, so a slow hash would add nothing.
 */
import type { TokenModel, Viewer } from 'schema/model';
import { isBlank } from 'schema/projection';
import type {
  Access,
  CreateToken,
  CreateTokenOutcome,
  RevokeToken,
  RevokeTokenOutcome,
} from 'schema/services';
import { cut } from '../../core/kit/cut.ts';
import { storable } from '../../core/kit/storable.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Journal } from '../../ports/journal.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { whenAway } from '../../ports/storage-unavailable.ts';
import type { TokenStore } from '../../ports/token-store.ts';
import { refusalView, storageUnavailable } from '../views/refusals.ts';
import { keyOf } from './command.ts';
import { inLine, type InLineDeps } from './in-line.ts';
import { rememberTokens } from './remembered-tokens.ts';

/** How long the printed link can be used, milliseconds: a day, for servers started by hand and opened later. */
const codeTermMs = 24 * 60 * 60 * 1_000;
/** Longest name of a token, UTF-16 code units. */
const maxName = 100;

interface TokenDeps extends InLineDeps {
  readonly store: TokenStore;
  readonly journal: Journal;
  readonly ids: Ids;
  readonly secrets: Secrets;
  readonly clock: Clock;
}

export interface Tokens extends Access {
  /** A new one-time code, for the printed link. */
  issueCode(): Promise<string>;
  list(): Promise<readonly TokenModel[]>;
  create(by: Viewer, input: CreateToken): Promise<CreateTokenOutcome>;
  revoke(by: Viewer, input: RevokeToken): Promise<RevokeTokenOutcome>;
  /**
   * Asks, in one question, about all tokens whose holders listen for their end, and tells those whose token another
   * process revoked. Rejects when the database is away.
   */
  checkHeld(): Promise<void>;
}

export function createTokens({ store, journal, ids, secrets, clock, line }: TokenDeps): Tokens {
  const hash = (secret: string): string => secrets.fingerprint(secret);
  const guarded = <T>(by: Viewer, work: () => Promise<T>): Promise<T | typeof storageUnavailable> =>
    inLine({ line }, by, work).catch(whenAway(storageUnavailable));
  const revocations = new Map<string, Set<() => void>>();
  const tellRevoked = (tokenId: string): void => {
    for (const callback of revocations.get(tokenId) ?? []) callback();
    revocations.delete(tokenId);
  };
  const remembered = rememberTokens({
    clock,
    async find(secretHash) {
      const row = await store.find(secretHash);
      return row && { id: row.id, name: row.name, tokenId: row.id };
    },
    onGone: tellRevoked,
  });

  return {
    async issueCode() {
      const code = secrets.mint('code');
      await store.addCode(hash(code), new Date(clock.now() + codeTermMs));
      return code;
    },
    authenticate: (token) => remembered.viewerOf(hash(token)),
    async exchange(code, called) {
      const token = secrets.mint('weir');
      const at = new Date(clock.now()).toISOString();
      const name = nameOf(called) ?? `Browser, ${at.slice(0, 10)}, ${at.slice(11, 16)} UTC`;
      const row = await store.exchangeCode(hash(code), { id: ids.random128(), name, hash: hash(token) });
      return row && { token };
    },
    onRevoked(tokenId, callback) {
      const all = revocations.get(tokenId) ?? new Set();
      all.add(callback);
      revocations.set(tokenId, all);
      return () => {
        all.delete(callback);
        if (all.size === 0) revocations.delete(tokenId);
      };
    },
    async checkHeld() {
      const held = [...revocations.keys()];
      if (held.length === 0) return;
      for (const tokenId of await store.goneOf(held)) {
        remembered.revoke(tokenId);
        tellRevoked(tokenId);
      }
    },
    list: () => store.list(),
    async create(by, input) {
      const name = storable(input.name).trim();
      if (isBlank(input.name) || name.length > maxName)
        return refusalView<'INVALID_INPUT'>({
          type: 'Rejected',
          code: 'INVALID_INPUT',
          field: 'name',
          problem: `A token needs a name of 1 to ${maxName} characters, one of which can be seen.`,
        });
      return guarded(by, async () => {
        const key = keyOf(secrets, by.id, 'createToken', input);
        const secret = secrets.mint('weir');
        const id = ids.random128();
        const created = await store.create(
          { id, name, hash: hash(secret) },
          { ...key, outcome: { tokenId: id } },
        );
        if (created.type === 'created')
          return { type: 'Accepted', durability: 'DURABLE', token: created.token, secret };
        const receipt = await journal.findReceipt(key.scope, key.key);
        if (receipt?.inputHash !== key.inputHash)
          return refusalView({ type: 'Rejected', code: 'KEY_REUSED' });
        const token = (await store.list()).find((t) => t.id === receipt.outcome['tokenId']);
        // The secret is not kept anywhere; a lost one is replaced, not recovered.
        return token
          ? { type: 'Accepted', durability: 'DURABLE', token, secret: null }
          : refusalView({ type: 'Rejected', code: 'KEY_REUSED' });
      });
    },
    async revoke(by, input) {
      return guarded(by, async () => {
        // Whoever is to lose it does not live on what is remembered, whatever becomes of this.
        remembered.forget(input.tokenId);
        // An id that no database can hold (D-51) is nobody's, and would only make it complain.
        const token = storable(input.tokenId) === input.tokenId ? await store.revoke(input.tokenId) : null;
        if (!token)
          return {
            type: 'Rejected',
            code: 'TOKEN_NOT_FOUND',
            message: 'There is no such token; it may have been revoked long ago.',
            retryable: false,
          };
        remembered.revoke(token.id);
        tellRevoked(token.id);
        return { type: 'Accepted', durability: 'DURABLE', token };
      });
    },
  };
}

/** What a browser calls itself, as far as a name may go; null when there is nothing to see in it. */
function nameOf(called: string | null): string | null {
  const name = cut(storable(called ?? ''), maxName).trim();
  return isBlank(called ?? '') || name === '' ? null : name;
}
