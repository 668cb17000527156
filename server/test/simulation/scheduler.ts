/**
 * Owns: what happens next in a simulated world. Everything asynchronous (a call to the database, its answer, a word of
 * a model, a timer) is a task here; nothing happens until a move takes it, in whatever order the moves say.
 *
 * Invariants: no real time and no real chance: the same moves give the same world; a dead process takes nothing more,
 * a suspended one takes it when it wakes; timers of one process run in the order they fall due.
 */
import type { Clock } from '../../src/ports/clock.ts';
import { createChance } from './chance.ts';

/** One life of a server process, as the world sees it. */
export interface Process {
  /** `a1` is the first process of node `a`. */
  readonly name: string;
  readonly nodeId: string;
  readonly host: string;
  alive: boolean;
  suspended: boolean;
  /** Its connections to the database lead nowhere. */
  cutOff: boolean;
}

interface Task {
  /** Whose code runs; null for the world outside. */
  readonly of: Process | null;
  /** Who asked for it, when it is the world outside. */
  readonly from: Process | null;
  readonly what: string;
  readonly run: () => void;
}

interface Timer extends Task {
  readonly at: number;
}

export interface Scheduler {
  now(): number;
  /** Something that will happen inside a process. */
  later(of: Process, what: string, run: () => void): void;
  /** Something a process sent out; it happens whatever becomes of the process, unless `forget` takes it back. */
  send(from: Process, what: string, run: () => void): void;
  /** A call of the world outside answers in a later turn of the event loop; nothing else happens until it has. */
  during<T>(work: Promise<T>): Promise<T>;
  /** Drops what this process sent out and has not arrived, where `drop` says so. */
  forget(from: Process, drop: (index: number) => boolean): void;
  clockOf(of: Process, skewMs: number): Clock;
  /** Does one thing that can happen now; false when there is none. */
  step(n: number): Promise<boolean>;
  /** Does up to `count` things, in the order `n` gives. */
  flow(n: number, count: number): Promise<void>;
  /** Moves time on; due timers run. `flowing`: so does everything else, as in a quick world. */
  advance(ms: number, flowing: boolean, n: number): Promise<void>;
  /** Lets promises settle. */
  drain(): Promise<void>;
}

/** More things than a world that comes to rest ever does in a row. */
const endless = 5_000;

export function createScheduler(note: (what: string) => void): Scheduler {
  let time = Date.UTC(2026, 0, 1);
  let tasks: readonly Task[] = [];
  let timers: readonly Timer[] = [];
  let inside = 0;

  const canRun = (task: Task): boolean => task.of === null || (task.of.alive && !task.of.suspended);

  /** The first timer due of each process, and everything else that can happen. */
  function ready(): readonly Task[] {
    const first = new Map<Process | null, Timer>();
    for (const timer of timers) {
      if (timer.at > time || !canRun(timer)) continue;
      const known = first.get(timer.of);
      if (!known || timer.at < known.at) first.set(timer.of, timer);
    }
    return [...tasks.filter(canRun), ...first.values()];
  }

  async function drain(): Promise<void> {
    do await new Promise<void>((resolve) => setImmediate(resolve));
    while (inside > 0);
  }

  async function take(task: Task): Promise<void> {
    tasks = tasks.filter((t) => t !== task && t.of?.alive !== false);
    timers = timers.filter((t) => t !== task && t.of?.alive !== false);
    note(task.what);
    task.run();
    await drain();
  }

  async function step(n: number): Promise<boolean> {
    const all = ready();
    const task = all[n % Math.max(1, all.length)];
    if (!task) return false;
    await take(task);
    return true;
  }

  async function flow(n: number, count: number): Promise<void> {
    const chance = createChance(n);
    await drain();
    for (let i = 0; i < count; i += 1) if (!(await step(Math.floor(chance() * 1_000_000)))) return;
    if (count >= endless) throw new Error('The world does not come to rest.');
  }

  async function advance(ms: number, flowing: boolean, n: number): Promise<void> {
    const end = time + ms;
    for (;;) {
      if (flowing) await flow(n, endless);
      else await runDue();
      const next = Math.min(...timers.filter(canRun).map((timer) => timer.at));
      if (next > end) break;
      time = Math.max(time, next);
    }
    time = end;
  }

  async function runDue(): Promise<void> {
    for (;;) {
      const due = timers.filter((timer) => timer.at <= time && canRun(timer));
      const first = due.reduce<Timer | null>((best, t) => (best && best.at <= t.at ? best : t), null);
      if (!first) return;
      await take(first);
    }
  }

  return {
    now: () => time,
    later(of, what, run) {
      if (of.alive) tasks = [...tasks, { of, from: null, what, run }];
    },
    send(from, what, run) {
      tasks = [...tasks, { of: null, from, what, run }];
    },
    async during(work) {
      inside += 1;
      try {
        return await work;
      } finally {
        inside -= 1;
      }
    },
    forget(from, drop) {
      let index = 0;
      tasks = tasks.filter((task) => task.of !== from && (task.from !== from || !drop(index++)));
      timers = timers.filter((timer) => timer.of !== from);
    },
    clockOf: (of, skewMs) => ({
      now: () => time + skewMs,
      after(ms, f) {
        if (!of.alive) return () => undefined;
        const timer = {
          at: time + Math.max(0, ms),
          of,
          from: null,
          what: `${of.name}: a timer of ${ms} ms`,
          run: f,
        };
        timers = [...timers, timer];
        return () => {
          timers = timers.filter((t) => t !== timer);
        };
      },
    }),
    step,
    flow,
    advance,
    drain,
  };
}
