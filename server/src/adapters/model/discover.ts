/**
 * Owns: asking an endpoint for its list of models, and finding a local server by it, on 127.0.0.1 only.
 * Does not own: talking to it (`caller.ts`), or telling the operator (`choose.ts`).
 */
import type { Clock } from '../../ports/clock.ts';
import { addressOf, type Endpoint } from './endpoint.ts';
import { endpointFetch } from './endpoint-fetch.ts';
import { codeOf } from './faults.ts';
import { unpacked } from './post.ts';
import { isRecord, parseJson, readText, textOf } from './wire/json.ts';

export interface DiscoveredEndpoint {
  /** The server that usually has this port, for people. */
  readonly name: string;
  /** Base URL, ends in /v1. */
  readonly baseUrl: string;
  readonly model: string;
  /** Every model it lists. */
  readonly models: readonly string[];
}

export interface LocalServer {
  readonly name: string;
  readonly port: number;
}

/** Usual ports, in order of preference. */
const localServers: readonly LocalServer[] = [
  { name: 'Ollama', port: 11434 },
  { name: 'LM Studio', port: 1234 },
  { name: 'llama.cpp', port: 8080 },
  { name: 'vLLM', port: 8000 },
];

const timeoutMs = 300;
const maxBytes = 1024 * 1024;

/**
 * Asks all ports at once, 300 ms each. Answers the first in order that lists `preferredModel`, else the first that lists
 * any, with the first of its models that looks able to talk; null when none does. Never throws.
 */
export async function findLocalEndpoint(
  deps: { readonly clock: Clock },
  options: { readonly ports?: readonly LocalServer[]; readonly preferredModel?: string | undefined } = {},
): Promise<DiscoveredEndpoint | null> {
  const servers = options.ports ?? localServers;
  const preferred = options.preferredModel;
  const answers = await Promise.all(
    servers.map(async (server): Promise<DiscoveredEndpoint | null> => {
      const baseUrl = `http://127.0.0.1:${server.port}/v1`;
      const listing = await listModels(deps.clock, { baseUrl, authorization: null }, timeoutMs);
      const models = listing.type === 'listed' ? listing.models : [];
      const model = chooseModelOf(models, preferred);
      return model === null ? null : { name: server.name, baseUrl, model, models };
    }),
  );
  const found = answers.filter((answer) => answer !== null);
  return (
    found.find(({ models }) => preferred !== undefined && isListed(models, preferred)) ?? found[0] ?? null
  );
}

/** What came of asking an endpoint which models it has. */
export type Listing =
  | { readonly type: 'listed'; readonly models: readonly string[] }
  /** It does not take the credentials: 401 or 403; or a proxy on the way wants some: 407. */
  | { readonly type: 'refused'; readonly status: number }
  /** `code`: ECONNREFUSED and the like, or how long it was waited for. */
  | { readonly type: 'unreachable'; readonly code: string }
  /** It answers, and what it answers is no list of models. */
  | { readonly type: 'unlisted' };

/** Asks once; never rejects. */
export async function listModels(
  clock: Clock,
  { baseUrl, authorization }: Pick<Endpoint, 'baseUrl' | 'authorization'>,
  withinMs: number,
): Promise<Listing> {
  const controller = new AbortController();
  const cancel = clock.after(withinMs, () => controller.abort());
  let answered = false;
  try {
    const response = await endpointFetch(addressOf(baseUrl, '/models'), {
      signal: controller.signal,
      redirect: 'manual',
      headers: {
        accept: 'application/json',
        ...unpacked,
        ...(authorization === null ? {} : { authorization }),
      },
    });
    answered = true;
    if ([401, 403, 407].includes(response.status)) return { type: 'refused', status: response.status };
    const json =
      response.ok && response.body ? parseJson(await readText(response.body, maxBytes)) : undefined;
    const data = isRecord(json) ? json['data'] : undefined;
    if (!Array.isArray(data)) return { type: 'unlisted' };
    const models = data.map((item) => (isRecord(item) ? textOf(item['id']).trim() : ''));
    return models.includes('') ? { type: 'unlisted' } : { type: 'listed', models };
  } catch (error) {
    if (answered) return { type: 'unlisted' };
    const code = controller.signal.aborted ? `no answer in ${withinMs / 1000} s` : codeOf(error);
    return { type: 'unreachable', code };
  } finally {
    cancel();
    controller.abort();
  }
}

/** Whether `wanted` is listed: as it is, as Ollama lists it, or as Gemini does; both take the short name, too. */
export const isListed = (models: readonly string[], wanted: string): boolean =>
  [wanted, `${wanted}:latest`, `models/${wanted}`].some((name) => models.includes(name));

/** These are listed beside the others and cannot talk. */
const silent = /embed|rerank|whisper|tts|bge-|minilm/i;

/** The wanted model where it is listed, else the first that looks able to talk, else the first; null of none. */
export const chooseModelOf = (models: readonly string[], wanted: string | undefined): string | null =>
  wanted !== undefined && isListed(models, wanted)
    ? wanted
    : (models.find((m) => !silent.test(m)) ?? models[0] ?? null);
