/** Owns: the client before a start: built when it is older than its sources. */
import { buildClient } from './lib/client-build.ts';

buildClient();
