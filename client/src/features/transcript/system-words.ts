/** Owns: what the server says to a model in a conversation, named for a person: it is no word of theirs. Pure. */
import { compactionAdvice } from 'schema/projection';

const known: ReadonlyMap<string, string> = new Map([
  [compactionAdvice, 'The server advised the model to wind down, because its context is nearly full'],
  ['COMPACTION_RESUME', 'The server told the model to go on after the summary'],
]);

/** `source`: as its entry has it. What this page does not know is named as it is. */
export const systemWords = (source: string): string =>
  known.get(source) ?? `The server to the model: ${source}`;
