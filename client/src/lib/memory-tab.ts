/** Owns: the storage of a tab in memory, for tests: it outlives their pages. */
import type { Tab } from './kept.ts';

export const memoryTab = (held = new Map<string, string>(), room = Infinity): Tab => ({
  get length() {
    return held.size;
  },
  key: (i) => [...held.keys()][i] ?? null,
  getItem: (key) => held.get(key) ?? null,
  setItem: (key, value) => {
    if (value.length > room) throw new DOMException('full', 'QuotaExceededError');
    held.set(key, value);
  },
  removeItem: (key) => void held.delete(key),
});
