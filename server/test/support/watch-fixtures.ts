/** Owns: watches, and what came of their polls, for the tests of where they are kept. */
import type { EntryBody, Fire, Watch, WatchDefinition } from 'schema/projection';
import type { ClaimedPoll, PollOutcome } from '../../src/ports/watches.ts';
import { ada, at, randomId } from '../adapters/storage/fixtures.ts';

const definition: WatchDefinition = {
  name: 'a watch',
  command: 'date',
  condition: null,
  everySeconds: 60,
  maxPolls: 100,
  deadline: null,
  repeat: true,
  instruction: null,
};

/** One that is due at once, but for what is said otherwise. */
export const watchOf = (
  more: Partial<Omit<Watch, 'definition'>> & { readonly definition?: Partial<WatchDefinition> } = {},
): Watch => {
  const id = more.id ?? randomId();
  return {
    id,
    version: 1,
    status: 'ACTIVE',
    pausedBy: null,
    end: null,
    author: ada,
    depth: 1,
    createdAt: at,
    lastFire: 0,
    firesTold: 0,
    due: 'NOW',
    ...more,
    definition: { ...definition, name: id.slice(0, 8), ...more.definition },
  };
};

export const says = (said: Watch): EntryBody => ({ kind: 'WATCH', watch: said });

export const fireOf = (claim: ClaimedPoll, more: Partial<Fire> = {}): Fire => ({
  watchId: claim.watchId,
  poll: claim.poll,
  reason: 'CHANGE',
  ended: false,
  definition: claim.definition,
  elapsedSeconds: 9,
  exitCode: 0,
  output: 'new',
  error: null,
  author: claim.author,
  depth: claim.depth,
  firesBefore: claim.fires,
  skipped: 0,
  ...more,
});

export const outcomeOf = (claim: ClaimedPoll, more: Partial<PollOutcome> = {}): PollOutcome => ({
  claim,
  durationMs: 5,
  exitCode: 0,
  output: `output of ${claim.poll}`,
  error: null,
  errors: 0,
  fire: null,
  ...more,
});
