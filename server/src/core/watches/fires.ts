/**
 * Owns: what becomes of a fire in its workstream (D-84): written down as a SYSTEM entry, and said to the model in a turn of
 * who approved the watch.
 *
 * Invariants: a fire is written down once, whoever tells it and how often; nothing of a watch that has ended meanwhile is;
 * a turn of another author hears of none (D-12); beyond `maxDepth` it is written down and starts nothing (D-85); after a
 * turn that failed or was stopped it waits for the next one; fires that wait together start one turn; those of one watch are
 * written down in the order of its polls, whoever edited it in between. Of those of one watch that wait the first and the
 * latest are kept, and each end; the next one that is written down says how many were not.
 */
import {
  hasFailed,
  liveTurn,
  maxDepth,
  watchSource,
  type Fire,
  type Watch,
  type WatchDefinition,
} from 'schema/projection';
import { admit, patch, type StepDraft } from '../step-draft.ts';
import { startTurnOn } from '../turn/start.ts';
import { fireCapacity } from './definition.ts';
import { fireAsTold } from './message.ts';
import { ended, watchesOf, writeWatch } from './watch.ts';

/** Told by the round, at a load, or once more: never a later poll of a watch without the earlier ones that still wait. */
export function watchesFired(draft: StepDraft, fires: readonly Fire[]): StepDraft {
  if (draft.state.projection.lifecycle !== 'OPEN') return draft;
  const waiting = draft.state.fires;
  const fresh = fires.filter(
    (fire, i) =>
      isDue(draft, fire) && ![...waiting, ...fires.slice(0, i)].some((other) => isSame(other, fire)),
  );
  if (fresh.length === 0) return draft;
  const heard = patch(draft, { fires: bounded([...waiting, ...fresh]) });
  return liveTurn(draft.state.projection) || draft.state.closing ? heard : deliver(heard);
}

/**
 * Without a live turn: all of one author in one turn; the others wait until that is over, and with them what their watches
 * said later, as who edited one of them meanwhile.
 */
export function deliver(draft: StepDraft): StepDraft {
  const due = dueIn(draft);
  const first = due.find(startsTurn);
  const rests = hasFailed(draft.state.projection) || !first;
  if (rests) return due.reduce(writeDown, patch(draft, { fires: [] }));
  const isHis = (fire: Fire): boolean => fire.author.id === first.author.id;
  const before = (fire: Fire): readonly Fire[] =>
    due.filter((other) => other.watchId === fire.watchId && other.poll < fire.poll && !isHis(other));
  const lastOfOthers = Math.max(0, ...before(first).map(({ poll }) => poll));
  // They start nothing, so that there is nothing to wait for; his own among them keep their place.
  const silent = due.filter(({ watchId, poll }) => watchId === first.watchId && poll <= lastOfOthers);
  if (silent.length > 0)
    return deliver(
      silent.reduce(writeDown, patch(draft, { fires: due.filter((fire) => !silent.includes(fire)) })),
    );
  const now = due.filter((fire) => isHis(fire) && before(fire).length === 0);
  const later = due.filter((fire) => !now.includes(fire));
  const depth = Math.max(...now.filter(startsTurn).map((fire) => fire.depth));
  return startTurnOn(patch(draft, { fires: later }), { author: first.author, depth }, (d) =>
    now.reduce(writeDown, d),
  );
}

/** As the outbox bounds them: what that left out meanwhile may be here still. */
const bounded = (fires: readonly Fire[]): readonly Fire[] =>
  fires.filter((fire) => {
    const others = fires.filter(({ watchId }) => watchId === fire.watchId);
    const isLatest = others.every(({ poll }) => poll <= fire.poll);
    return fire.ended || isLatest || others.filter(({ poll }) => poll < fire.poll).length < fireCapacity - 1;
  });

const startsTurn = (fire: Fire): boolean => fire.depth <= maxDepth;

/** After a turn that failed or was stopped: kept for the next one. */
export const storeFires = (draft: StepDraft): StepDraft =>
  dueIn(draft).reduce(writeDown, patch(draft, { fires: [] }));

/** Those of one watch in the order of its polls: a later one that is written down first would hide the earlier. */
const dueIn = (draft: StepDraft): readonly Fire[] =>
  draft.state.fires.filter((fire) => isDue(draft, fire)).toSorted((a, b) => a.poll - b.poll);

const watchOf = (draft: StepDraft, fire: Fire): Watch | undefined =>
  watchesOf(draft).find((watch) => watch.id === fire.watchId);

const isDue = (draft: StepDraft, fire: Fire): boolean => {
  const watch = watchOf(draft, fire);
  return watch !== undefined && fire.poll > watch.lastFire;
};

const isSame = (a: Fire, b: Fire): boolean => a.watchId === b.watchId && a.poll === b.poll;

function writeDown(draft: StepDraft, fire: Fire): StepDraft {
  const watch = watchOf(draft, fire);
  if (!watch) return draft;
  // Not what the outbox left out: some of that may have been here, and told.
  const whole: Fire = { ...fire, skipped: Math.max(0, fire.firesBefore - watch.firesTold) };
  const said = admit(draft, { kind: 'SYSTEM', text: fireAsTold(whole), source: watchSource, fire: whole });
  const firesTold = fire.firesBefore + (endOf(fire) === 'FIRED' ? 1 : 0);
  const told: Watch = { ...watch, lastFire: fire.poll, firesTold, due: null };
  // Edited meanwhile, it waits for something else, and goes on. A deadline has no poll of its own, so that nothing could
  // be told apart from it any more.
  const ends =
    fire.ended && (fire.reason === 'DEADLINE' || isSameDefinition(fire.definition, watch.definition));
  return writeWatch(said, ends ? ended(told, endOf(fire)) : told);
}

const isSameDefinition = (a: WatchDefinition, b: WatchDefinition): boolean =>
  (Object.keys(b) as (keyof WatchDefinition)[]).every((part) => a[part] === b[part]);

const endOf = ({ reason }: Fire): 'FIRED' | Exclude<Fire['reason'], 'CONDITION' | 'CHANGE'> =>
  reason === 'CONDITION' || reason === 'CHANGE' ? 'FIRED' : reason;
