/** Owns: what the fragment of the address says. Pure. The code of a one-time link stands there, too. */

/** A place in the history of a workstream. */
export interface Place {
  /** Of the entry that stands there. */
  readonly revision: number;
  /** Where to read around it: a cursor of history, which only the server can make. */
  readonly cursor: string;
}

/** Over how many days what was spent can be shown. */
export const usageDays = [7, 30, 90] as const;
export type UsageDays = (typeof usageDays)[number];

export type Route =
  | { readonly page: 'home' }
  /** Without a place: as it is now. */
  | { readonly page: 'workstream'; readonly id: string; readonly at?: Place }
  /** `within`: id of the one workstream to search; null: all. */
  | { readonly page: 'search'; readonly text: string; readonly within: string | null }
  | { readonly page: 'new' }
  /** Of so many days, today included. */
  | { readonly page: 'usage'; readonly days: UsageDays }
  | { readonly page: 'watches' }
  | { readonly page: 'tokens' }
  | { readonly page: 'server' }
  /** There is no such page. */
  | { readonly page: 'unknown' };

export function routeOf(hash: string): Route {
  const [, page, id, revision, cursor] =
    /^#\/([a-z]*)(?:\/([\w-]{1,300})(?:\/at\/(\d{1,15})\/([\w-]{1,100}))?)?$/.exec(hash) ?? [];
  if (page === 'w' && id !== undefined)
    return revision !== undefined && cursor !== undefined
      ? { page: 'workstream', id, at: { revision: Number(revision), cursor } }
      : { page: 'workstream', id };
  if (page === 'new' || page === 'watches' || page === 'tokens' || page === 'server') return { page };
  const usage = /^#\/usage(?:\?(.*))?$/.exec(hash);
  if (usage) return { page: 'usage', days: daysOf(new URLSearchParams(usage[1]).get('days')) };
  const search = /^#\/search(?:\?(.*))?$/.exec(hash);
  if (!search) return { page: /^(?:#\/?|#code=.*)?$/.test(hash) ? 'home' : 'unknown' };
  const asked = new URLSearchParams(search[1]);
  return { page: 'search', text: asked.get('q') ?? '', within: asked.get('in') };
}

const daysOf = (text: string | null): UsageDays =>
  usageDays.find((days) => String(days) === text) ?? usageDays[0];

export function hashOf(route: Route): string {
  switch (route.page) {
    case 'home':
    case 'unknown':
      return '#/';
    case 'workstream':
      return `#/w/${route.id}${route.at ? `/at/${route.at.revision}/${route.at.cursor}` : ''}`;
    case 'usage':
      return route.days === usageDays[0] ? '#/usage' : `#/usage?days=${route.days}`;
    case 'search': {
      const { text, within } = route;
      const asked = new URLSearchParams({
        ...(text !== '' && { q: text }),
        ...(within !== null && { in: within }),
      });
      return asked.size > 0 ? `#/search?${asked}` : '#/search';
    }
    default:
      return `#/${route.page}`;
  }
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
