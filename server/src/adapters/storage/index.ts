/**
 * Owns: opening storage: the database (embedded, or one at a URL), its tables, and the ports over it.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Catalog } from '../../ports/catalog.ts';
import type { Elsewhere } from '../../ports/elsewhere.ts';
import type { Journal } from '../../ports/journal.ts';
import type { Ownership, Sessions } from '../../ports/ownership.ts';
import type { Removal } from '../../ports/removal.ts';
import type { Reservations } from '../../ports/reservations.ts';
import type { Search } from '../../ports/search.ts';
import type { TokenStore } from '../../ports/token-store.ts';
import type { UsageStore } from '../../ports/usage.ts';
import type { WatchStore } from '../../ports/watches.ts';
import { createCatalog } from './catalog.ts';
import { createElsewhere } from './elsewhere.ts';
import { startEmbeddedPostgres } from './embedded-postgres.ts';
import { createJournal } from './journal.ts';
import { connectionOf, openOrm, type Connection, type OpenFailure } from './orm.ts';
import { createOwnership } from './ownership.ts';
import { createRemoval } from './removal.ts';
import { createReservations } from './reservations.ts';
import { createSearch } from './search.ts';
import { createSessions } from './sessions.ts';
import { createTokenStore } from './token-store.ts';
import { createUsageStore } from './usage.ts';
import { createWatchStore } from './watches.ts';

export { makeFolder } from './embedded/cluster-files.ts';

export interface Storage {
  readonly journal: Journal;
  readonly sessions: Sessions;
  readonly ownership: Ownership;
  readonly catalog: Catalog;
  readonly elsewhere: Elsewhere;
  readonly reservations: Reservations;
  readonly removal: Removal;
  readonly search: Search;
  readonly tokens: TokenStore;
  readonly usage: UsageStore;
  readonly watches: WatchStore;
  /** True when only this process can reach the database: nobody can take a workstream over. */
  readonly exclusive: boolean;
  /** Of a database elsewhere, and of copies of its files. Null: it is the one in the data folder. */
  readonly identity: string | null;
  /** For people, for example "PostgreSQL 18.4 (embedded)". Never the address or a credential. */
  describe(): Promise<string>;
  /** Closes connections, then stops the embedded server. Bounded to about 10 s; never rejects; again does no harm. */
  close(): Promise<void>;
}

export type StorageOptions = (
  | { readonly databaseUrl: string }
  /** Folder of the embedded database; made when missing. `fsync` false and a short `patienceMs` are for tests only. */
  | { readonly dataDir: string; readonly fsync?: boolean; readonly patienceMs?: number }
) & {
  /** Lines for a person who waits: first start, repair, a server that came back. */
  readonly progress?: (line: string) => void;
  /**
   * Told once, in a sentence for a person, when an embedded database's files were deleted, moved or replaced: nothing
   * is durable any more, nothing is answered any more, and the process should end.
   */
  readonly onGone?: (sentence: string) => void;
};

export type StorageOutcome = { readonly type: 'opened'; readonly storage: Storage } | OpenFailure;

export async function openStorage(options: StorageOptions): Promise<StorageOutcome> {
  let gone: string | null = null;
  const onGone = (sentence: string): void => {
    gone = sentence;
    options.onGone?.(sentence);
  };
  const database = await findDatabase({ ...options, onGone });
  if (database.type === 'refused') return database;
  const { connection, stop, kind, isThere } = database;
  const opened = await openOrm(connection, { isThere });
  if (opened.type === 'refused') {
    // What a database says whose files are gone is not the reason.
    isThere();
    await stop();
    return gone === null ? opened : { type: 'refused', message: gone };
  }
  const { orm, version, identity } = opened;
  const exclusive = kind !== '';
  let closing: Promise<void> | null = null;
  const close = async () => {
    // A statement that still runs is not waited for long: the server rolls it back.
    await Promise.race([orm.close(true).catch(() => undefined), delay(2_000, undefined, { ref: false })]);
    await stop();
  };
  return {
    type: 'opened',
    storage: {
      journal: createJournal(orm),
      sessions: createSessions(connection, { exclusive }),
      exclusive,
      identity: exclusive ? null : identity,
      ownership: createOwnership(orm),
      catalog: createCatalog(orm),
      elsewhere: createElsewhere(orm),
      reservations: createReservations(orm),
      removal: createRemoval(orm),
      search: createSearch(orm),
      tokens: createTokenStore(orm),
      usage: createUsageStore(orm),
      watches: createWatchStore(orm),
      describe: () => Promise.resolve(`PostgreSQL ${version}${kind}`),
      close: () => (closing ??= close()),
    },
  };
}

type Database = {
  readonly type: 'database';
  readonly connection: Connection;
  readonly kind: '' | ' (embedded)';
  readonly stop: () => Promise<void>;
  readonly isThere: () => boolean;
};

async function findDatabase(options: StorageOptions): Promise<Database | OpenFailure> {
  if ('databaseUrl' in options) {
    const parsed = connectionOf(options.databaseUrl);
    if (parsed.type === 'refused') return parsed;
    const { connection } = parsed;
    return { type: 'database', connection, kind: '', stop: () => Promise.resolve(), isThere: () => true };
  }
  const started = await startEmbeddedPostgres(options);
  if (started.type === 'refused') return started;
  const { connection, stop, isThere } = started.server;
  return { type: 'database', connection, kind: ' (embedded)', stop, isThere };
}
