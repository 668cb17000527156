import { afterEach, expect, it, vi } from 'vitest';
import { fingerprint } from '../../lib/fingerprint.ts';
import { hasLeft } from '../../lib/kept.ts';
import { Session } from './session.svelte.ts';

/** The storage of a browser with room for so many characters, names included. */
function storageOf(room: number): Storage {
  const kept = new Map<string, string>();
  const size = () => [...kept].reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  return {
    getItem: (name: string) => kept.get(name) ?? null,
    removeItem: (name: string) => void kept.delete(name),
    setItem: (name: string, value: string) => {
      const before = kept.get(name);
      kept.set(name, value);
      if (size() <= room) return;
      if (before === undefined) kept.delete(name);
      else kept.set(name, before);
      throw new DOMException('The quota has been exceeded.', 'QuotaExceededError');
    },
    key: (i: number) => [...kept.keys()][i] ?? null,
    get length() {
      return kept.size;
    },
    clear: () => kept.clear(),
  };
}

afterEach(() => vi.unstubAllGlobals());

const token = 'a-token-as-long-as-those-that-a-server-makes-0123456789';

function signIn(storage: Storage): Session {
  vi.stubGlobal('localStorage', storage);
  const session = new Session();
  session.enter(token);
  expect(session.state).toEqual({ status: 'IN', token });
  return session;
}

it.each([
  ['with room', 10_000, true],
  ['full, in which the token makes room to say so', 'weir.token'.length + token.length, true],
  ['in which nothing at all can be kept', 0, false],
])('signs out whoever wants to, with a storage %s, and the token is not kept', (_, room, isTold) => {
  const storage = storageOf(room);
  const session = signIn(storage);
  expect(storage.getItem('weir.token')).toBe(room > 0 ? token : null);
  session.leave('LEFT');
  expect(session.state).toEqual({ status: 'OUT', reason: 'LEFT', message: null });
  expect(storage.getItem('weir.token')).toBeNull();
  expect(hasLeft(storage, fingerprint(token))).toBe(isTold);
});
