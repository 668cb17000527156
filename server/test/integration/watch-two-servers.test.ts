/**
 * Owns: two real servers on one database that poll the same watches: each due poll is run once, by one of them, also when
 * one of them is killed in the middle of some (D-81, D-84, D-100). Does not own: the SQL of a claim (`adapters/storage`).
 *
 * What ran is told by the commands themselves, each in a file of its watch: that one began, that it was over, and whose it
 * was. When it did is the database's to say, whose clock made it due: another one, or the same one set meanwhile, is off by
 * more than a poll is late. WATCH_SECONDS says how long they race, 20 s at the least: two rounds of the shortest interval
 * there is; 120 is the full length. WATCHES says how many there are. Linux only: what a dead server left running is read
 * from /proc.
 */
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { newKey } from '../../../e2e/support/api.ts';
import { watchCapacity } from '../../src/core/watches/definition.ts';
import { processesIn } from '../../../e2e/support/weir.ts';
import { setBench, type Bench } from './support.ts';

/** The shortest interval there is (D-80). */
const leastSeconds = 10;
const seconds = Math.max(2 * leastSeconds, Number(process.env['WATCH_SECONDS'] ?? 2 * leastSeconds));
const count = Number(process.env['WATCHES'] ?? (seconds >= 60 ? 200 : 40));
const everyMs = leastSeconds * 1_000;
/** By so much the clock of a machine may be set while they race. */
const slackMs = 1_000;

let bench: Bench;
let folder: string;

beforeEach(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'weir-polls-')));
  bench = await setBench();
}, 120_000);
afterEach(async () => {
  await bench.end();
  rmSync(folder, { recursive: true, force: true });
}, 120_000);

interface Run {
  readonly session: string;
  readonly call: string;
  /** It came to its end. */
  readonly over: boolean;
}

const fileOf = (name: string): string => join(folder, name);

/** Writes when it begins and that it is over, by nothing but the shell; between them waits for the gate of its server. */
const commandOf = (name: string): string => `
echo "begun $WEIR_SESSION $WEIR_CALL_ID" >> ${fileOf(name)}
while [ -e ${fileOf('gate')}-$WEIR_SESSION ]; do sleep 0.1; done
echo "over $WEIR_SESSION $WEIR_CALL_ID" >> ${fileOf(name)}`;

/** Makes so many watches, which nobody polls yet, of workstreams that no server has loaded. `root`: below it they run. */
async function makeWatches(
  wanted: number,
): Promise<{ readonly names: readonly string[]; readonly root: string }> {
  const { weir, api } = await bench.join();
  const names: string[] = [];
  while (names.length < wanted) {
    const workstreamId = await api.create();
    for (let i = 0; i < watchCapacity && names.length < wanted; i += 1) {
      const name = `watch-${names.length}`;
      const { data } = await api.query<{ answer: { readonly message?: string } }>(
        `mutation ($input: CreateWatchInput!) { answer: createWatch(input: $input) { ... on Rejection { message } } }`,
        {
          input: {
            key: newKey(),
            workstreamId,
            name,
            command: commandOf(name),
            every: '1h',
            repeat: true,
            maxPolls: 10_000,
          },
        },
      );
      expect(data?.answer).toEqual({});
      names.push(name);
    }
  }
  // What it has loaded is nobody's after that, and was not polled by it: only now is the interval the short one.
  await weir.stop();
  await bench.database.sql('update watch set every_seconds = $1', [leastSeconds]);
  return { names, root: realpathSync(weir.place.root) };
}

/** Makes them due, one after the other over one interval from now on; answers when, milliseconds since 1970. */
async function makeDue(): Promise<ReadonlyMap<string, number>> {
  const rows = await bench.database.sql<{ name: string; due: number }>(
    `update watch t set next_poll_at = statement_timestamp() + (1000 + place * $1::float8 / $2) * interval '1 millisecond'
     from (select id, row_number() over (order by md5(id)) - 1 as place from watch) p where p.id = t.id
     returning name, (extract(epoch from next_poll_at) * 1000)::float8 as due`,
    [everyMs, count],
  );
  return new Map(rows.map(({ name, due }) => [name, due]));
}

/** Nothing is due any more, and nothing under way. */
async function rest(): Promise<void> {
  await bench.database.sql(`update watch set next_poll_at = now() + interval '1 hour'`);
  await vi.waitFor(
    async () => {
      const claimed = await bench.database.sql('select id from watch where lease_until is not null');
      expect(claimed).toEqual([]);
    },
    { timeout: 60_000, interval: 100 },
  );
}

const pollsOf = async (): Promise<ReadonlyMap<string, number>> => {
  const rows = await bench.database.sql<{ name: string; n: number; last: number }>(
    `select name, count(p.poll)::int as n, coalesce(max(p.poll), 0) as last from watch t
     left join watch_poll p on p.watch_id = t.id group by t.id, name`,
  );
  for (const { name, n, last } of rows) expect({ name, last }).toEqual({ name, last: n });
  return new Map(rows.map(({ name, n }) => [name, n]));
};

/** When the polls of each watch began, one after the other; milliseconds since 1970 by the database's clock. */
async function begunOf(): Promise<ReadonlyMap<string, readonly number[]>> {
  const rows = await bench.database.sql<{ name: string; begun: readonly number[] }>(
    `select name, array_agg((extract(epoch from p.at) * 1000)::float8 order by p.poll) as begun
     from watch t join watch_poll p on p.watch_id = t.id group by t.id, name`,
  );
  return new Map(rows.map(({ name, begun }) => [name, begun]));
}

async function sessions(): Promise<readonly string[]> {
  const rows = await bench.database.sql<{ id: string }>('select id from node_session where ended_at is null');
  return rows.map(({ id }) => id);
}

/** What ran of a watch, one after the other. Throws when one began before another was over, unless that was of `killed`. */
function runsOf(name: string, killed: string | null = null): readonly Run[] {
  let text: string;
  try {
    text = readFileSync(fileOf(name), 'utf8');
  } catch {
    return [];
  }
  const runs: Run[] = [];
  for (const line of text.trimEnd().split('\n')) {
    const [what, session, call] = line.split(' ') as [string, string, string];
    const last = runs.at(-1);
    if (what === 'begun') {
      if (last && !last.over && last.session !== killed) throw new Error(`${name}: two at once\n${text}`);
      runs.push({ session, call, over: false });
    } else {
      if (!last || last.over || last.call !== call) throw new Error(`${name}: over and not begun\n${text}`);
      runs[runs.length - 1] = { ...last, over: true };
    }
  }
  return runs;
}

const percentile = (values: readonly number[], q: number): number =>
  Math.round(
    values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(q * values.length))] ?? 0,
  );

describe.runIf(process.platform === 'linux')('Two servers on one database', () => {
  it('run every due poll once, and none twice (D-81)', { timeout: seconds * 1_000 + 180_000 }, async () => {
    const { names } = await makeWatches(count);
    await Promise.all([bench.join(), bench.join()]);
    const both = await sessions();
    expect(both).toHaveLength(2);
    const due = await makeDue();
    const rounds = Math.floor(seconds / leastSeconds);
    await vi.waitFor(
      async () => expect(Math.min(...(await pollsOf()).values())).toBeGreaterThanOrEqual(rounds),
      { timeout: seconds * 1_000 + 60_000, interval: 500 },
    );
    await rest();

    const [polls, begun] = [await pollsOf(), await begunOf()];
    const ran = names.map((name) => ({ name, runs: runsOf(name) }));
    const late: number[] = [];
    for (const { name, runs } of ran) {
      expect({ name, ran: runs.length, over: runs.every((run) => run.over) }).toEqual({
        name,
        ran: polls.get(name),
        over: true,
      });
      // One for each time it was due, at that time or after it, and before the next: none too early, none left out.
      const since = begun.get(name)!.map((at) => at - due.get(name)!);
      expect({ name, slots: since.map((ms) => Math.floor((ms + slackMs) / everyMs)) }).toEqual({
        name,
        slots: since.map((_, i) => i),
      });
      late.push(...since.map((ms, i) => Math.max(0, ms - i * everyMs)));
    }
    const all = ran.flatMap(({ runs }) => runs);
    expect(new Set(all.map((run) => run.call)).size).toBe(all.length);
    const shares = both.map((session) => all.filter((run) => run.session === session).length);
    expect(Math.min(...shares)).toBeGreaterThan(0);
    expect(shares[0]! + shares[1]!).toBe(all.length);
    console.log(
      `${names.length} watches, ${seconds} s: ${all.length} polls, ${shares.join(' and ')} by each server, ` +
        `late by ${percentile(late, 0.5)} ms (p50), ${percentile(late, 0.99)} ms (p99), ${percentile(late, 1)} ms at most`,
    );
  });

  it(
    'lose one in the middle of polls: the other runs those when the session is over, and records none twice (D-70, D-84, D-100)',
    { timeout: 240_000 },
    async () => {
      const { names, root } = await makeWatches(count);
      const other = await bench.join();
      const [lives] = await sessions();
      const victim = await bench.join();
      const dies = (await sessions()).find((session) => session !== lives)!;
      writeFileSync(`${fileOf('gate')}-${dies}`, '');
      await makeDue();
      const underWay = () => names.filter((name) => runsOf(name).at(-1)?.session === dies);
      await vi.waitFor(() => expect(underWay().length).toBeGreaterThanOrEqual(3), {
        timeout: 60_000,
        interval: 100,
      });
      await victim.weir.kill('SIGKILL');
      const lost = underWay();
      const before = await pollsOf();
      expect(lost.map((name) => runsOf(name).at(-1)!.session)).toEqual(lost.map(() => dies));
      // What 20 s without a heartbeat would say, said now.
      await bench.database.sql(
        `update node_session set expires_at = now() - interval '1 second' where id = $1`,
        [dies],
      );
      await vi.waitFor(
        async () => {
          const polls = await pollsOf();
          for (const name of names) expect(polls.get(name)).toBeGreaterThan(before.get(name)!);
        },
        { timeout: 90_000, interval: 200 },
      );
      await rest();
      expect(other.weir.isRunning()).toBe(true);

      const polls = await pollsOf();
      for (const name of names) {
        const runs = runsOf(name, dies);
        const over = runs.filter((run) => run.over);
        expect({ name, recorded: polls.get(name) }).toEqual({ name, recorded: over.length });
        expect({ name, cut: runs.length - over.length }).toEqual({ name, cut: lost.includes(name) ? 1 : 0 });
        expect(over.every((run) => run.session === lives)).toBe(true);
        expect(new Set(runs.map((run) => run.call)).size).toBe(runs.length);
      }
      // The commands of the dead wait at its gate for ever: who looks after it ends them.
      await vi.waitFor(() => expect(processesIn(root)).toEqual([]), { timeout: 60_000, interval: 200 });
      console.log(
        `${lost.length} polls were under way when their server was killed; the other recorded ${[...polls.values()].reduce((a, b) => a + b)}`,
      );
    },
  );
});
