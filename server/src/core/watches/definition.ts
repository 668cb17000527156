/**
 * Owns: the definition of a watch (D-80), whoever asks for it: a model by its tool, a person by the API.
 * Does not own: what its fields may be (`schema/projection`, which a form has, too), whether its condition is sound (the
 * `Conditions` port), or its command may run (`approvals/denied.ts`).
 */
import {
  parseDuration,
  usualPolls,
  watchProblems,
  type AskedWatch,
  type WatchDefinition,
  type WatchProblem,
} from 'schema/projection';

export { mostPolls, usualPolls, watchCapacity, type AskedWatch } from 'schema/projection';

/** Fires of a watch that wait together, at most, ends not counted: the first ones, and the latest. */
export const fireCapacity = 5;

export type Defined =
  /** `lasts`: seconds until its deadline, which the definition has not yet (`endingAfter`); null: it has none. */
  | { readonly type: 'defined'; readonly definition: WatchDefinition; readonly lasts: number | null }
  | ({ readonly type: 'refused' } & WatchProblem);

/** The first of what is wrong is refused. An empty name is left for who makes it to choose, and the deadline for when that is. */
export function defineWatch(asked: AskedWatch): Defined {
  const [wrong] = watchProblems(asked);
  if (wrong) return { type: 'refused', ...wrong };
  const condition = asked.condition?.trim() ?? '';
  const instruction = asked.instruction?.trim() ?? '';
  return {
    type: 'defined',
    definition: {
      name: (asked.name ?? '').trim(),
      command: asked.command.trim(),
      condition: condition === '' ? null : condition,
      everySeconds: Math.round(secondsIn(asked.every)),
      maxPolls: asked.maxPolls ?? usualPolls,
      deadline: null,
      repeat: asked.repeat,
      instruction: instruction === '' ? null : instruction,
    },
    lasts: asked.deadline === null ? null : secondsIn(asked.deadline),
  };
}

/** Of a duration that is none of the problems. */
function secondsIn(text: string): number {
  const duration = parseDuration(text);
  if (duration.type === 'refused') throw new Error(duration.problem);
  return duration.seconds;
}

/** With its deadline, made or edited `at`, milliseconds since 1970. */
export const endingAfter = (
  definition: WatchDefinition,
  lasts: number | null,
  at: number,
): WatchDefinition => ({
  ...definition,
  deadline: lasts === null ? null : new Date(at + lasts * 1_000).toISOString(),
});
