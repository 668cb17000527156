/**
 * Owns: where the client's tests run: in Node, without a DOM, but compiled and resolved as for the browser. Svelte's
 * server build knows no effects, and that is what Node's conditions would choose.
 */
import type { Environment } from 'vitest/runtime';

const environment: Environment = {
  name: 'runes',
  viteEnvironment: 'client',
  setup: () => ({ teardown: () => undefined }),
};
export default environment;
