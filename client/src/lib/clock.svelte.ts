/** Owns: the time for showing, once a second, and whether the browser thinks that it has a network. */
import { createSubscriber } from 'svelte/reactivity';

const everySecond = createSubscriber((update) => {
  const timer = setInterval(update, 1_000);
  return () => {
    clearInterval(timer);
  };
});

const onNetworkChange = createSubscriber((update) => {
  addEventListener('online', update);
  addEventListener('offline', update);
  return () => {
    removeEventListener('online', update);
    removeEventListener('offline', update);
  };
});

/** Milliseconds since 1970; whoever reads it is run again each second. */
export function now(): number {
  everySecond();
  return Date.now();
}

export function online(): boolean {
  onNetworkChange();
  return navigator.onLine;
}
