/** Owns: how hard a model is asked to think, in the words that it knows. */
import type { Effort } from 'schema/projection';

/** Weakest first. */
const efforts: readonly Effort[] = ['NONE', 'MINIMAL', 'LOW', 'MEDIUM', 'HIGH', 'XHIGH'];

/** The weakest that `known` has and that is not below `wanted`, else its strongest; null: nothing is said. */
export function effortFor(wanted: Effort | null, known: readonly Effort[]): Effort | null {
  if (wanted === null) return null;
  const ranked = efforts.filter((effort) => known.includes(effort));
  return ranked.find((effort) => efforts.indexOf(effort) >= efforts.indexOf(wanted)) ?? ranked.at(-1) ?? null;
}
