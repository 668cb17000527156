/** Owns: which page is shown, kept in the fragment of the address so that it can be linked to. */
import { getContext, setContext } from 'svelte';
import { hashOf, routeOf, type Route } from './routes.ts';

export class Router {
  route = $state.raw<Route>(routeOf(location.hash));

  /** Follows the address until the returned function is called. */
  start(): () => void {
    const read = () => {
      this.route = routeOf(location.hash);
    };
    read();
    addEventListener('hashchange', read);
    return () => {
      removeEventListener('hashchange', read);
    };
  }

  go(route: Route): void {
    location.hash = hashOf(route);
  }

  /** Goes there without a step in the browser's history, for what changes with each key. */
  replace(route: Route): void {
    history.replaceState(history.state, '', hashOf(route));
    this.route = route;
  }
}

const key = Symbol('router');
export const setRouter = (router: Router): Router => setContext(key, router);
export const getRouter = (): Router => getContext<Router>(key);
