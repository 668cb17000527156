/**
 * Measures what watches cost a server, and whether their polls are on time: 5,000 active watches of 1,000 workstreams, each
 * due every 60 s, every other one with a condition, on one server with its embedded PostgreSQL that syncs. A part of a round
 * of 60 s is lived through, then nothing is due, then all is. Linux only: the time a process used is read from /proc.
 *
 * Beside it the limit, in the same run: a process that does nothing but start the same command at the same pace, and as
 * fast as it can; and of the idle server the same one once it has no watches.
 *
 * Prints one JSON object a line. `phase` "pace": polls at the pace of the round; `lateMs` is from when a poll was due to
 * when it began, `commandMs` from there to its output, `cpuMs` the time of the server's own process for one poll. "burst":
 * polls in a second when all are due. "idle": nothing is due; `cpuPercent` of one core, of the server and of its database.
 * At last {bench, watches, polls, lateP99Ms, cpuPercent, ratio, load}; `ratio`: ours to the limit's, 1 would be free.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readdirSync } from 'node:fs';
import { loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { connect, type Connection } from '../../server/test/support/database.ts';
import { newKey, type Api } from '../support/api.ts';
import { embeddedDatabaseOf, embeddedServerOf, startWeir } from '../support/weir.ts';

const paceSeconds = Number(process.argv[2] ?? 20);
const watches = 5_000;
/** As many as a workstream may have. */
const watchesEach = 5;
const everySeconds = 60;
const idleSeconds = 6;
const burstSeconds = 2;
const limitSeconds = 4;
/** As many as the server runs at once. */
const concurrency = 16;
/** Of a few milliseconds, and its output stays the same. */
const command = 'uname -s';

const began = performance.now();

if (process.argv[2] === 'limit') await limit();
else await bench();

async function bench(): Promise<void> {
  progress('starting the server');
  const weir = await startWeir();
  const db = await connect(embeddedDatabaseOf(weir.place));
  try {
    progress(`making ${watches} watches`);
    await make(weir.api(await weir.signIn()), db);
    const database = embeddedServerOf(weir.place)!;

    progress(`a round of ${everySeconds} s, the first ${paceSeconds} s of it`);
    const due = await spread(db);
    const before = cpuMsOf(weir.pid);
    await delay(paceSeconds * 1_000 + 1_000);
    const polls = await polled(db);
    const paceCpuMs = cpuMsOf(weir.pid) - before;
    const { at: endedAt } = await rest(db);
    const late = lateness(due, polls, endedAt);
    const ours = {
      polls: late.length,
      lateMs: spreadOf(late),
      commandMs: spreadOf([...polls.values()].map((poll) => poll.durationMs)),
      cpuMs: round(paceCpuMs / polls.size),
    };
    say({ phase: 'pace', ...ours });

    progress('nothing is due');
    await delay(1_000);
    const idle = await idleCpu(weir.pid, database);
    say({ phase: 'idle', watches, ...idle });

    progress('everything is due');
    await db.sql('update watch set next_poll_at = statement_timestamp()');
    const burst = await pollsWithin(db, burstSeconds);
    await db.sql('delete from watch');
    say({ phase: 'burst', pollsPerSecond: burst });

    progress('there are no watches any more');
    await delay(1_000);
    const bareIdle = await idleCpu(weir.pid, database);
    say({ phase: 'idle', watches: 0, ...bareIdle });

    progress('the limit: the command alone');
    const bare = await runLimit();
    say({ phase: 'limit', ...bare });
    say({
      watches,
      polls: ours.polls,
      lateP99Ms: ours.lateMs.p99,
      cpuPercent: idle.cpuPercent,
      ratio: {
        late: round(ours.lateMs.p99 / bare.lateMs.p99),
        command: round(ours.commandMs.p50 / bare.commandMs.p50),
        cpu: round(ours.cpuMs / bare.cpuMs),
        burst: round(bare.pollsPerSecond / burst),
      },
      load: round(loadavg()[0]!),
    });
  } finally {
    progress('ending');
    await db.end();
    await weir.remove();
    progress('ended');
  }
}

// ---- the watches ----

/** A workstream with as many watches as it may have, as a person makes them; then copies of it. */
async function make(api: Api, db: Connection): Promise<void> {
  const workstreamId = await api.create();
  for (let i = 0; i < watchesEach; i += 1) {
    const condition = i % 2 === 0 ? 'exit_code != 0 || output.contains("changed")' : null;
    const every = `${everySeconds}s`;
    const { data, errors } = await api.query<{ answer: { readonly message?: string } }>(
      `mutation ($input: CreateWatchInput!) { answer: createWatch(input: $input) { ... on Rejection { message } } }`,
      { input: { key: newKey(), workstreamId, command, condition, every, maxPolls: 10_000, repeat: true } },
    );
    if (!data || data.answer.message !== undefined)
      throw new Error(`a watch was not made: ${data?.answer.message ?? JSON.stringify(errors)}`);
  }
  // What polls read of them, which is not their journal. Nobody has loaded them.
  const others = watches / watchesEach - 1;
  await db.sql(
    `insert into workstream select (jsonb_populate_record(w, jsonb_build_object('id', w.id || '-' || n,
       'incarnation', w.id || '-' || n, 'owner_session_id', null))).* from workstream w, generate_series(1, $1) n`,
    [others],
  );
  await db.sql(
    `insert into watch select (jsonb_populate_record(t, jsonb_build_object('id', t.id || '-' || n,
       'workstream_id', t.workstream_id || '-' || n))).* from watch t, generate_series(1, $1) n`,
    [others],
  );
}

/** Due one after the other, evenly over a round that begins in a second; answers when each is, milliseconds since 1970. */
async function spread(db: Connection): Promise<ReadonlyMap<string, number>> {
  const rows = await db.sql<{ id: string; due: number }>(
    `update watch t set next_poll_at = statement_timestamp() + (1 + place * $1::float8 / $2) * interval '1 second'
     from (select id, row_number() over (order by md5(id)) - 1 as place from watch) p where p.id = t.id
     returning t.id, (extract(epoch from next_poll_at) * 1000)::float8 as due`,
    [everySeconds, watches],
  );
  if (rows.length !== watches) throw new Error(`there are ${rows.length} watches`);
  return new Map(rows.map((row) => [row.id, row.due]));
}

/** Nothing is due in the next hour. */
async function rest(db: Connection): Promise<{ readonly at: number }> {
  await db.sql(`update watch set next_poll_at = statement_timestamp() + interval '1 hour'`);
  const rows = await db.sql<{ at: number }>(
    `select (extract(epoch from statement_timestamp()) * 1000)::float8 as at`,
  );
  return rows[0]!;
}

interface Poll {
  readonly id: string;
  /** When it began, milliseconds since 1970. */
  readonly at: number;
  readonly durationMs: number;
}

async function polled(db: Connection): Promise<ReadonlyMap<string, Poll>> {
  const rows = await db.sql<Poll & { poll: number; error: string | null; exit: number | null }>(
    `select watch_id as id, poll, (extract(epoch from at) * 1000)::float8 as at, duration_ms::float8 as "durationMs",
       error, exit_code as exit from watch_poll`,
  );
  const bad = rows.find(({ poll, error, exit }) => poll !== 1 || error !== null || exit !== 0);
  if (bad) throw new Error(`a poll is not as it should be: ${JSON.stringify(bad)}`);
  return new Map(rows.map((row) => [row.id, row]));
}

/** Of all that was due, less the last second; one that did not begin is late by what has passed at least. */
function lateness(
  due: ReadonlyMap<string, number>,
  polls: ReadonlyMap<string, Poll>,
  endedAt: number,
): readonly number[] {
  const counted = [...due].filter(([, at]) => at < endedAt - 1_500);
  const missing = counted.filter(([id]) => !polls.has(id)).length;
  if (missing > 0) progress(`${missing} polls of ${counted.length} did not begin`);
  return counted.map(([id, at]) => Math.max(0, (polls.get(id)?.at ?? endedAt) - at));
}

async function pollsWithin(db: Connection, seconds: number): Promise<number> {
  const count = async (): Promise<number> =>
    (await db.sql<{ n: number }>('select count(*)::int as n from watch_poll'))[0]!.n;
  const before = await count();
  const from = performance.now();
  await delay(seconds * 1_000);
  const after = await count();
  return round(((after - before) / (performance.now() - from)) * 1_000);
}

// ---- the limit ----

interface Limit {
  readonly polls: number;
  readonly lateMs: Spread;
  readonly commandMs: Spread;
  readonly cpuMs: number;
  readonly pollsPerSecond: number;
}

async function runLimit(): Promise<Limit> {
  const child = spawn(process.execPath, [import.meta.filename, 'limit'], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const [figures] = (await once(child, 'message')) as [Limit];
  return figures;
}

/** In a process of its own: the command and its output, when a timer says so, and then as fast as it goes. */
async function limit(): Promise<void> {
  const late: number[] = [];
  const took: number[] = [];
  const run = async (): Promise<void> => {
    const from = performance.now();
    const child = spawn('/bin/sh', ['-c', command], { stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.resume();
    child.stderr.resume();
    await once(child, 'close');
    took.push(performance.now() - from);
  };
  const intervalMs = (everySeconds * 1_000) / watches;
  const running: Promise<void>[] = [];
  const before = process.cpuUsage();
  const from = performance.now();
  for (let i = 0; performance.now() - from < limitSeconds * 1_000; i += 1) {
    const due = from + i * intervalMs;
    const wait = due - performance.now();
    if (wait > 0) await delay(wait);
    late.push(performance.now() - due);
    running.push(run());
  }
  await Promise.all(running);
  const used = process.cpuUsage(before);
  const [lateMs, commandMs] = [spreadOf(late), spreadOf(took)];

  const burstFrom = performance.now();
  const until = burstFrom + burstSeconds * 1_000;
  let ran = 0;
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      for (; performance.now() < until; ran += 1) await run();
    }),
  );
  const figures: Limit = {
    polls: late.length,
    lateMs,
    commandMs,
    cpuMs: round((used.user + used.system) / 1_000 / late.length),
    pollsPerSecond: round((ran / (performance.now() - burstFrom)) * 1_000),
  };
  process.send!(figures, () => process.exit(0));
}

// ---- figures ----

async function idleCpu(server: number, database: number) {
  const before = { at: performance.now(), server: cpuMsOf(server), database: cpuMsOfAll(database) };
  await delay(idleSeconds * 1_000);
  const took = performance.now() - before.at;
  return {
    cpuPercent: round(((cpuMsOf(server) - before.server) / took) * 100),
    databaseCpuPercent: round(((cpuMsOfAll(database) - before.database) / took) * 100),
  };
}

/** User and system time of a process so far, without that of others it started; a tick is 10 ms. */
function cpuMsOf(pid: number): number {
  const fields = statOf(pid);
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * 10;
}

/** Of a process and those it started; what of them has ended is counted with it. */
function cpuMsOfAll(pid: number): number {
  const children = readdirSync('/proc').filter(
    (name) => /^\d+$/.test(name) && statOf(name)[1] === String(pid),
  );
  const ended = statOf(pid)
    .slice(13, 15)
    .reduce((sum, ticks) => sum + Number(ticks) * 10, 0);
  return [pid, ...children.map(Number)].reduce((sum, one) => sum + cpuMsOf(one), ended);
}

/** The fields after the name: state, parent, …; none of one that is gone. */
function statOf(pid: number | string): readonly string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}

interface Spread {
  readonly p50: number;
  readonly p99: number;
}

function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (q: number): number =>
    round(sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0);
  return { p50: at(0.5), p99: at(0.99) };
}

function say(line: Readonly<Record<string, unknown>>): void {
  console.log(JSON.stringify({ bench: 'watches', ...line }));
}

function progress(line: string): void {
  console.error(`${((performance.now() - began) / 1_000).toFixed(1)} s: ${line}`);
}

function round(n: number): number {
  return Number(n.toFixed(2));
}
