/** Owns: secrets and fingerprints by node:crypto. */
import { createHash, randomBytes } from 'node:crypto';
import type { Secrets } from '../../ports/secrets.ts';

export const systemSecrets: Secrets = {
  mint: (prefix) => `${prefix}_${randomBytes(32).toString('base64url')}`,
  fingerprint: (text) => createHash('sha256').update(text).digest('hex'),
};
