import { expect, it } from 'vitest';
import { whose } from './hit-words.ts';
import type { Hit } from './searching.svelte.ts';

const entry = (typename: string, more: object = {}): Pick<Hit, 'entry'> => ({
  entry: { __typename: typename, entryId: 'e', revision: 1, at: '', ...more } as Hit['entry'],
});

it('says who wrote it, or what it is', () => {
  const author = { id: 'a', name: 'Ann' };
  expect(whose(entry('UserEntry', { author }), 'a')).toBe('You');
  expect(whose(entry('UserEntry', { author }), 'b')).toBe('Ann');
  expect(whose(entry('ToolEntry', { name: 'shell' }), 'a')).toBe('Result of shell');
  expect(whose(entry('AssistantEntry'), 'a')).toBe('Answer');
  expect(whose(entry('CancellationEntry'), 'a')).toBe('Unfinished answer');
  expect(whose(entry('DreamEntry'), 'a')).toBe('Entry');
});
