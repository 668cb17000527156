/**
 * Owns: that a connection which dies leaves its pool. Kysely, on which the ORM stands, gives a connection back only
 * when its BEGIN, COMMIT or ROLLBACK was answered; one lost in between would be counted as in use for ever, and ten of
 * them would be the end of the pool.
 */
import pg from 'pg';

/** A connection that did not answer in time is ended: whatever comes back on it later would be for somebody else. */
class PooledClient extends pg.Client {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- pg declares a dozen forms of `query`; this one looks only at what becomes of it
  override query(...args: any[]): any {
    const answer: unknown = (super.query as (...args: unknown[]) => unknown).apply(this, args);
    if (!(answer instanceof Promise)) return answer;
    return answer.catch((error: unknown) => {
      if (error instanceof Error && error.message === 'Query read timeout')
        void this.end().catch(() => undefined);
      throw error;
    });
  }
}

/** Options for the ORM's pool. */
export const poolOptions = { Client: PooledClient, onPoolCreated: dropDeadConnections };

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
