/**
 * Owns: whether this browser is signed in, and with which token. Does not own: what tokens may do (the server).
 *
 * Invariants: a code leaves the address before anything else happens and is never kept; the token is kept in
 * localStorage only; signing out in one tab signs out in all, and removes what was typed from all; whoever signs out is
 * signed out, however full the storage is.
 */
import { exchangeCode } from 'schema/client-kit';
import { fingerprint } from '../../lib/fingerprint.ts';
import { clearLeft, LEFT, tellLeft } from '../../lib/kept.ts';
import { browserName } from './browser-name.ts';
import { codeInLink, codeOf } from '../../lib/routes.ts';

const STORED = 'weir.token';

export type SessionState =
  | { readonly status: 'EXCHANGING' }
  | { readonly status: 'IN'; readonly token: string }
  | { readonly status: 'OUT'; readonly reason: OutReason; readonly message: string | null };

/**
 * NONE: nothing was tried. LINK: the link was not taken. FAILED: nobody answered whether it is. TOKEN: what was entered
 * is no token. ENDED: the token is not accepted any more. LEFT: on purpose.
 */
export type OutReason = 'NONE' | 'LINK' | 'FAILED' | 'TOKEN' | 'ENDED' | 'LEFT';

export class Session {
  state = $state.raw<SessionState>({ status: 'EXCHANGING' });
  /** The token was entered by hand, and nobody has said yet that it opens anything. */
  #unproven = false;

  /** Reads the address and what is kept, and follows both until the returned function is called. */
  start(): () => void {
    const stored = (event: StorageEvent) => {
      if (event.key === LEFT) clearLeft(localStorage, sessionStorage);
      if (event.key === STORED) this.#keepUp();
    };
    const moved = () => {
      const code = takeCode();
      if (code !== null) void this.#exchange(code);
    };
    addEventListener('storage', stored);
    // Those who signed out while this tab was not there.
    clearLeft(localStorage, sessionStorage);
    addEventListener('hashchange', moved);
    const code = takeCode();
    if (code !== null) void this.#exchange(code);
    else this.#keepUp();
    return () => {
      removeEventListener('storage', stored);
      removeEventListener('hashchange', moved);
    };
  }

  /** Takes what a person has: a token, for example from `createToken`, or the link that the server printed. */
  enter(given: string): void {
    const code = codeInLink(given);
    if (code !== null) return void this.#exchange(code);
    this.#unproven = true;
    this.#take(given.trim());
  }

  /** The server took the token. */
  prove(): void {
    this.#unproven = false;
  }

  /** The server does not take this token. What comes late about a former one ends nothing. */
  end(token: string, message: string): void {
    if (this.state.status !== 'IN' || this.state.token !== token) return;
    this.leave(this.#unproven ? 'TOKEN' : 'ENDED', message);
  }

  leave(reason: OutReason, message: string | null = null): void {
    this.#unproven = false;
    const author = reason === 'LEFT' && this.state.status === 'IN' ? fingerprint(this.state.token) : null;
    // First: the page of another tab hears of it while it still knows whose it is.
    const isTold = author === null || tellLeft(localStorage, author, true);
    localStorage.removeItem(STORED);
    // A full storage has room for it now, in the place of the token.
    if (!isTold) tellLeft(localStorage, author, true);
    this.state = { status: 'OUT', reason, message };
  }

  #take(token: string): void {
    tellLeft(localStorage, fingerprint(token), false);
    try {
      localStorage.setItem(STORED, token);
    } catch {
      // No room: signed in until this page goes.
    }
    this.state = { status: 'IN', token };
  }

  #keepUp(): void {
    const token = localStorage.getItem(STORED);
    this.state = token === null ? { status: 'OUT', reason: 'NONE', message: null } : { status: 'IN', token };
  }

  async #exchange(code: string): Promise<void> {
    this.state = { status: 'EXCHANGING' };
    const exchange = await exchangeCode({
      origin: location.origin,
      code,
      name: browserName(navigator.userAgent, Date.now()),
    });
    if (exchange.type === 'Token') this.#take(exchange.token);
    // Who is signed in already stays so: an old link was opened once more.
    else if (localStorage.getItem(STORED) !== null) this.#keepUp();
    else {
      const reason = exchange.type === 'Refused' ? 'LINK' : 'FAILED';
      this.state = { status: 'OUT', reason, message: exchange.message };
    }
  }
}

/** The code in the address, which is taken out of it at once, so that it stays in no history. */
function takeCode(): string | null {
  const code = codeOf(location.hash);
  if (code !== null) history.replaceState(null, '', `${location.pathname}${location.search}#/`);
  return code;
}
