/** Owns: what is known of endpoints, and which rest (D-37). */
import { describe, expect, it } from 'vitest';
import { effortFor } from '../../../src/adapters/model/effort.ts';
import { createHealth } from '../../../src/adapters/model/health.ts';

const failing = (
  times: number,
  kind: Parameters<ReturnType<typeof createHealth>['failed']>[1] = 'OVERLOADED',
) => {
  const health = createHealth();
  for (let n = 1; n <= times; n += 1) health.failed('e', kind, `It failed, ${n}.`, 1_000);
  return health;
};

describe('An endpoint', () => {
  it('of which nobody asked anything is unknown, and is asked in its place', () => {
    const health = createHealth();
    expect([health.stateOf('e'), health.problemOf('e'), health.rests('e', 0)]).toEqual([
      'UNKNOWN',
      null,
      false,
    ]);
  });

  it('is degraded by the fifth failure in a row and says of what the last was (D-37)', () => {
    expect(failing(4).stateOf('e')).toBe('HEALTHY');
    const health = failing(5);
    expect(health.stateOf('e')).toBe('DEGRADED');
    expect(health.problemOf('e')).toContain('It failed, 5.');
    expect(health.stateOf('another')).toBe('UNKNOWN');
  });

  it('counts anew after one that was accepted', () => {
    const health = failing(4);
    health.succeeded('e');
    health.failed('e', 'CONNECTION', 'Gone.', 0);
    expect(health.stateOf('e')).toBe('HEALTHY');
  });

  it('rests for a minute, gets another chance, and rests again when that fails', () => {
    const health = failing(5);
    expect(health.rests('e', 1_000)).toBe(true);
    expect(health.rests('e', 60_999)).toBe(true);
    expect(health.rests('e', 61_000)).toBe(false);
    expect(health.stateOf('e')).toBe('DEGRADED');
    health.failed('e', 'TIMEOUT', 'Still.', 61_000);
    expect(health.rests('e', 61_001)).toBe(true);
  });

  it('is well again by one call that is accepted', () => {
    const health = failing(9);
    health.succeeded('e');
    expect([health.stateOf('e'), health.problemOf('e'), health.rests('e', 1_000)]).toEqual([
      'HEALTHY',
      null,
      false,
    ]);
  });

  it.each(['AUTHENTICATION', 'BAD_REQUEST', 'CONTEXT_OVERFLOW', 'EMPTY', 'REFUSAL', 'UNPREPARED'] as const)(
    'is not to blame for %s',
    (kind) => {
      expect(failing(9, kind).stateOf('e')).toBe('UNKNOWN');
    },
  );

  it('that no alias leads to any more is forgotten', () => {
    const health = failing(5);
    health.keep(new Set(['another']));
    expect(health.stateOf('e')).toBe('UNKNOWN');
  });
});

describe('An effort', () => {
  it.each([
    ['MINIMAL', ['LOW', 'HIGH'], 'LOW'],
    ['MEDIUM', ['LOW', 'HIGH'], 'HIGH'],
    ['XHIGH', ['LOW', 'HIGH'], 'HIGH'],
    ['NONE', ['HIGH', 'MINIMAL'], 'MINIMAL'],
    ['NONE', ['NONE', 'LOW'], 'NONE'],
    ['HIGH', [], null],
    [null, ['LOW'], null],
  ] as const)('%s is, for a model that knows %j, %s', (wanted, known, told) => {
    expect(effortFor(wanted, known)).toBe(told);
  });
});
