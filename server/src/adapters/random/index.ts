/** Owns: randomness from the operating system, and fingerprints. */
export { systemIds } from './ids.ts';
export { systemSecrets } from './secrets.ts';
