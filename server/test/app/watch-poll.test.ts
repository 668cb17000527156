/** Owns: what one poll of a watch comes to: what it runs, how it is judged, and what is told of it (D-82, D-83, D-84). */
import type { WatchDefinition } from 'schema/projection';
import { beforeEach, describe, expect, it } from 'vitest';
import { poll, pollTimeoutMs } from '../../src/app/watches/poll.ts';
import type { ConditionFacts, Conditions, Verdict } from '../../src/ports/conditions.ts';
import type { Command, CommandResult, Processes } from '../../src/ports/processes.ts';
import type { ClaimedPoll, PollOutcome } from '../../src/ports/watches.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';

let clock: TestClock;
let commands: Command[];
let judged: ConditionFacts[];
let result: CommandResult;
let verdict: Verdict;
let whileJudging: () => void;
let stopping: AbortController;

const exited: CommandResult = {
  ending: 'exited',
  exitCode: 0,
  signal: null,
  output: 'red',
  message: null,
};
const timedOut: CommandResult = { ...exited, ending: 'timedOut', exitCode: null, output: 'half' };

const processes: Processes = {
  async run(command) {
    commands.push(command);
    await clock.advance(250);
    return result;
  },
  sessions: async () => [],
  endLeftovers: async () => [],
};
const conditions: Conditions = {
  check: async () => ({ type: 'sound' }),
  async judge(_expression, facts) {
    judged.push(facts);
    whileJudging();
    return verdict;
  },
  stop: async () => undefined,
};

beforeEach(() => {
  clock = createTestClock(Date.UTC(2026, 0, 1, 12));
  [commands, judged, result] = [[], [], exited];
  verdict = { type: 'holdsNot' };
  whileJudging = () => undefined;
  stopping = new AbortController();
});

interface Given extends Partial<Omit<ClaimedPoll, 'definition'>> {
  readonly definition?: Partial<WatchDefinition>;
}

const claimed = ({ definition, ...over }: Given = {}): ClaimedPoll => ({
  claim: 'claim-1',
  workstreamId: 'w',
  watchId: 'ci',
  version: 3,
  definition: {
    name: 'ci',
    command: 'make test',
    condition: null,
    everySeconds: 60,
    maxPolls: 100,
    deadline: null,
    repeat: false,
    instruction: null,
    ...definition,
  },
  author: { id: 'ada', name: 'Ada' },
  depth: 2,
  workspace: '/home/ada/project',
  poll: 2,
  scheduledAt: '2026-01-01T12:00:00.000Z',
  createdAt: '2026-01-01T11:58:29.100Z',
  lateMs: 0,
  prevOutput: null,
  errors: 0,
  fires: 4,
  overdue: false,
  ...over,
});

const polled = (given: Given = {}): Promise<PollOutcome> =>
  poll({ processes, conditions, clock }, claimed(given), stopping.signal);

/** What is told: why, and whether the watch has ended with it. */
async function told(given: Given) {
  const { fire } = await polled(given);
  return fire && [fire.reason, fire.ended ? 'ended' : 'goes on'];
}

const withCondition = { condition: 'output == "green"' };
const fails: Verdict = { type: 'failed', message: 'There is no key "state".' };

describe('The command of a poll', () => {
  it('runs in the workspace, marked with its claim, for two minutes and 64 KiB at most (D-82)', async () => {
    await polled();
    expect(commands).toEqual([
      {
        script: 'make test',
        cwd: '/home/ada/project',
        callId: 'claim-1',
        timeoutMs: 120_000,
        maxOutputBytes: 65_536,
      },
    ]);
  });

  it('is kept with its exit code, its output and how long it took (D-86)', async () => {
    result = { ...exited, exitCode: 2, output: 'no rule' };
    expect(await polled()).toMatchObject({ exitCode: 2, output: 'no rule', durationMs: 250, error: null });
  });

  it('that may not run is not run, and ends the watch with the reason (D-82)', async () => {
    const outcome = await polled({ definition: { command: 'rm -rf /', repeat: true }, prevOutput: 'red' });
    expect(commands).toEqual([]);
    expect(outcome.fire).toMatchObject({ reason: 'DENIED', ended: true, exitCode: null, output: 'red' });
    expect(outcome.error).toContain('is never run');
    expect(outcome.fire?.error).toBe(outcome.error);
  });

  it('that is past the deadline is not run, and ends the watch with the last output (D-84)', async () => {
    const outcome = await polled({ overdue: true, prevOutput: 'red', definition: { repeat: true } });
    expect(commands).toEqual([]);
    expect(outcome).toMatchObject({ error: null, durationMs: 0 });
    expect(outcome.fire).toMatchObject({ reason: 'DEADLINE', ended: true, output: 'red', error: null });
  });

  it('that ran out of time says so, and has the exit code −1 for the condition (D-83)', async () => {
    result = timedOut;
    const outcome = await polled({ definition: withCondition });
    expect(judged.map(({ exitCode }) => exitCode)).toEqual([-1]);
    expect(outcome).toMatchObject({ exitCode: null, output: 'half' });
    expect(outcome.error).toBe(`The command was ended after ${pollTimeoutMs / 1_000} s.`);
  });

  it('that a signal ended says which, and has the exit code −1 for the condition (D-83)', async () => {
    result = { ...exited, ending: 'signaled', exitCode: null, signal: 'SIGSEGV' };
    expect((await polled({ definition: withCondition })).error).toBe(
      'The command was ended by signal SIGSEGV.',
    );
    expect(judged.map(({ exitCode }) => exitCode)).toEqual([-1]);
  });

  it('that ran out of time says so also where its condition failed for that', async () => {
    [result, verdict] = [timedOut, fails];
    const { error } = await polled({ definition: withCondition });
    expect(error).toBe('The command was ended after 120 s. There is no key "state".');
  });

  it('that ran out of time says so also where some of its processes may be left', async () => {
    result = { ...timedOut, message: 'Some of its processes may still run.' };
    expect((await polled()).error).toBe(
      'The command was ended after 120 s. Some of its processes may still run.',
    );
  });

  it('that was cut short says so and nothing else, however its output differs (D-84)', async () => {
    result = { ...exited, ending: 'aborted', exitCode: null };
    for (const definition of [{}, withCondition])
      expect(await polled({ prevOutput: 'green', poll: 100, errors: 2, definition })).toMatchObject({
        error: 'The poll was cut short, because its watch was changed meanwhile.',
        errors: 2,
        fire: null,
      });
    expect(judged).toEqual([]);
  });
});

describe('A command that did not start', () => {
  beforeEach(() => {
    result = {
      ending: 'notStarted',
      exitCode: null,
      signal: null,
      output: '',
      message: 'The workspace is gone.',
    };
  });

  it('says why, and is not judged (D-83)', async () => {
    verdict = { type: 'holds' };
    const outcome = await polled({ definition: withCondition });
    expect([outcome.error, outcome.fire, judged]).toEqual(['The workspace is gone.', null, []]);
  });

  it('is no change, and has no output that the next one could be compared with (D-83)', async () => {
    for (const prevOutput of ['red', '', null]) {
      const outcome = await polled({ prevOutput });
      expect([outcome.fire, outcome.output]).toEqual([null, null]);
    }
  });

  it('is told with the last output, where there was one, when it was the last poll (D-84)', async () => {
    expect((await polled({ poll: 100, prevOutput: 'red' })).fire).toMatchObject({ output: 'red' });
    expect((await polled({ poll: 100, prevOutput: null })).fire).toMatchObject({ output: '' });
  });

  it('is no good word for a condition that failed before (D-83)', async () => {
    expect((await polled({ definition: withCondition, errors: 2 })).errors).toBe(2);
  });

  it('ends the watch when it was the last poll (D-80)', async () => {
    expect(await told({ poll: 100, prevOutput: 'red' })).toEqual(['MAX_POLLS', 'ended']);
  });
});

describe('A watch without a condition', () => {
  it('takes its first poll for the baseline (D-83)', async () => {
    expect(await polled({ poll: 1, prevOutput: null })).toMatchObject({ fire: null, output: 'red' });
  });

  it('fires when the output is another one, and not while it is the same (D-83)', async () => {
    expect(await told({ prevOutput: 'green' })).toEqual(['CHANGE', 'ended']);
    expect(await told({ prevOutput: '' })).toEqual(['CHANGE', 'ended']);
    expect(await told({ prevOutput: 'red' })).toBeNull();
  });

  it('asks no judge', async () => {
    await polled({ prevOutput: 'green' });
    expect(judged).toEqual([]);
  });
});

describe('A watch with a condition', () => {
  it('gives it the facts of the poll (D-83)', async () => {
    result = { ...exited, exitCode: 7 };
    await polled({ definition: withCondition, poll: 4, prevOutput: 'green' });
    expect(judged).toEqual([
      { output: 'red', prevOutput: 'green', exitCode: 7, poll: 4, elapsedSeconds: 90 },
    ]);
  });

  it('fires when it holds, and a change alone is none (D-83)', async () => {
    expect(await told({ definition: withCondition, prevOutput: 'green' })).toBeNull();
    verdict = { type: 'holds' };
    expect(await told({ definition: withCondition, prevOutput: 'red' })).toEqual(['CONDITION', 'ended']);
  });

  it('tells all that its workstream needs to write it down (D-84)', async () => {
    verdict = { type: 'holds' };
    const claim = claimed({ definition: withCondition });
    expect((await polled({ definition: withCondition })).fire).toEqual({
      watchId: 'ci',
      poll: 2,
      reason: 'CONDITION',
      ended: true,
      definition: claim.definition,
      elapsedSeconds: 90,
      exitCode: 0,
      output: 'red',
      error: null,
      author: { id: 'ada', name: 'Ada' },
      depth: 2,
      firesBefore: 4,
      skipped: 0,
    });
  });

  it('fires nothing when it fails once or twice, and counts that (D-83)', async () => {
    verdict = fails;
    for (const errors of [0, 1])
      expect(await polled({ definition: withCondition, errors })).toMatchObject({
        error: fails.message,
        errors: errors + 1,
        fire: null,
      });
  });

  it('ends with the error when it fails three times in a row, also one that repeats (D-83)', async () => {
    verdict = fails;
    const { fire } = await polled({ definition: { ...withCondition, repeat: true }, errors: 2 });
    expect(fire).toMatchObject({ reason: 'CONDITION_ERRORS', ended: true, error: fails.message });
  });

  it('forgets its failures with one that can be judged (D-83)', async () => {
    expect((await polled({ definition: withCondition, errors: 2 })).errors).toBe(0);
  });

  it('counts no failure where nobody could judge it, and none is forgotten for that (D-83)', async () => {
    verdict = { type: 'unjudged', message: 'The judge was ended.' };
    for (const errors of [0, 2])
      expect(await polled({ definition: withCondition, errors })).toMatchObject({
        error: 'The judge was ended.',
        errors,
        fire: null,
      });
  });

  it('leaves what nobody could judge to be found as a change by the next poll (D-83)', async () => {
    verdict = { type: 'unjudged', message: 'The judge was ended.' };
    expect((await polled({ definition: withCondition, prevOutput: 'green' })).output).toBeNull();
    const last = await polled({ definition: withCondition, prevOutput: 'green', poll: 100 });
    expect(last.fire).toMatchObject({ reason: 'MAX_POLLS', output: 'red', error: 'The judge was ended.' });
  });

  it.each(['failed', 'unjudged'] as const)(
    'counts no failure where its judges ended with the server: %s',
    async (type) => {
      whileJudging = () => stopping.abort();
      verdict = { type, message: 'The server is being stopped.' };
      expect(await polled({ definition: withCondition, errors: 2 })).toMatchObject({ errors: 2, fire: null });
    },
  );
});

describe('The end of a watch', () => {
  it('is its first fire, unless it repeats (D-84)', async () => {
    expect(await told({ prevOutput: 'green', definition: { repeat: true } })).toEqual(['CHANGE', 'goes on']);
  });

  it('is its last poll, with nothing else to say (D-80)', async () => {
    expect(await told({ poll: 99, prevOutput: 'red' })).toBeNull();
    expect(await told({ poll: 100, prevOutput: 'red', definition: { repeat: true } })).toEqual([
      'MAX_POLLS',
      'ended',
    ]);
  });

  it('is its last poll also where that fires, repeat or not, and says that it fired (D-84)', async () => {
    expect(await told({ poll: 100, prevOutput: 'green', definition: { repeat: true } })).toEqual([
      'CHANGE',
      'ended',
    ]);
  });

  it('is its last poll also where the condition failed for the first time, with the error', async () => {
    verdict = fails;
    const { fire } = await polled({ poll: 100, definition: withCondition });
    expect(fire).toMatchObject({ reason: 'MAX_POLLS', ended: true, error: fails.message });
  });
});
