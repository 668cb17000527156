/** Owns: ending a connection of our own in bounded time. */
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';

/** Within a second: on a dead connection a polite end would wait for an answer that never comes. Never rejects. */
export async function end(client: pg.Client): Promise<void> {
  await Promise.race([client.end().catch(() => undefined), delay(1_000, undefined, { ref: false })]);
}
