/**
 * Owns: showing many changes as one: the latest of what comes, once a frame.
 * A hidden page has no frames; there it runs a few times a second, so that its title stays true.
 */
export interface Frame<Value> {
  /** To be shown with the next frame, unless another one comes before it. */
  bring(value: Value): void;
  cancel(): void;
}

const HIDDEN_MS = 250;

export function createFrame<Value>(show: (value: Value) => void): Frame<Value> {
  let latest: Value;
  let cancelPending: (() => void) | null = null;
  const run = () => {
    cancelPending?.();
    cancelPending = null;
    show(latest);
  };
  return {
    bring(value) {
      latest = value;
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
