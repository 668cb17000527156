/**
 * Owns: what every end-to-end run needs first: the client, built when it is older than its sources, and the server's
 * code compiled once, for the sake of the many starts.
 * Does not own: the browser. A spec that needs one asks `findBrowser` (scripts/), so that the others run without.
 */
import { execFileSync } from 'node:child_process';
import { buildClient } from '../scripts/lib/client-build.ts';
import { compileCache, serverMain } from './support/weir.ts';

export default function setup(): void {
  buildClient();
  execFileSync(process.execPath, [serverMain, '--help'], {
    env: { NODE_COMPILE_CACHE: compileCache },
    stdio: 'ignore',
  });
}
