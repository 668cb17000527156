/**
 * Owns: the command line of the deterministic simulation (`server/test/simulation`).
 *
 *   pnpm sim [--runs N] [--seed S]     N lives from seed S on
 *   pnpm sim --guards                  each guard switched off in turn: some law must fail
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
  args: argv.slice(2),
  options: {
    runs: { type: 'string', default: '1000' },
    seed: { type: 'string', default: '1' },
    guards: { type: 'boolean', default: false },
    /** For `--guards` itself: a guard by its number, and whether only its hazard is there. */
    without: { type: 'string' },
    hazard: { type: 'boolean', default: false },
  },
});
const runs = count('runs', values.runs);
const seed = count('seed', values.seed);
/** Real time for making the path of a failure shorter, milliseconds. */
const shrinkMs = 30_000;

if (values.guards) exit(await tryGuards());
else if (values.without !== undefined) await missOne(guards[count('without', values.without)]!);
else exit(await simulate());

function count(name: string, text: string): number {
  const n = Number(text);
  if (Number.isSafeInteger(n) && n >= 0) return n;
  console.error(`--${name} takes a whole number, not "${text}".`);
  exit(2);
}

async function simulate(): Promise<number> {
  const { live, shrink, tell } = await import('../server/test/simulation/run.ts');
  const { movesOf } = await import('../server/test/simulation/moves.ts');
  const { laws } = await import('../server/test/simulation/laws.ts');
  let crashes = 0;
  let violations = 0;
  for (let n = seed; n < seed + runs; n += 1) {
    const life = await live(movesOf(n));
    crashes += life.crashes;
    if (!life.violation) continue;
    violations += 1;
    const { law, detail } = life.violation;
    console.error(`\n✗ seed ${n}: ${law} ${laws[law]}\n  ${detail}`);
    // One path is enough to begin with; the others are had again by their seeds.
    if (violations > 1) continue;
    const path = await shrink(movesOf(n), law, shrinkMs);
    console.error(`\n  ${path.length} moves that show it, and what happens:\n`);
    for (const line of await tell(path)) console.error(`    ${line}`);
    console.error(`\n  ${JSON.stringify(path)}`);
  }
  console.log(`sim: ${runs} runs, ${crashes} crashes, ${violations} violations, seed ${seed}`);
  return violations === 0 ? 0 : 1;
}

/** Lives without a guard until a law fails, and says which. */
async function missOne(guard: Guard): Promise<void> {
  loadChanged([...(guard.hazard ?? []), ...(values.hazard ? [] : guard.without)]);
  const { live } = await import('../server/test/simulation/run.ts');
  const { movesOf } = await import('../server/test/simulation/moves.ts');
  for (let n = seed; n < seed + runs; n += 1) {
    const { violation } = await live(movesOf(n), { ignored: guard.beyond ?? [] });
    if (!violation) continue;
    console.log(JSON.stringify({ ...violation, seed: n, runs: n - seed + 1 }));
    return;
  }
}

interface Missed {
  readonly law: string;
  readonly detail: string;
  readonly runs: number;
}

async function tryGuards(): Promise<number> {
  const { laws } = await import('../server/test/simulation/laws.ts');
  const waiting = guards.map((guard, i) => ({ guard, i }));
  let unmissed = 0;
  async function work(): Promise<void> {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { guard, i } = next;
      const missed = await inChild(i, []);
      // The hazard alone must do no harm, or it would be the hazard that is caught.
      const harm = guard.hazard && missed ? await inChild(i, ['--hazard', '--runs', '300']) : null;
      if (missed && !harm) {
        const sentence = laws[missed.law as keyof typeof laws];
        console.log(`✓ ${guard.name}\n    ${missed.law} ${sentence} (run ${missed.runs})`);
      } else {
        unmissed += 1;
        const why = harm
          ? `its hazard alone breaks ${harm.law}: ${harm.detail}`
          : `no law failed in ${runs} runs`;
        console.log(`✗ ${guard.name}\n    ${why}`);
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
function inChild(guard: number, more: readonly string[]): Promise<Missed | null> {
  return new Promise((resolve, reject) => {
    const args = [
      import.meta.filename,
      '--without',
      String(guard),
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
      if (code !== 0) reject(new Error(`The simulation without guard ${guard} ended with status ${code}.`));
      else resolve(out === '' ? null : (JSON.parse(out) as Missed));
    });
  });
}
