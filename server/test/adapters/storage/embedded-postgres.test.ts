import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { processIdentity } from '../../../src/adapters/storage/embedded/identity.ts';
import { signOfWork } from '../../../src/adapters/storage/embedded/processes.ts';
import { openStorage, type Storage, type StorageOutcome } from '../../../src/adapters/storage/index.ts';
import { StorageUnavailableError } from '../../../src/ports/storage-unavailable.ts';
import { after, batchOf, beginSession, containing, message, openWorkstream } from './fixtures.ts';

const script = fileURLToPath(new URL('owner-process.ts', import.meta.url));
const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

/** A data folder of its own; whatever server is left on it in the end is killed. */
function dataFolder(mode = 0o711): string {
  const parent = realpathSync(mkdtempSync(join(tmpdir(), 'weir-embedded-')));
  chmodSync(parent, mode);
  const dir = join(parent, 'data');
  cleanUps.push(async () => {
    const pid = serverPid(dir);
    if (pid) await killed(pid);
    rmSync(socketDirOf(dir), { recursive: true, force: true });
    rmSync(parent, { recursive: true, force: true });
  });
  return dir;
}

async function open(dataDir: string): Promise<Storage> {
  const outcome = await openHere(dataDir);
  if (outcome.type === 'refused') throw new Error(outcome.message);
  return outcome.storage;
}

async function openHere(dataDir: string, progress?: (line: string) => void): Promise<StorageOutcome> {
  const outcome = await openStorage({ dataDir, fsync: false, ...(progress ? { progress } : {}) });
  if (outcome.type === 'opened') cleanUps.push(() => outcome.storage.close());
  return outcome;
}

/** One that has little patience with a server that hangs; `lines` is what it tells a person. */
async function openImpatient(
  dataDir: string,
): Promise<{ readonly storage: Storage; readonly lines: readonly string[] }> {
  const lines: string[] = [];
  const outcome = await openStorage({
    dataDir,
    fsync: false,
    patienceMs: 3_000,
    progress: (line) => lines.push(line),
  });
  if (outcome.type === 'refused') throw new Error(outcome.message);
  cleanUps.push(() => outcome.storage.close());
  return { storage: outcome.storage, lines };
}

/** Where the server's socket is. */
const socketDirOf = (dir: string): string =>
  join(tmpdir(), `weir-${createHash('sha256').update(dir).digest('hex').slice(0, 16)}`);

const childrenOf = (pid: number): readonly number[] =>
  execFileSync('ps', ['-A', '-o', 'ppid=,pid='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .filter(([parent]) => parent === pid)
    .map(([, child]) => child!);

/** The first answer: while the database is away it is asked again. */
async function answered<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof StorageUnavailableError)) throw error;
      await pause();
    }
  }
}

/**
 * The server that came after the one of this number, once it answers. An answer alone says nothing: processes of the
 * one before may still give it, and another server starts only when they are all gone.
 */
async function successorOf(pid: number, dir: string, storage: Storage): Promise<number> {
  const isAnother = (found: number | null): found is number =>
    found !== null && found !== pid && alive(found);
  await until(() => isAnother(serverPid(dir)));
  await answered(() => storage.tokens.list());
  const found = serverPid(dir);
  if (!isAnother(found)) throw new Error(`process ${found} came after ${pid}, and is gone as well`);
  return found;
}

/** `gone`: the sentence about files that are gone, once it was said. */
async function openWatched(
  dataDir: string,
  progress: (line: string) => void = () => undefined,
): Promise<{ readonly storage: Storage; readonly gone: Promise<string> }> {
  const gone = Promise.withResolvers<string>();
  const outcome = await openStorage({ dataDir, fsync: false, progress, onGone: gone.resolve });
  if (outcome.type === 'refused') throw new Error(outcome.message);
  cleanUps.push(() => outcome.storage.close());
  return { storage: outcome.storage, gone: gone.promise };
}

interface Owner {
  readonly child: ChildProcess;
  readonly pid: number;
  /** The next thing it says. */
  next(): Promise<Record<string, unknown>>;
  tell(line: string): void;
  /** kill -9, and gone. */
  kill(): Promise<void>;
}

function owner(dataDir: string, env: Record<string, string> = {}): Owner {
  const child = spawn(process.execPath, [script, dataDir], {
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
    env: { ...process.env, ...env },
  });
  const lines: Interface = createInterface({ input: child.stdout });
  const said = lines[Symbol.asyncIterator]();
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const kill = async () => {
    child.kill('SIGKILL');
    await gone;
  };
  cleanUps.push(kill);
  return {
    child,
    pid: child.pid!,
    next: async () => JSON.parse((await said.next()).value ?? '{"type":"silent"}') as Record<string, unknown>,
    tell: (line) => child.stdin.write(`${line}\n`),
    kill,
  };
}

/** As a crash and a reboot leave it: the number of a server that is gone, used again by a program of its account. */
function leaveStalePidFile(dir: string): { readonly innocent: number; readonly file: string } {
  const file = join(dir, 'postgres', 'postmaster.pid');
  const { uid, gid } = statSync(join(dir, 'postgres'));
  const child = spawn('sleep', ['600'], { uid, gid, cwd: '/', stdio: 'ignore' });
  cleanUps.push(() => child.kill('SIGKILL'));
  const lines = [
    child.pid,
    join(dir, 'postgres'),
    1_700_000_000,
    5432,
    socketDirOf(dir),
    '',
    '  1 1',
    'ready',
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
  chownSync(file, uid, gid);
  return { innocent: child.pid!, file };
}

function serverPid(dataDir: string): number | null {
  try {
    return Number.parseInt(readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8'), 10);
  } catch {
    return null;
  }
}

const alive = (pid: number): boolean => processIdentity(pid) !== null;

async function killed(pid: number): Promise<void> {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    return;
  }
  await until(() => !alive(pid));
}

async function until(fact: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await fact())) await pause();
}

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

/** A PATH without the tools that tie the server to its process, as on macOS. */
function withoutUtilLinux(): Record<string, string> {
  const bin = mkdtempSync(join(tmpdir(), 'weir-path-'));
  chmodSync(bin, 0o755);
  cleanUps.push(() => rmSync(bin, { recursive: true }));
  for (const tool of ['id', 'ps', 'sh']) {
    const found = (process.env['PATH'] ?? '').split(':').map((dir) => join(dir, tool));
    const real = found.find((path) => {
      try {
        return Boolean(realpathSync(path));
      } catch {
        return false;
      }
    });
    if (real) symlinkSync(real, join(bin, tool));
  }
  return { PATH: bin };
}

// A query that meets a dying server may wait its whole 20 s for an answer: the limit finds hangs, not slowness.
describe('The embedded database', { timeout: 240_000 }, () => {
  it('is made on the first start, says so, and is opened on the next', async () => {
    const dir = dataFolder();
    const lines: string[] = [];
    const first = await openHere(dir, (line) => lines.push(line));
    if (first.type !== 'opened') throw new Error(first.message);
    expect(lines).toEqual([containing(dir)]);
    expect(await first.storage.describe()).toMatch(/^PostgreSQL 18\.\d+ \(embedded\)$/);
    const session = await beginSession(first.storage);
    const { id } = await openWorkstream(first.storage, session, 'kept');
    const pid = serverPid(dir)!;
    await first.storage.close();
    await first.storage.close();
    expect(alive(pid)).toBe(false);

    lines.length = 0;
    const second = await openHere(dir, (line) => lines.push(line));
    if (second.type !== 'opened') throw new Error(second.message);
    expect(lines).toEqual([]);
    expect((await second.storage.catalog.get(id))?.projection.configuration.title).toBe('kept');
  });

  it('works below a folder that only its owner may enter', async () => {
    const storage = await open(dataFolder(0o700));
    expect(await storage.tokens.list()).toEqual([]);
  });

  it('refuses a second process, by name, and the first goes on', async () => {
    const dir = dataFolder();
    const first = owner(dir);
    expect(await first.next()).toEqual({ type: 'opened' });
    const refused = await openHere(dir);
    expect(refused).toEqual({ type: 'refused', message: containing(`(process ${first.pid})`) });
    expect(refused).toMatchObject({ message: containing(dir) });
    first.tell('work');
    expect(await first.next()).toEqual({ type: 'worked' });
  });

  it('refuses the same process a second time', async () => {
    const dir = dataFolder();
    const first = await open(dir);
    expect(await openHere(dir)).toMatchObject({ type: 'refused' });
    expect(await first.tokens.list()).toEqual([]);
  });

  it('started by several processes at once on a new folder has one owner', async () => {
    const dir = dataFolder();
    const owners = [owner(dir), owner(dir), owner(dir)];
    const said = await Promise.all(owners.map((o) => o.next()));
    expect(said.map((s) => s['type']).toSorted()).toEqual(['opened', 'refused', 'refused']);
    const winner = owners[said.findIndex((s) => s['type'] === 'opened')]!;
    winner.tell('work');
    expect(await winner.next()).toEqual({ type: 'worked' });
  });

  it('opens again at once after its owner was killed, with nothing lost', async () => {
    const dir = dataFolder();
    for (let round = 0; round < 3; round++) {
      const killedSoon = owner(dir);
      expect(await killedSoon.next()).toEqual({ type: 'opened' });
      await killedSoon.kill();
    }
    const storage = await open(dir);
    expect(await storage.tokens.list()).toEqual([]);
  });

  it.runIf(process.platform === 'linux')('dies with its owner, even by kill -9', async () => {
    const dir = dataFolder();
    const first = owner(dir);
    await first.next();
    const pid = serverPid(dir)!;
    expect(alive(pid)).toBe(true);
    await first.kill();
    await until(() => !alive(pid));
  });

  it('left running by a killed owner is adopted, by one of those who try, and stopped by it', async () => {
    const dir = dataFolder();
    const first = owner(dir, withoutUtilLinux());
    expect(await first.next()).toEqual({ type: 'opened' });
    const pid = serverPid(dir)!;
    await first.kill();
    expect(alive(pid)).toBe(true);

    const heirs = [owner(dir), owner(dir)];
    const said = await Promise.all(heirs.map((o) => o.next()));
    expect(said.map((s) => s['type']).toSorted()).toEqual(['opened', 'refused']);
    expect(serverPid(dir)).toBe(pid);
    heirs[said.findIndex((s) => s['type'] === 'opened')]!.tell('stop');
    await until(() => !alive(pid));
  });

  it('left behind by a killed owner and answering nobody is waited for', async () => {
    const dir = dataFolder();
    const first = owner(dir, withoutUtilLinux());
    await first.next();
    const pid = serverPid(dir)!;
    process.kill(pid, 'SIGSTOP');
    await first.kill();
    const opening = openHere(dir);
    // It has met the leftover when it has tried to start a server of its own beside it and could not.
    const early = await Promise.race([
      opening,
      new Promise((resolve) => setTimeout(resolve, 1_000, 'waiting')),
    ]);
    expect(early).toBe('waiting');
    await killed(pid);
    expect((await opening).type).toBe('opened');
    expect(serverPid(dir)).not.toBe(pid);
  });

  it('does not hear the Ctrl-C meant for its owner', async () => {
    const dir = dataFolder();
    const first = owner(dir);
    await first.next();
    const pid = serverPid(dir)!;
    process.kill(-first.pid, 'SIGINT');
    expect(await first.next()).toEqual({ type: 'interrupted' });
    first.tell('work');
    expect(await first.next()).toEqual({ type: 'worked' });
    // One that heard it would let nobody in any more.
    const client = new pg.Client({ host: socketDirOf(dir), port: 5432, user: 'weir', database: 'weir' });
    await client.connect();
    await client.end();
    expect(serverPid(dir)).toBe(pid);
  });

  it('that crashes is brought back; what was being stored is unavailable until then, and lands once (D-50, D-52)', async () => {
    const dir = dataFolder();
    const storage = await open(dir);
    const session = await beginSession(storage);
    let made = await openWorkstream(storage, session);
    for (let round = 0; round < 3; round++) {
      const pid = serverPid(dir)!;
      let crashed: Promise<void> | null = null;
      const kinds = new Set<string>();
      for (let n = 0; n < 200 && !kinds.has('unavailable'); n++) {
        if (n === 5) crashed = killed(pid);
        const batch = batchOf(made, [message(`${round}.${n}`)]);
        let outcome = await storage.journal.commit(batch);
        kinds.add(outcome.type);
        while (outcome.type === 'unavailable') {
          const landed = await storage.journal.holds(made.id, batch.entries).catch((error: unknown) => {
            expect(error).toBeInstanceOf(StorageUnavailableError);
            return null;
          });
          outcome = landed ? { type: 'committed' } : await storage.journal.commit(batch);
        }
        // Landed unseen, and the repeat met its own fence: reading back decides.
        if (outcome.type === 'fenced') expect(await storage.journal.holds(made.id, batch.entries)).toBe(true);
        else expect(outcome).toEqual({ type: 'committed' });
        made = after(made, batch);
      }
      expect(kinds).toContain('unavailable');
      await crashed;
      await successorOf(pid, dir, storage);
    }
    const head = made.projection.revision;
    const stored = await storage.journal.read(made.id, { after: 0, through: head + 10, limit: head + 10 });
    expect(stored.map((e) => e.revision)).toEqual(Array.from({ length: head }, (_, i) => i + 1));
    expect(await answered(() => session.renew())).toBe(true);
  });

  it('that hangs is ended and another one started, as often as it happens (D-50)', async () => {
    const dir = dataFolder();
    const { storage, lines } = await openImpatient(dir);
    const session = await beginSession(storage);
    for (let round = 0; round < 2; round++) {
      const pid = serverPid(dir)!;
      const children = childrenOf(pid);
      process.kill(pid, 'SIGSTOP');
      for (const child of children) process.kill(child, 'SIGKILL');
      await successorOf(pid, dir, storage);
    }
    // One that had not begun to be used yet is told of in other words.
    expect(lines.filter((line) => /hangs|did nothing/.test(line)).length).toBeGreaterThanOrEqual(2);
    // Somebody still watches over it.
    const last = serverPid(dir)!;
    await killed(last);
    await successorOf(last, dir, storage);
    expect(await answered(() => session.renew())).toBe(true);
  });

  it('that takes no new connections is ended and another one started, although those it has go on', async () => {
    const dir = dataFolder();
    const { storage, lines } = await openImpatient(dir);
    const pid = serverPid(dir)!;
    process.kill(pid, 'SIGSTOP');
    await successorOf(pid, dir, storage);
    expect(lines).toContainEqual(containing(`(process ${pid}) hangs`));
  });

  it.runIf(process.platform === 'linux')(
    'of which one process hangs when the first is gone leaves nothing in the way of the next',
    async () => {
      const dir = dataFolder();
      const { storage } = await openImpatient(dir);
      const pid = serverPid(dir)!;
      const [hanging] = childrenOf(pid);
      process.kill(hanging!, 'SIGSTOP');
      await killed(pid);
      await successorOf(pid, dir, storage);
      expect(alive(hanging!)).toBe(false);
    },
  );

  it('shows from outside when it is at work', async () => {
    const dir = dataFolder();
    const storage = await open(dir);
    await beginSession(storage);
    const pid = serverPid(dir)!;
    const idle = signOfWork(pid);
    expect(idle.split('\n')).toEqual([containing('checkpointer')]);
    const client = new pg.Client({ host: socketDirOf(dir), port: 5432, user: 'weir', database: 'weir' });
    await client.connect();
    cleanUps.push(() => client.end());
    await client.query('create table filling (text text)');
    await until(async () => {
      await client.query(`insert into filling select repeat('x', 1000) from generate_series(1, 1000)`);
      await client.query('checkpoint');
      return signOfWork(pid) !== idle;
    });
  });

  it('that hangs and was left by a dead owner is ended by the next start', async () => {
    const dir = dataFolder();
    const first = owner(dir, withoutUtilLinux());
    await first.next();
    const pid = serverPid(dir)!;
    process.kill(pid, 'SIGSTOP');
    await first.kill();
    const { lines } = await openImpatient(dir);
    expect(alive(pid)).toBe(false);
    expect(lines).toContainEqual(containing(`(process ${pid}) hangs`));
  });

  it('that hangs is left alone while the Weir that started it runs, and that one is named', async () => {
    const dir = dataFolder();
    const first = owner(dir);
    await first.next();
    const pid = serverPid(dir)!;
    process.kill(pid, 'SIGSTOP');
    expect(await openStorage({ dataDir: dir, fsync: false, patienceMs: 3_000 })).toEqual({
      type: 'refused',
      message: containing(`Another Weir (process ${first.pid})`),
    });
    expect(alive(pid)).toBe(true);
  });

  it('that cannot be started again says why, and is tried again until it can', async () => {
    const dir = dataFolder();
    const { storage, lines } = await openImpatient(dir);
    const place = socketDirOf(dir);
    rmSync(place, { recursive: true });
    writeFileSync(place, '');
    const pid = serverPid(dir)!;
    await killed(pid);
    await until(() => lines.filter((line) => line.startsWith(place)).length >= 2);
    expect(lines).toContainEqual(containing(`${place} is not a folder`));
    rmSync(place);
    await successorOf(pid, dir, storage);
  });

  it('removes the folder of its socket when it stops', async () => {
    const dir = dataFolder();
    const storage = await open(dir);
    expect(readdirSync(socketDirOf(dir))).not.toEqual([]);
    await storage.close();
    expect(existsSync(socketDirOf(dir))).toBe(false);
  });

  it.runIf(process.platform === 'linux')(
    'starts although a number in an old postmaster.pid is another program’s now, which goes on',
    async () => {
      const dir = dataFolder();
      await (await open(dir)).close();
      const { innocent, file } = leaveStalePidFile(dir);
      const lines: string[] = [];
      const outcome = await openHere(dir, (line) => lines.push(line));
      expect(outcome.type).toBe('opened');
      expect(lines).toEqual([containing(`process ${innocent} is another program now`)]);
      expect(alive(innocent)).toBe(true);
      expect(readFileSync(`${file}.stale`, 'utf8')).toMatch(new RegExp(`^${innocent}\n`));
    },
  );

  it('without a lock on its folder leaves an old postmaster.pid alone, and says what to look at', async () => {
    const dir = dataFolder();
    await (await open(dir)).close();
    const { innocent, file } = leaveStalePidFile(dir);
    const starting = owner(dir, withoutUtilLinux());
    expect(await starting.next()).toEqual({ type: 'refused', message: containing(`"ps -p ${innocent}"`) });
    expect(alive(innocent)).toBe(true);
    expect(serverPid(dir)).toBe(innocent);
    rmSync(file);
  });

  for (const [how, prepare] of [
    ['deleted', (dir: string) => () => rmSync(dir, { recursive: true })],
    ['moved away', (dir: string) => () => renameSync(dir, `${dir}.moved`)],
    [
      'replaced by a copy',
      (dir: string) => {
        cpSync(dir, `${dir}.copy`, { recursive: true });
        return () => {
          renameSync(dir, `${dir}.moved`);
          renameSync(`${dir}.copy`, dir);
        };
      },
    ],
  ] as const) {
    it(`whose folder is ${how} under it calls nothing durable any more, and ends (D-3, D-50)`, async () => {
      // The look once a second stands still: what is seen here is seen by the answers themselves.
      vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
      cleanUps.push(() => vi.useRealTimers());
      const dir = dataFolder();
      const { storage, gone } = await openWatched(dir);
      const session = await beginSession(storage);
      const [first, second] = [
        await openWorkstream(storage, session),
        await openWorkstream(storage, session),
      ];
      const pid = serverPid(dir)!;
      cleanUps.push(() => killed(pid));
      const lose = prepare(dir);
      // One is on its way; the database itself would say yes to both, for its files are open.
      const onItsWay = storage.journal.commit(batchOf(first, [message('on its way')]));
      lose();
      expect(await storage.journal.commit(batchOf(second, [message('too late')]))).toMatchObject({
        type: 'unavailable',
      });
      expect(await onItsWay).toMatchObject({ type: 'unavailable' });
      await expect(storage.journal.head(first.id)).rejects.toThrow(StorageUnavailableError);
      expect(await gone).toContain(join(dir, 'postgres'));
      await until(() => !alive(pid));
    });
  }

  it('whose folder is deleted ends also when nothing is asked of it', async () => {
    const dir = dataFolder();
    const { gone } = await openWatched(dir);
    const pid = serverPid(dir)!;
    cleanUps.push(() => killed(pid));
    rmSync(dir, { recursive: true });
    expect(await gone).toContain('start again');
    await until(() => !alive(pid));
  });

  it('that crashes and finds an empty folder instead of its own leaves it empty, and ends', async () => {
    const dir = dataFolder();
    const lines: string[] = [];
    const { gone, storage } = await openWatched(dir, (line) => lines.push(line));
    const pid = serverPid(dir)!;
    lines.length = 0;
    process.kill(pid, 'SIGSTOP');
    rmSync(dir, { recursive: true });
    mkdirSync(dir);
    await killed(pid);
    expect(await gone).toContain('deleted');
    await storage.close();
    expect(readdirSync(dir)).toEqual([]);
    expect(lines).toEqual([]);
  });

  it('made by another version of PostgreSQL is refused untouched', async () => {
    const dir = dataFolder();
    mkdirSync(join(dir, 'postgres'), { recursive: true });
    writeFileSync(join(dir, 'postgres', 'PG_VERSION'), '17\n');
    expect(await openHere(dir)).toEqual({
      type: 'refused',
      message: containing('PostgreSQL 17'),
    });
  });

  it('whose place is taken by something else is refused untouched, in words a person can act on', async () => {
    const dir = dataFolder();
    mkdirSync(join(dir, 'postgres'), { recursive: true });
    writeFileSync(join(dir, 'postgres', 'notes.txt'), 'mine\n');
    expect(await openHere(dir)).toEqual({
      type: 'refused',
      message: containing('is not empty and holds no database. Move it away'),
    });
    expect(readFileSync(join(dir, 'postgres', 'notes.txt'), 'utf8')).toBe('mine\n');
  });

  it('that cannot start says why', async () => {
    const dir = dataFolder();
    await (await open(dir)).close();
    const configuration = join(dir, 'postgres', 'postgresql.conf');
    writeFileSync(configuration, `${readFileSync(configuration, 'utf8')}\nno_such_setting = 1\n`);
    expect(await openHere(dir)).toEqual({
      type: 'refused',
      message: containing('no_such_setting'),
    });
  });

  it('in a place that cannot be written is refused', async () => {
    expect(await openHere('/proc/weir')).toMatchObject({ type: 'refused' });
    expect(await openHere('/proc')).toEqual({
      type: 'refused',
      message: containing('Set WEIR_DATA to a folder that this user may write.'),
    });
  });

  it('of which a part is missing is refused, and the part is named', async () => {
    const dir = dataFolder();
    await (await open(dir)).close();
    rmSync(join(dir, 'postgres', 'pg_wal'), { recursive: true });
    expect(await openHere(dir)).toEqual({ type: 'refused', message: containing('pg_wal is missing') });
  });
});
