/**
 * Owns: what a client learns of an error. Meant ones (validation, arguments, authentication) pass; a database that is
 * away is named; anything else is a bug, logged once and shown as a correlation id only.
 */
import { randomUUID } from 'node:crypto';
import { GraphQLError } from 'graphql';
import type { Log } from '../ports/log.ts';

export interface Faults {
  /** The error to show; the same value when it was meant for clients, as a masked one is. Logs what it masks. */
  readonly mask: (error: unknown) => GraphQLError;
}

export const storageUnavailable = 'The database does not answer. Try again after a pause.';

export function createFaults(log: Log): Faults {
  const report = (error: unknown, root: unknown): GraphQLError => {
    if (isStorageUnavailable(root)) {
      log.warn({ path: pathOf(error) }, 'a read failed because the database does not answer');
      return shown(error, storageUnavailable, { code: 'STORAGE_UNAVAILABLE' });
    }
    const correlationId = randomUUID();
    log.error({ correlationId, path: pathOf(error), ...describe(root) }, 'internal fault');
    return shown(error, 'Something went wrong in the server. Its log says more under this correlation id.', {
      code: 'INTERNAL',
      correlationId,
    });
  };

  return {
    mask(error) {
      const root = rootOf(error);
      if (root instanceof GraphQLError)
        return root.extensions['code'] === 'REQUEST_ENTITY_TOO_LARGE'
          ? tooLarge()
          : coded(error as GraphQLError);
      if (isCutOff(root)) return callerGone();
      return report(error, root);
    },
  };
}

export const maxBodyBytes = 4_000_000;
export const bodyTooLarge = `A request body may have at most ${maxBodyBytes.toLocaleString('en')} bytes.`;
const tooLarge = (): GraphQLError =>
  new GraphQLError(bodyTooLarge, { extensions: { code: 'PAYLOAD_TOO_LARGE', http: { status: 413 } } });

/**
 * GraphQL gives no code to a text it cannot read, nor to variables and operation names that do not fit. What has a path
 * comes from further in and is left as it is.
 */
function coded(error: GraphQLError): GraphQLError {
  if (error.path === undefined && !('code' in error.extensions))
    error.extensions['code'] = error.message.startsWith('Syntax Error')
      ? 'GRAPHQL_PARSE_FAILED'
      : 'BAD_USER_INPUT';
  return error;
}

/** True for what the stores throw while the database is away; known by its name, since the class is not ours to import. */
export const isStorageUnavailable = (error: unknown): boolean =>
  error instanceof Error && error.name === 'StorageUnavailableError';

/** Ends work that nobody waits for any more: no fault, and seen by nobody. */
export const callerGone = (): GraphQLError =>
  new GraphQLError('The caller of this operation is gone.', { extensions: { code: 'CALLER_GONE' } });

/** What `node:http` ends a body with whose sender has gone. */
const isCutOff = (error: unknown): boolean =>
  error instanceof Error && error.message === 'aborted' && 'code' in error && error.code === 'ECONNRESET';

/** What was thrown before GraphQL put its path around it. */
function rootOf(error: unknown): unknown {
  let root = error;
  while (root instanceof GraphQLError && (root.originalError ?? root.cause) !== undefined)
    root = root.originalError ?? root.cause;
  return root;
}

const pathOf = (error: unknown): string | null =>
  error instanceof GraphQLError ? (error.path?.join('.') ?? null) : null;

const describe = (error: unknown): Readonly<Record<string, unknown>> =>
  error instanceof Error
    ? { error: error.name, reason: error.message, stack: error.stack }
    : { error: typeof error };

const shown = (
  error: unknown,
  message: string,
  extensions: Readonly<Record<string, unknown>>,
): GraphQLError =>
  new GraphQLError(message, {
    nodes: error instanceof GraphQLError ? error.nodes : undefined,
    path: error instanceof GraphQLError ? error.path : undefined,
    extensions,
  });
