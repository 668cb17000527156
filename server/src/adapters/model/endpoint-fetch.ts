/**
 * Owns: the `fetch` with which endpoints are asked, and that no answer of one ends the server or those of others. The one
 * built into Node 24 throws where nobody can catch it when a connection ends behind much that is packed (nodejs/undici
 * 5360), which an endpoint may send even when asked not to; so may HTTP/2, where all calls to a host share one connection,
 * and one answer that is malformed breaks all.
 */
import { globalAgent, type AgentOptions } from 'node:http';
import { Agent, EnvHttpProxyAgent, fetch as ownFetch } from 'undici';
import { parseEndpoint } from './endpoint.ts';

const options = { allowH2: false } as const;

/** Without one the connections would be made by the one that is built in. Proxies are taken from the environment as there. */
const usesProxies =
  process.env['NODE_USE_ENV_PROXY'] === '1' ||
  // Set by `--use-env-proxy`, which the environment does not tell of.
  (globalAgent as { readonly options?: AgentOptions }).options?.proxyEnv !== undefined;
const dispatcher = usesProxies ? new EnvHttpProxyAgent(options) : new Agent(options);

/** What it takes to pass the proxies, which one of them may repeat: never to be shown. */
export const proxySecrets: readonly string[] = ['http_proxy', 'https_proxy']
  .flatMap((name) => [process.env[name], process.env[name.toUpperCase()]])
  .flatMap((address) => (address === undefined ? [] : (parseEndpoint(address, undefined)?.secrets ?? [])));

/** As the one that is built in, whose types name classes of its own; a proxy that wants credentials is an answer, 407. */
export const endpointFetch = ((url: string, init: object) =>
  ownFetch(url, { ...init, dispatcher }).catch((error: unknown) => {
    if (wantsProxyCredentials(error)) return new Response(null, { status: 407 });
    throw error;
  })) as unknown as typeof fetch;

/**
 * Whether a proxy asks who wants to pass: of an answer of status 407 `fetch` makes an error (Fetch, 4.5), the only one without
 * a word that it makes where no redirect is followed; and the way through a proxy is refused with words that hold the status.
 */
function wantsProxyCredentials(error: unknown): boolean {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    if (/^proxy\b.*\b407\b/i.test(at.message)) return true;
    if (depth === 1 && at.message === '' && at.constructor === Error && !('code' in at)) return true;
  }
  return false;
}
