/**
 * Owns: what a vitest JSON report says in numbers. Does not own: running vitest (`test.ts`) and the other gates (`verify.ts`).
 *
 * A report is believed only where it shows something that ran: a file that could not be loaded or did not finish counts
 * as failed, and so does a project that must have tests and executed none. A test left out by a condition (`skipIf`, for
 * what a platform lacks) is named; leaving one out without a condition is refused by eslint.
 */
import { relative } from 'node:path';

export interface Tally {
  readonly passed: number;
  readonly failed: number;
  /** One sentence for each failure that no test stands for. */
  readonly problems: readonly string[];
  /** The tests that a condition left out. */
  readonly skipped: readonly string[];
}

/** The part of vitest's JSON report that is read here. */
interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

/** The projects of vitest.config.ts that must execute at least one test. (The client's are optional.) */
const requiredProjects: Readonly<Record<string, RegExp>> = {
  core: /^(?:server\/test\/core|schema)\//,
  habits: /^scripts\//,
  server: /^(?:server\/(?!test\/core\/)|migrations\/)/,
  e2e: /^e2e\//,
};

/** Counts a report of a whole run. `json` is the report's text, `root` the folder its paths are shown relative to. */
export function tally(json: string, root: string): Tally {
  const { testResults } = JSON.parse(json) as Partial<Report>;
  if (!testResults) throw new Error('this is not a vitest report');
  const files = testResults.map((file) => ({ ...file, path: relative(root, file.name) }));
  const tests = files.flatMap((file) => file.assertionResults.map((test) => ({ ...test, path: file.path })));
  const executed = tests.filter((test) => test.status === 'passed' || test.status === 'failed');
  const broken = files.filter(
    (file) => file.status !== 'passed' && !file.assertionResults.some((test) => test.status === 'failed'),
  );
  const idle = Object.entries(requiredProjects).filter(
    ([, path]) => !executed.some((test) => path.test(test.path)),
  );
  const passed = executed.filter((test) => test.status === 'passed').length;
  return {
    passed,
    failed: executed.length - passed + broken.length + idle.length,
    problems: [
      ...broken.map((file) => `${file.path}: ${file.message || 'did not finish'}`),
      ...idle.map(([project]) => `project ${project}: not one test was executed`),
    ],
    skipped: tests.filter((test) => !executed.includes(test)).map((test) => `${test.path}: ${test.fullName}`),
  };
}
