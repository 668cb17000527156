/** Owns: what is known of endpoints, and which rest (D-37). */
import { describe, expect, it } from 'vitest';
import { createHealth } from '../../../src/adapters/model/health.ts';

/** A model at endpoint `at`. */
const modelAt = (at: string) => ({ endpoint: { baseUrl: at, host: at, authorization: null, secrets: [] } });
const e = modelAt('e');

const failing = (
  times: number,
  kind: Parameters<ReturnType<typeof createHealth>['failed']>[1] = 'OVERLOADED',
) => {
  const health = createHealth();
  for (let n = 1; n <= times; n += 1) health.failed(e, kind, `It failed, ${n}.`, 1_000);
  return health;
};

describe('An endpoint', () => {
  it('of which nobody asked anything is unknown, and is asked in its place', () => {
    const health = createHealth();
    expect([health.stateOf(e), health.problemOf(e), health.rests(e, 0)]).toEqual(['UNKNOWN', null, false]);
  });

  it('is degraded by the fifth failure in a row and says of what the last was (D-37)', () => {
    expect(failing(4).stateOf(e)).toBe('FAILING');
    const health = failing(5);
    expect(health.stateOf(e)).toBe('DEGRADED');
    expect(health.problemOf(e)).toContain('It failed, 5.');
    expect(health.stateOf(modelAt('another'))).toBe('UNKNOWN');
  });

  it('counts anew after one that was accepted', () => {
    const health = failing(4);
    health.succeeded(e);
    health.failed(e, 'CONNECTION', 'Gone.', 0);
    expect(health.stateOf(e)).toBe('FAILING');
  });

  it('that was never reached fails by its first call, and is not called well (broke: four calls refused were green)', () => {
    const health = failing(1, 'CONNECTION');
    expect([health.stateOf(e), health.problemOf(e), health.rests(e, 1_000)]).toEqual([
      'FAILING',
      'The last call failed. It failed, 1.',
      false,
    ]);
    expect(health.stateOf({ ...e })).toBe('FAILING');
  });

  it('does not rest where the clock was set back', () => {
    expect(failing(5).rests(e, 999)).toBe(false);
  });

  it('has its chance back from a call that found out nothing, unless another one has found out something', () => {
    const health = failing(5);
    const giveBack = health.asked(e, 61_000);
    expect(health.rests(e, 61_000)).toBe(true);
    giveBack();
    expect(health.rests(e, 61_000)).toBe(false);
    const late = health.asked(e, 61_000);
    health.failed(e, 'TIMEOUT', 'Still.', 61_001);
    late();
    expect(health.rests(e, 61_002)).toBe(true);
    const later = health.asked(e, 121_001);
    health.succeeded(e);
    later();
    expect(health.stateOf(e)).toBe('HEALTHY');
  });

  it('rests for a minute, gets another chance, and rests again when that fails', () => {
    const health = failing(5);
    expect(health.rests(e, 1_000)).toBe(true);
    expect(health.rests(e, 60_999)).toBe(true);
    expect(health.rests(e, 61_000)).toBe(false);
    expect(health.stateOf(e)).toBe('DEGRADED');
    health.failed(e, 'TIMEOUT', 'Still.', 61_000);
    expect(health.rests(e, 61_001)).toBe(true);
  });

  it('is well again by one call that is accepted', () => {
    const health = failing(9);
    health.succeeded(e);
    expect([health.stateOf(e), health.problemOf(e), health.rests(e, 1_000)]).toEqual([
      'HEALTHY',
      null,
      false,
    ]);
  });

  it.each(['BAD_REQUEST', 'CONTEXT_OVERFLOW', 'OVER_LIMIT', 'EMPTY', 'REFUSAL', 'UNPREPARED'] as const)(
    'is not to blame for %s',
    (kind) => {
      expect(failing(9, kind).stateOf(e)).toBe('UNKNOWN');
    },
  );

  it('that no alias leads to any more is forgotten', () => {
    const health = failing(5);
    health.keep(new Set(['e']));
    expect(health.stateOf({ ...e })).toBe('DEGRADED');
    health.keep(new Set(['another']));
    // Whoever leads to it again is set up anew.
    expect(health.stateOf({ ...e })).toBe('UNKNOWN');
  });
});

describe('A model', () => {
  it.each(['AUTHENTICATION', 'QUOTA', 'NOT_FOUND'] as const)(
    'with %s says so until a call is accepted, is never degraded by it, and leaves its neighbours as they are',
    (kind) => {
      const health = failing(9, kind);
      const neighbour = { ...e };
      expect([health.stateOf(e), health.problemOf(e), health.rests(e, 1_000)]).toEqual([
        'FAILING',
        'The last call failed. It failed, 9.',
        false,
      ]);
      expect([health.stateOf(neighbour), health.problemOf(neighbour)]).toEqual(['UNKNOWN', null]);
      // What is wrong with its key is no better for a neighbour that answers with another one.
      health.succeeded(neighbour);
      expect(health.stateOf(neighbour)).toBe('HEALTHY');
      expect(health.stateOf(e)).toBe('FAILING');
      health.succeeded(e);
      expect([health.stateOf(e), health.problemOf(e)]).toEqual(['HEALTHY', null]);
    },
  );

  it.each(['OVERLOADED', 'CONNECTION', 'RATE_LIMIT'] as const)(
    'that fails with %s is failing, then degraded, though a neighbour answers (broke: it was well, and asked first for ever)',
    (kind) => {
      const health = createHealth();
      const neighbour = { ...e };
      for (let n = 1; n <= 5; n += 1) {
        health.failed(e, kind, `It failed, ${n}.`, 1_000);
        health.succeeded(neighbour);
        expect(health.stateOf(e)).toBe(n < 5 ? 'FAILING' : 'DEGRADED');
        expect(health.problemOf(e)).toContain(`It failed, ${n}.`);
      }
      expect([health.stateOf(neighbour), health.problemOf(neighbour)]).toEqual(['HEALTHY', null]);
      expect([health.rests(e, 1_000), health.rests(neighbour, 1_000)]).toEqual([true, false]);
      health.succeeded(e);
      expect([health.stateOf(e), health.rests(e, 1_000)]).toEqual(['HEALTHY', false]);
    },
  );

  it('that is asked too often says nothing of its neighbours, whose key or limit may be another', () => {
    const health = failing(5, 'RATE_LIMIT');
    expect([health.stateOf(e), health.rests(e, 1_000)]).toEqual(['DEGRADED', true]);
    expect([health.stateOf({ ...e }), health.rests({ ...e }, 1_000)]).toEqual(['UNKNOWN', false]);
  });

  it('that was never called says of the endpoint that it fails, and not of itself (broke: its last call had failed)', () => {
    const neighbour = { ...e };
    expect(failing(1).problemOf(neighbour)).toBe('Its endpoint fails. It failed, 1.');
    expect(failing(5).problemOf(neighbour)).toBe(
      '5 calls in a row to its endpoint failed, so it is asked last for a while. The last one: It failed, 5.',
    );
    expect(failing(5).problemOf(e)).toMatch(/^5 calls in a row failed/);
  });

  it('that was never called is not called well because a neighbour answers (broke: one that does not exist was green)', () => {
    const health = createHealth();
    const [one, other] = [modelAt('e'), modelAt('e')];
    health.succeeded(one);
    expect([health.stateOf(one), health.stateOf(other)]).toEqual(['HEALTHY', 'UNKNOWN']);
  });

  it('says of its failures the last', () => {
    const health = createHealth();
    health.failed(e, 'AUTHENTICATION', 'Refused.', 0);
    health.failed(e, 'CONNECTION', 'Gone.', 0);
    expect(health.problemOf(e)).toBe('The last call failed. Gone.');
    health.failed(e, 'QUOTA', 'Used up.', 0);
    expect(health.problemOf(e)).toBe('The last call failed. Used up.');
    health.failed(e, 'BAD_REQUEST', 'Not this one.', 0);
    expect(health.problemOf(e)).toBe('The last call failed. Used up.');
  });
});
