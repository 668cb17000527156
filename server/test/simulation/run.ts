/**
 * Owns: one simulated life, from a seed or from a list of moves; and the shortest life that breaks the same law.
 */
import type { LawId, Violation } from './laws.ts';
import { kinds, type Move } from './moves.ts';
import { comeToRest } from './quiet.ts';
import { createWorld, type World, type WorldOptions } from './world.ts';

export interface Life {
  readonly violation: Violation | null;
  readonly crashes: number;
  /** How many times a process came to the edge of a commit, a claim or an effect, before all went well. */
  readonly edges: number;
  /** Of these, in making the workstream. */
  readonly born: number;
}

/** The same life, losing its process at every edge in turn. */
export async function* dyingEverywhere(
  moves: readonly Move[],
): AsyncGenerator<Life & { readonly dieAt: number }> {
  const { edges } = await live(moves);
  for (let dieAt = 1; dieAt <= edges; dieAt += 1) yield { ...(await live(moves, { dieAt })), dieAt };
}

/** The same life; its process stands still at every edge in turn, and another takes its place before it wakes. */
export async function* takenOverEverywhere(
  moves: readonly Move[],
): AsyncGenerator<Life & { readonly standAt: number }> {
  const { edges, born } = await live(moves);
  for (let standAt = born + 1; standAt <= edges; standAt += 1)
    yield { ...(await live(moves, { standAt })), standAt };
}

/** Lives until the first law does not hold, or to the end. */
export async function live(moves: readonly Move[], options: WorldOptions = {}): Promise<Life> {
  const world = await createWorld(options);
  const result = (): Life => ({
    violation: world.violation,
    crashes: world.crashes,
    edges,
    born,
  });
  const born = world.trap.visits;
  let edges = 0;
  for (const move of moves) {
    world.note(`▸ ${move.do}`);
    await kinds[move.do].play(world, move.n);
    await world.scheduler.drain();
    world.check();
    if (world.violation) return result();
  }
  edges = world.trap.visits;
  if (options.standAt !== undefined) await takeOver(world);
  await comeToRest(world);
  if (!world.violation) options.atRest?.(world);
  return result();
}

/** Longer than a session lasts, and until who looks after turns has looked. */
const takenOverMs = 40_000;

async function takeOver(world: World): Promise<void> {
  const stands = (['a', 'b'] as const).find((id) => world.node(id)?.process.suspended);
  if (!stands) return;
  world.start(stands === 'a' ? 'b' : 'a');
  await world.scheduler.advance(takenOverMs, true, 5);
}

/** Leaves out moves as long as the same law still breaks, for at most `withinMs` of real time. */
export async function shrink(
  moves: readonly Move[],
  law: LawId,
  options: WorldOptions,
  withinMs: number,
): Promise<readonly Move[]> {
  const until = performance.now() + withinMs;
  let path = moves;
  for (let size = Math.ceil(path.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    let again = true;
    while (again) {
      again = false;
      for (let from = 0; from < path.length;) {
        if (performance.now() > until) return path;
        const shorter = [...path.slice(0, from), ...path.slice(from + size)];
        const { violation } = await live(shorter, options);
        if (violation?.law === law) {
          path = shorter;
          again = size === 1;
        } else from += size;
      }
    }
  }
  return path;
}

/** What happens on a path, line by line. */
export async function tell(moves: readonly Move[], options: WorldOptions = {}): Promise<readonly string[]> {
  const lines: string[] = [];
  await live(moves, { ...options, trace: (line) => lines.push(line) });
  return lines;
}
