/** Owns: access tokens and one-time codes, by their hashes. Whether one is good is decided by the database's clock. */
import { raw } from '@mikro-orm/core';
import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { TokenRow, TokenStore } from '../../ports/token-store.ts';
import { insertReceipts } from './commit-batch.ts';
import { AccessTokenRow, LoginCodeRow } from './entities/access.ts';
import { available } from './faults.ts';
import type { Orm } from './orm.ts';

const now = () => raw<Date>('clock_timestamp()');

export function createTokenStore(orm: Orm): TokenStore {
  return {
    addCode: (hash, expiresAt) =>
      available(async () => {
        const em = orm.em.fork();
        await em.nativeDelete(LoginCodeRow, { expiresAt: { $lt: now() } });
        await em.insert(LoginCodeRow, { hash, expiresAt });
      }),

    exchangeCode: (codeHash, token) =>
      available(() =>
        orm.em.fork().transactional(async (em) => {
          const used = await em.nativeUpdate(
            LoginCodeRow,
            { hash: codeHash, usedAt: null, expiresAt: { $gt: now() } },
            { usedAt: now() },
          );
          return used === 1 ? addToken(em, token) : null;
        }),
      ),

    find: (hash) =>
      available(async () => {
        const em = orm.em.fork();
        const row = await em.findOne(AccessTokenRow, { hash, revokedAt: null }, { disableIdentityMap: true });
        if (!row) return null;
        // Judged by this process's clock to spare a write per request; nothing hangs on it.
        if (Date.now() - (row.lastUsedAt?.getTime() ?? 0) > 60_000) {
          await em.nativeUpdate(AccessTokenRow, { id: row.id }, { lastUsedAt: now() });
        }
        return tokenOf(row);
      }),

    create: (token, receipt) =>
      available(() =>
        orm.em.fork().transactional(async (em) => {
          if (!(await insertReceipts(em, [receipt], null))) return { type: 'duplicate' };
          return { type: 'created', token: await addToken(em, token) };
        }),
      ),

    revoke: (id) =>
      available(async () => {
        const em = orm.em.fork();
        await em.nativeUpdate(AccessTokenRow, { id, revokedAt: null }, { revokedAt: now() });
        const row = await em.findOne(AccessTokenRow, { id }, { disableIdentityMap: true });
        return row && tokenOf(row);
      }),

    goneOf: (ids) =>
      available(async () => {
        const good = await orm.em
          .fork()
          .find(
            AccessTokenRow,
            { id: { $in: [...ids] }, revokedAt: null },
            { fields: ['id'], disableIdentityMap: true },
          );
        const goodIds = new Set(good.map((row) => row.id));
        return ids.filter((id) => !goodIds.has(id));
      }),

    list: () =>
      available(async () => {
        const rows = await orm.em
          .fork()
          .find(
            AccessTokenRow,
            { revokedAt: null },
            { orderBy: { createdAt: 'asc', id: 'asc' }, disableIdentityMap: true },
          );
        return rows.map(tokenOf);
      }),
  };
}

async function addToken(
  em: SqlEntityManager,
  { id, name, hash }: { readonly id: string; readonly name: string; readonly hash: string },
): Promise<TokenRow> {
  const createdAt = new Date();
  await em.insert(AccessTokenRow, { id, name, hash, createdAt });
  return { id, name, createdAt: createdAt.toISOString(), lastUsedAt: null };
}

function tokenOf(row: AccessTokenRow): TokenRow {
  const { id, name, createdAt, lastUsedAt } = row;
  return { id, name, createdAt: createdAt.toISOString(), lastUsedAt: lastUsedAt?.toISOString() ?? null };
}
