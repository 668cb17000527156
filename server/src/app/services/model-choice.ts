/** Owns: whether a model that somebody asks for can be chosen. */
import type { ModelChoice } from 'schema/projection';
import type { InvalidInput } from 'schema/outcome';
import { quote } from '../../core/kit/quote.ts';
import type { Model } from '../../ports/model.ts';
import { invalid } from '../views/refusals.ts';

/** Temperatures that endpoints take. */
const maxTemperature = 2;

/** The choice, or why it cannot be made. `alias` null: the default model. */
export function chooseModel(
  model: Model,
  asked: {
    readonly alias: string | null;
    readonly temperature: number | null;
    readonly effort: ModelChoice['effort'];
  },
): { readonly type: 'chosen'; readonly choice: ModelChoice } | InvalidInput {
  const { alias, temperature, effort } = asked;
  const all = model.list();
  const chosen = all.find((m) => (alias === null ? m.isDefault : m.alias === alias));
  if (!chosen)
    return invalid(
      'model',
      `There is no model named ${quote(alias ?? '(default)')}. Choose one of: ${all.map((m) => m.alias).join(', ')}.`,
    );
  if (temperature !== null && !(temperature >= 0 && temperature <= maxTemperature))
    return invalid('temperature', `A temperature is a number from 0 to ${maxTemperature}.`);
  return { type: 'chosen', choice: { alias: chosen.alias, temperature, effort } };
}
