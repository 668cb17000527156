import { expect, it } from 'vitest';
import { clearLeft, hasLeft, Kept, LEFT, tellLeft } from './kept.ts';
import { memoryTab } from './memory-tab.ts';

const isText = (value: unknown): value is string => typeof value === 'string';

it('gives what was typed to the token it was typed under alone, also when that one is back (D-12)', () => {
  const tab = memoryTab();
  const anna = new Kept(tab, 'aa');
  anna.keep('composer.w', 'of Anna');
  const bert = new Kept(tab, 'bb');
  expect([bert.read('composer.w', isText), bert.names]).toEqual([null, []]);
  bert.keep('composer.w', 'of Bert');
  bert.keep('composer.w', null);
  expect(new Kept(tab, 'aa').read('composer.w', isText)).toBe('of Anna');
  expect(new Kept(tab, 'aa').names).toEqual(['composer.w']);
});

it('clears what is of its token, the last words of a page that is going too, and nothing of another', () => {
  const held = new Map([['else', '1']]);
  const anna = new Kept(memoryTab(held), 'aa');
  const bert = new Kept(memoryTab(held), 'bb');
  bert.keep('edit.w', 'of Bert');
  for (const name of ['composer.w', 'edit.w', 'anew.w']) anna.keep(name, 'of Anna');
  anna.clear();
  anna.keep('composer.w', 'too late');
  expect(anna.names).toEqual([]);
  expect(bert.read('edit.w', isText)).toBe('of Bert');
  expect([...held.keys()]).toHaveLength(2);
});

it('clears what those typed who signed out in another tab, until they are back, and nothing of others', () => {
  const browser = memoryTab();
  const tab = memoryTab();
  const [anna, bert] = [new Kept(tab, 'aa', browser), new Kept(tab, 'bb', browser)];
  for (const kept of [anna, bert]) kept.keep('composer.w', 'typed');
  tellLeft(browser, 'aa', true);
  clearLeft(browser, tab);
  anna.keep('edit.w', 'too late');
  expect([anna.names, bert.names]).toEqual([[], ['composer.w']]);

  tellLeft(browser, 'aa', false);
  anna.keep('composer.w', 'back');
  clearLeft(browser, tab);
  expect(anna.read('composer.w', isText)).toBe('back');
});

it('knows the last hundred who signed out', () => {
  const browser = memoryTab();
  for (let i = 0; i < 101; i++) tellLeft(browser, `a${i}`, true);
  expect(['a0', 'a1', 'a100'].map((author) => hasLeft(browser, author))).toEqual([false, true, true]);
});

it.each(['left', '{}', 'null', '[7]'])(
  'takes nobody for signed out by what it did not write: %s',
  (stored) => {
    const browser = memoryTab(new Map([[LEFT, stored]]));
    expect(hasLeft(browser, 'aa')).toBe(false);
    tellLeft(browser, 'aa', true);
    expect(hasLeft(browser, 'aa')).toBe(true);
  },
);

it.each(['draft', '{}', 'null', '7'])('takes nothing from what it did not write: %s', (stored) => {
  const held = new Map<string, string>();
  const kept = new Kept(memoryTab(held), 'aa');
  kept.keep('composer.w', 'as it was');
  for (const key of held.keys()) held.set(key, stored);
  expect(kept.read('composer.w', isText)).toBeNull();
});

it('says when the storage is full, and leaves there what it held', () => {
  const kept = new Kept(memoryTab(new Map(), 5), 'aa');
  expect(kept.keep('composer.w', 'one')).toBe(true);
  expect(kept.keep('composer.w', 'one two')).toBe(false);
  expect(kept.read('composer.w', isText)).toBe('one');
});
