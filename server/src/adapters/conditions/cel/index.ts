/**
 * Owns: the conditions of watches in CEL, judged in processes of their own (D-83).
 *
 * Invariants: the server itself neither parses nor evaluates anything of a condition or an output; at most `maxJudges`
 * processes, made when they are needed, each with one job at a time; one that ran into its limits, or does not answer, is
 * ended and never asked again; every job is answered, also by a process that dies. A job whose judge was lost for no reason
 * of its own is given to another one once, and then has no verdict; one whose judge died of it has failed.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { ConditionCheck, Conditions, Verdict } from '../../../ports/conditions.ts';
import {
  judgeMb,
  maxExpression,
  maxOutput,
  ready,
  crashed,
  tooLarge,
  type Answer,
  type Job,
} from './protocol.ts';

const maxJudges = 2;
/** On the clock, from when it was given the job: it ends itself long before, unless it hangs where nothing interrupts it. */
const patienceMs = 2_000;
/** On the clock, until it is ready for its first job. */
const startMs = 20_000;
/** Judges that a job may lose before it is answered without. */
const mostLosses = 1;

/** Why a judge is no more. */
interface Loss {
  readonly message: string;
  /** What it was about did that to it. */
  readonly isOfJob: boolean;
  /** Another judge may well have an answer. */
  readonly again: boolean;
}

interface Waiting {
  readonly job: Job;
  readonly losses: number;
  readonly isTrial: boolean;
  readonly settle: (outcome: Answer['outcome']) => void;
}

interface Judge {
  readonly child: ChildProcess;
  readonly gone: Promise<void>;
  waiting: Waiting | null;
  state: 'STARTING' | 'IDLE' | 'BUSY' | 'GONE';
  timer: NodeJS.Timeout | null;
}

/** Starts nothing until it is asked. First come, first served, and trials last: a watch is not late because of them. */
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
        if (said.tired) return void retire(judge, hung);
      }
      rest(judge);
      next();
    });
    child.on('exit', (code, signal) => {
      retire(judge, judge.state === 'STARTING' ? unstarted : lossOf(code, signal));
      resolve();
    });
    child.on('error', () => {
      // Its channel, too: what was sent to it is lost.
      retire(judge, judge.state === 'STARTING' ? unstarted : killed);
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

  /** What it was about is given to another one, or answered with why. */
  function retire(judge: Judge, why: Loss): void {
    if (judge.state === 'GONE') return;
    const starting = judge.state === 'STARTING';
    rest(judge);
    judge.state = 'GONE';
    judges.delete(judge);
    judge.child.kill('SIGKILL');
    // One that cannot be started counts for a job that waits, so that none waits for ever on a machine that has no room.
    const lost = judge.waiting ?? (starting ? queue.shift() : undefined);
    judge.waiting = null;
    if (lost && why.again && lost.losses < mostLosses && !stopped)
      queue.unshift({ ...lost, losses: lost.losses + 1 });
    else lost?.settle(unanswered(lost.job, why));
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
      if (error) retire(judge, killed);
    });
  }

  function ask(job: Job, isTrial = false): Promise<Answer['outcome']> {
    if (stopped) return Promise.resolve(unanswered(job, ended));
    const { promise, resolve } = Promise.withResolvers<Answer['outcome']>();
    const last = isTrial ? -1 : queue.findIndex((waiting) => waiting.isTrial);
    queue.splice(last < 0 ? queue.length : last, 0, { job, losses: 0, isTrial, settle: resolve });
    next();
    return promise;
  }

  return {
    async check(expression) {
      if (expression.length > maxExpression)
        return { type: 'unsound', message: tooLong, line: 1, column: null };
      return (await ask({ type: 'check', expression })) as ConditionCheck;
    },
    async judge(expression, facts, isTrial) {
      if (expression.length > maxExpression) return { type: 'failed', message: tooLong };
      if (facts.output.length + (facts.prevOutput?.length ?? 0) > 2 * maxOutput)
        return { type: 'failed', message: outputTooLong };
      return (await ask({ type: 'judge', expression, facts }, isTrial)) as Verdict;
    },
    async stop() {
      stopped = true;
      for (const { job, settle } of queue.splice(0)) settle(unanswered(job, ended));
      const last = [...judges];
      for (const judge of last) {
        retire(judge, ended);
        judge.child.ref();
      }
      await Promise.all(last.map(({ gone }) => gone));
    },
  };
}

const tooLong = `A condition may have at most ${maxExpression} characters.`;
const outputTooLong = 'The output is too long to be judged: let the command print less.';

const unstarted: Loss = {
  message:
    'The process that judges conditions could not be started: this machine may have too little memory left.',
  isOfJob: false,
  again: true,
};
const killed: Loss = {
  message:
    'The process that judges conditions was ended from outside: this machine may have too little memory left.',
  isOfJob: false,
  again: true,
};
/** Also the fate of one that was stopped, or that the machine gave no time: hence it is asked again. */
const hung: Loss = {
  message: 'It did not come to an end: look at less of the output, or use a simpler pattern.',
  isOfJob: true,
  again: true,
};
const ended: Loss = { message: 'The server is being stopped.', isOfJob: false, again: false };

/** Signals with which a process ends itself: V8 has no memory left, or has lost its way. */
const own = new Map<NodeJS.Signals, string>([
  ['SIGABRT', tooLarge],
  ['SIGTRAP', crashed],
  ['SIGILL', crashed],
  ['SIGSEGV', crashed],
  ['SIGBUS', crashed],
]);
/** Of a process of V8's without memory, where it ends without a signal. */
const abortCode = 134;

/** What a judge ended of that had a job: 0 and the other signals are somebody else's doing. */
function lossOf(code: number | null, signal: NodeJS.Signals | null): Loss {
  const message =
    signal !== null ? own.get(signal) : code === abortCode ? tooLarge : code !== 0 ? crashed : undefined;
  return message === undefined ? killed : { message, isOfJob: true, again: false };
}

function unanswered({ type }: Job, { message, isOfJob }: Loss): Answer['outcome'] {
  if (type === 'check')
    return { type: 'unsound', message: isOfJob ? message : `${message} Try again.`, line: 1, column: null };
  return isOfJob
    ? { type: 'failed', message }
    : { type: 'unjudged', message: `${message} That says nothing about the condition.` };
}
