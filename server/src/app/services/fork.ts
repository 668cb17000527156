/**
 * Owns: going on from a place of another workstream in a new one (D-20): its conversation up to there, as it was told
 * then, with ids of its own: from the summary on, if there was one. Turns, questions, the queue and keys of commands are
 * not copied; the source is not changed.
 *
 * Invariants: a declared call is copied with its result or not at all, nor what came after it (I38); nothing runs in a
 * fork, and nothing is trusted in it, before somebody says so there.
 */
import type { Viewer } from 'schema/model';
import type { InvalidInput, WorkstreamNotFound } from 'schema/outcome';
import type { ForkWorkstream, ForkWorkstreamOutcome } from 'schema/services';
import {
  applyEntry,
  emptyProjection,
  type Configuration,
  type Entry,
  type EntryBody,
  type EntryOf,
  type Span,
} from 'schema/projection';
import { cut } from '../../core/kit/cut.ts';
import { maxTitle } from '../../core/workstream/title.ts';
import type { Catalog, WorkstreamRow } from '../../ports/catalog.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Journal } from '../../ports/journal.ts';
import type { Model } from '../../ports/model.ts';
import { invalid, refusalView } from '../views/refusals.ts';
import { authorOf } from './command.ts';
import { givenTitle, titleProblem } from './commands.ts';
import type { Prepared, Reservation } from './birth.ts';
import { chooseFolder, type CreateDeps } from './create.ts';

export interface ForkDeps extends CreateDeps {
  readonly catalog: Catalog;
  readonly journal: Journal;
  readonly ids: Ids;
}

export async function forkWorkstream(
  deps: ForkDeps,
  by: Viewer,
  input: ForkWorkstream,
  caller: AbortSignal,
): Promise<ForkWorkstreamOutcome> {
  const title = givenTitle(input.title);
  const problem = title === null ? null : titleProblem(title);
  if (problem !== null) return invalid('title', problem);
  return deps.bringIntoBeing({ by, name: 'fork', input, caller }, (reservation) =>
    prepareFork(deps, by, input, title, reservation, caller),
  );
}

async function prepareFork(
  deps: ForkDeps,
  by: Viewer,
  input: ForkWorkstream,
  title: string | null,
  reservation: Reservation,
  signal: AbortSignal,
): Promise<Prepared | InvalidInput | WorkstreamNotFound> {
  const source = await deps.catalog.get(input.workstreamId);
  if (!source) return notFound;
  const revision = input.revision ?? source.revision;
  if (!Number.isSafeInteger(revision) || revision < 1 || revision > source.revision)
    return invalid('revision', `Choose an entry that is stored: 1 to ${source.revision}.`);
  const { configuration } = source.projection;
  let { workspace } = configuration;
  if (input.workspace !== null) {
    const chosen = await chooseFolder(deps.workspaces, reservation, input.workspace);
    if (chosen.type === 'refused') return invalid('workspace', chosen.problem);
    workspace = chosen.path;
  } else await reservation.settleIn(workspace);
  const copied = await conversationAt(deps, source, revision, signal);
  // If it was still there afterwards, whoever deletes it later finds that its folder is in use.
  if (!copied) return notFound;
  const choice = modelOf(configuration, deps.model);
  const opening: Prepared['bodies'] = [
    { kind: 'LIFECYCLE', lifecycle: 'OPEN', by: authorOf(by) },
    {
      kind: 'CONFIGURATION',
      configuration: {
        title: title ?? titleOfFork(configuration.title),
        titleSource: title === null ? 'GENERATED' : 'PERSON',
        ...choice,
        ...ownWords(configuration),
        workspace,
        // Trust was given to the source, by somebody who may be another.
        approvalMode: 'ASK',
        approvalModeBy: authorOf(by),
      },
    },
    { kind: 'FORK', origin: { workstreamId: source.id, title: configuration.title, revision } },
  ];
  const told = withOwnMarks(copied, choice.model, opening.length);
  return { type: 'prepared', bodies: [...opening, ...withOwnIds(told, deps.ids.random128())] };
}

/** A fork of a fork is a further one of the same, not one of "Fork of …"; what is cut is the name, not the number. */
export function titleOfFork(source: string): string {
  const [, forks, name = '', number = '1'] = /^((?:Fork of )*)(.*?)(?: \((\d{1,9})\))?$/s.exec(source) ?? [];
  if (!forks) return cut(`Fork of ${source}`, maxTitle);
  const end = ` (${Number(number) + 1})`;
  return `${cut(`Fork of ${name}`, maxTitle - end.length)}${end}`;
}

/** What the model would have been told at that place; null: it is gone. */
async function conversationAt(
  { journal }: ForkDeps,
  source: WorkstreamRow,
  revision: number,
  signal: AbortSignal,
): Promise<readonly Entry[] | null> {
  const { incarnation } = source;
  const rewinds = await journal.rewinds(source.id, revision);
  const superseded = spansOf(rewinds);
  const checkpoint = await journal.checkpointAt(source.id, revision);
  const range = { incarnation, through: revision, superseded, checkpoint, signal };
  const told = await journal.conversation(source.id, range);
  return told && told.slice(0, wholeBatches(told));
}

/** What these rewinds took back, by the one fold. */
const spansOf = (rewinds: readonly EntryOf<'REWIND'>[]): readonly Span[] =>
  rewinds.reduce((p, entry) => applyEntry({ ...p, revision: entry.revision - 1 }, entry), emptyProjection)
    .superseded;

/** How many entries there are before the first batch that lacks a result. */
function wholeBatches(told: readonly Entry[]): number {
  const answered = new Set(told.flatMap((entry) => (entry.kind === 'TOOL' ? [entry.callId] : [])));
  const open = told.findIndex(
    (entry) => entry.kind === 'ASSISTANT' && entry.calls.some((call) => !answered.has(call.callId)),
  );
  return open === -1 ? told.length : open;
}

/**
 * The entries with what holds of them where they are told first: a summary stands for what lies before it, `after`, and
 * is all that is told so far; what was counted before it, or by another model than is asked here, was counted of
 * something else (D-39).
 */
function withOwnMarks(told: readonly Entry[], alias: string, after: number): readonly Entry[] {
  const summary = told.find((entry) => entry.kind === 'CHECKPOINT');
  return told.map((entry): Entry => {
    if (entry.kind === 'CHECKPOINT') {
      const { tokens: told = 0, context } = entry;
      // How another model counts, and how much it reads, says nothing of this one.
      const { scale, overhead } = context;
      const own = { told, counted: null, scale: entry.alias === alias ? scale : 1, overhead, window: null };
      return { ...entry, watermark: after, context: own };
    }
    if (entry.kind !== 'ASSISTANT') return entry;
    const stands = entry.alias === alias && entry.revision > (summary?.revision ?? 0);
    const { context, ...rest } = entry;
    return { ...rest, ...(stands && context && { context: { ...context, window: null } }) };
  });
}

/** The entries without their places, the calls in them under ids of this workstream. */
function withOwnIds(told: readonly Entry[], seed: string): Prepared['bodies'] {
  const callIds = new Map<string, string>();
  const own = (callId: string): string => {
    const known = callIds.get(callId) ?? `${seed}-${callIds.size.toString(36)}`;
    callIds.set(callId, known);
    return known;
  };
  return told.map(({ id: _, revision: _r, epoch: _e, generation: _g, lane: _l, turnId: _t, ...entry }) => {
    const body: EntryBody & { readonly at: string } = entry;
    if (body.kind === 'ASSISTANT')
      return { ...body, calls: body.calls.map((call) => ({ ...call, callId: own(call.callId) })) };
    return body.kind === 'TOOL' ? { ...body, callId: own(body.callId) } : body;
  });
}

const notFound = refusalView<'WORKSTREAM_NOT_FOUND'>({ type: 'Rejected', code: 'WORKSTREAM_NOT_FOUND' });

/** What a person wanted of the source holds here as well; what it has spent it has spent for itself. */
const ownWords = ({
  instructions,
  tokenBudget,
}: Configuration): Pick<Configuration, 'instructions' | 'tokenBudget'> => ({
  ...(instructions !== undefined && { instructions }),
  ...(tokenBudget !== undefined && { tokenBudget }),
});

/** The choice of the source, or the default model when that alias is gone. */
function modelOf(
  configuration: Configuration,
  model: Model,
): Pick<Configuration, 'model' | 'temperature' | 'effort'> {
  const models = model.list();
  const known = models.find((m) => m.alias === configuration.model) ?? models.find((m) => m.isDefault);
  const { temperature, effort } = configuration;
  return {
    model: known?.alias ?? configuration.model,
    ...(temperature === undefined ? {} : { temperature }),
    ...(effort === undefined ? {} : { effort }),
  };
}
