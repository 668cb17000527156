/**
 * Owns: short ways to say what a scenario expects of a world.
 */
import { stateOf, type Entry, type EntryKind, type EntryOf, type WorkstreamState } from 'schema/projection';
import { expect } from 'vitest';
import type { World } from './world.ts';

export const shows = (w: World): WorkstreamState => stateOf(w.state.projection);

/** Kinds of the entries after the opening ones. */
export const kinds = (w: World): readonly EntryKind[] => w.journal.slice(2).map((e) => e.kind);

export const all = <K extends EntryKind>(w: World, kind: K): readonly EntryOf<K>[] =>
  w.journal.filter((e: Entry): e is EntryOf<K> => e.kind === kind);

export const last = <K extends EntryKind>(w: World, kind: K): EntryOf<K> => {
  const found = all(w, kind).at(-1);
  if (!found) throw new Error(`The test expects an entry of kind ${kind}, and there is none.`);
  return found;
};

/** How the latest turn ended; null while it lives. */
export const outcome = (w: World) => w.state.projection.turn?.outcome ?? null;

/** What a person said, in order. */
export const said = (w: World): readonly string[] => all(w, 'USER').map((e) => e.text);

export const queued = (w: World): readonly string[] => w.state.projection.queue.items.map((i) => i.text);

/** Ids of the calls of the open batch, in order. */
export const callIds = (w: World): readonly string[] =>
  (w.state.projection.batch?.calls ?? []).map((open) => open.call.callId);

/** Outcome and effect of each call, as the model is told, in order. */
export const results = (w: World): readonly string[] => all(w, 'TOOL').map((e) => `${e.outcome} ${e.effect}`);

/** The model has been asked (once) and is told exactly this at the end. */
export function expectAsked(w: World, ...texts: readonly string[]): void {
  expect(w.modelCalls).toHaveLength(1);
  const told = w.modelCalls[0]!.conversation.map((e) =>
    e.kind === 'TOOL' ? e.content : 'text' in e ? e.text : e.kind,
  );
  expect(told.slice(-texts.length)).toEqual(texts);
}
