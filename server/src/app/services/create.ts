/**
 * Owns: bringing a workstream into being (D-20): reserve → prepare → publish → announce. Anything that goes wrong
 * before publish rolls back exactly this reservation, and nobody has seen it.
 */
import type { Viewer } from 'schema/model';
import type { InvalidInput, KeyReused, ShuttingDown, StorageUnavailable } from 'schema/outcome';
import type { CreateWorkstream, CreateWorkstreamOutcome } from 'schema/services';
import { applyEntries, emptyProjection, stateOf, type Entry, type EntryBody } from 'schema/projection';
import { withChoice } from '../../core/conversation/choice.ts';
import type { CommandKey } from '../../core/inputs.ts';
import { storable } from '../../core/kit/storable.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Batch, Journal } from '../../ports/journal.ts';
import type { Log } from '../../ports/log.ts';
import type { Model } from '../../ports/model.ts';
import type { Reservations } from '../../ports/reservations.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { whenAway } from '../../ports/storage-unavailable.ts';
import type { Workspaces } from '../../ports/workspaces.ts';
import type { Hub } from '../feed/hub.ts';
import { invalid, refusalView, storageUnavailable } from '../views/refusals.ts';
import { summaryOf } from '../views/workstream.ts';
import { authorOf, keyOf } from './command.ts';
import { givenTitle, titleProblem } from './commands.ts';
import { chooseModel } from './model-choice.ts';

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
  /** Ids of the reservations that this process is about to publish or to roll back: not for the reaper. */
  readonly reserving: Set<string>;
  /** True once the server is stopping. */
  readonly isStopping: () => boolean;
}

export async function createWorkstream(
  deps: CreateDeps,
  by: Viewer,
  input: CreateWorkstream,
): Promise<CreateWorkstreamOutcome> {
  const title = givenTitle(input.title);
  const { temperature, effort } = input;
  const model = chooseModel(deps.model, { alias: input.model, temperature, effort });
  const problem = title === null ? null : titleProblem(title);
  return bringIntoBeing<never>(deps, by, 'create', input, async (id) => {
    if (problem !== null) return invalid('title', problem);
    if (model.type !== 'chosen') return model;
    const workspace = await deps.workspaces.choose(id, input.workspace);
    if (workspace.type === 'refused') return invalid('workspace', workspace.problem);
    return {
      type: 'prepared',
      bodies: [
        { kind: 'LIFECYCLE', lifecycle: 'OPEN', by: authorOf(by) },
        {
          kind: 'CONFIGURATION',
          configuration: withChoice(
            {
              title: title ?? 'New workstream',
              titleSource: title === null ? 'DEFAULT' : 'PERSON',
              model: '',
              workspace: workspace.path,
              approvalMode: input.approvalMode ?? 'ASK',
              approvalModeBy: authorOf(by),
            },
            model.choice,
          ),
        },
      ],
    };
  });
}

/** The first entries of a workstream; one that is a copy keeps the time it has. */
export type Prepared = {
  readonly type: 'prepared';
  readonly bodies: readonly (EntryBody & { readonly at?: string })[];
};

type Outcome =
  | { readonly type: 'Accepted'; readonly durability: 'DURABLE'; readonly workstreamId: string }
  | InvalidInput
  | KeyReused
  | ShuttingDown
  | StorageUnavailable;

/**
 * A new workstream under a key of the principal, with what `prepare` gives it; or why not. `prepare` is asked with the
 * new id only when the key is new.
 */
export async function bringIntoBeing<Refusal extends { readonly type: 'Rejected' }>(
  deps: CreateDeps,
  by: Viewer,
  name: string,
  input: { readonly key: string },
  prepare: (id: string) => Promise<Prepared | InvalidInput | Refusal>,
): Promise<Outcome | Refusal> {
  if (deps.isStopping()) return refusalView<'SHUTTING_DOWN'>({ type: 'Rejected', code: 'SHUTTING_DOWN' });
  const key = keyOf(deps.secrets, by.id, name, input);
  const make = async () => (await repeated(deps, key)) ?? (await reserveAndPublish(deps, key, prepare));
  return make().catch(whenAway(storageUnavailable));
}

/** The recorded answer, when this key was used before. */
async function repeated(deps: CreateDeps, key: CommandKey): Promise<Outcome | null> {
  const receipt = await deps.journal.findReceipt(key.scope, key.key);
  if (!receipt) return null;
  if (receipt.inputHash !== key.inputHash)
    return refusalView<'KEY_REUSED'>({ type: 'Rejected', code: 'KEY_REUSED' });
  return {
    type: 'Accepted',
    durability: 'DURABLE',
    workstreamId: String(receipt.outcome['workstreamId']),
  };
}

async function reserveAndPublish<Refusal extends { readonly type: 'Rejected' }>(
  deps: CreateDeps,
  key: CommandKey,
  prepare: (id: string) => Promise<Prepared | InvalidInput | Refusal>,
): Promise<Outcome | Refusal> {
  const id = deps.ids.random128();
  const incarnation = deps.ids.random128();
  let published = false;
  deps.reserving.add(id);
  try {
    await deps.reservations.reserve({ id, incarnation, sessionId: deps.sessionId });
    const prepared = await prepare(id);
    if (prepared.type === 'Rejected') return prepared;
    const batch = firstBatch(deps, { id, incarnation }, prepared.bodies, key);
    const outcome = await deps.reservations.publish(batch);
    published = outcome.type === 'published';
    if (outcome.type === 'duplicate') return (await repeated(deps, key)) ?? storageUnavailable;
    if (outcome.type === 'gone') return storageUnavailable;
    const createdAt = new Date(deps.clock.now()).toISOString();
    deps.hub.announce(summaryOf({ id, projection: batch.projection, createdAt, persistence: 'HEALTHY' }));
    return { type: 'Accepted', durability: 'DURABLE', workstreamId: id };
  } finally {
    if (!published) await rollBack(deps, id, incarnation);
    deps.reserving.delete(id);
  }
}

async function rollBack(deps: CreateDeps, id: string, incarnation: string): Promise<void> {
  await deps.workspaces.abandon(id);
  await deps.reservations
    .rollback(id, incarnation)
    // What could not be rolled back stays hidden, and the reaper takes it.
    .catch((error: unknown) =>
      deps.log.warn({ workstream: id, error: String(error) }, 'a reservation was left behind'),
    );
}

function firstBatch(
  deps: CreateDeps,
  who: { readonly id: string; readonly incarnation: string },
  bodies: Prepared['bodies'],
  key: CommandKey,
): Batch {
  const now = new Date(deps.clock.now()).toISOString();
  const seed = deps.ids.random128();
  const entries = bodies.map(({ at, ...body }, i): Entry => ({
    ...storable(body),
    id: `${seed}-${i.toString(36)}`,
    revision: i + 1,
    epoch: 0,
    generation: 0,
    lane: null,
    turnId: null,
    at: at ?? now,
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
