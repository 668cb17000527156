/**
 * Owns: that an answer counts only while what it says would outlive this process, and that a connection which dies
 * leaves its pool. Kysely, on which the ORM stands, gives a connection back only when its BEGIN, COMMIT or ROLLBACK was
 * answered; one lost in between would be counted as in use for ever, and ten of them would be the end of the pool.
 */
import pg from 'pg';

/** The error of an answer from a database whose files are gone; its code tells `faultOf` that the database is away. */
class GoneError extends Error {
  override readonly name = 'GoneError';
  readonly code = 'ENOENT';
}

/**
 * Options for the ORM's pool. `isThere` is asked after every answer, COMMIT's too: when it says no, the answer is a
 * database that is away.
 */
export function poolOptions(isThere: () => boolean) {
  /** A connection that did not answer in time is ended: whatever comes back on it later would be for somebody else. */
  class PooledClient extends pg.Client {
    // eslint-disable-next-line @typescript-eslint/no-explicit-any -- pg declares a dozen forms of `query`; this one looks only at what becomes of it
    override query(...args: any[]): any {
      const answer: unknown = (super.query as (...args: unknown[]) => unknown).apply(this, args);
      if (!(answer instanceof Promise)) return answer;
      return answer
        .then((rows: unknown) => {
          if (!isThere()) throw new GoneError('The files of the database are gone.');
          return rows;
        })
        .catch((error: unknown) => {
          if (
            error instanceof GoneError ||
            (error instanceof Error && error.message === 'Query read timeout')
          )
            void this.end().catch(() => undefined);
          throw error;
        });
    }
  }
  return { Client: PooledClient, onPoolCreated: dropDeadConnections };
}

function dropDeadConnections(pool: pg.Pool): void {
  pool.on('connect', (client) => {
    client.once('end', () => {
      const release = client.release.bind(client);
      // Whoever still holds it may give it back; that is no news any more.
      client.release = () => undefined;
      try {
        release(true);
      } catch {
        // It had been given back in good order before it died.
      }
    });
  });
}
