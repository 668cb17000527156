/**
 * Owns: showing many changes as one: what is asked for often runs once a frame, with the latest value.
 * A hidden page has no frames; there it runs a few times a second, so that its title stays true.
 */
export interface Frame {
  request(): void;
  cancel(): void;
}

const HIDDEN_MS = 250;

export function createFrame(show: () => void): Frame {
  let cancelPending: (() => void) | null = null;
  const run = () => {
    cancelPending?.();
    cancelPending = null;
    show();
  };
  return {
    request() {
      if (cancelPending) return;
      if (document.hidden) {
        const timer = setTimeout(run, HIDDEN_MS);
        cancelPending = () => {
          clearTimeout(timer);
        };
      } else {
        const frame = requestAnimationFrame(run);
        // The page may be hidden before the frame comes.
        const timer = setTimeout(run, 2 * HIDDEN_MS);
        cancelPending = () => {
          cancelAnimationFrame(frame);
          clearTimeout(timer);
        };
      }
    },
    cancel() {
      cancelPending?.();
      cancelPending = null;
    },
  };
}
