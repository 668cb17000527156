/**
 * Owns: the `fetch` with which endpoints are asked. The one built into Node 24 throws where nobody can catch it when a
 * connection ends behind much that is packed (nodejs/undici 5360), so an endpoint could end the server: what is packed it may
 * send even when asked not to.
 */
import { Agent, fetch as ownFetch } from 'undici';

/** Without it the connections would be made by the one that is built in. */
const dispatcher = new Agent();

/** As the one that is built in, whose types name classes of its own. */
export const endpointFetch = ((url: string, init: object) =>
  ownFetch(url, { ...init, dispatcher })) as unknown as typeof fetch;
