/**
 * Owns: the conditions of watches in CEL, judged in processes of their own (D-83).
 *
 * Invariants: the server itself neither parses nor evaluates anything of a condition or an output; at most `maxJudges`
 * processes, made when they are needed, each with one job at a time; one that ran into its limits, or does not answer, is
 * ended and never asked again; every job is answered, also by a process that dies.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { ConditionCheck, Conditions, Verdict } from '../../../ports/conditions.ts';
import {
  judgeMb,
  maxExpression,
  maxOutput,
  ready,
  tooLarge,
  tooSlow,
  type Answer,
  type Job,
} from './protocol.ts';

const maxJudges = 2;
/** On the clock, from when it was given the job: it ends itself long before, unless it hangs where nothing interrupts it. */
const patienceMs = 2_000;
/** On the clock, until it is ready for its first job. */
const startMs = 20_000;

interface Waiting {
  readonly job: Job;
  readonly settle: (outcome: Answer['outcome']) => void;
}

interface Judge {
  readonly child: ChildProcess;
  readonly gone: Promise<void>;
  waiting: Waiting | null;
  state: 'STARTING' | 'IDLE' | 'BUSY' | 'GONE';
  timer: NodeJS.Timeout | null;
}

/** Starts nothing until it is asked. */
export function celConditions(): Conditions {
  const queue: Waiting[] = [];
  const judges = new Set<Judge>();
  let stopped = false;

  function start(): void {
    const child = fork(fileURLToPath(new URL('./judge-process.ts', import.meta.url)), [], {
      env: {},
      execArgv: [
        '--permission',
        '--allow-fs-read=*',
        '--disable-proto=delete',
        '--disallow-code-generation-from-strings',
        `--max-old-space-size=${judgeMb - 4}`,
        '--max-semi-space-size=1',
      ],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    const { promise, resolve } = Promise.withResolvers<void>();
    const judge: Judge = { child, gone: promise, waiting: null, state: 'STARTING', timer: null };
    judges.add(judge);
    judge.timer = setTimeout(() => retire(judge, unstarted), startMs);
    child.on('message', (said: typeof ready | Answer) => {
      if (judge.state === 'GONE') return;
      if (said !== ready) {
        const { waiting } = judge;
        judge.waiting = null;
        waiting?.settle(said.outcome);
        if (said.tired) return void retire(judge, tooSlow);
      }
      rest(judge);
      next();
    });
    // A signal of the system's, or the end of its memory.
    child.on('exit', () => {
      retire(judge, judge.state === 'STARTING' ? unstarted : tooLarge);
      resolve();
    });
    child.on('error', () => {
      retire(judge, unstarted);
      if (child.pid === undefined) resolve();
    });
  }

  function rest(judge: Judge): void {
    if (judge.timer) clearTimeout(judge.timer);
    judge.timer = null;
    judge.state = 'IDLE';
    // One with nothing to do keeps no server running; it ends when the server does.
    judge.child.unref();
    judge.child.channel?.unref();
  }

  /** What it was about is answered with why. */
  function retire(judge: Judge, why: string): void {
    if (judge.state === 'GONE') return;
    const starting = judge.state === 'STARTING';
    rest(judge);
    judge.state = 'GONE';
    judges.delete(judge);
    judge.child.kill('SIGKILL');
    if (judge.waiting) judge.waiting.settle(failure(judge.waiting.job, why));
    judge.waiting = null;
    // One that cannot be started takes a job with it, so that none waits for ever on a machine that has no room.
    const first = starting ? queue.shift() : undefined;
    first?.settle(failure(first.job, why));
    next();
  }

  function next(): void {
    for (const judge of judges) {
      if (judge.state !== 'IDLE') continue;
      const waiting = queue.shift();
      if (!waiting) return;
      give(judge, waiting);
    }
    const starting = [...judges].filter((judge) => judge.state === 'STARTING').length;
    if (!stopped && queue.length > starting && judges.size < maxJudges) start();
  }

  function give(judge: Judge, waiting: Waiting): void {
    judge.state = 'BUSY';
    judge.child.ref();
    judge.child.channel?.ref();
    judge.waiting = waiting;
    judge.timer = setTimeout(() => retire(judge, hung), patienceMs);
    judge.child.send(waiting.job, (error) => {
      if (error) retire(judge, unstarted);
    });
  }

  function ask(job: Job): Promise<Answer['outcome']> {
    if (stopped) return Promise.resolve(failure(job, ended));
    const { promise, resolve } = Promise.withResolvers<Answer['outcome']>();
    queue.push({ job, settle: resolve });
    next();
    return promise;
  }

  return {
    async check(expression) {
      if (expression.length > maxExpression)
        return { type: 'unsound', message: tooLong, line: 1, column: null };
      return (await ask({ type: 'check', expression })) as ConditionCheck;
    },
    async judge(expression, facts) {
      if (expression.length > maxExpression) return { type: 'failed', message: tooLong };
      if (facts.output.length + (facts.prevOutput?.length ?? 0) > 2 * maxOutput)
        return { type: 'failed', message: outputTooLong };
      return (await ask({ type: 'judge', expression, facts })) as Verdict;
    },
    async stop() {
      stopped = true;
      for (const { job, settle } of queue.splice(0)) settle(failure(job, ended));
      const last = [...judges];
      for (const judge of last) {
        retire(judge, ended);
        judge.child.ref();
      }
      await Promise.all(last.map(({ gone }) => gone));
    },
  };
}

const unstarted =
  'The process that judges conditions could not be started: this machine may have too little memory left.';
const hung = 'It did not come to an end: look at less of the output, or use a simpler pattern.';
const tooLong = `A condition may have at most ${maxExpression} characters.`;
const outputTooLong = 'The output is too long to be judged: let the command print less.';
const ended = 'The server is being stopped.';

const failure = (job: Job, message: string): Answer['outcome'] =>
  job.type === 'check' ? { type: 'unsound', message, line: 1, column: null } : { type: 'failed', message };
