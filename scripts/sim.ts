/**
 * Owns: the command line of the deterministic simulation (`server/test/simulation`).
 *
 *   pnpm sim [--runs N] [--seed S]     N lives from seed S on; over 500 of them are spread over the cores (--jobs J)
 *   pnpm sim --runs 100000 --minutes M begins no more lives after M minutes, and says how many there were
 *   pnpm sim --everywhere              each of them again, losing its process at every commit, claim and effect
 *   pnpm sim --guards                  each guard switched off in turn: some law must fail
 *   pnpm sim --without G               without guard G of that list, to see what happens
 *
 * Ends with `sim: N runs, M crashes, K violations, seed S`; status 1 when a law failed, or a guard was not missed.
 */
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { argv, execPath, exit } from 'node:process';
import { parseArgs } from 'node:util';
import { guards, type Guard } from '../server/test/simulation/guards.ts';
import { loadChanged } from '../server/test/simulation/without.ts';

const { values } = parseArgs({
  // `pnpm sim -- --runs 10` is a habit from npm.
  args: argv.slice(2).filter((arg) => arg !== '--'),
  options: {
    runs: { type: 'string' },
    seed: { type: 'string', default: '1' },
    /** Processes that live at once; as many as there are cores, unless this says otherwise. */
    jobs: { type: 'string' },
    minutes: { type: 'string' },
    everywhere: { type: 'boolean', default: false },
    guards: { type: 'boolean', default: false },
    without: { type: 'string' },
    /** Only the danger that a guard stands against, with the guard in place. */
    hazard: { type: 'boolean', default: false },
    /** One line of JSON about the first law that failed, and nothing else. */
    brief: { type: 'boolean', default: false },
  },
});
/** Most guards are missed in the first few hundred lives; for some of them much has to come together. */
const runs = count('runs', values.runs ?? (values.guards ? '3000' : '1000'));
const seed = count('seed', values.seed);
/** Lives of one process, when there are several. */
const share = 500;
const jobs = values.jobs === undefined ? availableParallelism() : count('jobs', values.jobs);
const minutes = values.minutes === undefined ? Infinity : count('minutes', values.minutes);
/** Real time for making the path of a failure shorter, milliseconds. */
const shrinkMs = 30_000;

const guard = values.without === undefined ? null : guardOf(count('without', values.without));
if (guard) loadChanged([...(guard.hazard ?? []), ...(values.hazard ? [] : guard.without)]);
const ignored = guard?.beyond ?? [];
const many = (runs > share && jobs > 1) || minutes < Infinity;
exit(
  values.guards
    ? await tryGuards()
    : values.brief
      ? await failOnce()
      : many
        ? await spread()
        : await simulate(),
);

function count(name: string, text: string): number {
  const n = Number(text);
  if (Number.isSafeInteger(n) && n >= 0) return n;
  console.error(`--${name} takes a whole number, not "${text}".`);
  exit(2);
}

function guardOf(n: number): Guard {
  const found = guards[n - 1];
  if (found) return found;
  console.error(`There are guards 1 to ${guards.length}; see pnpm sim --guards.`);
  exit(2);
}

async function simulate(): Promise<number> {
  const { dyingEverywhere, live, shrink, tell } = await import('../server/test/simulation/run.ts');
  const { movesOf } = await import('../server/test/simulation/moves.ts');
  const { laws } = await import('../server/test/simulation/laws.ts');
  let lives = 0;
  let crashes = 0;
  let violations = 0;

  async function look(n: number, life: Awaited<ReturnType<typeof live>>, dieAt?: number): Promise<void> {
    lives += 1;
    crashes += life.crashes;
    if (!life.violation) return;
    violations += 1;
    const { law, detail } = life.violation;
    const where = dieAt === undefined ? '' : `, dying at edge ${dieAt}`;
    console.error(`\n✗ seed ${n}${where}: ${law} ${laws[law]}\n  ${detail}`);
    // One path is enough to begin with; the others are had again by their seeds.
    if (violations > 1) return;
    const options = { ignored, ...(dieAt === undefined ? {} : { dieAt }) };
    const path = await shrink(movesOf(n), law, options, shrinkMs);
    const besides = path.length === 0 ? ', besides what every life does' : '';
    console.error(`\n  ${path.length} moves that show it${besides}, and what happens:\n`);
    for (const line of await tell(path, options)) console.error(`    ${line}`);
    console.error(`\n  ${JSON.stringify(path)}`);
  }

  for (let n = seed; n < seed + runs; n += 1) {
    await look(n, await live(movesOf(n), { ignored }));
    if (!values.everywhere) continue;
    for await (const life of dyingEverywhere(movesOf(n))) await look(n, life, life.dieAt);
  }
  console.log(`sim: ${lives} runs, ${crashes} crashes, ${violations} violations, seed ${seed}`);
  return violations === 0 ? 0 : 1;
}

/** The same, in several processes, each with a share of the seeds; says how far it is. */
async function spread(): Promise<number> {
  const until = performance.now() + minutes * 60_000;
  const last = seed + runs;
  let next = seed;
  const sum = { lives: 0, crashes: 0, violations: 0 };
  let told = performance.now();
  async function work(): Promise<void> {
    while (next < last && performance.now() < until) {
      const from = next;
      next = Math.min(last, from + share);
      const args = ['--seed', String(from), '--runs', String(next - from), '--jobs', '1'];
      if (values.everywhere) args.push('--everywhere');
      if (values.without !== undefined) args.push('--without', values.without);
      if (values.hazard) args.push('--hazard');
      const line = await inChild(args, [0, 1]);
      const found = /^sim: (\d+) runs, (\d+) crashes, (\d+) violations, seed \d+$/m.exec(line);
      if (!found) throw new Error(`The lives from seed ${from} on said: ${line}`);
      sum.lives += Number(found[1]);
      sum.crashes += Number(found[2]);
      sum.violations += Number(found[3]);
      if (performance.now() < told + 15_000) continue;
      told = performance.now();
      console.error(`… ${sum.lives} runs, ${sum.violations} violations, seeds to ${next - 1} begun`);
    }
  }
  await Promise.all(Array.from({ length: Math.max(1, jobs) }, work));
  console.log(`sim: ${sum.lives} runs, ${sum.crashes} crashes, ${sum.violations} violations, seed ${seed}`);
  return sum.violations === 0 ? 0 : 1;
}

/** Lives until a law fails, and says which. */
async function failOnce(): Promise<number> {
  const { live } = await import('../server/test/simulation/run.ts');
  const { movesOf } = await import('../server/test/simulation/moves.ts');
  for (let n = seed; n < seed + runs; n += 1) {
    const { violation } = await live(movesOf(n), { ignored });
    if (!violation) continue;
    console.log(JSON.stringify({ ...violation, runs: n - seed + 1 }));
    return 0;
  }
  return 0;
}

interface Missed {
  readonly law: string;
  readonly detail: string;
  readonly runs: number;
}

async function tryGuards(): Promise<number> {
  const { laws } = await import('../server/test/simulation/laws.ts');
  const waiting = guards.map((one, i) => ({ one, n: i + 1 }));
  let unmissed = 0;
  async function work(): Promise<void> {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { one, n } = next;
      const missed = await without(n, []);
      // The hazard alone must do no harm, or it would be the hazard that is caught.
      const harm = one.hazard && missed ? await without(n, ['--hazard', '--runs', '300']) : null;
      if (missed && !harm) {
        const sentence = laws[missed.law as keyof typeof laws];
        console.log(`✓ ${n}. ${one.name}\n    ${missed.law} ${sentence} (run ${missed.runs})`);
      } else {
        unmissed += 1;
        const why = harm
          ? `its hazard alone breaks ${harm.law}: ${harm.detail}`
          : `no law failed in ${runs} runs`;
        console.log(`✗ ${n}. ${one.name}\n    ${why}`);
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(4, availableParallelism()) }, work));
  console.log(
    `sim: ${guards.length} guards, ${guards.length - unmissed} missed when switched off, seed ${seed}`,
  );
  return unmissed === 0 ? 0 : 1;
}

/** Which law fails without the guard; in a process of its own, so that its changes stay there. */
async function without(n: number, more: readonly string[]): Promise<Missed | null> {
  const args = ['--brief', '--without', String(n), '--seed', String(seed), '--runs', String(runs), ...more];
  const out = await inChild(args, [0]);
  return out === '' ? null : (JSON.parse(out) as Missed);
}

/** What a simulation of its own prints; throws when its status is not one of these. */
function inChild(args: readonly string[], statuses: readonly number[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(execPath, [import.meta.filename, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
    let out = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => void (out += text));
    child.on('error', reject);
    child.on('close', (code) => {
      if (statuses.includes(code ?? -1)) resolve(out);
      else reject(new Error(`The simulation with ${args.join(' ')} ended with status ${code}.`));
    });
  });
}
