/** Owns: how far the server as a whole is from having stored all it accepted. */
import type { Persistence } from 'schema/projection';

const severity: Readonly<Record<Persistence['status'], number>> = {
  HEALTHY: 0,
  PENDING: 1,
  RETRYING: 2,
  CONFLICT: 3,
};

/** The worst word of all, the first of those as bad; HEALTHY of none. */
export const worstOf = (all: readonly Persistence[]): Persistence =>
  all.reduce<Persistence>((worst, p) => (severity[p.status] > severity[worst.status] ? p : worst), {
    status: 'HEALTHY',
  });
