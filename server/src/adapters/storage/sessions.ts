/**
 * Owns: the life of this process in the database: a row with a term, by the database's clock, and an advisory lock
 * named by the node id, held by a connection of its own (D-100).
 *
 * Invariants: at most one live process per node id holds the lock; who gets it ends its predecessor's session at
 * once; a session that ended never comes back, nor does one whose term is over, unless nobody else could have come
 * meanwhile. Only the row says that a session is over: a lock that is taken may be this process's own from before, held
 * by a connection that hangs.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { sessionTermMs, type Session, type Sessions } from '../../ports/ownership.ts';
import { end } from './end-client.ts';
import { available } from './faults.ts';
import { dedicatedClient, type Connection } from './orm.ts';

/** A killed process leaves its lock when the server sees the connection closed: a moment later. */
const lockPatienceMs = 2_000;
const queryTimeoutMs = 5_000;
const term = `interval '${sessionTermMs} milliseconds'`;

/** `exclusive`: no other process can reach this database, so that a term that is over means nobody else. */
export function createSessions(
  connection: Connection,
  { exclusive }: { readonly exclusive: boolean },
): Sessions {
  return {
    begin: (nodeId, host) =>
      available(async () => {
        const client = await connected(connection, nodeId);
        try {
          if (!(await getsLock(client, nodeId, lockPatienceMs))) {
            await end(client);
            return { type: 'busy' };
          }
          const id = await beginSession(client, nodeId, host);
          const backend = await backendOf(client);
          return {
            type: 'begun',
            session: createSession(connection, { client, backend }, { id, nodeId, exclusive }),
          };
        } catch (error) {
          await end(client);
          throw error;
        }
      }),
  };
}

/** A process of the database, and when it began: a number used again is not taken for it. */
interface Backend {
  readonly pid: number;
  /** As the database writes it, to the microsecond. */
  readonly began: string;
}

interface Holder {
  readonly client: pg.Client;
  readonly backend: Backend;
}

function createSession(
  connection: Connection,
  first: Holder,
  { id, nodeId, exclusive }: { readonly id: string; readonly nodeId: string; readonly exclusive: boolean },
): Session {
  let client: pg.Client | null = null;
  /** Who held the lock for this session last. */
  let former = first.backend;
  let lost = false;
  let ending: Promise<void> | null = null;
  /** One after the other: two at once would take each other's lock for one from before. */
  let renewals: Promise<unknown> = Promise.resolve();
  const listeners = new Set<() => void>();

  function hold(next: Holder): void {
    client = next.client;
    former = next.backend;
    next.client.once('end', () => {
      if (client !== next.client) return;
      client = null;
      if (lost || ending) return;
      lost = true;
      for (const listener of listeners) listener();
      listeners.clear();
    });
  }

  /** Writes the next term; false when the session is over. */
  async function write(through: pg.Client): Promise<boolean> {
    const renewed = await through.query(
      `update node_session set heartbeat_at = clock_timestamp(), expires_at = clock_timestamp() + ${term}
       where id = $1 and ended_at is null and ($2 or expires_at > clock_timestamp())`,
      [id, exclusive],
    );
    return renewed.rowCount === 1;
  }

  /**
   * Over a new connection: with the lock if it can be had. If not, whoever has it lets the session live: it is this
   * session's own former connection, which is told to go, or a successor that is about to end the session.
   */
  async function renewAnew(): Promise<boolean> {
    const next = await connected(connection, nodeId);
    try {
      const got = await getsLock(next, nodeId, 0);
      const backend = await backendOf(next);
      if (ending) {
        await end(next);
        return false;
      }
      if (got) hold({ client: next, backend });
      else
        await next.query(
          'select pg_terminate_backend(pid) from pg_stat_activity where pid = $1 and backend_start::text = $2',
          [former.pid, former.began],
        );
      const renewed = await write(next);
      if (!got) await end(next);
      return renewed;
    } catch (error) {
      await end(next);
      throw error;
    }
  }

  async function renew(): Promise<boolean> {
    if (ending) return false;
    const holder = client;
    if (!holder) return renewAnew();
    try {
      return await write(holder);
    } catch (error) {
      // A connection that does not answer is no lock anybody could rely on.
      await end(holder);
      throw error;
    }
  }

  async function finish(): Promise<void> {
    const last = client;
    if (!last) return;
    await last
      .query('update node_session set ended_at = clock_timestamp() where id = $1 and ended_at is null', [id])
      .catch(() => undefined);
    await end(last);
  }

  hold(first);
  return {
    id,
    nodeId,
    renew() {
      const renewal = renewals.then(() => available(renew));
      renewals = renewal.catch(() => undefined);
      return renewal;
    },
    end: () => (ending ??= finish()),
    onLost: (callback) => {
      if (lost) queueMicrotask(callback);
      else listeners.add(callback);
    },
  };
}

async function connected(connection: Connection, nodeId: string): Promise<pg.Client> {
  const client = dedicatedClient({ ...connection, ...limits }, `weir node ${nodeId}`.slice(0, 63));
  try {
    await client.connect();
    // A holder whose machine is gone must not keep the lock for hours.
    if (!connection.host.startsWith('/')) {
      await client.query(
        'set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 3; set tcp_keepalives_count = 3',
      );
    }
    return client;
  } catch (error) {
    await end(client);
    throw error;
  }
}

/** False when another connection still has the node's lock after so long. */
async function getsLock(client: pg.Client, nodeId: string, patienceMs: number): Promise<boolean> {
  const until = Date.now() + patienceMs;
  for (;;) {
    const answer = await client.query<{ got: boolean }>(
      `select pg_try_advisory_lock(hashtextextended('weir node ' || $1, 0)) as got`,
      [nodeId],
    );
    if (answer.rows[0]?.got) return true;
    if (Date.now() >= until) return false;
    await delay(100);
  }
}

async function backendOf(client: pg.Client): Promise<Backend> {
  const answer = await client.query<Backend>(
    'select pid, backend_start::text as began from pg_stat_activity where pid = pg_backend_pid()',
  );
  return answer.rows[0]!;
}

const limits = { query_timeout: queryTimeoutMs, statement_timeout: queryTimeoutMs };

async function beginSession(client: pg.Client, nodeId: string, host: string): Promise<string> {
  const id = randomUUID();
  await client.query('begin');
  await client.query(
    'update node_session set ended_at = clock_timestamp() where node_id = $1 and ended_at is null',
    [nodeId],
  );
  await client.query(
    `insert into node_session (id, node_id, host, started_at, heartbeat_at, expires_at)
     values ($1, $2, $3, clock_timestamp(), clock_timestamp(), clock_timestamp() + ${term})`,
    [id, nodeId, host],
  );
  // Rows of long ago that no workstream names: nobody will ask where they ran.
  await client.query(
    `delete from node_session s where expires_at < now() - interval '7 days'
     and not exists (select 1 from workstream w where w.owner_session_id = s.id)`,
  );
  await client.query('commit');
  return id;
}
