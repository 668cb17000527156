/**
 * Owns: gathering small pieces of text and passing them on once a frame, so that no work is done per token.
 *
 * Invariants: order within a channel is kept; nothing is passed on twice; no piece passed on ends inside a surrogate
 * pair unless it is the last (offsets count UTF-16 code units, and a chunk never splits a pair).
 */
import type { Clock } from '../../ports/clock.ts';

/** Thirty frames a second: as smooth as reading is, and one message per frame and subscriber. */
export const frameMs = 33;

export interface Frame<Channel extends string> {
  add(channel: Channel, text: string): void;
  /** Passes on what is left, now. */
  flush(): void;
}

export function createFrame<Channel extends string>(
  clock: Clock,
  channels: readonly Channel[],
  emit: (pieces: Readonly<Record<Channel, string>>) => void,
): Frame<Channel> {
  const gathered = new Map<Channel, string>();
  let cancel: (() => void) | null = null;

  function pass(whole: boolean): void {
    cancel = null;
    const pieces = Object.fromEntries(
      channels.map((channel) => {
        const text = gathered.get(channel) ?? '';
        const cut = !whole && endsInPair(text) ? text.length - 1 : text.length;
        gathered.set(channel, text.slice(cut));
        return [channel, text.slice(0, cut)];
      }),
    ) as Record<Channel, string>;
    if (channels.some((channel) => pieces[channel] !== '')) emit(pieces);
  }

  return {
    add(channel, text) {
      gathered.set(channel, (gathered.get(channel) ?? '') + text);
      cancel ??= clock.after(frameMs, () => pass(false));
    },
    flush() {
      cancel?.();
      pass(true);
    },
  };
}

const endsInPair = (text: string): boolean => {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff;
};
