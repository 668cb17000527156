/**
 * Owns: which endpoint and model the settings lead to, and what an operator is told where that is not what was asked for.
 * Does not own: asking (`discover.ts`), or calling (`index.ts`).
 *
 * Invariants: the start waits for an endpoint only where its answer names the model; a warning holds no credential.
 */
import type { Clock } from '../../ports/clock.ts';
import type { Binding } from './binding.ts';
import { demoAlias } from './demo.ts';
import { chooseModelOf, findLocalEndpoint, listModels, isListed } from './discover.ts';
import type { DiscoveredEndpoint, Listing, LocalServer } from './discover.ts';
import { openAiModel, openAiUrl, parseEndpoint, type Endpoint, type ModelConfig } from './endpoint.ts';
import { createFault, faultFromDescription, scopeOf, type FaultScope } from './faults.ts';

export interface ChosenModel {
  /** The settings, with the model that is used where none was named. */
  readonly config: ModelConfig;
  /** The local server that is used; null when an endpoint is set, or none answers. */
  readonly discovered: DiscoveredEndpoint | null;
  /** One sentence when another model than WEIR_MODEL is used. */
  readonly warning: string | null;
  /**
   * One sentence when an endpoint that is set refuses the key, cannot be reached or does not list the model; else null.
   * It is asked once, in the background. Never rejects.
   */
  readonly checked: Promise<string | null>;
}

/** While the start waits, and in the background, milliseconds. */
const namingMs = 2_000;
const checkingMs = 10_000;

/** With an endpoint set, that one; else the local servers are asked, 300 ms at most, unless not to. Never rejects. */
export async function chooseModel(
  deps: { readonly clock: Clock },
  config: ModelConfig,
  { ports, search = true }: { readonly ports?: readonly LocalServer[]; readonly search?: boolean } = {},
): Promise<ChosenModel> {
  const baseUrl = config.baseUrl ?? (config.apiKey === undefined ? undefined : openAiUrl);
  const endpoint = baseUrl === undefined ? null : parseEndpoint(baseUrl.trim(), config.apiKey?.trim());
  if (endpoint === null)
    return search
      ? chooseLocal(deps, config, ports)
      : { config, discovered: null, warning: null, checked: Promise.resolve(null) };
  const ask = (withinMs: number) => listModels(deps.clock, endpoint, withinMs);
  // A key alone means OpenAI, where what is listed first is as good as chance.
  const named = config.model ?? (config.baseUrl === undefined ? openAiModel : undefined);
  if (named !== undefined)
    return {
      config,
      discovered: null,
      warning: null,
      checked: ask(checkingMs).then((answer) => complaint(endpoint, named, answer)),
    };
  const listing = await ask(namingMs);
  const model =
    listing.type === 'listed' ? (chooseModelOf(listing.models, undefined) ?? undefined) : undefined;
  return {
    config: { ...config, model },
    discovered: null,
    warning: null,
    checked: Promise.resolve(complaint(endpoint, model, listing)),
  };
}

async function chooseLocal(
  deps: { readonly clock: Clock },
  config: ModelConfig,
  ports: readonly LocalServer[] | undefined,
): Promise<ChosenModel> {
  const wanted = config.model;
  const found = await findLocalEndpoint(deps, { preferredModel: wanted, ...(ports && { ports }) });
  return { config, discovered: found, warning: insteadOf(wanted, found), checked: Promise.resolve(null) };
}

function insteadOf(wanted: string | undefined, found: DiscoveredEndpoint | null): string | null {
  if (wanted === undefined) return null;
  if (found === null)
    return wanted === demoAlias
      ? null
      : `WEIR_MODEL asks for ${shown(wanted)}, but no endpoint is set and no local model server answers, so the demo is used, which is not a language model: start the server of that model, or set OPENAI_BASE_URL or OPENAI_API_KEY.`;
  if (isListed(found.models, wanted)) return null;
  return `WEIR_MODEL asks for ${shown(wanted)}, which ${found.name} at ${new URL(found.baseUrl).host} does not list, so ${shown(found.model)} is used: set WEIR_MODEL to one that it lists (${some(found.models)}), or OPENAI_BASE_URL to the endpoint that has ${shown(wanted)}.`;
}

/** What stands against models by a look at their endpoint. */
export interface Finding {
  readonly of: readonly Binding[];
  /** What it is, of one of them. */
  readonly complaint: (binding: Binding) => string | null;
  /** It is the endpoint that is away, whoever asks. */
  readonly away: boolean;
}

/** A finding said once: of the first of them, with the names of the others. Null: it is about none. */
export function warningOf({ of, complaint }: Finding): string | null {
  const [first, ...others] = of;
  const warning = first ? complaint(first) : null;
  if (warning === null || others.length === 0) return warning;
  return `${warning} The same holds for ${others.map(({ alias }) => shown(alias)).join(', ')}.`;
}

/** Asks each endpoint of these models once, with its key, as `checked` does, 10 s at most. Never rejects. */
export async function checkModels(
  { clock }: { readonly clock: Clock },
  bindings: readonly Binding[],
): Promise<readonly Finding[]> {
  const byEndpoint = Map.groupBy(bindings, ({ endpoint }) =>
    JSON.stringify([endpoint.baseUrl, endpoint.authorization]),
  );
  const checked = [...byEndpoint.values()].map(async (group): Promise<readonly Finding[]> => {
    const listing = await listModels(clock, group[0]!.endpoint, checkingMs);
    const complaint = (binding: Binding) => complaintOf(scopeOf(binding), binding.model, listing);
    const of = group.filter((binding) => complaint(binding) !== null);
    const away = listing.type === 'unreachable';
    if (listing.type === 'listed') return of.map((binding) => ({ of: [binding], complaint, away }));
    return of.length === 0 ? [] : [{ of, complaint, away }];
  });
  return (await Promise.all(checked)).flat();
}

/** `model`: what calls will name; undefined when that is not known, and nothing can be said about it. */
function complaint(endpoint: Endpoint, model: string | undefined, listing: Listing): string | null {
  const name = model ?? 'default';
  const { host, secrets } = endpoint;
  return complaintOf({ alias: name, host, model: name, secrets, source: 'ENVIRONMENT' }, model, listing);
}

function complaintOf(scope: FaultScope, model: string | undefined, listing: Listing): string | null {
  switch (listing.type) {
    case 'listed':
      if (model === undefined || listing.models.length === 0 || isListed(listing.models, model)) return null;
      return createFault('NOT_FOUND', scope, {
        what: 'is not among the models that are listed there',
        detail: some(listing.models),
        advice: 'set {model} to one that is, if calls fail',
      }).message;
    case 'refused':
      return faultFromDescription(scope, {}, listing.status).message;
    case 'unreachable':
      return createFault('CONNECTION', scope, { detail: listing.code }).message;
    // Many endpoints that work have no list of models.
    case 'unlisted':
      return null;
  }
}

const shown = (name: string): string => `"${oneLine(name)}"`;

const some = (models: readonly string[]): string =>
  models.slice(0, 5).map(oneLine).join(', ') + (models.length > 5 ? ', …' : '');

/** What a server names its models is a stranger's text. */
const oneLine = (text: string): string => {
  const line = text.replace(/[\p{Cc}\p{Cf}\p{Cs}\s]+/gu, ' ').trim();
  return line.length > 80 ? `${[...line].slice(0, 80).join('')}…` : line;
};
