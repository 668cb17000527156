/** Owns: the tables of access tokens and one-time codes. Hashes only; the secrets are never stored. */
import { defineEntity, p } from '@mikro-orm/core';

const tokenSchema = defineEntity({
  name: 'AccessTokenRow',
  tableName: 'access_token',
  properties: {
    id: p.text().primary(),
    name: p.text(),
    hash: p.text(),
    createdAt: p.datetime(3),
    lastUsedAt: p.datetime(3).nullable(),
    revokedAt: p.datetime(3).nullable(),
  },
  uniques: [{ name: 'access_token_hash_unique', properties: ['hash'] }],
});
export class AccessTokenRow extends tokenSchema.class {}
tokenSchema.setClass(AccessTokenRow);

const codeSchema = defineEntity({
  name: 'LoginCodeRow',
  tableName: 'login_code',
  properties: {
    hash: p.text().primary(),
    expiresAt: p.datetime(3),
    usedAt: p.datetime(3).nullable(),
  },
});
export class LoginCodeRow extends codeSchema.class {}
codeSchema.setClass(LoginCodeRow);
