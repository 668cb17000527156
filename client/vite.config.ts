/**
 * Owns: how the client is built and, in development, served. The build has no inline script and no inline style, so
 * that it runs under the server's content security policy.
 */
import { svelte } from '@sveltejs/vite-plugin-svelte';
import process from 'node:process';
import { defineConfig } from 'vite';

/** Where the server of development listens: the same setting that the server reads. */
const server = `http://127.0.0.1:${process.env['PORT'] ?? '4000'}`;

export default defineConfig({
  plugins: [svelte()],
  build: {
    target: 'baseline-widely-available',
    sourcemap: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // How long each plugin took is nothing a person who starts the server asked for.
    rolldownOptions: { checks: { pluginTimings: false } },
  },
  server: {
    proxy: {
      '/graphql': { target: server, ws: true },
      '/session': { target: server },
    },
  },
});
