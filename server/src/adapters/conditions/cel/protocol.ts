/** Owns: what is said between the server and the process that judges. Everything in it is structured data. */
import type { ConditionCheck, ConditionFacts, Verdict } from '../../../ports/conditions.ts';

export type Job =
  | { readonly type: 'check'; readonly expression: string }
  | { readonly type: 'judge'; readonly expression: string; readonly facts: ConditionFacts };

/** `tired`: it ran into its limit of time, and should not be given another one. */
export interface Answer {
  readonly outcome: ConditionCheck | Verdict;
  readonly tired: boolean;
}

export const ready = 'ready';

/** Of processor time, for one job (D-83). */
export const judgeMs = 200;
/** Of heap, for one process (D-83). */
export const judgeMb = 64;
/** Longest output that is judged: 16 times what a poll keeps. */
export const maxOutput = 1_048_576;
/** As a definition has it at most (`core/watches/definition.ts`). */
export const maxExpression = 4_000;

export const tooSlow = `It took longer than ${judgeMs} ms: look at less of the output, or use a simpler pattern.`;
export const tooLarge = `It needed more than ${judgeMb} MB: look at less of the output, and build no large lists or texts.`;
export const crashed =
  'It made the process that judges it crash: look at less of the output, or use a simpler condition.';
