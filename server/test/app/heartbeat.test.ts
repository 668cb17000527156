import { beforeEach, describe, expect, it } from 'vitest';
import { createHeartbeat, type Round } from '../../src/app/rounds/heartbeat.ts';
import type { Session } from '../../src/ports/ownership.ts';
import { StorageUnavailableError } from '../../src/ports/storage-unavailable.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';

let clock: TestClock;
let answer: () => Promise<boolean>;
let renewals: number[];
let loseConnection: () => void;
let losses: number;
let round: Round;
let session: Session;

const quiet = () => undefined;
const log = { info: quiet, warn: quiet, error: quiet };

const away = () => Promise.reject(new StorageUnavailableError('away'));

beforeEach(() => {
  clock = createTestClock(0);
  [renewals, losses, answer] = [[], 0, async () => true];
  session = {
    id: 'session',
    nodeId: 'node',
    renew() {
      renewals.push(clock.now());
      return answer();
    },
    end: async () => undefined,
    onLost: (callback) => void (loseConnection = callback),
  };
  round = createHeartbeat({ session, clock, log, canBeTakenOver: true, onLost: () => void (losses += 1) });
  round.run();
});

describe('The heartbeat', () => {
  it('renews the session every 5 s and keeps it for ever (D-100)', async () => {
    await clock.advance(60_000);
    expect(renewals).toEqual(Array.from({ length: 12 }, (_, i) => (i + 1) * 5_000));
    expect(losses).toBe(0);
  });

  it('that is told the session is over makes the process act as deposed, once (D-50, D-100)', async () => {
    answer = async () => false;
    await clock.advance(60_000);
    expect([renewals.length, losses]).toEqual([1, 1]);
    expect(clock.pending).toBe(0);
  });

  it('bears a database that is away for less than the term (D-100)', async () => {
    answer = away;
    await clock.advance(19_999);
    expect(losses).toBe(0);
    answer = async () => true;
    loseConnection();
    await clock.advance(0);
    await clock.advance(60_000);
    expect(losses).toBe(0);
  });

  it('bears many short absences, each just when it beats: after one it asks again within a second (D-100)', async () => {
    let beats = 0;
    answer = () => ((beats += 1) % 2 === 1 ? away() : Promise.resolve(true));
    await clock.advance(60_000);
    expect(losses).toBe(0);
    expect(renewals.slice(0, 4)).toEqual([5_000, 6_000, 11_000, 12_000]);
  });

  it('gives up when the database is away for the whole term of 20 s (D-100)', async () => {
    answer = away;
    await clock.advance(19_999);
    expect(losses).toBe(0);
    await clock.advance(1);
    expect(losses).toBe(1);
    answer = async () => true;
    await clock.advance(60_000);
    expect(losses).toBe(1);
    expect(clock.pending).toBe(0);
  });

  it('outwaits a database that only this process can reach, however long it is away (D-50)', async () => {
    round.stop();
    answer = away;
    const alone = { session, clock, log, canBeTakenOver: false, onLost: () => void (losses += 1) };
    createHeartbeat(alone).run();
    await clock.advance(3_600_000);
    expect(losses).toBe(0);
    expect(renewals.length).toBeGreaterThan(720);
  });

  it('counts the term from the last renewal that was answered', async () => {
    await clock.advance(10_000);
    answer = away;
    await clock.advance(19_999);
    expect(losses).toBe(0);
    await clock.advance(1);
    expect(losses).toBe(1);
  });

  it('counts the term from when a renewal was asked for, not from its answer (D-100)', async () => {
    let tell: (renewed: boolean) => void = () => undefined;
    answer = () => new Promise((resolve) => (tell = resolve));
    await clock.advance(9_000);
    tell(true);
    await clock.advance(0);
    answer = away;
    await clock.advance(15_999);
    expect(losses).toBe(0);
    await clock.advance(1);
    expect([renewals[0], losses, clock.now()]).toEqual([5_000, 1, 25_000]);
  });

  it('gives up after the term also when a renewal is never answered at all (D-100)', async () => {
    answer = () => new Promise(() => undefined);
    await clock.advance(20_000);
    expect([renewals, losses]).toEqual([[5_000], 1]);
  });

  it('takes an answer that comes after the term for nothing', async () => {
    let tell: (renewed: boolean) => void = () => undefined;
    answer = () => new Promise((resolve) => (tell = resolve));
    await clock.advance(20_000);
    tell(true);
    await clock.advance(60_000);
    expect([renewals.length, losses, clock.pending]).toEqual([1, 1, 0]);
  });

  it('asks at once when the connection was lost, and goes on when the session is still its own (D-100)', async () => {
    await clock.advance(7_000);
    loseConnection();
    await clock.advance(0);
    expect(renewals).toEqual([5_000, 7_000]);
    await clock.advance(10_000);
    expect([renewals, losses]).toEqual([[5_000, 7_000, 12_000, 17_000], 0]);
  });

  it('asks at once when the connection was lost, and gives up when another has the node (D-100)', async () => {
    answer = async () => false;
    loseConnection();
    await clock.advance(0);
    expect(losses).toBe(1);
  });

  it('stopped says nothing more', async () => {
    answer = async () => false;
    await clock.advance(4_999);
    round.stop();
    loseConnection();
    await clock.advance(60_000);
    expect([renewals.length, losses, clock.pending]).toEqual([0, 0, 0]);
  });
});
