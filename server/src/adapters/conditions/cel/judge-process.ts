/**
 * Owns: the process in which conditions are judged, one at a time. It is a process and not a thread, for a thread that
 * runs out of memory in the middle of one large allocation takes the whole server with it (`FATAL ERROR`, abort).
 *
 * Invariants: a job ends after `judgeMs` of processor time, also when nobody is left who would end it; it is gone when
 * the server is. It is started with an empty environment, without the right to write, to start anything, or to load
 * code that is not JavaScript, and without `__proto__`.
 */
import { Script } from 'node:vm';
import { checkCondition, judgeCondition } from './judge.ts';
import { conditionLanguage } from './language.ts';
import { judgeMs, ready, tooSlow, type Answer, type Job } from './protocol.ts';

const language = conditionLanguage();
/** A busy machine may have given it little of those 200 ms: then it is tried again, a few times. */
const maxTries = 5;

let job: Job;
const slot: { run(): Answer['outcome'] } = {
  run: () =>
    job.type === 'check'
      ? checkCondition(language, job.expression)
      : judgeCondition(language, job.expression, job.facts),
};
// A script can be stopped from outside in its midst, a function cannot; it knows only what is global.
Object.assign(globalThis, { judged: slot });
const script = new Script('judged.run()');

function answer(): Answer {
  let spentMs = 0;
  for (let tries = 0; tries < maxTries; tries += 1) {
    const before = process.threadCpuUsage();
    try {
      return { outcome: script.runInThisContext({ timeout: judgeMs }) as Answer['outcome'], tired: false };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    }
    const { user, system } = process.threadCpuUsage(before);
    const triedMs = (user + system) / 1_000;
    spentMs += triedMs;
    if (triedMs > judgeMs / 2 || spentMs > judgeMs) break;
  }
  const outcome: Answer['outcome'] =
    job.type === 'check'
      ? { type: 'unsound', message: tooSlow, line: 1, column: null }
      : { type: 'failed', message: tooSlow };
  return { outcome, tired: true };
}

process.on('message', (asked: Job) => {
  job = asked;
  process.send?.(answer());
});
// The terminal's, for the whole group: the server ends its judges itself, after what it still wants to know.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined);
process.on('disconnect', () => process.exit(0));
process.send?.(ready);
