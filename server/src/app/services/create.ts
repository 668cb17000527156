/**
 * Owns: bringing a workstream into being (D-20): reserve → prepare → publish → announce. Anything that goes wrong
 * before publish rolls back exactly this reservation, and nobody has seen it.
 */
import type { Viewer } from 'schema/model';
import type { CreateWorkstream, CreateWorkstreamOutcome } from 'schema/services';
import {
  applyEntries,
  emptyProjection,
  isBlank,
  stateOf,
  type Entry,
  type EntryBody,
} from 'schema/projection';
import { quote } from '../../core/kit/quote.ts';
import { storable } from '../../core/kit/storable.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Batch, Journal, Receipt } from '../../ports/journal.ts';
import type { Log } from '../../ports/log.ts';
import type { Model } from '../../ports/model.ts';
import type { Reservations } from '../../ports/reservations.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { StorageUnavailableError } from '../../ports/storage-unavailable.ts';
import type { Workspaces } from '../../ports/workspaces.ts';
import type { Hub } from '../feed/hub.ts';
import { refusalView, storageUnavailable } from '../views/refusals.ts';
import { summaryOf } from '../views/workstream.ts';
import { inputHash } from './command.ts';

/** Longest title, UTF-16 code units. */
const maxTitle = 200;

export interface CreateDeps {
  readonly reservations: Reservations;
  readonly journal: Journal;
  readonly workspaces: Workspaces;
  readonly model: Model;
  readonly hub: Hub;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly secrets: Secrets;
  readonly log: Log;
  readonly sessionId: string;
  /** True once the server is stopping. */
  readonly isStopping: () => boolean;
}

export async function createWorkstream(
  deps: CreateDeps,
  by: Viewer,
  input: CreateWorkstream,
): Promise<CreateWorkstreamOutcome> {
  if (deps.isStopping()) return refusalView({ type: 'Rejected', code: 'SHUTTING_DOWN' });
  const model = chooseModel(deps.model, input.model);
  const problem = titleProblem(input.title) ?? model.problem;
  if (problem) return invalid(problem.field, problem.text);
  const key = { scope: by.id, key: input.key, inputHash: inputHash(deps.secrets, 'create', { ...input }) };
  try {
    return (await repeated(deps, key)) ?? (await reserveAndPublish(deps, by, key, input, model.alias));
  } catch (error) {
    if (error instanceof StorageUnavailableError) return storageUnavailable;
    throw error;
  }
}

type Key = Omit<Receipt, 'outcome'>;

/** The recorded answer, when this key was used before. */
async function repeated(deps: CreateDeps, key: Key): Promise<CreateWorkstreamOutcome | null> {
  const receipt = await deps.journal.findReceipt(key.scope, key.key);
  if (!receipt) return null;
  if (receipt.inputHash !== key.inputHash) return refusalView({ type: 'Rejected', code: 'KEY_REUSED' });
  return {
    type: 'Accepted',
    durability: 'DURABLE',
    workstreamId: String(receipt.outcome['workstreamId']),
  };
}

async function reserveAndPublish(
  deps: CreateDeps,
  by: Viewer,
  key: Key,
  input: CreateWorkstream,
  alias: string,
): Promise<CreateWorkstreamOutcome> {
  const id = deps.ids.random128();
  const incarnation = deps.ids.random128();
  await deps.reservations.reserve({ id, incarnation, sessionId: deps.sessionId });
  let published = false;
  try {
    const workspace = await deps.workspaces.choose(id, input.workspace);
    if (workspace.type === 'refused') return invalid('workspace', workspace.problem);
    const configuration = {
      title: input.title === null || isBlank(input.title) ? 'New workstream' : input.title.trim(),
      model: alias,
      workspace: workspace.path,
      approvalMode: input.approvalMode ?? 'ASK',
      approvalModeBy: { id: by.id, name: by.name },
    };
    const batch = firstBatch(deps, { id, incarnation }, configuration, key);
    const outcome = await deps.reservations.publish(batch);
    published = outcome.type === 'published';
    if (outcome.type === 'duplicate') return (await repeated(deps, key)) ?? storageUnavailable;
    if (outcome.type === 'gone') return storageUnavailable;
    const createdAt = batch.projection.updatedAt!;
    deps.hub.announce(summaryOf({ id, projection: batch.projection, createdAt, persistence: 'HEALTHY' }));
    return { type: 'Accepted', durability: 'DURABLE', workstreamId: id };
  } finally {
    if (!published) {
      await deps.workspaces.abandon(id);
      await deps.reservations
        .rollback(id, incarnation)
        // What could not be rolled back stays hidden, and the reaper takes it.
        .catch((error: unknown) =>
          deps.log.warn({ workstream: id, error: String(error) }, 'a reservation was left behind'),
        );
    }
  }
}

function firstBatch(
  deps: CreateDeps,
  who: { readonly id: string; readonly incarnation: string },
  configuration: Extract<EntryBody, { kind: 'CONFIGURATION' }>['configuration'],
  key: Key,
): Batch {
  const at = new Date(deps.clock.now()).toISOString();
  const seed = deps.ids.random128();
  const bodies: readonly EntryBody[] = [
    { kind: 'LIFECYCLE', lifecycle: 'OPEN' },
    { kind: 'CONFIGURATION', configuration: storable(configuration) },
  ];
  const entries = bodies.map((body, i): Entry => ({
    ...body,
    id: `${seed}-${i}`,
    revision: i + 1,
    epoch: 0,
    generation: 0,
    lane: null,
    turnId: null,
    at,
  }));
  const projection = applyEntries(emptyProjection, entries);
  return {
    workstreamId: who.id,
    incarnation: who.incarnation,
    epoch: 0,
    expectedHead: 0,
    entries,
    projection,
    state: stateOf(projection),
    receipts: [{ ...key, outcome: { workstreamId: who.id } }],
  };
}

type Problem = { readonly field: string; readonly text: string };

const titleProblem = (title: string | null): Problem | null =>
  title !== null && title.length > maxTitle
    ? { field: 'title', text: `A title may have at most ${maxTitle} characters.` }
    : null;

function chooseModel(
  model: Model,
  asked: string | null,
): { readonly alias: string; readonly problem: Problem | null } {
  const all = model.list();
  const chosen = all.find((m) => (asked === null ? m.isDefault : m.alias === asked));
  return chosen
    ? { alias: chosen.alias, problem: null }
    : {
        alias: '',
        problem: {
          field: 'model',
          text: `There is no model named ${quote(asked ?? '(default)')}. Choose one of: ${all.map((m) => m.alias).join(', ')}.`,
        },
      };
}

const invalid = (field: string, problem: string) =>
  refusalView<'INVALID_INPUT'>({ type: 'Rejected', code: 'INVALID_INPUT', field, problem } as const);
