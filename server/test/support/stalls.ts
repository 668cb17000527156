/**
 * Owns: how long work holds the event loop up, counted in processor time of this thread: that a busy machine lets it
 * wait is not the work's doing.
 */
const lookMs = 5;

/** Watches from now on; `longestMs` ends that, and answers the longest stretch in which nothing else had a turn. */
export function watchStalls(): { longestMs(): number } {
  let longest = 0;
  let last = computedMs();
  const look = (): void => {
    const now = computedMs();
    longest = Math.max(longest, now - last);
    last = now;
  };
  const timer = setInterval(look, lookMs);
  return {
    longestMs() {
      clearInterval(timer);
      look();
      return longest;
    },
  };
}

function computedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
