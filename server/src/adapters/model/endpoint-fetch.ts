/**
 * Owns: the `fetch` with which endpoints are asked, and that no answer of one ends the server or those of others. The one
 * built into Node 24 throws where nobody can catch it when a connection ends behind much that is packed (nodejs/undici
 * 5360), which an endpoint may send even when asked not to; so may HTTP/2, where all calls to a host share one connection,
 * and one answer that is malformed breaks all.
 */
import { globalAgent, type AgentOptions } from 'node:http';
import { Agent, EnvHttpProxyAgent, fetch as ownFetch } from 'undici';

const options = { allowH2: false } as const;

/** Without one the connections would be made by the one that is built in. Proxies are taken from the environment as there. */
const usesProxies =
  process.env['NODE_USE_ENV_PROXY'] === '1' ||
  // Set by `--use-env-proxy`, which the environment does not tell of.
  (globalAgent as { readonly options?: AgentOptions }).options?.proxyEnv !== undefined;
const dispatcher = usesProxies ? new EnvHttpProxyAgent(options) : new Agent(options);

/** As the one that is built in, whose types name classes of its own. */
export const endpointFetch = ((url: string, init: object) =>
  ownFetch(url, { ...init, dispatcher })) as unknown as typeof fetch;
