/**
 * Owns: what a command sees of the server's environment. An allow-list, because a deny-list forgets the next secret.
 */

import { dirname } from 'node:path';

/** Marks every process of a call; inherited by what it starts. */
export const callMarker = 'WEIR_CALL_ID';
/** Marks it with the session of the server that started it. */
export const sessionMarker = 'WEIR_SESSION';

const allowed: ReadonlySet<string> = new Set([
  'PATH',
  'HOME',
  'LANG',
  'TZ',
  'TMPDIR',
  'USER',
  'LOGNAME',
  'SHELL',
]);

/** The environment of a command in `cwd`: allowed names only, no terminal, the markers, a ceiling for git. */
export function commandEnvironment(
  server: Readonly<Record<string, string | undefined>>,
  { callId, sessionId, cwd }: { readonly callId: string; readonly sessionId: string; readonly cwd: string },
): Record<string, string> {
  const kept = Object.entries(server).filter(
    (pair): pair is [string, string] =>
      pair[1] !== undefined && (allowed.has(pair[0]) || pair[0].startsWith('LC_')),
  );
  return {
    ...Object.fromEntries(kept),
    ...(server['PATH'] === undefined ? {} : { PATH: ownPath(server['PATH']) }),
    TERM: 'dumb',
    // git looks for a repository in the workspace and not above it: what is there belongs to somebody else, and may be
    // the installation of the server itself.
    GIT_CEILING_DIRECTORIES: dirname(cwd),
    [callMarker]: callId,
    [sessionMarker]: sessionId,
  };
}

/** A package manager that started the server put its private programs first on the path; they are not the person's. */
const ownPath = (path: string): string =>
  path
    .split(':')
    .filter((folder) => !/(^|\/)node_modules(\/|$)/.test(folder))
    .join(':');
