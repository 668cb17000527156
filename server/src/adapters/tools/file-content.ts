/**
 * Owns: a whole file as it is now: its bytes, and the basis that tells later whether it is still the same.
 */
import { createHash } from 'node:crypto';
import type { ResolvedPath } from './confine.ts';
import { openFile } from './open-inside.ts';
import { isRefusal, refuse, type Refusal } from './tool.ts';

export interface FileContent {
  /** Null: no such file. */
  readonly bytes: Buffer | null;
  /**
   * Names the file and its content, or its absence: equal iff neither has changed. The name is the real one, so a
   * link turned to another file of equal content is noticed too.
   */
  readonly basis: string;
}

export async function contentOf(resolved: ResolvedPath, maxBytes: number): Promise<FileContent | Refusal> {
  if (resolved.missing.length > 0) return { bytes: null, basis: basisOf(resolved.label, null) };
  const handle = await openFile({ ...resolved, path: resolved.nearest });
  if (isRefusal(handle)) return handle;
  try {
    const { size } = await handle.stat();
    if (size > maxBytes) return refuse(tooLarge(resolved.label, size, maxBytes));
    const bytes = await handle.readFile();
    // It may have grown since.
    if (bytes.length > maxBytes) return refuse(tooLarge(resolved.label, bytes.length, maxBytes));
    return { bytes, basis: basisOf(resolved.label, bytes) };
  } finally {
    await handle.close();
  }
}

export const basisOf = (label: string, bytes: Buffer | null): string =>
  `${bytes === null ? 'absent' : createHash('sha256').update(bytes).digest('hex')}@${label}`;

/** Null when the bytes are not UTF-8 text. A byte order mark is kept, so that writing the text back keeps it too. */
export function textOf(bytes: Buffer): string | null {
  if (bytes.includes(0)) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

const tooLarge = (label: string, size: number, max: number): string =>
  `"${label}" has ${size} bytes; this tool handles at most ${max}. Use the shell tool for it.`;
