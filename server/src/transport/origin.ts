/**
 * Owns: which names this server answers to and which pages may talk to it.
 *
 * Without the first, a page whose name was re-bound to 127.0.0.1 is same-origin with us; without the second, any page
 * can open a WebSocket to us, since sockets know no CORS.
 */
import type { IncomingMessage } from 'node:http';

export interface OriginRules {
  /** Host names (`localhost`, `127.0.0.1`, `[::1]`), each with any port unless it names one. */
  readonly allowedHosts: readonly string[];
  /** Origins other than our own whose pages may talk to us, for example `https://weir.example.org`. */
  readonly allowedOrigins: readonly string[];
}

export type Refused = { readonly code: 'HOST_NOT_ALLOWED' | 'ORIGIN_NOT_ALLOWED'; readonly message: string };

export function refusedHost(req: IncomingMessage, { allowedHosts }: OriginRules): Refused | null {
  const host = parseHost(req.headers.host);
  const allowed = allowedHosts.some((text) => {
    const entry = parseHost(text);
    return entry !== null && entry.name === host?.name && (entry.port === null || entry.port === host.port);
  });
  return allowed
    ? null
    : {
        code: 'HOST_NOT_ALLOWED',
        message:
          'This server does not answer to the host name of this request. Add the name to WEIR_ALLOWED_HOSTS if it is yours.',
      };
}

/** A request without an Origin does not come from a page. `refusedHost` has been asked before: our own origin is the Host. */
export function refusedOrigin(req: IncomingMessage, { allowedOrigins }: OriginRules): Refused | null {
  const origin = req.headers.origin;
  if (origin === undefined || allowedOrigins.includes(origin)) return null;
  // A proxy that ends TLS makes the scheme differ from what we see, so hosts are compared.
  const sameOrigin = URL.canParse(origin) && new URL(origin).host === req.headers.host?.toLowerCase();
  return sameOrigin
    ? null
    : { code: 'ORIGIN_NOT_ALLOWED', message: 'Pages of another origin may not talk to this server.' };
}

/** `name` without brackets, in lower case; `port` null when there is none. */
function parseHost(text: string | undefined): { readonly name: string; readonly port: string | null } | null {
  const match = /^(?:\[([\da-f:.]+)\]|([\w.-]+))(?::(\d{1,5}))?$/i.exec(text ?? '');
  if (match) return { name: (match[1] ?? match[2]!).toLowerCase(), port: match[3] ?? null };
  // A bare IPv6 address, as configuration may give it.
  return /^[\da-f:.]*:[\da-f:.]*$/i.test(text ?? '') ? { name: text!.toLowerCase(), port: null } : null;
}
