/**
 * Owns: the real server as a child process in a folder of its own, one life after another on the same data.
 * Does not own: what is asked of it (`api.ts`).
 *
 *   const weir = await startWeir({ provider });        // resolves when it has printed its link
 *   const api = weir.api(await weir.signIn());
 *   await weir.kill('SIGKILL');
 *   const next = await weir.restart();                 // same data, a new process
 *   await next.remove();                               // ends it and deletes the folder
 */
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { exchangeCode } from 'schema/client-kit';
import { createApi, type Api } from './api.ts';
import { signal, startChild, within, type Child, type Exit } from './process.ts';

export interface WeirOptions {
  /** PostgreSQL to use; without it the server runs the embedded one. */
  readonly databaseUrl?: string;
  /** The model endpoint; without it, whatever the server finds by itself. */
  readonly provider?: { readonly url: string };
  /** 0, the default: any free port, another one in each life. */
  readonly port?: number;
  /** Further settings; undefined takes one away. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** What stands before the command, for example to become another user. */
  readonly prefix?: readonly string[];
}

/** The folder of a server, over all its lives. */
export interface Place {
  readonly root: string;
  /** WEIR_DATA. */
  readonly data: string;
  /** WEIR_WORKSPACES. */
  readonly workspaces: string;
}

/** One life of the server. */
export interface Weir extends Omit<Child, 'printed'> {
  readonly place: Place;
  /** Without a slash at its end. */
  readonly url: string;
  readonly port: number;
  /** The printed link; its code works once. */
  readonly link: string;
  /** Exchanges the code of the printed link for a token, which works in later lives too. */
  signIn(): Promise<string>;
  api(token: string): Api;
  /** As an operator would: SIGTERM. */
  stop(): Promise<Exit>;
  /** The next life on the same data, with these options beside the ones there were. Ends this one if it runs. */
  restart(options?: WeirOptions): Promise<Weir>;
  /** Ends the server, waits for its database to be gone, deletes the folder. */
  remove(): Promise<void>;
}

const repository = join(import.meta.dirname, '../..');
export const serverMain = join(repository, 'server/src/main.ts');
/** Spares each start half a second of compiling; nothing else changes. */
export const compileCache = join(repository, 'out/compile-cache');
/** A machine that is busy with other things starts a server slowly; this is no figure of the product. */
const startPatienceMs = 100_000;

export function makePlace(): Place {
  const root = mkdtempSync(join(tmpdir(), 'weir-e2e-'));
  // As root, the embedded server runs as another user, who must be able to pass.
  chmodSync(root, 0o755);
  const place = { root, data: join(root, 'data'), workspaces: join(root, 'workspaces') };
  mkdirSync(place.workspaces);
  return place;
}

/** The process alone, whatever becomes of it; for starts that are meant to fail or to be killed. */
export function spawnWeir(place: Place, options: WeirOptions = {}, args: readonly string[] = []): Child {
  const env: Record<string, string | undefined> = {
    PATH: process.env['PATH'],
    HOME: process.env['HOME'],
    TMPDIR: process.env['TMPDIR'],
    NODE_COMPILE_CACHE: compileCache,
    LOG_LEVEL: 'warn',
    HOST: '127.0.0.1',
    PORT: String(options.port ?? 0),
    WEIR_DATA: place.data,
    WEIR_WORKSPACES: place.workspaces,
    DATABASE_URL: options.databaseUrl,
    ...(options.provider && {
      OPENAI_BASE_URL: options.provider.url,
      OPENAI_API_KEY: 'sk-test',
      WEIR_MODEL: 'scripted',
    }),
    ...options.env,
  };
  const given = Object.entries(env).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return startChild([...(options.prefix ?? []), process.execPath, serverMain, ...args], {
    cwd: repository,
    env: Object.fromEntries(given),
  });
}

/** Starts a server and resolves once it has printed its link; rejects, with all it printed, when it exits first. */
export async function startWeir(options: WeirOptions = {}, place: Place = makePlace()): Promise<Weir> {
  return become(spawnWeir(place, options), place, options);
}

/** The server this process becomes. */
export async function become(child: Child, place: Place, options: WeirOptions): Promise<Weir> {
  const [link] = await within(
    startPatienceMs,
    () => `the link; printed so far:\n${child.output()}`,
    child.printed(/http:\/\/\S+#code=\S+/),
  ).catch(async (error: unknown) => {
    await child.kill('SIGKILL');
    throw error;
  });
  const { origin, port } = new URL(link);
  const apis: Api[] = [];
  return {
    ...child,
    place,
    url: origin,
    port: Number(port),
    link,
    async signIn() {
      const exchange = await exchangeCode({ origin, code: new URL(link).hash.slice('#code='.length) });
      if (exchange.type !== 'Token') throw new Error(`The code was not exchanged: ${exchange.message}`);
      return exchange.token;
    },
    api(token) {
      const api = createApi(origin, token);
      apis.push(api);
      return api;
    },
    stop: () => child.kill('SIGTERM'),
    async restart(more = {}) {
      await child.kill('SIGTERM');
      return startWeir({ ...options, ...more, env: { ...options.env, ...more.env } }, place);
    },
    async remove() {
      for (const api of apis) api.dispose();
      await child.kill('SIGTERM');
      await removePlace(place);
    },
  };
}

/** Deletes the folder once nothing of the server or of its tools runs in it. */
export async function removePlace(place: Place): Promise<void> {
  for (const pid of processesIn(place.workspaces)) signal(pid, 'SIGKILL');
  const database = embeddedServerOf(place);
  await within(30_000, () => `the embedded database server ${database} to end`, untilGone(database));
  rmSync(place.root, { recursive: true, force: true, maxRetries: 10 });
}

/** Pid of the embedded database server of this place, while there is one. */
export function embeddedServerOf(place: Place): number | null {
  try {
    const text = readFileSync(join(place.data, 'postgres/postmaster.pid'), 'utf8');
    const pid = Number(text.split('\n')[0]);
    return pid > 1 && signal(pid, 0) ? pid : null;
  } catch {
    return null;
  }
}

/** URL of the embedded database of this place, while its server runs. */
export function embeddedDatabaseOf(place: Place): string {
  const [, , , port, folder] = readFileSync(join(place.data, 'postgres/postmaster.pid'), 'utf8').split('\n');
  return `postgresql://weir@localhost:${port}/weir?host=${encodeURIComponent(folder!)}`;
}

/** Of a process that is not our child nothing but asking tells the end. */
export async function untilGone(pid: number | null): Promise<void> {
  while (pid !== null && signal(pid, 0) && !isZombie(pid)) await delay(20);
}

function isZombie(pid: number): boolean {
  try {
    return /^\d+ \(.*\) Z /s.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return false;
  }
}

/** Pids of live processes that stand in a folder: tools of a server run in their workspace. Linux only; else none. */
export function processesIn(folder: string): readonly number[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const cwd = readlinkSync(`/proc/${pid}/cwd`);
        return cwd === folder || cwd.startsWith(`${folder}/`);
      } catch {
        return false;
      }
    })
    .map(Number);
}
