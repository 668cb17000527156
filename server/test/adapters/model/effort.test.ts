/** Owns: how hard a model is asked to think, in the words that it knows. */
import { describe, expect, it } from 'vitest';
import { effortFor } from '../../../src/adapters/model/effort.ts';

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
