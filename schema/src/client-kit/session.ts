/** Owns: exchanging the code of a one-time link for a token. A code opens once. */

export type Exchange =
  | { readonly type: 'Token'; readonly token: string }
  /** Unknown, used or expired: the server does not tell which. */
  | { readonly type: 'Refused'; readonly message: string }
  | { readonly type: 'Failed'; readonly message: string };

/**
 * `origin` is the address of the server, for example `http://127.0.0.1:4000`. The code travels in the body only. `name`:
 * of the token, by which people tell it from others; without one the server names it after the time.
 */
export async function exchangeCode(options: {
  readonly origin: string;
  readonly code: string;
  readonly name?: string;
  readonly fetch?: typeof fetch;
}): Promise<Exchange> {
  const send = options.fetch ?? fetch;
  try {
    const response = await send(`${options.origin}/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ code: options.code, name: options.name }),
    });
    const body = (await response.json().catch(() => null)) as {
      readonly token?: unknown;
      readonly error?: { readonly message?: unknown };
    } | null;
    if (response.ok && typeof body?.token === 'string') return { type: 'Token', token: body.token };
    const said = body?.error?.message;
    const message = typeof said === 'string' ? said : `The server answered ${response.status}.`;
    return { type: response.status === 401 ? 'Refused' : 'Failed', message };
  } catch {
    return { type: 'Failed', message: 'The server cannot be reached.' };
  }
}
