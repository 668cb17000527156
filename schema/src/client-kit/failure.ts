/** Owns: how asking the server can fail, as values. A refusal of a command is not a failure (`intent.ts`). */

export type Failure =
  /** No answer, or one that is not from Weir: nobody knows whether the server saw it. */
  | { readonly type: 'Network'; readonly message: string }
  /** The token is missing, unknown or revoked. */
  | { readonly type: 'Unauthenticated'; readonly message: string }
  /** The server answered with a GraphQL error. `correlationId` finds an internal one in the server's log. */
  | {
      readonly type: 'Server';
      readonly code: string;
      readonly message: string;
      readonly correlationId: string | null;
    };

export type Answer<T> =
  { readonly ok: true; readonly data: T } | { readonly ok: false; readonly failure: Failure };

export const networkFailure = (message: string): Failure => ({ type: 'Network', message });

export const unauthenticated = (
  message = 'The server does not accept this token. It may have been revoked.',
): Failure => ({ type: 'Unauthenticated', message });

/** One sentence for a person. */
export const failureText = (failure: Failure): string =>
  failure.type === 'Server' && failure.correlationId !== null
    ? `${failure.message} (In the server's log: ${failure.correlationId}.)`
    : failure.message;

const signedOutCodes = new Set(['UNAUTHENTICATED', 'UNAUTHORIZED']);

/** The failure an answer's `errors` stand for. The text comes from outside: nothing about its shape is believed. */
export function failureOfErrors(errors: unknown): Failure {
  const first = field(errors, '0');
  const extensions = field(first, 'extensions');
  const code = textOr(field(extensions, 'code'), 'INTERNAL_SERVER_ERROR');
  const message = textOr(field(first, 'message'), 'The server answered with an error.');
  if (signedOutCodes.has(code)) return unauthenticated();
  const correlationId = textOr(field(extensions, 'correlationId'), '');
  return { type: 'Server', code, message, correlationId: correlationId || null };
}

const field = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;

const textOr = (value: unknown, otherwise: string): string => (typeof value === 'string' ? value : otherwise);
