/** Owns: one set of judges for a test file, and the facts of a poll. */
import { afterAll } from 'vitest';
import { celConditions } from '../../../src/adapters/conditions/cel/index.ts';
import type { ConditionFacts, Conditions } from '../../../src/ports/conditions.ts';

export function judges(): Conditions {
  const conditions = celConditions();
  afterAll(() => conditions.stop());
  return conditions;
}

/** A first poll that printed this. */
export const facts = (output: string, other: Partial<ConditionFacts> = {}): ConditionFacts => ({
  output,
  prevOutput: null,
  exitCode: 0,
  poll: 1,
  elapsedSeconds: 60,
  ...other,
});
