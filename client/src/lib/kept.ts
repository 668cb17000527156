/**
 * Owns: what somebody typed and has not sent, kept over a reload of the page in the storage of its tab.
 * Does not own: what it means.
 *
 * Invariants: what was typed under a token is read under that one alone (D-12): the next person in the tab neither sees
 * nor sends it, and it is there when the first one is back, unless they signed out: then it is in no tab of the browser;
 * what is read has the shape that was asked for, whoever wrote it: an older page may have.
 */
import { getContext, setContext } from 'svelte';

/** The storage of a tab. */
export type Tab = Pick<Storage, 'getItem' | 'setItem' | 'removeItem' | 'key' | 'length'>;

/** What is kept in a tab under one token. Nothing that a person types is kept in another way. */
export class Kept {
  readonly #tab: Tab;
  readonly #prefix: string;
  readonly #hasLeft: () => boolean;
  #cleared = false;

  /** `author`: fingerprint of the token. `browser`: where it is said who signed out, in whichever tab. */
  constructor(tab: Tab, author: string, browser: Browser | null = null) {
    this.#tab = tab;
    this.#prefix = `weir.typed.${author}.`;
    this.#hasLeft = () => browser !== null && hasLeft(browser, author);
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
      if (value === null || this.#cleared || this.#hasLeft()) this.#tab.removeItem(this.#prefix + name);
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

/** Key in the storage of the browser: a JSON list of those who signed out, the latest last. */
export const LEFT = 'weir.left';
/** Tabs of longer ago are not asked for any more. */
const leftKept = 100;
type Browser = Pick<Storage, 'getItem' | 'setItem'>;

function leftIn(browser: Browser): readonly string[] {
  try {
    const left: unknown = JSON.parse(browser.getItem(LEFT) ?? '[]');
    return Array.isArray(left) ? left.filter((author) => typeof author === 'string') : [];
  } catch {
    return [];
  }
}

/** Whether this one signed out in this browser, in whichever tab. */
export const hasLeft = (browser: Browser, author: string): boolean => leftIn(browser).includes(author);

/**
 * Says to all tabs, those too that are opened again later, that this one signed out, or is back. False when the storage
 * has no room for it.
 */
export function tellLeft(browser: Browser, author: string, left: boolean): boolean {
  if (hasLeft(browser, author) === left) return true;
  const others = leftIn(browser).filter((other) => other !== author);
  try {
    browser.setItem(LEFT, JSON.stringify(left ? [...others, author].slice(-leftKept) : others));
    return true;
  } catch {
    return false;
  }
}

/** Removes from a tab what is kept of those who signed out. */
export function clearLeft(browser: Browser, tab: Tab): void {
  for (const author of leftIn(browser)) new Kept(tab, author).clear();
}

const key = Symbol('kept');
export const setKept = (kept: Kept): Kept => setContext(key, kept);
export const getKept = (): Kept => getContext<Kept>(key);

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
