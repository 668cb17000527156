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

/** Rejects when the machine gives no pipe. */
export async function openOutputPipe(): Promise<OutputPipe> {
  const folder = await mkdtemp(join(tmpdir(), 'weir-'));
  try {
    const path = join(folder, 'output');
    await promisify(execFile)('mkfifo', ['-m', '600', path]);
    // Neither waits: the reader does not block, and then there is one for the writer.
    const end = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const writer = openSync(path, constants.O_WRONLY);
    const reader = new Socket({ fd: end, readable: true, writable: false });
    return { reader, writer, closeWriter: () => closeSync(writer) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
