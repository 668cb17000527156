/**
 * Owns: letting a token in, and noticing when it stops being valid. Does not own: what a token is (`Access`).
 *
 * Invariant: whoever was let in is told of the revocation, also of one that happened while we were asking.
 */
import { GraphQLError } from 'graphql';
import type { Viewer } from 'schema/model';
import type { Access } from 'schema/services';

export interface Admission {
  readonly viewer: Viewer;
  /** The viewer, if the token is still good; null when it is not. Rejects when the database is away. */
  readonly again: () => Promise<Viewer | null>;
  /** Stop listening for the revocation. */
  readonly release: () => void;
}

/** The viewer of a token, or null. `onRevoked` is called once when the token stops being valid. Rejects when the database is away. */
export async function admit(
  access: Access,
  token: string | null,
  onRevoked: () => void,
): Promise<Admission | null> {
  if (token === null) return null;
  const viewer = await access.authenticate(token);
  if (!viewer) return null;
  const release = access.onRevoked(viewer.tokenId, onRevoked);
  try {
    // It may have been revoked before we listened.
    if (await access.authenticate(token)) return { viewer, again: () => access.authenticate(token), release };
  } catch (error) {
    release();
    throw error;
  }
  release();
  return null;
}

/** The token of an `Authorization: Bearer` header, or null. */
export const bearerOf = (header: string | undefined): string | null =>
  /^Bearer +([\w.~+/=-]{1,512})$/i.exec(header ?? '')?.[1] ?? null;

/** The token of a socket's `connectionParams`, or null. */
export function tokenOf(connectionParams: Readonly<Record<string, unknown>> | undefined): string | null {
  const token = connectionParams?.['token'];
  return typeof token === 'string' && token.length > 0 && token.length <= 512 ? token : null;
}

export const unauthenticated =
  'A valid token is needed: open the link that the server printed at its start, or send `Authorization: Bearer <token>`.';

/** What is told to who was admitted and is not any more. */
export const notAdmitted = (): GraphQLError =>
  new GraphQLError(unauthenticated, { extensions: { code: 'UNAUTHENTICATED' } });
