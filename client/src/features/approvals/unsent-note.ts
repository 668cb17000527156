/** Owns: when a note that was typed for a question has not gone along with its answer. */
import { isBlank } from 'schema/projection';

/** What to show of a note whose question is closed; null when there is none, or `sent` is it. */
export const unsentNote = (typed: string | undefined, sent: string | null): string | null =>
  typed === undefined || isBlank(typed) || typed.trim() === sent?.trim() ? null : typed;
