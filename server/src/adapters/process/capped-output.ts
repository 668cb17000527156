/**
 * Owns: keeping the head and the tail of a byte stream of any length in fixed memory, and turning them into text.
 *
 * Invariants: at most `maxBytes` bytes are kept; text is cut at character boundaries only; what is missing is said.
 */
export interface CappedOutput {
  add(chunk: Buffer): void;
  /**
   * The text so far; starts over. Unless `final`, the bytes of a character that is not complete yet stay for the
   * next time.
   */
  take(final: boolean): string;
}

/** `cutNote` is put, on a line of its own, where bytes are missing. */
export function createCappedOutput(maxBytes: number, cutNote: (bytes: number) => string): CappedOutput {
  const headSize = Math.ceil(Math.max(0, maxBytes) / 2);
  const tailSize = Math.floor(Math.max(0, maxBytes) / 2);
  // Allocated on first use: most commands print little.
  let head: Buffer | null = null;
  let headLength = 0;
  /** A ring: the last `tailSize` bytes of all that came after the head. */
  let ring: Buffer | null = null;
  let ringNext = 0;
  let afterHead = 0;

  function addToTail(rest: Buffer): void {
    afterHead += rest.length;
    if (tailSize === 0) return;
    ring ??= Buffer.allocUnsafe(tailSize);
    const last = rest.length > tailSize ? rest.subarray(rest.length - tailSize) : rest;
    const first = last.copy(ring, ringNext);
    last.copy(ring, 0, first);
    ringNext = (ringNext + last.length) % tailSize;
  }

  function tailBytes(): Buffer {
    if (ring === null) return Buffer.alloc(0);
    if (afterHead <= tailSize) return ring.subarray(0, afterHead);
    return Buffer.concat([ring.subarray(ringNext), ring.subarray(0, ringNext)]);
  }

  function add(chunk: Buffer): void {
    if (headLength < headSize) {
      head ??= Buffer.allocUnsafe(headSize);
      const copied = chunk.copy(head, headLength);
      headLength += copied;
      if (copied < chunk.length) addToTail(chunk.subarray(copied));
    } else {
      addToTail(chunk);
    }
  }

  return {
    add,
    take(final) {
      const start = head === null ? Buffer.alloc(0) : head.subarray(0, headLength);
      const end = tailBytes();
      const isCut = afterHead > end.length;
      const pieces = isCut
        ? [start.subarray(0, completeEnd(start)), end.subarray(completeStart(end))]
        : [Buffer.concat([start, end])];
      const last = pieces.at(-1) as Buffer;
      const complete = final ? last.length : completeEnd(last);
      const open = Buffer.from(last.subarray(complete));
      pieces[pieces.length - 1] = last.subarray(0, complete);

      const kept = pieces.reduce((sum, piece) => sum + piece.length, 0) + open.length;
      const missing = headLength + afterHead - kept;
      const texts = pieces.map((piece) => piece.toString('utf8'));
      headLength = ringNext = afterHead = 0;
      add(open);
      return isCut ? texts.join(`\n${cutNote(missing)}\n`) : (texts[0] as string);
    },
  };
}

const isContinuation = (byte: number): boolean => (byte & 0xc0) === 0x80;

/** Length of `bytes` without a UTF-8 character that is not complete at the end. */
function completeEnd(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] as number;
    if (isContinuation(byte)) continue;
    const needs = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return needs > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

/** Where the first whole UTF-8 character of `bytes` begins. */
function completeStart(bytes: Buffer): number {
  let start = 0;
  while (start < Math.min(3, bytes.length) && isContinuation(bytes[start] as number)) start++;
  return start;
}
