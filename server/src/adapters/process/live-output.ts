/**
 * Owns: the pace of live output. A command may print faster than anyone can read or a feed can carry, so what is
 * handed on is gathered for a moment, and of a flood only head and tail of each moment are shown.
 */
import type { Clock } from '../../ports/clock.ts';
import { createCappedOutput } from './capped-output.ts';

const momentMs = 50;
const bytesPerMoment = 32_768;

export interface LiveOutput {
  add(chunk: Buffer): void;
  /** Hands on what is left; nothing is handed on after that. */
  end(): void;
}

export function createLiveOutput(
  { clock }: { readonly clock: Clock },
  onOutput: (text: string) => void,
): LiveOutput {
  const moment = createCappedOutput(bytesPerMoment, (bytes) => `[… ${bytes} bytes not shown live …]`);
  let cancelTimer: (() => void) | null = null;
  let ended = false;

  // The first piece goes out at once, so that a quiet command feels immediate.
  function startMoment(): void {
    const text = moment.take(false);
    if (text === '') return;
    onOutput(text);
    cancelTimer = clock.after(momentMs, () => {
      cancelTimer = null;
      startMoment();
    });
  }

  return {
    add(chunk) {
      if (ended) return;
      moment.add(chunk);
      if (cancelTimer === null) startMoment();
    },
    end() {
      if (ended) return;
      ended = true;
      cancelTimer?.();
      const text = moment.take(true);
      if (text !== '') onOutput(text);
    },
  };
}
