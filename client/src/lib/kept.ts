/**
 * Owns: what somebody typed and has not sent, kept over a reload of the page in the storage of its tab.
 * Does not own: what it means.
 *
 * Invariants: what was typed under a token is read under that one alone (D-12): the next person in the tab neither sees
 * nor sends it, and it is there when the first one is back; what is read has the shape that was asked for, whoever wrote
 * it: an older page may have.
 */
import { getContext, setContext } from 'svelte';

/** The storage of a tab. */
export type Tab = Pick<Storage, 'getItem' | 'setItem' | 'removeItem' | 'key' | 'length'>;

/** What is kept in a tab under one token. Nothing that a person types is kept in another way. */
export class Kept {
  readonly #tab: Tab;
  readonly #prefix: string;
  #cleared = false;

  /** `author`: fingerprint of the token. */
  constructor(tab: Tab, author: string) {
    this.#tab = tab;
    this.#prefix = `weir.typed.${author}.`;
  }

  /** What is kept under this name; null when there is nothing, or nothing that `is` knows. */
  read<Value>(name: string, is: (value: unknown) => value is Value): Value | null {
    try {
      const kept: unknown = JSON.parse(this.#tab.getItem(this.#prefix + name) ?? 'null');
      return is(kept) ? kept : null;
    } catch {
      return null;
    }
  }

  /**
   * Keeps a value; null: nothing any more. False when the storage has no room for it: then it is only on the page, and
   * what was kept before stays there.
   */
  keep(name: string, value: unknown): boolean {
    try {
      if (value === null || this.#cleared) this.#tab.removeItem(this.#prefix + name);
      else this.#tab.setItem(this.#prefix + name, JSON.stringify(value));
      return true;
    } catch {
      return false;
    }
  }

  /** The names under which something is kept. */
  get names(): readonly string[] {
    const keys = Array.from({ length: this.#tab.length }, (_, i) => this.#tab.key(i) ?? '');
    return keys.flatMap((key) => (key.startsWith(this.#prefix) ? [key.slice(this.#prefix.length)] : []));
  }

  /** For good: what a page that is going still wants to keep is kept no more. */
  clear(): void {
    this.#cleared = true;
    for (const name of this.names) this.keep(name, null);
  }
}

const key = Symbol('kept');
export const setKept = (kept: Kept): Kept => setContext(key, kept);
export const getKept = (): Kept => getContext<Kept>(key);

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
