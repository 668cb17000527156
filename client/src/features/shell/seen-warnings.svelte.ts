/**
 * Owns: which warnings of the server somebody has looked at in this browser, so that only others count as new.
 * Does not own: which there are (`models`), how they are shown.
 *
 * Invariants: what is kept tells nobody what the warnings said; one that went away and comes back is new again.
 */
import { fingerprint } from '../../lib/fingerprint.ts';

const SEEN = 'weir.warnings';
type Browser = Pick<Storage, 'getItem' | 'setItem'>;

export class SeenWarnings {
  #seen = $state.raw<readonly string[]>([]);
  readonly #browser: Browser;

  constructor(browser: Browser) {
    this.#browser = browser;
    this.#seen = seenIn(browser);
  }

  /** How many of these were not there when somebody looked last. */
  newOf(warnings: readonly string[]): number {
    return warnings.filter((warning) => !this.#seen.includes(fingerprint(warning))).length;
  }

  /** Somebody looks at these, and at no others. */
  look(warnings: readonly string[]): void {
    this.#keep(warnings.map(fingerprint));
  }

  /** These are there now: what went away is seen no more. */
  outlive(warnings: readonly string[]): void {
    const there = warnings.map(fingerprint);
    this.#keep(this.#seen.filter((one) => there.includes(one)));
  }

  #keep(seen: readonly string[]): void {
    if (seen.join() === this.#seen.join()) return;
    this.#seen = seen;
    try {
      this.#browser.setItem(SEEN, JSON.stringify(seen));
    } catch {
      // No room: seen until this page goes.
    }
  }
}

function seenIn(browser: Browser): readonly string[] {
  try {
    const seen: unknown = JSON.parse(browser.getItem(SEEN) ?? '[]');
    return Array.isArray(seen) ? seen.filter((one) => typeof one === 'string') : [];
  } catch {
    return [];
  }
}

/** One line about them. */
export const warningsLine = (count: number, fresh: number): string =>
  `${count} ${count === 1 ? 'warning' : 'warnings'}${fresh === 0 ? '' : fresh === count ? ', new' : `, ${fresh} new`}`;
