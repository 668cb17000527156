/** Owns: instructions and token budget of a workstream, as they are typed and as the server takes them (D-33). Pure. */
import { isBlank, type Configuration } from 'schema/projection';
import type { Problem } from '../../lib/action.svelte.ts';
import { tokensInFull } from '../models/model-words.ts';

/** As it stands in the fields. An empty budget is none. */
export interface Bounds {
  readonly instructions: string;
  readonly budget: string;
}

/** For a workstream that is made; null: none. */
export interface ChosenBounds {
  readonly instructions: string | null;
  readonly tokenBudget: number | null;
}

/** For one that is there; null: as it is, empty and 0: none. */
export type BoundsChange = ChosenBounds;

export const unbound: Bounds = { instructions: '', budget: '' };

type Set = Pick<Configuration, 'instructions' | 'tokenBudget'>;

export const boundsOf = ({ instructions, tokenBudget }: Set): Bounds => ({
  instructions: instructions ?? '',
  budget: tokenBudget === undefined ? '' : tokensInFull(tokenBudget),
});

const LONGEST = 20_000;
const LEAST = 1_000;
/** The largest integer of GraphQL. */
const MOST = 2 ** 31 - 1;

/** Null: none. Thousands may be parted by commas, points, apostrophes or spaces. */
export function budgetOf(
  text: string,
): { readonly ok: true; readonly value: number | null } | { readonly ok: false } {
  const trimmed = text.trim();
  if (trimmed === '') return { ok: true, value: null };
  if (!/^\d+$|^\d{1,3}(?:[,.'’\s]\d{3})+$/.test(trimmed)) return { ok: false };
  const value = Number(trimmed.replace(/\D/g, ''));
  if (value === 0) return { ok: true, value: null };
  return value >= LEAST && value <= MOST ? { ok: true, value } : { ok: false };
}

/** How much of the instructions is written. */
export const lengthWords = (instructions: string): string =>
  `${tokensInFull(instructions.length)} of ${tokensInFull(LONGEST)} characters`;

const wrong = (field: string, message: string): Problem => ({ message, field, unsettled: false, code: null });

/** What is wrong with what stands there; null where it can be. */
export const instructionsProblem = ({ instructions }: Bounds): Problem | null =>
  instructions.length > LONGEST
    ? wrong(
        'instructions',
        `That is more than ${tokensInFull(LONGEST)} characters. Put the rest into AGENTS.md in the folder of the workstream.`,
      )
    : null;

export const budgetProblem = ({ budget }: Bounds): Problem | null =>
  budgetOf(budget).ok
    ? null
    : wrong(
        'tokenBudget',
        `Write a whole number from ${tokensInFull(LEAST)} to ${tokensInFull(MOST)}, or leave it empty for none.`,
      );

/** Null: what stands in the fields cannot be. */
export function chosenBounds(bounds: Bounds): ChosenBounds | null {
  const budget = budgetOf(bounds.budget);
  if (!budget.ok || instructionsProblem(bounds)) return null;
  const { instructions } = bounds;
  return { instructions: isBlank(instructions) ? null : instructions, tokenBudget: budget.value };
}

/** What to change of what is set; `nothing` where it is so already, null where it cannot be. */
export function boundsChange(bounds: Bounds, set: Set): BoundsChange | 'nothing' | null {
  const chosen = chosenBounds(bounds);
  if (!chosen) return null;
  const instructions =
    chosen.instructions === (set.instructions ?? null) ? null : (chosen.instructions ?? '');
  const tokenBudget = chosen.tokenBudget === (set.tokenBudget ?? null) ? null : (chosen.tokenBudget ?? 0);
  return instructions === null && tokenBudget === null ? 'nothing' : { instructions, tokenBudget };
}
