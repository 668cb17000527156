/** Owns: what may be chosen of a model, as it is typed and as the server takes it. Pure. */
import type { Model } from 'schema/client-kit';
import type { Configuration, Effort, ModelChoice } from 'schema/projection';

/** As it stands in the fields; empty: as the model is set up. */
export interface Tuning {
  readonly effort: Effort | '';
  readonly temperature: string;
}

export const untuned: Tuning = { effort: '', temperature: '' };

export const tuningOf = ({ effort, temperature }: Pick<Configuration, 'temperature' | 'effort'>): Tuning => ({
  effort: effort ?? '',
  temperature: temperature === undefined ? '' : String(temperature),
});

/** The most that endpoints take. */
const HOTTEST = 2;

/** Null: as it is set up. A comma will do. */
export function temperatureOf(
  text: string,
): { readonly ok: true; readonly value: number | null } | { readonly ok: false } {
  const trimmed = text.trim();
  if (trimmed === '') return { ok: true, value: null };
  if (!/^\d*[.,]?\d+$|^\d+[.,]$/.test(trimmed)) return { ok: false };
  const value = Number(trimmed.replace(',', '.'));
  return value <= HOTTEST ? { ok: true, value } : { ok: false };
}

export const temperatureProblem = 'Write a number from 0 to 2, or leave it empty.';

/** With what the other model does not know left to how it is set up. */
export const tuningFor = (tuning: Tuning, model: Pick<Model, 'efforts'> | null): Tuning => ({
  ...tuning,
  effort: tuning.effort !== '' && model?.efforts.includes(tuning.effort) ? tuning.effort : '',
});

/** Null: what stands in the fields cannot be. */
export function choiceOf(alias: string, { effort, temperature }: Tuning): ModelChoice | null {
  const read = temperatureOf(temperature);
  return read.ok ? { alias, temperature: read.value, effort: effort || null } : null;
}

/** Whether it is chosen so already. */
export const isChosen = (choice: ModelChoice, { model, temperature, effort }: Configuration): boolean =>
  choice.alias === model &&
  choice.temperature === (temperature ?? null) &&
  choice.effort === (effort ?? null);
