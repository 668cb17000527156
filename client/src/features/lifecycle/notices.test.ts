import type { Outcome } from 'schema/client-kit';
import { expect, it } from 'vitest';
import type { Api } from '../../lib/api.svelte.ts';
import type { Router } from '../../lib/router.svelte.ts';
import type { Route } from '../../lib/routes.ts';
import { Lifecycle } from './lifecycle.svelte.ts';

/** A page of a tab on which everything works; `visit` is what the address says next. */
function open(route: Route) {
  const run = (): Promise<Outcome<unknown>> =>
    Promise.resolve({ type: 'Accepted', payload: { workspaceKept: null } });
  const api = { client: { intend: () => ({ key: 'k', run }) } } as unknown as Api;
  const router = { route, go: (to: Route) => (router.route = to) };
  const lifecycle = new Lifecycle(api, router as unknown as Router);
  const visit = (to: Route) => {
    router.route = to;
    lifecycle.moved();
  };
  return { lifecycle, router, visit };
}

it('says that something was deleted on the page that is left for it, and on no later one', async () => {
  const { lifecycle, router, visit } = open({ page: 'workstream', id: 'w' });
  await lifecycle.delete('w', 'Plan', () => undefined);
  expect(router.route).toEqual({ page: 'home' });
  lifecycle.moved();
  expect(lifecycle.notice).toBe('“Plan” was deleted.');
  visit({ page: 'server' });
  expect(lifecycle.notice).toBeNull();
});

it('says how closing several went until another page is shown, and while it goes on everywhere', async () => {
  const { lifecycle, visit } = open({ page: 'home' });
  await lifecycle.closeAll(['a', 'b']);
  expect(lifecycle.closingAll).toMatchObject({ closed: 2 });
  visit({ page: 'server' });
  expect(lifecycle.closingAll).toBeNull();
  lifecycle.closingAll = { of: 2, closed: 1, refused: 0 };
  visit({ page: 'home' });
  expect(lifecycle.closingAll).not.toBeNull();
});
