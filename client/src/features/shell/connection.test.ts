import { expect, it } from 'vitest';
import { connectionSaid } from './connection.ts';

const waiting = { status: 'WAITING', attempt: 2, retryAt: 10_000, reason: 'lost' } as const;

it('says plainly how the connection is', () => {
  expect(connectionSaid({ status: 'CONNECTED' }, 0, true).text).toBe('Connected');
  expect(connectionSaid(waiting, 7_400, true).text).toBe('Reconnecting in 3 s');
  expect(connectionSaid(waiting, 10_000, true).text).toBe('Reconnecting …');
  expect(connectionSaid(waiting, 7_400, false).text).toBe('Offline');
});
