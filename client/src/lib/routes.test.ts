import { expect, it } from 'vitest';
import { codeInLink, codeOf, hashOf, routeOf, type Route } from './routes.ts';

it.each<readonly [string, Route]>([
  ['', { page: 'home' }],
  ['#/', { page: 'home' }],
  ['#/w/V29ya3N0cmVhbTox', { page: 'workstream', id: 'V29ya3N0cmVhbTox' }],
  ['#/new', { page: 'new' }],
  ['#/watches', { page: 'watches' }],
  ['#/tokens', { page: 'tokens' }],
  ['#/server', { page: 'server' }],
  ['#/usage', { page: 'usage', days: 7 }],
  ['#/usage?days=30', { page: 'usage', days: 30 }],
  ['#/w/V29y/at/57/cjU3', { page: 'workstream', id: 'V29y', at: { revision: 57, cursor: 'cjU3' } }],
  ['#/search', { page: 'search', text: '', within: null }],
  ['#/search?q=a%26b+%22c%23%22&in=V29y', { page: 'search', text: 'a&b "c#"', within: 'V29y' }],
  ['#/search?q=%E8%A8%AD%E5%AE%9A', { page: 'search', text: '設定', within: null }],
])('reads %s as a page and writes it back', (hash, route) => {
  expect(routeOf(hash)).toEqual(route);
  expect(routeOf(hashOf(route))).toEqual(route);
});

it.each([
  '#/w/',
  '#/w/<script>',
  '#/nowhere',
  '#w/1',
  '#/w/a/b',
  '#/w/a/at/1',
  '#/w/a/at/x/y',
  '#/searching',
])('takes %s for no page', (hash) => {
  expect(routeOf(hash)).toEqual({ page: 'unknown' });
});

it('shows the usage of a week where the address says other days than there are', () => {
  for (const hash of ['#/usage?days=8', '#/usage?days=', '#/usage?x=30'])
    expect(routeOf(hash)).toEqual({ page: 'usage', days: 7 });
});

it('takes the code of a one-time link for home', () => {
  expect(routeOf('#code=x')).toEqual({ page: 'home' });
});

it('finds the code of a one-time link, and no code elsewhere', () => {
  expect(codeOf('#code=code_a-B_9')).toBe('code_a-B_9');
  for (const hash of ['', '#', '#code=', '#/w/code=1', '#/']) expect(codeOf(hash)).toBeNull();
});

it('finds the code in a whole link that was pasted, and none in a token', () => {
  expect(codeInLink(' http://127.0.0.1:4000/#code=code_a-B_9\n')).toBe('code_a-B_9');
  expect(codeInLink('#code=code_a-B_9')).toBe('code_a-B_9');
  for (const text of ['weir_a-B_9', 'code=x', 'http://127.0.0.1:4000/#/tokens', ''])
    expect(codeInLink(text)).toBeNull();
});
