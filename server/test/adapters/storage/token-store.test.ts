import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Storage } from '../../../src/adapters/storage/index.ts';
import { createDatabase, type TestDatabase } from '../../support/database.ts';
import { randomId, receipt } from './fixtures.ts';

let database: TestDatabase;
let storage: Storage;

beforeAll(async () => {
  database = await createDatabase();
  storage = await database.openStorage();
});
afterAll(() => database.drop());

const token = (name = 'laptop') => ({ id: randomId(), name, hash: randomId() });
const soon = () => new Date(Date.now() + 60_000);

it('A one-time code is exchanged once, and adds its token', async () => {
  const code = randomId();
  const [first, second] = [token('first'), token('second')];
  await storage.tokens.addCode(code, soon());
  const added = await storage.tokens.exchangeCode(code, first);
  expect(added).toMatchObject({ id: first.id, name: 'first', lastUsedAt: null });
  expect(await storage.tokens.exchangeCode(code, second)).toBeNull();
  expect(await storage.tokens.find(first.hash)).toMatchObject({ id: first.id, createdAt: added?.createdAt });
  expect(await storage.tokens.find(second.hash)).toBeNull();
});

it('A one-time code raced by ten is exchanged once', async () => {
  const code = randomId();
  await storage.tokens.addCode(code, soon());
  const all = await Promise.all(Array.from({ length: 10 }, () => storage.tokens.exchangeCode(code, token())));
  expect(all.filter((row) => row !== null)).toHaveLength(1);
});

it('An expired or unknown code is exchanged for nothing', async () => {
  const code = randomId();
  await storage.tokens.addCode(code, new Date(Date.now() - 1));
  expect(await storage.tokens.exchangeCode(code, token())).toBeNull();
  expect(await storage.tokens.exchangeCode(randomId(), token())).toBeNull();
  expect(await storage.tokens.exchangeCode("' or true --", token())).toBeNull();
});

it('A revoked token is found no more, and revoking again does no harm', async () => {
  const [kept, revoked] = [token('kept'), token('revoked')];
  await storage.tokens.create(kept, receipt('ada', randomId()));
  await storage.tokens.create(revoked, receipt('ada', randomId()));
  const once = await storage.tokens.revoke(revoked.id);
  expect(once?.id).toBe(revoked.id);
  expect(await storage.tokens.revoke(revoked.id)).toEqual(once);
  expect(await storage.tokens.revoke(randomId())).toBeNull();
  expect(await storage.tokens.find(revoked.hash)).toBeNull();
  const names = (await storage.tokens.list()).map((row) => row.name);
  expect(names).toContain('kept');
  expect(names).not.toContain('revoked');
});

it('A token is created once per key, together with its receipt (D-60)', async () => {
  const kept = receipt('ada', randomId());
  const [one, two] = [token(), token()];
  expect((await storage.tokens.create(one, kept)).type).toBe('created');
  expect(await storage.tokens.create(two, kept)).toEqual({ type: 'duplicate' });
  expect(await storage.tokens.find(two.hash)).toBeNull();
  expect(await storage.journal.findReceipt('ada', kept.key)).toEqual(kept);
});

it('The use of a token is noted at most once a minute', async () => {
  const mine = token();
  await storage.tokens.create(mine, receipt('ada', randomId()));
  const used = async () => (await storage.tokens.find(mine.hash))?.lastUsedAt ?? null;
  expect(await used()).toBeNull();
  const first = await used();
  expect(first).not.toBeNull();
  expect(await used()).toBe(first);
  await database.sql(`update access_token set last_used_at = now() - interval '2 minutes' where id = $1`, [
    mine.id,
  ]);
  const before = await used();
  expect(await used()).not.toBe(before);
});
