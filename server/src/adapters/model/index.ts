/**
 * Owns: which aliases there are and where each leads. Does not own: reading the environment (`config.ts`).
 *
 * Invariants: the demo is always there and never the default when there is a language model; a description names
 * model and host, never a credential.
 */
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { Model, ModelOutcome } from '../../ports/model.ts';
import { callDemo, demoAlias, demoDescription } from './demo.ts';
import type { DiscoveredEndpoint } from './discover.ts';
import { openAiModel, openAiUrl, parseEndpoint, type ModelConfig } from './endpoint.ts';
import { createOpenAiChat } from './openai-chat.ts';

export { chooseModel } from './choose.ts';
export type { DiscoveredEndpoint } from './discover.ts';
export type { ModelConfig } from './endpoint.ts';

/** Servers with one model accept any name; others answer which models they have. */
const unnamedModel = 'default';

interface Route {
  readonly alias: string;
  readonly description: string;
  readonly demo: boolean;
  /** Host and port of the endpoint; null for the demo. */
  readonly host: string | null;
  readonly call: Model['call'];
}

/**
 * The aliases: the configured model (with a key or a base URL), else the discovered one, and the demo. The first is
 * the default. Throws when `baseUrl` is no http(s) URL: the configuration is checked before.
 */
export function createModel(deps: {
  readonly clock: Clock;
  readonly log: Log;
  readonly config: ModelConfig;
  readonly discovered?: DiscoveredEndpoint | null;
}): Model {
  const language = createLanguageRoute(deps);
  const demo: Route = {
    alias: demoAlias,
    description: demoDescription,
    demo: true,
    host: null,
    call: (request, signal, onDelta) => callDemo(deps, request, signal, onDelta),
  };
  const routes = language ? [language, demo] : [demo];

  return {
    async call(request, signal, onDelta) {
      const route = routes.find((r) => r.alias === request.alias);
      if (!route) return unknownAlias(request.alias, routes);
      const outcome = await route.call(request, signal, onDelta);
      if (outcome.type === 'failed') {
        const { kind, status, retryable, retryAfterMs, message } = outcome;
        const { alias, host } = route;
        const workstream = request.workstreamId;
        // The sentence holds no credential and at most a line of what the endpoint said; the person reads the same.
        deps.log.warn(
          { workstream, alias, host, kind, status, retryable, retryAfterMs, sentence: message },
          'model call failed',
        );
      }
      return outcome;
    },
    list: () =>
      routes.map(({ alias, description, demo: isDemo }, i) => ({
        alias,
        description,
        demo: isDemo,
        isDefault: i === 0,
      })),
  };
}

function createLanguageRoute(deps: Parameters<typeof createModel>[0]): Route | null {
  const { config, discovered } = deps;
  const apiKey = config.apiKey?.trim() || undefined;
  const baseUrl = config.baseUrl?.trim() || (apiKey ? openAiUrl : discovered?.baseUrl);
  if (!baseUrl) return null;
  const configured = Boolean(config.baseUrl?.trim()) || apiKey !== undefined;
  const model = configured
    ? config.model?.trim() || (baseUrl === openAiUrl ? openAiModel : unnamedModel)
    : (discovered?.model ?? unnamedModel);
  const endpoint = parseEndpoint(baseUrl, apiKey);
  if (!endpoint) throw new Error('OPENAI_BASE_URL is not an http or https URL');
  const chat = createOpenAiChat(deps, endpoint, model);
  return {
    // A model that is called demo must not be taken for the demo.
    alias: model === demoAlias ? `${demoAlias}@${endpoint.host}` : model,
    description: `${model} at ${endpoint.host}`,
    demo: false,
    host: endpoint.host,
    call: (request, signal, onDelta) => chat.call(request, signal, onDelta),
  };
}

/** Workstreams keep the alias they were made with; the endpoint may have been changed since. */
function unknownAlias(alias: string, routes: readonly Route[]): ModelOutcome {
  const known = routes.map((route) => `"${route.alias}"`).join(' or ');
  return {
    type: 'failed',
    kind: 'NOT_FOUND',
    message: `The model "${alias}" of this workstream is not set up on this server any more: set WEIR_MODEL back to it, or start a new workstream with ${known}.`,
    retryable: false,
    retryAfterMs: null,
  };
}
