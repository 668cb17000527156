/** Owns: watches and what they say, for scenarios. */
import type { Author, Fire, Watch, WatchDefinition } from 'schema/projection';
import type { Command } from '../../../src/core/inputs.ts';
import type { Step } from '../../../src/core/step.ts';
import { ann, type World } from './world.ts';

export const definitionOf = (over: Partial<WatchDefinition> = {}): WatchDefinition => ({
  name: 'build',
  command: 'make status',
  condition: 'exit_code == 0',
  everySeconds: 30,
  maxPolls: 100,
  deadline: null,
  repeat: false,
  instruction: null,
  ...over,
});

/** By a person, over the API. */
export const make = (w: World, over: Partial<WatchDefinition> = {}, by: Author = ann): Step =>
  w.command(by, { type: 'createWatch', definition: definitionOf(over) });

export const change = (
  w: World,
  name: string,
  what: Extract<Command, { readonly type: 'changeWatch' }>['change'],
): Step => w.command(ann, { type: 'changeWatch', watchId: watchIn(w, name).id, change: what });

/** One that has not ended. */
export function watchIn(w: World, name = 'build'): Watch {
  const found = w.state.projection.watches.find(({ definition }) => definition.name === name);
  if (!found) throw new Error(`The test expects a watch ${name}, and there is none.`);
  return found;
}

/** What the runner finds at a poll of it, as it is now. */
export function fireOf(watch: Watch, over: Partial<Fire> = {}): Fire {
  const { id, definition, author, depth } = watch;
  return {
    watchId: id,
    poll: 1,
    reason: 'CONDITION',
    ended: !definition.repeat,
    definition,
    elapsedSeconds: 30,
    exitCode: 0,
    output: `output of ${definition.name}`,
    error: null,
    author,
    depth,
    firesBefore: (over.poll ?? 1) - 1,
    skipped: 0,
    ...over,
  };
}

export const fired = (w: World, ...fires: readonly Fire[]): Step =>
  w.tell({ epoch: w.state.epoch, generation: null }, { type: 'watchesFired', fires });
