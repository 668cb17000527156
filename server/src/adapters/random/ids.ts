/** Owns: randomness from the operating system. */
import { randomBytes } from 'node:crypto';
import type { Ids } from '../../ports/ids.ts';

export const systemIds: Ids = { random128: () => randomBytes(16).toString('hex') };
