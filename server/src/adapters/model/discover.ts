/**
 * Owns: finding a local model server when none is configured. Asks 127.0.0.1 only, and only for its list of models.
 * Does not own: talking to it (`openai-chat.ts`), or telling the operator.
 */
import type { Clock } from '../../ports/clock.ts';
import { isRecord, parseJson, readText, textOf } from './json.ts';

export interface DiscoveredEndpoint {
  /** The server that usually has this port, for people. */
  readonly name: string;
  /** Base URL, ends in /v1. */
  readonly baseUrl: string;
  readonly model: string;
  /** Every model it lists. */
  readonly models: readonly string[];
}

interface LocalServer {
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
 * Asks all ports at once, 300 ms each, and answers the first in order that lists at least one model; null when none
 * does. `preferredModel` is chosen where it is listed, else the first that looks able to talk. Never throws.
 */
export async function findLocalEndpoint(
  deps: { readonly clock: Clock },
  options: { readonly ports?: readonly LocalServer[]; readonly preferredModel?: string | undefined } = {},
): Promise<DiscoveredEndpoint | null> {
  const servers = options.ports ?? localServers;
  const answers = await Promise.all(
    servers.map(async (server): Promise<DiscoveredEndpoint | null> => {
      const baseUrl = `http://127.0.0.1:${server.port}/v1`;
      const models = await listModels(deps.clock, baseUrl, { apiKey: undefined, withinMs: timeoutMs });
      const model = choose(models, options.preferredModel);
      return model === null ? null : { name: server.name, baseUrl, model, models };
    }),
  );
  return answers.find((answer) => answer !== null) ?? null;
}

/** The model a configured endpoint lists first that looks able to talk; null when it lists none within 2 s. */
export async function findModelAt(
  deps: { readonly clock: Clock },
  endpoint: { readonly baseUrl: string; readonly apiKey: string | undefined },
): Promise<string | null> {
  const base = endpoint.baseUrl.trim().replace(/\/+$/, '');
  return choose(await listModels(deps.clock, base, { apiKey: endpoint.apiKey, withinMs: 2_000 }), undefined);
}

/** Ids of the models it lists; none when anything about the answer is unlike a list of models. */
async function listModels(
  clock: Clock,
  baseUrl: string,
  { apiKey, withinMs }: { readonly apiKey: string | undefined; readonly withinMs: number },
): Promise<readonly string[]> {
  const controller = new AbortController();
  const cancel = clock.after(withinMs, () => controller.abort());
  try {
    const response = await fetch(`${baseUrl}/models`, {
      signal: controller.signal,
      redirect: 'error',
      headers: {
        accept: 'application/json',
        ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey.trim()}` }),
      },
    });
    const json =
      response.ok && response.body ? parseJson(await readText(response.body, maxBytes)) : undefined;
    const data = isRecord(json) ? json['data'] : undefined;
    if (!Array.isArray(data)) return [];
    const ids = data.map((item) => (isRecord(item) ? textOf(item['id']).trim() : ''));
    return ids.includes('') ? [] : ids;
  } catch {
    return [];
  } finally {
    cancel();
    controller.abort();
  }
}

/** These are listed beside the others and cannot talk. */
const silent = /embed|rerank|whisper|tts|bge-|minilm/i;

const choose = (models: readonly string[], preferred: string | undefined): string | null =>
  models.find((m) => m === preferred) ?? models.find((m) => !silent.test(m)) ?? models[0] ?? null;
