import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createHeldTokens } from '../../src/app/rounds/held-tokens.ts';
import { StorageUnavailableError } from '../../src/ports/storage-unavailable.ts';
import { ada, createWorld, newKey, type World } from './support/world.ts';

let world: World;
beforeEach(async () => {
  world = await createWorld();
});
const create = (name: string, key = newKey()) => world.services.tokens.create(ada, { key, name });
async function made(name = 'script') {
  const outcome = await create(name);
  if (outcome.type !== 'Accepted') throw new Error(outcome.message);
  return { id: outcome.token.id, secret: outcome.secret! };
}
const revoke = (tokenId: string) => world.services.tokens.revoke(ada, { key: newKey(), tokenId });

describe('A one-time code', () => {
  it('is exchanged for a token that lets its holder in, once', async () => {
    const code = await world.tokens.issueCode();
    const exchanged = await world.tokens.exchange(code, null);
    const viewer = await world.tokens.authenticate(exchanged!.token);
    expect(viewer).toMatchObject({ name: 'Browser, 2026-01-01, 00:00 UTC', tokenId: viewer!.id });
    expect(await world.tokens.exchange(code, null)).toBeNull();
    expect(await world.tokens.exchange(code, null)).toBeNull();
  });

  it.each([
    ['Firefox on Linux, 30 Nov 2026, 22:51', 'Firefox on Linux, 30 Nov 2026, 22:51'],
    ['  Safari ', 'Safari'],
    ['x'.repeat(200), 'x'.repeat(100)],
    [' \u200b ', 'Browser, 2026-01-01, 00:00 UTC'],
  ])('names the token as the browser calls itself, %j, as far as a name may go', async (called, name) => {
    const exchanged = await world.tokens.exchange(await world.tokens.issueCode(), called);
    expect(await world.tokens.authenticate(exchanged!.token)).toMatchObject({ name });
  });

  it('raced by ten is exchanged once', async () => {
    const code = await world.tokens.issueCode();
    const all = await Promise.all(Array.from({ length: 10 }, () => world.tokens.exchange(code, null)));
    expect(all.filter((e) => e !== null)).toHaveLength(1);
  });

  it('is good for a day and no longer', async () => {
    const [early, late] = [await world.tokens.issueCode(), await world.tokens.issueCode()];
    await world.clock.advance(24 * 60 * 60 * 1_000 - 1);
    expect(await world.tokens.exchange(early, null)).not.toBeNull();
    await world.clock.advance(1);
    expect(await world.tokens.exchange(late, null)).toBeNull();
  });

  it.each(['', 'code_', 'rubbish', '\0'])('that was never issued (%j) is worth nothing', async (code) => {
    expect(await world.tokens.exchange(code, null)).toBeNull();
  });
});

describe('A token', () => {
  it('is created with a secret shown once; a repeat of the key answers it without (D-60)', async () => {
    const key = newKey();
    const first = await create('script', key);
    expect(first).toMatchObject({ type: 'Accepted', durability: 'DURABLE', token: { name: 'script' } });
    const secret = first.type === 'Accepted' ? first.secret! : '';
    expect(secret).toMatch(/^weir_[\w-]{43}$/);
    expect(await create('script', key)).toEqual({ ...first, secret: null });
    expect(await create('another', key)).toMatchObject({ code: 'KEY_REUSED' });
    expect(await world.services.tokens.list()).toHaveLength(1);
    expect(await world.tokens.authenticate(secret)).toMatchObject({ name: 'script' });
  });

  it('is kept only as a hash', async () => {
    const seen: string[] = [];
    const { tokens } = world.storage;
    const store = tokens.create;
    Object.assign(tokens, {
      create: (...args: Parameters<typeof store>) => {
        seen.push(JSON.stringify(args));
        return store(...args);
      },
    });
    const { secret } = await made();
    expect(seen).toHaveLength(1);
    expect(seen[0]).not.toContain(secret.slice(5));
  });

  it.each(['', '   ', '\u200b\u2060', '\0\u2800', 'x'.repeat(101)])(
    'is not created with a name like %j',
    async (name) => {
      expect(await create(name)).toMatchObject({ code: 'INVALID_INPUT', field: 'name', retryable: false });
      expect(await world.services.tokens.list()).toEqual([]);
    },
  );

  it('is created with a name no database can hold, made storable (D-51)', async () => {
    expect(await create('a\0b\ud800')).toMatchObject({ token: { name: 'a\ufffdb\ufffd' } });
  });

  it('revoked lets nobody in, and who holds it is told, once', async () => {
    const [mine, other] = [await made('mine'), await made('other')];
    const told: string[] = [];
    world.tokens.onRevoked(mine.id, () => told.push('socket 1'));
    const leave = world.tokens.onRevoked(mine.id, () => told.push('socket 2'));
    world.tokens.onRevoked(other.id, () => told.push('another'));
    leave();
    expect(await revoke(mine.id)).toMatchObject({ type: 'Accepted', token: { id: mine.id } });
    expect(await world.tokens.authenticate(mine.secret)).toBeNull();
    expect(await world.tokens.authenticate(other.secret)).not.toBeNull();
    expect(await revoke(mine.id)).toMatchObject({ type: 'Accepted' });
    expect(told).toEqual(['socket 1']);
  });

  it('that is not there cannot be revoked', async () => {
    expect(await revoke('nothing')).toMatchObject({ code: 'TOKEN_NOT_FOUND', retryable: false });
  });

  it.each(['a\0b', 'a\ud800b'])('with an id no database can hold (%j) is none (D-51)', async (id) => {
    Object.assign(world.storage.tokens, {
      revoke: () => Promise.reject(new Error('invalid byte sequence for encoding "UTF8"')),
    });
    expect(await revoke(id)).toMatchObject({ code: 'TOKEN_NOT_FOUND', retryable: false });
  });

  it('without a database is neither created nor revoked, for now', async () => {
    const { id } = await made();
    world.storage.goAway();
    const away = { code: 'STORAGE_UNAVAILABLE', retryable: true };
    expect([await create('x'), await revoke(id)]).toMatchObject([away, away]);
  });

  it.each(['', 'weir_', 'weir_' + 'x'.repeat(43), '\0'])(
    'that was never handed out (%j) lets nobody in',
    async (t) => {
      expect(await world.tokens.authenticate(t)).toBeNull();
    },
  );
});

describe('A token found good before', () => {
  /** Counts what the store is asked; `frozen` leaves questions unanswered. */
  function watch() {
    const { tokens } = world.storage;
    const find = tokens.find.bind(tokens);
    const watched = { asked: 0, frozen: false };
    Object.assign(tokens, {
      find: (hash: string) => {
        watched.asked++;
        return watched.frozen ? new Promise(() => undefined) : find(hash);
      },
    });
    return watched;
  }

  it('lets its holder in while the database is away, and for an hour at most', async () => {
    const { secret, id } = await made();
    await world.tokens.authenticate(secret);
    world.storage.goAway();
    await world.clock.advance(60 * 60 * 1_000 - 1);
    expect(await world.tokens.authenticate(secret)).toMatchObject({ tokenId: id });
    await world.clock.advance(1);
    await expect(world.tokens.authenticate(secret)).rejects.toThrow(StorageUnavailableError);
    world.storage.comeBack();
    expect(await world.tokens.authenticate(secret)).toMatchObject({ tokenId: id });
  });

  it('lets its holder in within 250 ms while the database is frozen, asking it once', async () => {
    const { secret, id } = await made();
    await world.tokens.authenticate(secret);
    await world.clock.advance(5_000);
    const watched = watch();
    watched.frozen = true;
    const coming = [world.tokens.authenticate(secret), world.tokens.authenticate(secret)];
    await world.clock.advance(250);
    expect(await Promise.all(coming)).toMatchObject([{ tokenId: id }, { tokenId: id }]);
    expect(watched.asked).toBe(1);
  });

  it('costs no question for 5 s', async () => {
    const { secret } = await made();
    const watched = watch();
    for (let i = 0; i < 10; i++) await world.tokens.authenticate(secret);
    await world.clock.advance(4_999);
    await world.tokens.authenticate(secret);
    expect(watched.asked).toBe(1);
    await world.clock.advance(1);
    await world.tokens.authenticate(secret);
    expect(watched.asked).toBe(2);
  });

  it('is not known to be good when it never was asked about', async () => {
    const { secret } = await made();
    world.storage.goAway();
    await expect(world.tokens.authenticate(secret)).rejects.toThrow(StorageUnavailableError);
    await expect(world.tokens.authenticate('weir_stranger')).rejects.toThrow(StorageUnavailableError);
  });

  it('and revoked here is out at once, also when the store answers late what it read before', async () => {
    const { secret, id } = await made();
    await world.tokens.authenticate(secret);
    await world.clock.advance(5_000);
    const { tokens } = world.storage;
    const find = tokens.find.bind(tokens);
    let answer = (): void => undefined;
    Object.assign(tokens, {
      find: async (hash: string) => {
        const row = await find(hash);
        await new Promise<void>((resolve) => (answer = resolve));
        return row;
      },
    });
    const late = world.tokens.authenticate(secret);
    await world.clock.waitForTimers();
    expect(await revoke(id)).toMatchObject({ type: 'Accepted' });
    answer();
    expect(await late).toBeNull();
    Object.assign(tokens, { find });
    expect(await world.tokens.authenticate(secret)).toBeNull();
    world.storage.goAway();
    await expect(world.tokens.authenticate(secret)).rejects.toThrow(StorageUnavailableError);
  });

  it('is not trusted any more once somebody tried to revoke it in vain', async () => {
    const { secret, id } = await made();
    await world.tokens.authenticate(secret);
    world.storage.goAway();
    expect(await revoke(id)).toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
    await expect(world.tokens.authenticate(secret)).rejects.toThrow(StorageUnavailableError);
  });

  it('and revoked by another process is out after 5 s, and who holds it is told then', async () => {
    const { secret, id } = await made();
    await world.tokens.authenticate(secret);
    const told: string[] = [];
    world.tokens.onRevoked(id, () => told.push('gone'));
    await world.storage.tokens.revoke(id);
    expect(await world.tokens.authenticate(secret)).not.toBeNull();
    await world.clock.advance(5_000);
    expect(await world.tokens.authenticate(secret)).toBeNull();
    expect(told).toEqual(['gone']);
  });
});

describe('A token whose holder asks nothing', () => {
  /** The round over this world; what the store was asked in it. */
  function look() {
    const asked: (readonly string[])[] = [];
    const warned: string[] = [];
    const { tokens } = world.storage;
    const goneOf = tokens.goneOf.bind(tokens);
    Object.assign(tokens, {
      goneOf: (ids: readonly string[]) => {
        asked.push(ids);
        return goneOf(ids);
      },
    });
    const quiet = () => undefined;
    const log = {
      info: quiet,
      error: quiet,
      warn: (_: unknown, message: string) => void warned.push(message),
    };
    const round = createHeldTokens({ tokens: world.tokens, clock: world.clock, log });
    round.run();
    onTestFinished(() => round.stop());
    return { asked, warned, round };
  }

  it('and was revoked by another process is told within 5 s, once, and is out for good', async () => {
    const [mine, other] = [await made('mine'), await made('other')];
    await world.tokens.authenticate(mine.secret);
    const told: string[] = [];
    for (const socket of ['socket 1', 'socket 2']) world.tokens.onRevoked(mine.id, () => told.push(socket));
    world.tokens.onRevoked(other.id, () => told.push('another'));
    look();
    await world.storage.tokens.revoke(mine.id);
    await world.clock.advance(4_999);
    expect(told).toEqual([]);
    await world.clock.advance(1);
    expect(told).toEqual(['socket 1', 'socket 2']);
    expect(await world.tokens.authenticate(mine.secret)).toBeNull();
    await world.clock.advance(60_000);
    expect(told).toHaveLength(2);
  });

  it('is asked about together with all others, and not at all while nobody listens', async () => {
    const [one, two] = [await made('one'), await made('two')];
    const { asked, round } = look();
    await world.clock.advance(20_000);
    expect(asked).toEqual([]);
    const leave = [one, one, two].map(({ id }) => world.tokens.onRevoked(id, () => undefined));
    await world.clock.advance(5_000);
    expect(asked).toEqual([[one.id, two.id]]);
    for (const leaves of leave) leaves();
    await world.clock.advance(20_000);
    expect(asked).toHaveLength(1);
    round.stop();
    world.tokens.onRevoked(one.id, () => undefined);
    await world.clock.advance(20_000);
    expect(asked).toHaveLength(1);
  });

  it('keeps its socket while the database is away, and is asked about again when it is back', async () => {
    const { id } = await made();
    const told: string[] = [];
    world.tokens.onRevoked(id, () => told.push('gone'));
    const { warned } = look();
    await world.storage.tokens.revoke(id);
    world.storage.goAway();
    await world.clock.advance(10_000);
    expect([told, warned.length]).toEqual([[], 2]);
    world.storage.comeBack();
    await world.clock.advance(5_000);
    expect(told).toEqual(['gone']);
  });
});
