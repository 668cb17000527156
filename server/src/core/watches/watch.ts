/**
 * Owns: making, changing and ending the watches of a workstream (D-80). How its polls go is kept beside the journal.
 *
 * Invariants: at most `watchCapacity` that have not ended, their names unique; who makes or edits one is whose credentials
 * its turns run on; an edit begins its cadence anew.
 */
import type { Author, Watch, WatchDefinition, WatchEnd } from 'schema/projection';
import { refuse, type CoreRefusal } from '../refusals.ts';
import { admit, mint, type StepDraft } from '../step-draft.ts';
import { watchCapacity } from './definition.ts';

type Made = { readonly type: 'made'; readonly draft: StepDraft; readonly watch: Watch };

export const watchesOf = (draft: StepDraft): readonly Watch[] => draft.state.projection.watches;

export function makeWatch(
  draft: StepDraft,
  definition: WatchDefinition,
  { author, depth }: { readonly author: Author; readonly depth: number },
): Made | CoreRefusal {
  const others = watchesOf(draft);
  if (others.length >= watchCapacity) return refuse({ code: 'WATCH_LIMIT', capacity: watchCapacity });
  const name = definition.name === '' ? freeName(others) : definition.name;
  if (others.some((other) => other.definition.name === name))
    return refuse({ code: 'WATCH_NAME_TAKEN', name });
  const [d, id] = mint(draft);
  const watch: Watch = {
    id,
    version: 1,
    definition: { ...definition, name },
    status: 'ACTIVE',
    pausedBy: null,
    end: null,
    author,
    depth,
    createdAt: d.at,
    lastFire: 0,
    firesTold: 0,
    due: 'LATER',
  };
  return { type: 'made', draft: writeWatch(d, watch), watch };
}

/** `version`: that of the definition the caller saw. */
export function editWatch(
  draft: StepDraft,
  watchId: string,
  {
    version,
    definition,
    author,
  }: { readonly version: number; readonly definition: WatchDefinition; readonly author: Author },
): Made | CoreRefusal {
  const known = byId(draft, watchId);
  if (!known) return gone(draft);
  if (known.version !== version) return refuse({ code: 'STALE_WATCH', version: known.version });
  const name = definition.name === '' ? known.definition.name : definition.name;
  const others = watchesOf(draft).filter((other) => other !== known);
  if (others.some((other) => other.definition.name === name))
    return refuse({ code: 'WATCH_NAME_TAKEN', name });
  const watch: Watch = {
    ...known,
    version: version + 1,
    definition: { ...definition, name },
    author,
    // Made by a person over the API, as it is now.
    depth: 1,
    due: known.status === 'ACTIVE' ? 'LATER' : null,
  };
  return { type: 'made', draft: writeWatch(draft, watch), watch };
}

export function changeWatch(
  draft: StepDraft,
  watchId: string,
  change: 'PAUSE' | 'RESUME' | 'RUN_NOW' | 'CANCEL',
): Made | CoreRefusal {
  const known = byId(draft, watchId);
  if (!known) return gone(draft);
  const watch = changed(known, change);
  return { type: 'made', draft: watch === known ? draft : writeWatch(draft, watch), watch };
}

function changed(watch: Watch, change: 'PAUSE' | 'RESUME' | 'RUN_NOW' | 'CANCEL'): Watch {
  switch (change) {
    case 'PAUSE':
      return watch.status === 'PAUSED'
        ? watch
        : { ...watch, status: 'PAUSED', pausedBy: 'PERSON', due: null };
    case 'RESUME':
      return watch.status === 'ACTIVE' ? watch : { ...watch, status: 'ACTIVE', pausedBy: null, due: 'NOW' };
    case 'RUN_NOW':
      return { ...watch, status: 'ACTIVE', pausedBy: null, due: 'NOW' };
    case 'CANCEL':
      return ended(watch, 'CANCELED');
  }
}

export const ended = (watch: Watch, end: WatchEnd): Watch => ({
  ...watch,
  status: 'ENDED',
  pausedBy: null,
  end,
  due: null,
});

/** With the workstream (D-23): what was paused by a person stays so. */
export const pauseAll = (draft: StepDraft): StepDraft =>
  watchesOf(draft)
    .filter((watch) => watch.status === 'ACTIVE')
    .reduce(
      (d, watch) => writeWatch(d, { ...watch, status: 'PAUSED', pausedBy: 'CLOSED', due: null }),
      draft,
    );

/** Exactly those that closing paused, one overdue poll each. */
export const resumeAll = (draft: StepDraft): StepDraft =>
  watchesOf(draft)
    .filter((watch) => watch.pausedBy === 'CLOSED')
    .reduce((d, watch) => writeWatch(d, { ...watch, status: 'ACTIVE', pausedBy: null, due: 'NOW' }), draft);

export const writeWatch = (draft: StepDraft, watch: Watch): StepDraft =>
  admit(draft, { kind: 'WATCH', watch });

/** As people command it: what bears its id as a name is another one. */
const byId = (draft: StepDraft, watchId: string): Watch | undefined =>
  watchesOf(draft).find(({ id }) => id === watchId);

/** As the model calls it: by its id, or by its name. */
export const find = (draft: StepDraft, watch: string): Watch | undefined =>
  byId(draft, watch) ?? watchesOf(draft).find(({ definition }) => definition.name === watch);

const gone = (draft: StepDraft): CoreRefusal =>
  refuse({ code: 'WATCH_NOT_FOUND', watchIds: watchesOf(draft).map(({ id }) => id) });

function freeName(others: readonly Watch[]): string {
  const taken = new Set(others.map(({ definition }) => definition.name));
  let number = 1;
  while (taken.has(`watch-${number}`)) number += 1;
  return `watch-${number}`;
}
