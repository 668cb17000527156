/**
 * Owns: which models there are and how they are doing, and the warnings of the server, as last told.
 *
 * Invariants: while somebody watches and the page is visible they are asked about again every 5 s, never more often; a
 * hidden page asks nothing; what was told last stays until it is told anew, also when an answer fails.
 */
import { modelsQuery, type Answer, type Model, type ResultOf } from 'schema/client-kit';
import { getContext, setContext } from 'svelte';
import type { Api } from '../../lib/api.svelte.ts';
import { browserSight, type Sight } from '../../lib/sight.ts';

const EVERY_MS = 5_000;

export class Models {
  /** The default one first; null until they are known. */
  list = $state.raw<readonly Model[] | null>(null);
  /** What an operator should know, each once. */
  warnings = $state.raw<readonly string[]>([]);
  /** Why they could not be asked about last; null when they could. */
  failure = $state.raw<string | null>(null);
  readonly #api: Pick<Api, 'client' | 'explain'>;
  readonly #sight: Sight;
  #watchers = 0;
  /** Under way; and whether it is to be asked again when that is told. */
  #asking: Promise<void> | null = null;
  #wanted = false;
  /** Set between one question and the moment when the next one may come. */
  #resting: (() => void) | null = null;
  #forget: (() => void) | null = null;

  constructor(api: Pick<Api, 'client' | 'explain'>, sight: Sight = browserSight) {
    this.#api = api;
    this.#sight = sight;
  }

  of(alias: string): Model | null {
    return this.list?.find((model) => model.alias === alias) ?? null;
  }

  /** True when it is known that there is none of this name. */
  lacks(alias: string): boolean {
    return this.list !== null && this.of(alias) === null;
  }

  /** Asks until it is told once, or until the returned function is called. */
  load(): () => void {
    return this.#api.client.ask(modelsQuery, {}, (answer) => {
      this.#take(answer);
    }).stop;
  }

  /**
   * Asks now, whether or not somebody watches, and resolves when it is told. What is being answered may be from before what
   * the asker knows, so that it is asked for once more.
   */
  refresh(): Promise<void> {
    this.#wanted = true;
    this.#asking ??= this.#ask();
    return this.#asking;
  }

  async #ask(): Promise<void> {
    try {
      while (this.#wanted) {
        this.#wanted = false;
        this.#take(await this.#api.client.request(modelsQuery, {}));
      }
    } finally {
      this.#asking = null;
    }
  }

  /** Keeps them as they are, until the returned function is called. */
  watch(): () => void {
    this.#watchers += 1;
    if (this.#watchers === 1) {
      this.#forget = this.#sight.onShown(() => {
        this.#look();
      });
      this.#look();
    }
    let watches = true;
    return () => {
      if (!watches) return;
      watches = false;
      this.#watchers -= 1;
      if (this.#watchers === 0) this.#forget?.();
    };
  }

  /** Asks if somebody sees the answer and the last question is long enough ago. */
  #look(): void {
    if (this.#watchers === 0 || this.#resting || this.#sight.hidden()) return;
    this.#resting = this.#sight.after(EVERY_MS, () => {
      this.#resting = null;
      this.#look();
    });
    if (!this.#asking) void this.refresh();
  }

  #take(answer: Answer<ResultOf<typeof modelsQuery>>): void {
    if (answer.ok) {
      this.list = answer.data.models;
      this.warnings = answer.data.server.warnings.filter((said, i, all) => all.indexOf(said) === i);
      this.failure = null;
    } else this.failure = this.#api.explain(answer.failure);
  }
}

const key = Symbol('models');
export const setModels = (models: Models): Models => setContext(key, models);
export const getModels = (): Models => getContext<Models>(key);
