/**
 * Owns: one pipe for all a command prints. stdout and stderr share it, so their order is kept, which two cannot.
 *
 * It is a named pipe, gone from the file system before anything runs: what Node makes itself is a socket, and a
 * command that opens /dev/stderr or /dev/stdout, as scripts do, fails on a socket.
 */
import { execFile } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';

export interface OutputPipe {
  /** Ends when the last process that holds the other end has closed it. */
  readonly reader: Readable;
  /** A descriptor for the child; `closeWriter` when it has been given away. */
  readonly writer: number;
  closeWriter(): void;
}

/** A process is needed to make pipes, so some more are made with it, for the next commands. */
const madeAtOnce = 8;

interface Ends {
  readonly reader: number;
  readonly writer: number;
}
const unused: Ends[] = [];
let making: Promise<void> | null = null;

/** Rejects when the machine gives no pipe. */
export async function openOutputPipe(): Promise<OutputPipe> {
  for (;;) {
    const ends = unused.shift();
    if (ends) {
      const reader = new Socket({ fd: ends.reader, readable: true, writable: false });
      return { reader, writer: ends.writer, closeWriter: () => closeSync(ends.writer) };
    }
    making ??= makeSome().finally(() => (making = null));
    await making;
  }
}

async function makeSome(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'weir-'));
  try {
    const paths = Array.from({ length: madeAtOnce }, (_, i) => join(folder, String(i)));
    await promisify(execFile)('mkfifo', ['-m', '600', ...paths]);
    for (const path of paths) unused.push(openEnds(path));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Neither waits: the reader does not block, and then there is one for the writer. */
function openEnds(path: string): Ends {
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    return { reader, writer: openSync(path, constants.O_WRONLY) };
  } catch (error) {
    closeSync(reader);
    throw error;
  }
}
