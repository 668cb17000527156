import { expect, it } from 'vitest';
import { keepDraft, readDraft, unsendable } from './drafts.ts';

function storage() {
  const kept = new Map<string, string>();
  return {
    kept,
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  };
}

it('keeps a draft for each workstream, and nothing once it is sent', () => {
  const store = storage();
  keepDraft(store, 'a', 'one');
  keepDraft(store, 'b', 'two');
  expect([readDraft(store, 'a'), readDraft(store, 'b'), readDraft(store, 'c')]).toEqual(['one', 'two', '']);
  keepDraft(store, 'a', '');
  expect([...store.kept.keys()]).toEqual(['weir.draft.b']);
});

it('a full storage loses no text that is being written', () => {
  const full = {
    ...storage(),
    setItem: () => {
      throw new DOMException('full', 'QuotaExceededError');
    },
  };
  expect(() => {
    keepDraft(full, 'a', 'one');
  }).not.toThrow();
});

it('says why a text cannot be sent', () => {
  expect(unsendable(' \n')).toBe('Write something first.');
  expect(unsendable('ü'.repeat(500_001))).toMatch(/1 MB/);
  expect(unsendable('ü'.repeat(500_000))).toBeNull();
});
