import { describe, expect, it } from 'vitest';
import { tally } from '../lib/report.ts';

const root = '/house';
const whole = [
  file('server/test/core/step.test.ts', ['passed', 'passed']),
  file('scripts/test/report.test.ts', ['passed']),
  file('server/test/app/actor.test.ts', ['passed']),
  file('e2e/specs/stop.test.ts', ['passed']),
];

function file(path: string, statuses: readonly string[], status = 'passed', message = '') {
  const assertionResults = statuses.map((one, index) => ({ fullName: `test ${index}`, status: one }));
  return { name: `${root}/${path}`, status, message, assertionResults };
}

function counted(...testResults: readonly ReturnType<typeof file>[]) {
  return tally(JSON.stringify({ testResults }), root);
}

describe('the tally of a test run', () => {
  it('counts what passed', () => {
    expect(counted(...whole)).toEqual({ passed: 5, failed: 0, problems: [], skipped: [] });
  });

  it('counts what failed', () => {
    const failing = file('schema/test/fold.test.ts', ['failed', 'passed'], 'failed');
    expect(counted(...whole, failing)).toMatchObject({ passed: 6, failed: 1 });
  });

  it('names a test that was left out', () => {
    const skipping = file('schema/test/fold.test.ts', ['skipped', 'passed']);
    expect(counted(...whole, skipping)).toMatchObject({
      passed: 6,
      failed: 0,
      skipped: ['schema/test/fold.test.ts: test 0'],
    });
  });

  it('counts a file whose set-up failed as failed, though its tests are only left out', () => {
    const helpless = file('schema/test/fold.test.ts', ['skipped', 'skipped'], 'failed', 'no database');
    expect(counted(...whole, helpless)).toMatchObject({
      passed: 5,
      failed: 1,
      problems: ['schema/test/fold.test.ts: no database'],
    });
  });

  it('counts a file that could not be loaded, or whose worker died, as failed', () => {
    const broken = file('schema/test/fold.test.ts', [], 'failed', 'Cannot find module');
    const unfinished = file('schema/test/follow.test.ts', ['passed'], 'failed');
    expect(counted(...whole, broken, unfinished)).toMatchObject({
      passed: 6,
      failed: 2,
      problems: [
        'schema/test/fold.test.ts: Cannot find module',
        'schema/test/follow.test.ts: did not finish',
      ],
    });
  });

  it('counts a project whose tests were all left out as failed', () => {
    expect(counted(...whole.slice(0, 3), file('e2e/specs/stop.test.ts', ['skipped'])).failed).toBe(1);
  });

  it('counts a project without one executed test as failed', () => {
    expect(counted(...whole.slice(0, 3))).toMatchObject({
      passed: 4,
      failed: 1,
      problems: ['project e2e: not one test was executed'],
    });
    expect(counted().failed).toBe(4);
  });

  it('does not believe something that is no report', () => {
    expect(() => tally('{}', root)).toThrow('not a vitest report');
    expect(() => tally('', root)).toThrow();
  });
});
