import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { fingerprint } from './fingerprint.ts';

it('is the beginning of the SHA-256 of the token, and holds nothing of the token itself', () => {
  const token = 'weir_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG';
  expect(fingerprint(token)).toBe(createHash('sha256').update(token).digest('hex').slice(0, 32));
  expect(fingerprint(`${token}H`)).not.toBe(fingerprint(token));
});
