/**
 * Owns: how much a model can read at once, as its endpoint says. What it was trained for is not what is served, and is
 * not taken for it.
 *
 * Invariant: an endpoint is asked once for each binding, in the background, and only where nothing is configured; one that
 * was away then is asked once more.
 */
import { canBeWindow } from '../../core/context/meter.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Binding } from './binding.ts';
import { addressOf } from './endpoint.ts';
import { endpointFetch } from './endpoint-fetch.ts';
import { unpacked } from './post.ts';
import { isRecord, parseJson, readText, textOf, type Json } from './wire/json.ts';

const withinMs = 10_000;
const maxBytes = 4 * 1024 * 1024;

export interface Windows {
  /** Tokens; null: not known, or not yet. */
  of(binding: Binding): number | null;
  /** Asks the endpoints of those that are new. Never rejects. */
  learn(bindings: readonly Binding[]): Promise<void>;
  /** Its model has answered: asks its endpoint if that was away before. Never rejects. */
  answered(binding: Binding): Promise<void>;
}

export function createWindows(deps: { readonly clock: Clock }): Windows {
  const known = new WeakMap<Binding, number | null>();
  const away = new WeakSet<Binding>();

  /** Whether the endpoint was there. */
  async function ask(binding: Binding): Promise<boolean> {
    known.set(binding, null);
    try {
      known.set(binding, await servedWindow(deps.clock, binding));
      return true;
    } catch {
      return false;
    }
  }

  return {
    of: (binding) => known.get(binding) ?? null,
    async learn(bindings) {
      const fresh = bindings.filter((binding) => binding.window === null && !known.has(binding));
      await Promise.all(
        fresh.map(async (binding) => {
          if (!(await ask(binding))) away.add(binding);
        }),
      );
    },
    async answered(binding) {
      if (away.delete(binding)) await ask(binding);
    },
  };
}

/** Tokens, or null where the endpoint does not say. Rejects when it is away. */
async function servedWindow(clock: Clock, { endpoint, model }: Binding): Promise<number | null> {
  const { baseUrl, authorization } = endpoint;
  const ask = (url: string): Promise<unknown> => getJson(clock, url, authorization);
  const listed = await ask(addressOf(baseUrl, '/models'));
  const data = isRecord(listed) && Array.isArray(listed['data']) ? (listed['data'] as unknown[]) : [];
  const names = [model, `${model}:latest`, `models/${model}`];
  const entry = data.filter(isRecord).find((item) => names.includes(textOf(item['id'])));
  const said = entry ? windowIn(entry) : null;
  if (said !== null || !entry) return said;
  // llama.cpp says there with how much it was started, and in its list only for what the model was trained.
  if (!isRecord(entry['meta'])) return null;
  const props = await ask(addressOf(baseUrl.replace(/\/v1(?=\/*(?:\?|$))/, ''), '/props'));
  const settings = isRecord(props) ? props['default_generation_settings'] : undefined;
  return isRecord(settings) ? countOf(settings['n_ctx']) : null;
}

/** vLLM and SGLang, OpenRouter and Mistral, Groq, LM Studio, llama.cpp. */
const windowIn = (entry: Json): number | null =>
  countOf(entry['loaded_context_length']) ??
  countOf(entry['max_model_len']) ??
  countOf(entry['context_length']) ??
  countOf(entry['context_window']) ??
  countOf(entry['max_context_length']) ??
  (isRecord(entry['meta']) ? countOf(entry['meta']['n_ctx']) : null);

const countOf = (x: unknown): number | null => (typeof x === 'number' && canBeWindow(x) ? x : null);

/** Undefined: it answers, and not with JSON. Rejects when there is no answer, as from a server that is still starting. */
async function getJson(clock: Clock, url: string, authorization: string | null): Promise<unknown> {
  const controller = new AbortController();
  const cancel = clock.after(withinMs, () => controller.abort());
  try {
    const response = await endpointFetch(url, {
      signal: controller.signal,
      redirect: 'manual',
      headers: {
        accept: 'application/json',
        ...unpacked,
        ...(authorization === null ? {} : { authorization }),
      },
    });
    if (response.status >= 500) throw new Error(`HTTP ${response.status}`);
    return response.ok && response.body ? parseJson(await readText(response.body, maxBytes)) : undefined;
  } finally {
    cancel();
    controller.abort();
  }
}
