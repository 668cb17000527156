/**
 * Owns: what holds of every journal, whatever happened, as a list of what is broken. Read from outside: it knows
 * entries as the API gives them, and nothing of how they came about.
 */
import type { Entry, EntryOf, EntryKind } from 'schema/projection';

/** `settled`: no turn lives any more, so that every call must be answered. */
export function brokenLaws(
  entries: readonly Entry[],
  options: { readonly settled: boolean },
): readonly string[] {
  return [
    ...gaps(entries),
    ...repeats(
      'entry id',
      entries.map((e) => e.id),
    ),
    ...falling('epoch', entries),
    ...falling('generation', entries),
    ...calls(entries, options.settled),
    ...turns(entries, options.settled),
  ];
}

export const ofKind = <K extends EntryKind>(entries: readonly Entry[], kind: K): readonly EntryOf<K>[] =>
  entries.filter((e): e is EntryOf<K> => e.kind === kind);

/** Revisions are 1..n (D-53). */
const gaps = (entries: readonly Entry[]): readonly string[] =>
  entries.flatMap((e, i) => (e.revision === i + 1 ? [] : [`entry ${i + 1} has revision ${e.revision}`]));

const falling = (field: 'epoch' | 'generation', entries: readonly Entry[]): readonly string[] =>
  entries.flatMap((e, i) =>
    i > 0 && e[field] < entries[i - 1]![field] ? [`${field} falls at revision ${e.revision}`] : [],
  );

/** Every declared call gets exactly one TOOL entry, in call order, and starts and ends at most once (D-35, I37). */
function calls(entries: readonly Entry[], settled: boolean): readonly string[] {
  const declared = ofKind(entries, 'ASSISTANT').flatMap((e) => e.calls.map((c) => c.callId));
  const answered = ofKind(entries, 'TOOL').map((e) => e.callId);
  const once = (['TOOL_STARTED', 'TOOL_SETTLED', 'TOOL'] as const).flatMap((kind) => {
    const ids = ofKind(entries, kind).map((e) => e.callId);
    const strangers = ids.filter((id) => !declared.includes(id)).map((id) => `${kind} of undeclared ${id}`);
    return [...repeats(`${kind} of call`, ids), ...strangers];
  });
  const inOrder = answered.every((id, i) => id === declared[i]) || once.length > 0;
  return [
    ...repeats('declared call', declared),
    ...once,
    ...(inOrder ? [] : [`TOOL entries are not in call order: ${answered.join()} for ${declared.join()}`]),
    ...(settled
      ? declared.filter((id) => !answered.includes(id)).map((id) => `call ${id} has no TOOL entry`)
      : []),
  ];
}

/** One live turn at a time; a settled one never changes; the last one is settled (D-30, D-32). */
function turns(entries: readonly Entry[], settled: boolean): readonly string[] {
  const ended = new Set<string>();
  let live: string | null = null;
  const broken = ofKind(entries, 'TURN').flatMap(({ revision, turn }) => {
    const found: string[] = [];
    if (ended.has(turn.id)) found.push(`settled turn ${turn.id} changes at revision ${revision}`);
    if (live !== null && live !== turn.id) found.push(`turn ${turn.id} begins beside ${live}`);
    if (turn.outcome) ended.add(turn.id);
    live = turn.outcome ? null : turn.id;
    return found;
  });
  return settled && live !== null ? [...broken, `turn ${String(live)} never ended`] : broken;
}

function repeats(what: string, values: readonly string[]): readonly string[] {
  const seen = new Set<string>();
  return values.flatMap((value) => {
    const again = seen.has(value);
    seen.add(value);
    return again ? [`${what} ${value} is there twice`] : [];
  });
}
