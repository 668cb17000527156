/** Owns: the model a workstream is set to, read from its configuration and written into it, as a whole. */
import type { Configuration, ModelChoice } from 'schema/projection';

export const choiceOf = ({ model, temperature, effort }: Configuration): ModelChoice => ({
  alias: model,
  temperature: temperature ?? null,
  effort: effort ?? null,
});

/** The configuration with this choice in place of the one it has. */
export function withChoice(configuration: Configuration, choice: ModelChoice): Configuration {
  const { temperature: _temperature, effort: _effort, ...others } = configuration;
  return {
    ...others,
    model: choice.alias,
    ...(choice.temperature === null ? {} : { temperature: choice.temperature }),
    ...(choice.effort === null ? {} : { effort: choice.effort }),
  };
}
