/**
 * Owns: the life of this process in the database: a row with a term, by the database's clock, and an advisory lock
 * named by the node id, held by a connection of its own (D-100).
 *
 * Invariants: at most one live process per node id holds the lock; who gets it ends its predecessor's session at
 * once; a session that ended never comes back, nor does one whose term is over, unless nobody else could have come
 * meanwhile.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { sessionTermMs, type Session, type Sessions } from '../../ports/ownership.ts';
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
        const client = await lockedClient(connection, nodeId, lockPatienceMs);
        if (!client) return { type: 'busy' };
        try {
          const id = await beginSession(client, nodeId, host);
          return { type: 'begun', session: createSession(connection, client, { id, nodeId, exclusive }) };
        } catch (error) {
          await closeClient(client);
          throw error;
        }
      }),
  };
}

function createSession(
  connection: Connection,
  first: pg.Client,
  { id, nodeId, exclusive }: { readonly id: string; readonly nodeId: string; readonly exclusive: boolean },
): Session {
  let client: pg.Client | null = null;
  let lost = false;
  let ending: Promise<void> | null = null;
  const listeners = new Set<() => void>();

  function hold(next: pg.Client): void {
    client = next;
    next.once('end', () => {
      if (client !== next) return;
      client = null;
      if (lost || ending) return;
      lost = true;
      for (const listener of listeners) listener();
      listeners.clear();
    });
  }

  /** The lock's connection; taken anew when it was lost. Null when another process has the lock by now. */
  async function locked(): Promise<pg.Client | null> {
    if (client) return client;
    const next = await lockedClient(connection, nodeId, 0);
    if (next) hold(next);
    return next;
  }

  async function finish(): Promise<void> {
    const last = client;
    if (!last) return;
    await last
      .query('update node_session set ended_at = clock_timestamp() where id = $1 and ended_at is null', [id])
      .catch(() => undefined);
    await closeClient(last);
  }

  hold(first);
  return {
    id,
    nodeId,
    renew: () =>
      available(async () => {
        const holder = ending ? null : await locked();
        if (!holder) return false;
        try {
          const renewed = await holder.query(
            `update node_session set heartbeat_at = clock_timestamp(), expires_at = clock_timestamp() + ${term}
             where id = $1 and ended_at is null and ($2 or expires_at > clock_timestamp())`,
            [id, exclusive],
          );
          return renewed.rowCount === 1;
        } catch (error) {
          // A connection that does not answer is no lock anybody could rely on.
          await closeClient(holder);
          throw error;
        }
      }),
    end: () => (ending ??= finish()),
    onLost: (callback) => {
      if (lost) queueMicrotask(callback);
      else listeners.add(callback);
    },
  };
}

/** A connection that holds the node's lock; null when another one holds it. */
async function lockedClient(
  connection: Connection,
  nodeId: string,
  patienceMs: number,
): Promise<pg.Client | null> {
  const client = dedicatedClient({ ...connection, ...limits }, `weir node ${nodeId}`.slice(0, 63));
  try {
    await client.connect();
    // A holder whose machine is gone must not keep the lock for hours.
    if (!connection.host.startsWith('/')) {
      await client.query(
        'set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 3; set tcp_keepalives_count = 3',
      );
    }
    const until = Date.now() + patienceMs;
    for (;;) {
      const answer = await client.query<{ got: boolean }>(
        `select pg_try_advisory_lock(hashtextextended('weir node ' || $1, 0)) as got`,
        [nodeId],
      );
      if (answer.rows[0]?.got) return client;
      if (Date.now() >= until) break;
      await delay(100);
    }
  } catch (error) {
    await closeClient(client);
    throw error;
  }
  await closeClient(client);
  return null;
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

async function closeClient(client: pg.Client): Promise<void> {
  // On a dead connection a polite end would wait for an answer that never comes.
  await Promise.race([client.end().catch(() => undefined), delay(1_000, undefined, { ref: false })]);
}
