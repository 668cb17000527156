/** Owns: what the fragment of the address says. Pure. The code of a one-time link stands there, too. */

export type Route =
  | { readonly page: 'home' }
  | { readonly page: 'workstream'; readonly id: string }
  | { readonly page: 'new' }
  | { readonly page: 'tokens' }
  | { readonly page: 'server' };

export function routeOf(hash: string): Route {
  const [, page, id] = /^#\/([a-z]*)(?:\/([\w-]{1,300}))?$/.exec(hash) ?? [];
  if (page === 'w' && id !== undefined) return { page: 'workstream', id };
  if (page === 'new' || page === 'tokens' || page === 'server') return { page };
  return { page: 'home' };
}

export function hashOf(route: Route): string {
  if (route.page === 'home') return '#/';
  return route.page === 'workstream' ? `#/w/${route.id}` : `#/${route.page}`;
}

/** The code of a whole one-time link, as it is printed or copied; null for any other text, a token among them. */
export function codeInLink(text: string): string | null {
  const fragment = text.trim().indexOf('#');
  return fragment < 0 ? null : codeOf(text.trim().slice(fragment));
}

/** The code of a one-time link, or null. */
export function codeOf(hash: string): string | null {
  const code = new URLSearchParams(hash.replace(/^#/, '')).get('code');
  return code === null || code === '' ? null : code;
}
