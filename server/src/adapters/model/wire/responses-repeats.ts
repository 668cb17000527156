/**
 * Owns: which delta of the responses API is one that came before. All other events may be told again anyway.
 *
 * Invariant: a delta is taken for a repeat only by its number, and only where numbers mean something: some servers give
 * all events the same one, or begin anew.
 */
import { textOf, type Json } from './json.ts';

/** Whether an event is a delta that came before under the same number. For the events of one answer. */
export function createRepeats(): (type: string, event: Json) => boolean {
  const said = new Map<number, string>();
  let numbered = true;
  return (type, event) => {
    const number = event['sequence_number'];
    if (!numbered || typeof number !== 'number') return false;
    const text = `${type} ${textOf(event['item_id'])} ${textOf(event['delta'])}`;
    const before = said.get(number);
    if (before === undefined) said.set(number, text);
    else if (before !== text) {
      numbered = false;
      said.clear();
    }
    return before === text && said.size > 1 && type.endsWith('.delta');
  };
}
