/**
 * Owns: the command line of the deterministic simulation (`server/test/simulation`).
 *
 *   pnpm sim [--runs N] [--seed S]     N lives from seed S on
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
    runs: { type: 'string', default: '1000' },
    seed: { type: 'string', default: '1' },
    everywhere: { type: 'boolean', default: false },
    guards: { type: 'boolean', default: false },
    without: { type: 'string' },
    /** Only the danger that a guard stands against, with the guard in place. */
    hazard: { type: 'boolean', default: false },
    /** One line of JSON about the first law that failed, and nothing else. */
    brief: { type: 'boolean', default: false },
  },
});
const runs = count('runs', values.runs);
const seed = count('seed', values.seed);
/** Real time for making the path of a failure shorter, milliseconds. */
const shrinkMs = 30_000;

const guard = values.without === undefined ? null : guardOf(count('without', values.without));
if (guard) loadChanged([...(guard.hazard ?? []), ...(values.hazard ? [] : guard.without)]);
const ignored = guard?.beyond ?? [];
exit(values.guards ? await tryGuards() : values.brief ? await failOnce() : await simulate());

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
    console.error(`\n  ${path.length} moves that show it, and what happens:\n`);
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
      const missed = await inChild(n, []);
      // The hazard alone must do no harm, or it would be the hazard that is caught.
      const harm = one.hazard && missed ? await inChild(n, ['--hazard', '--runs', '300']) : null;
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

/** In a process of its own, so that its changes stay there. */
function inChild(n: number, more: readonly string[]): Promise<Missed | null> {
  return new Promise((resolve, reject) => {
    const args = [
      import.meta.filename,
      '--brief',
      '--without',
      String(n),
      '--seed',
      String(seed),
      '--runs',
      String(runs),
      ...more,
    ];
    const child = spawn(execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    let out = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => void (out += text));
    child.on('error', reject);
    child.on('close', (code) => {
      if (code !== 0) reject(new Error(`The simulation without guard ${n} ended with status ${code}.`));
      else resolve(out === '' ? null : (JSON.parse(out) as Missed));
    });
  });
}
