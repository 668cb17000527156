/** Owns: the life of one command, from spawn to a group that is gone. */
import { spawn, type ChildProcess } from 'node:child_process';
import type { Readable } from 'node:stream';
import type { Clock } from '../../ports/clock.ts';
import type { Command, CommandResult } from '../../ports/processes.ts';
import { createCappedOutput } from './capped-output.ts';
import { endAll, graceMs } from './ending.ts';
import { commandEnvironment } from './environment.ts';
import { createLiveOutput } from './live-output.ts';
import { openOutputPipe, type OutputPipe } from './output-pipe.ts';
import { startOf } from './process-table.ts';
import { openWorkingFolder, type WorkingFolder } from './working-folder.ts';

interface Deps {
  readonly clock: Clock;
  readonly sessionId: string;
}

export async function runCommand(
  { clock, sessionId }: Deps,
  command: Command,
  signal: AbortSignal,
  onOutput: (text: string) => void,
): Promise<CommandResult> {
  const started = await start(sessionId, command, signal);
  if (typeof started === 'string') return notStarted(started);
  const { exit, group, since, output } = started;

  const kept = createCappedOutput(
    command.maxOutputBytes,
    (bytes) => `[… ${bytes} ${bytes === 1 ? 'byte' : 'bytes'} of output cut …]`,
  );
  const live = createLiveOutput({ clock }, onOutput);
  const read = readPaced({ clock }, output, (chunk) => {
    kept.add(chunk);
    live.add(chunk);
  });

  const cut = await firstOf({ clock }, exit, command.timeoutMs, signal);
  const gone = await endAll({ clock }, { group, since, callIds: new Set([command.callId]), graceMs });
  // A shell that could not be killed has no exit to wait for.
  const ended = gone ? await exit : await Promise.race([exit, Promise.resolve(null)]);
  await read.finish();
  live.end();

  return {
    ending: cut ?? (ended?.signal ? 'signaled' : 'exited'),
    exitCode: ended?.code ?? null,
    signal: ended?.signal ?? null,
    output: kept.take(true),
    message: gone ? null : 'Some of its processes could not be confirmed to have ended.',
  };
}

const notStarted = (message: string): CommandResult => ({
  ending: 'notStarted',
  exitCode: null,
  signal: null,
  output: '',
  message,
});

interface Started {
  /** Listened for from the moment it was spawned: a short command is over before anything else is awaited. */
  readonly exit: Promise<Exit>;
  readonly group: number;
  /** When its first process began. */
  readonly since: number | null;
  readonly output: Readable;
}

/** The running child, or one sentence why there is none. */
async function start(sessionId: string, command: Command, signal: AbortSignal): Promise<Started | string> {
  if (signal.aborted) return 'It was stopped before it started.';
  let pipe: OutputPipe;
  try {
    pipe = await openOutputPipe();
  } catch (error) {
    return `No pipe could be made for its output (${(error as NodeJS.ErrnoException).code ?? 'mkfifo failed'}).`;
  }
  const started = signal.aborted
    ? 'It was stopped before it started.'
    : await spawnInto(pipe.writer, sessionId, command).catch((error: Error) => whyNot(error, command));
  pipe.closeWriter();
  if (typeof started !== 'string') return { ...started, output: pipe.reader };
  pipe.reader.destroy();
  return started;
}

async function spawnInto(
  output: number,
  sessionId: string,
  command: Command,
): Promise<Omit<Started, 'output'> | string> {
  const folder = await openWorkingFolder(command.cwd);
  if (folder === null) {
    return 'Its folder, or one above it, was replaced by a symbolic link, so nothing is run until a person has put the folder back.';
  }
  try {
    return await spawnIn(folder, output, sessionId, command);
  } finally {
    await folder.close();
  }
}

async function spawnIn(
  folder: WorkingFolder,
  output: number,
  sessionId: string,
  command: Command,
): Promise<Omit<Started, 'output'> | string> {
  const child = spawn('/bin/sh', ['-c', command.script], {
    cwd: folder.path,
    env: commandEnvironment(process.env, { ...command, sessionId }),
    stdio: ['ignore', output, output],
    detached: true,
  });
  if (child.pid === undefined) {
    return await new Promise((resolve) => child.once('error', (error) => resolve(whyNot(error, command))));
  }
  // Later errors (a signal that could not be sent) change nothing for us.
  child.on('error', () => {});
  // At once: it is not collected before others have their turn.
  return { exit: exitOf(child), group: child.pid, since: startOf(child.pid) };
}

function whyNot(error: NodeJS.ErrnoException, command: Command): string {
  switch (error.code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return `The folder ${command.cwd} is not there, or there is no /bin/sh.`;
    case 'EACCES':
      return `The server may not enter the folder ${command.cwd}.`;
    case 'E2BIG':
      return 'The command is too long to start; write it to a file and run that.';
    case 'EAGAIN':
    case 'EMFILE':
    case 'ENFILE':
    case 'ENOMEM':
      return `The machine is out of processes, files or memory (${error.code}); try again later.`;
    default:
      return `The command could not be started (${error.code ?? error.message}).`;
  }
}

interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}

const exitOf = (child: ChildProcess): Promise<Exit> =>
  new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })));

/** What cut it short, or null when it exited first. */
async function firstOf(
  { clock }: Pick<Deps, 'clock'>,
  exit: Promise<Exit>,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<'timedOut' | 'aborted' | null> {
  const { promise, resolve } = Promise.withResolvers<'timedOut' | 'aborted' | null>();
  const onAbort = (): void => resolve('aborted');
  const cancelTimeout = clock.after(timeoutMs, () => resolve('timedOut'));
  signal.addEventListener('abort', onAbort);
  if (signal.aborted) onAbort();
  void exit.then(() => resolve(null));
  const cut = await promise;
  cancelTimeout();
  signal.removeEventListener('abort', onAbort);
  return cut;
}

/** Most bytes read of one command in one pace: a flood waits in the pipe, the command with it, and the server works on. */
const paceBytes = 4_194_304;
const paceMs = 25;
/** How long the pipe may stay open when everything we know of has ended, milliseconds. */
const lingerMs = 500;

function readPaced(
  { clock }: Pick<Deps, 'clock'>,
  stream: Readable,
  onChunk: (chunk: Buffer) => void,
): { finish(): Promise<void> } {
  let budget = paceBytes;
  let cancelPace: (() => void) | null = null;
  const closed = new Promise<void>((resolve) => stream.once('close', resolve));
  stream.on('error', () => stream.destroy());
  stream.on('data', (chunk: Buffer) => {
    onChunk(chunk);
    budget -= chunk.length;
    if (budget <= 0 && cancelPace === null) stream.pause();
    cancelPace ??= clock.after(paceMs, () => {
      cancelPace = null;
      budget = paceBytes;
      stream.resume();
    });
  });
  return {
    /** A process that got away (see the guide) may hold the pipe for ever; what it prints is not waited for. */
    async finish() {
      const cancelLinger = clock.after(lingerMs, () => setImmediate(() => stream.destroy()));
      await closed;
      cancelLinger();
      cancelPace?.();
    },
  };
}
