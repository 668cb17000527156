/**
 * Owns: what is running on this machine, as far as it concerns commands: groups, markers, and sending signals.
 * Only Linux shows the markers of other processes (/proc); elsewhere the group is all that is known.
 *
 * Invariants: the server's own process and group are never signalled; a process is signalled by its pid only in the
 * moment its marker was seen, and only if it is still the same one.
 */
import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { callMarker, sessionMarker } from './environment.ts';

const hasProcessTable = process.platform === 'linux';

interface Marks {
  readonly callId: string;
  /** Session of the server that started it; null when it dropped that marker. */
  readonly sessionId: string | null;
}

/** A process that carries the marker of a call. */
export interface MarkedProcess extends Marks {
  readonly pid: number;
  readonly group: number;
  /** Ticks since boot; with the pid, the identity of a process. */
  readonly startedAt: string;
  /** False when the leader of its group lives and does not carry the marker: then the group is not the call's. */
  readonly ownsGroup: boolean;
}

/** False once every process of the group has ended; dead ones nobody has collected do not count. */
export async function isGroupAlive(group: number): Promise<boolean> {
  if (!signalGroup(group, 0)) return false;
  if (!hasProcessTable) return true;
  const stats = await Promise.all((await processIds()).map(readStat));
  return stats.some((stat) => stat?.group === group);
}

/**
 * The live processes that carry the marker of one of these calls. Empty where markers cannot be seen.
 * `since`: when the first of them began; none of before can be one, and need not be asked, which is most of the cost.
 */
export async function findMarked(
  callIds: ReadonlySet<string>,
  since: number | null = null,
): Promise<readonly MarkedProcess[]> {
  return callIds.size === 0 ? [] : findMarkedBy(({ callId }) => callIds.has(callId), since);
}

/** Of a process that nobody has collected, also a dead one: ticks since boot; null where that cannot be seen. */
export function startOf(pid: number): number | null {
  const text = hasProcessTable ? readOrNull(`/proc/${pid}/stat`) : null;
  return text === null ? null : Number(statFields(text)[startField]);
}

/** The sessions that started what runs now, of all installations whose processes may be read here. */
export async function findSessions(): Promise<readonly string[]> {
  const found = await findMarkedBy(({ sessionId }) => sessionId !== null);
  return [...new Set(found.flatMap(({ sessionId }) => sessionId ?? []))];
}

/** The live processes whose markers are the ones wanted. */
export async function findMarkedBy(
  wanted: (marks: Marks) => boolean,
  since: number | null = null,
): Promise<readonly MarkedProcess[]> {
  if (!hasProcessTable) return [];
  const candidates = since === null ? await processIds() : await begunSince(since);
  const found = (await Promise.all(candidates.map((pid) => readMarked(pid, wanted)))).filter(
    (process) => process !== null,
  );
  const pids = new Set(found.map((process) => process.pid));
  return await Promise.all(
    found.map(async (marked) => ({
      ...marked,
      ownsGroup: pids.has(marked.group) || (await readStat(marked.group)) === null,
    })),
  );
}

/** Sends to every process of the group; false when there is none. 0 only asks. */
export function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  // kill(-1) is everybody, kill(0) is ourselves.
  if (group <= 1 || group === ownGroup) return false;
  return send(-group, signal);
}

/** Sends to the process by pid, and to its group where that is the call's. */
export function signalMarked(marked: MarkedProcess, signal: NodeJS.Signals): void {
  const now = parseStat(readOrNull(`/proc/${marked.pid}/stat`));
  if (now === null || now.startedAt !== marked.startedAt) return;
  if (marked.ownsGroup && now.group === marked.group) signalGroup(marked.group, signal);
  if (marked.pid !== process.pid && marked.pid > 1) send(marked.pid, signal);
}

function send(target: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(target, signal);
  } catch (error) {
    // EPERM: it is there, but became another user's.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

interface Stat {
  readonly group: number;
  readonly startedAt: string;
}

/** proc(5): `pid (comm) state ppid pgrp …`; those from the state on. The name may itself hold spaces and parentheses. */
const statFields = (text: string): readonly string[] => text.slice(text.lastIndexOf(')') + 2).split(' ');
/** Among them; proc(5) counts it the 22nd. */
const startField = 19;

/** Null for the dead and the collected. */
function parseStat(text: string | null): Stat | null {
  if (text === null) return null;
  const fields = statFields(text);
  const [state, , group] = fields;
  if (state === undefined || state === 'Z' || state === 'X') return null;
  return { group: Number(group), startedAt: fields[startField] ?? '' };
}

const readStat = async (pid: number): Promise<Stat | null> =>
  parseStat(await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => null));

/** How many processes are looked at before others have their turn. */
const processesPerTurn = 256;
const statBytes = Buffer.alloc(1_024);

interface Begun {
  readonly pid: number;
  readonly start: number;
}
let coming: Promise<readonly Begun[]> | null = null;

/** When what lives now began: one look, shared by all who ask for it before it is taken. */
function lookAtAll(): Promise<readonly Begun[]> {
  coming ??= nextTurn().then(async () => {
    coming = null;
    const begun: Begun[] = [];
    const names = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    for (const [i, name] of names.entries()) {
      if (i % processesPerTurn === processesPerTurn - 1) await nextTurn();
      const stat = parseStat(readStatNow(name));
      if (stat) begun.push({ pid: Number(name), start: Number(stat.startedAt) });
    }
    return begun;
  });
  return coming;
}

async function begunSince(since: number): Promise<readonly number[]> {
  return (await lookAtAll()).filter(({ start }) => start >= since).map(({ pid }) => pid);
}

/** Without the thread pool, which costs many times what the kernel takes for it; the kernel waits for nobody here. */
function readStatNow(pid: string): string | null {
  let file: number;
  try {
    file = openSync(`/proc/${pid}/stat`, 'r');
  } catch {
    return null;
  }
  try {
    return statBytes.toString('latin1', 0, readSync(file, statBytes));
  } catch {
    // It ended just now.
    return null;
  } finally {
    closeSync(file);
  }
}

async function readMarked(
  pid: number,
  wanted: (marks: Marks) => boolean,
): Promise<Omit<MarkedProcess, 'ownsGroup'> | null> {
  if (pid === process.pid) return null;
  const environment = (await readEnvironment(pid)).split('\0');
  const valueOf = (name: string): string | undefined =>
    environment.find((line) => line.startsWith(`${name}=`))?.slice(name.length + 1);
  const callId = valueOf(callMarker);
  if (callId === undefined) return null;
  const marks = { callId, sessionId: valueOf(sessionMarker) ?? null };
  if (!wanted(marks)) return null;
  const stat = await readStat(pid);
  return stat && { ...marks, pid, ...stat };
}

/**
 * The environment of a process; empty when unreadable (another user's, or gone) or when there is none. In the middle
 * of an exec(2) it reads as empty for a moment, so that is looked at again before it counts.
 */
async function readEnvironment(pid: number): Promise<string> {
  for (let look = 1; ; look++) {
    const environment = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => null);
    if (environment === null) return '';
    if (environment !== '' || look === 3 || (await isKernelThread(pid))) return environment;
    await delay(2);
  }
}

/** Kernel threads have no program, and so no link to one. */
const isKernelThread = async (pid: number): Promise<boolean> =>
  (await readlink(`/proc/${pid}/exe`).catch(() => null)) === null;

const processIds = async (): Promise<number[]> =>
  (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);

function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return null;
  }
}

const ownGroup = hasProcessTable ? (parseStat(readOrNull('/proc/self/stat'))?.group ?? null) : null;
