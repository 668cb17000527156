/** Owns: commands to watches, each under a key of its own and repeated until it is accepted or refused. */
import type { VariablesOf } from 'gql.tada';
import { createIntent, type Outcome } from './intent.ts';
import {
  cancelWatch,
  createWatch,
  pauseWatch,
  resumeWatch,
  runWatchNow,
  updateWatch,
} from './operations/watches.ts';
import type { Pace } from './persist.ts';
import type { Transport } from './transport.ts';
import { watchOf } from './wire.ts';
import type { Watch } from '../projection/index.ts';

type InputOf<D, Known extends string> = Omit<VariablesOf<D>['input' & keyof VariablesOf<D>], 'key' | Known>;

export interface WatchCommands {
  /** Durations are text, as `30s`, `5m` or `PT5M`. Its first poll is an interval later. */
  create(workstreamId: string, watch: InputOf<typeof createWatch, 'workstreamId'>): Promise<Outcome<Watch>>;
  /** What is left out stays; `seen` is the watch as it was when that was decided. */
  update(
    workstreamId: string,
    seen: Pick<Watch, 'id' | 'version'>,
    changes: InputOf<typeof updateWatch, 'workstreamId' | 'watchId' | 'version'>,
  ): Promise<Outcome<Watch>>;
  pause(workstreamId: string, watchId: string): Promise<Outcome<Watch>>;
  resume(workstreamId: string, watchId: string): Promise<Outcome<Watch>>;
  /** Resumes it, too, if it is paused. */
  runNow(workstreamId: string, watchId: string): Promise<Outcome<Watch>>;
  cancel(workstreamId: string, watchId: string): Promise<Outcome<Watch>>;
}

export function watchCommands(deps: { readonly transport: Transport; readonly pace: Pace }): WatchCommands {
  const change =
    (
      document: typeof pauseWatch | typeof resumeWatch | typeof runWatchNow | typeof cancelWatch,
    ): WatchCommands['pause'] =>
    async (workstreamId, watchId) =>
      made(await createIntent(deps, document as typeof pauseWatch, { workstreamId, watchId }).run());
  return {
    create: async (workstreamId, watch) =>
      made(await createIntent(deps, createWatch, { ...watch, workstreamId }).run()),
    update: async (workstreamId, { id: watchId, version }, changes) =>
      made(await createIntent(deps, updateWatch, { ...changes, workstreamId, watchId, version }).run()),
    pause: change(pauseWatch),
    resume: change(resumeWatch),
    runNow: change(runWatchNow),
    cancel: change(cancelWatch),
  };
}

const made = (outcome: Outcome<{ readonly watch: Parameters<typeof watchOf>[0] }>): Outcome<Watch> =>
  outcome.type === 'Accepted' ? { type: 'Accepted', payload: watchOf(outcome.payload.watch) } : outcome;
