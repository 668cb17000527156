/**
 * Owns: closing, opening and deleting a workstream: the order of their parts (D-23, D-25). Close and delete are the two
 * commands that wait for Stop.
 *
 * Invariants: one of them at a time per workstream; nothing is stopped before it is known that the database stores;
 * whatever cannot be brought to its end leaves the workstream open; what is deleted is deleted by incarnation, announced
 * once, and whether that happened is read, never guessed.
 */
import type { Viewer } from 'schema/model';
import type {
  CloseWorkstream,
  CloseWorkstreamOutcome,
  DeleteWorkstream,
  DeleteWorkstreamOutcome,
  OpenWorkstream,
  OpenWorkstreamOutcome,
} from 'schema/services';
import { liveTurn } from 'schema/projection';
import type { Command, CommandKey } from '../../core/inputs.ts';
import { refuse } from '../../core/refusals.ts';
import type { State } from '../../core/workstream/state.ts';
import type { Catalog, WorkstreamRow } from '../../ports/catalog.ts';
import type { Ids } from '../../ports/ids.ts';
import { StorageUnavailableError } from '../../ports/storage-unavailable.ts';
import type { Actor } from '../actor/actor.ts';
import type { Deletions } from '../deletions.ts';
import { giveUpFolder, type FoldersDeps } from '../folders.ts';
import type { WatchRound } from '../rounds/watches.ts';
import { within } from '../within.ts';
import {
  authorOf,
  commandActor,
  doneBefore,
  keyOf,
  landingRefusal,
  outcomeView,
  runCommand,
  withActor,
  type CommandDeps,
  type CommandOutcome,
} from './command.ts';
import { permitOf, type Permit } from './in-line.ts';
import { createOneAtATime } from './one-at-a-time.ts';

/** How long what was accepted, and then what ends it, may take to be stored, milliseconds (D-23). */
const settleMs = 2_000;
/** How long a turn may take to stop before it is forced, milliseconds: a little more than its own term (D-65). */
const stopMs = 10_500;

export interface LifecycleDeps extends CommandDeps, FoldersDeps {
  readonly watchRound: Pick<WatchRound, 'tell'>;
  readonly catalog: Catalog;
  readonly deletions: Deletions;
  readonly ids: Ids;
  readonly sessionId: string;
  readonly isStopping: () => boolean;
}

export interface Lifecycle {
  close(by: Viewer, input: CloseWorkstream): Promise<CloseWorkstreamOutcome>;
  open(by: Viewer, input: OpenWorkstream): Promise<OpenWorkstreamOutcome>;
  delete(by: Viewer, input: DeleteWorkstream): Promise<DeleteWorkstreamOutcome>;
}

type Refused = Extract<CommandOutcome, { type: 'refused' }>;

export function createLifecycle(deps: LifecycleDeps): Lifecycle {
  const { registry, deletions, removal, journal, clock } = deps;
  const oneAtATime = createOneAtATime();

  async function close(by: Viewer, input: CloseWorkstream): Promise<CommandOutcome> {
    const outcome = await withActor(
      deps,
      by,
      input.workstreamId,
      async (actor, permit): Promise<CommandOutcome> => {
        const done = await doneBefore(deps, actor, permit, by, input, 'close');
        permit.release();
        if (done) return done;
        const refused = await bringToClosed(by, input.workstreamId, actor);
        if (refused) return refused;
        // Closed, whoever did it: what is left is to say so under this key. The door stays shut until then: if it were
        // opened in between, this would close it again, or find a turn in it.
        return commandActor(deps, actor, permit, by, input, { type: 'close' }).finally(() =>
          actor.shut(false),
        );
      },
    );
    // Nothing is under way in it any more.
    if (registry.peek(input.workstreamId)?.state().durable.lifecycle === 'CLOSED')
      registry.unload(input.workstreamId);
    return outcome;
  }

  /** Null once CLOSED is stored, with the door shut; else why not, and then the workstream is open. */
  async function bringToClosed(by: Viewer, id: string, actor: Actor): Promise<Refused | null> {
    if (actor.state().projection.lifecycle === 'CLOSED') {
      actor.shut(true);
      return null;
    }
    if (actor.persistence().status === 'CONFLICT')
      return refused({ type: 'Rejected', code: 'UNSAVED_CONFLICT' });
    if (!(await stored(actor))) return ending(actor) ?? unsettled(false);
    const turnStopped = hasTurn(actor);
    actor.shut(true);
    await stopTurn(by, id, actor);
    if (!(await stored(actor))) {
      actor.shut(false);
      return ending(actor) ?? unsettled(turnStopped);
    }
    // Under a key of its own: the one that asked must not answer "closed" if this is taken back.
    const closing = ask(by, id, actor, { type: 'close' });
    if (closing.type === 'ended') return refused(landingRefusal(closing.landing));
    // Being closed opens the door for who opens it; not yet.
    actor.shut(true);
    const landing = await within(clock, settleMs, closing.landed);
    if (landing === 'durable') return null;
    if (landing !== null) return refused(landingRefusal(landing));
    actor.shut(false);
    // It was announced as closed, so that it is open has to be announced too (D-8).
    ask(by, id, actor, { type: 'open' });
    return unsettled(turnStopped);
  }

  /** Waits until the turn that was told to stop has settled; forces it when that takes too long. */
  async function stopTurn(by: Viewer, id: string, actor: Actor): Promise<void> {
    const rests = (state: State): boolean => liveTurn(state.projection) === null;
    if (await actor.until(rests, stopMs)) return;
    ask(by, id, actor, { type: 'stop', turnId: null, force: true });
  }

  /** True once all that was accepted until now is stored. */
  const stored = (actor: Actor): Promise<boolean> => {
    const { batches } = actor.state();
    return actor.until((state) => state.durableBatches >= batches, settleMs);
  };

  function ask(by: Viewer, id: string, actor: Actor, command: Command) {
    const key = keyOf(deps.secrets, `${by.id}/${id}`, command.type, { key: `own-${deps.ids.random128()}` });
    return actor.ask(authorOf(by), key, command);
  }

  async function remove(
    by: Viewer,
    input: DeleteWorkstream,
    permit: Permit,
  ): Promise<DeleteWorkstreamOutcome> {
    if (deps.isStopping()) return outcomeView(refused({ type: 'Rejected', code: 'SHUTTING_DOWN' }));
    const { workstreamId: id } = input;
    const key = keyOf(deps.secrets, by.id, 'delete', input);
    try {
      const done = await permit.run(async () => {
        // What an earlier one left open is settled first: it may have been this very deletion.
        await deletions.resolve(id);
        return deletedBefore(id, key);
      });
      if (done) return done;
      permit.release();
      return await registry.alone(id, async () => {
        const row = await permit.run(() => deps.catalog.get(id));
        if (!row) return permit.run(() => deletedElsewhere(id, key));
        if (row.owner !== null && row.owner !== deps.sessionId)
          return outcomeView(refused({ type: 'Rejected', code: 'OWNER_ELSEWHERE' }));
        const actor = registry.peek(id);
        const release = actor?.hold();
        return removeAlone(by, row, actor, key, permit).finally(() => release?.());
      });
    } catch (error) {
      if (!(error instanceof StorageUnavailableError)) throw error;
      return outcomeView(away(deletions.isOpen(id) ? 'UNKNOWN' : undefined));
    }
  }

  /** The recorded answer, when this key was used before. */
  async function deletedBefore(id: string, key: CommandKey): Promise<DeleteWorkstreamOutcome | null> {
    const receipt = await journal.findReceipt(key.scope, key.key);
    if (!receipt) return null;
    if (receipt.inputHash !== key.inputHash) return outcomeView(refused(refuse({ code: 'KEY_REUSED' })));
    const { folder } = receipt.outcome;
    return deleted(id, typeof folder === 'string' ? folder : await deps.workspaces.own(id));
  }

  /** It was there a moment ago: another server may have deleted it for this very command. */
  const deletedElsewhere = async (id: string, key: CommandKey): Promise<DeleteWorkstreamOutcome> =>
    (await deletedBefore(id, key)) ?? outcomeView(refused(refuse({ code: 'WORKSTREAM_NOT_FOUND' })));

  /** The answer, when it worked in `folder`: what is left of that now. */
  const deleted = async (workstreamId: string, folder: string): Promise<DeleteWorkstreamOutcome> => ({
    type: 'Accepted',
    durability: 'DURABLE',
    workstreamId,
    workspaceKept: await giveUpFolder(deps, { id: workstreamId, folder }),
  });

  async function removeAlone(
    by: Viewer,
    row: WorkstreamRow,
    actor: Actor | null,
    key: CommandKey,
    permit: Permit,
  ): Promise<DeleteWorkstreamOutcome> {
    const { id } = row;
    const stops = hasTurn(actor);
    permit.release();
    if (actor) {
      const problem = await bringToRest(by, id, actor);
      if (problem) return outcomeView(problem);
    } else await registry.endLeftovers(id, row.projection);
    return permit.run(() => removeAtRest(row, actor, key, stops));
  }

  async function removeAtRest(
    row: WorkstreamRow,
    actor: Actor | null,
    key: CommandKey,
    stops: boolean,
  ): Promise<DeleteWorkstreamOutcome> {
    const { id } = row;
    const incarnation = actor?.state().incarnation ?? row.incarnation;
    const folder = row.projection.configuration.workspace;
    let outcome;
    try {
      outcome = await removal.remove({
        workstreamId: id,
        incarnation,
        epoch: actor?.state().epoch ?? null,
        sessionId: deps.sessionId,
        receipt: { ...key, outcome: { workstreamId: id, folder } },
      });
    } catch (error) {
      deletions.leaveOpen([{ id, incarnation, actor }]);
      if (!(error instanceof StorageUnavailableError)) throw error;
      await deletions.resolve(id);
      return (await deletedBefore(id, key)) ?? outcomeView(away(stops ? 'STOPPED' : undefined));
    }
    switch (outcome.type) {
      case 'removed':
        deletions.happened(id, actor);
        return deleted(id, folder);
      case 'notFound':
        deletions.happened(id, actor);
        return deletedElsewhere(id, key);
      case 'duplicate':
        actor?.shut(false);
        return (await deletedBefore(id, key)) ?? outcomeView(away());
      case 'elsewhere':
        actor?.shut(false);
        return outcomeView(refused({ type: 'Rejected', code: 'OWNER_ELSEWHERE' }));
      case 'fenced':
        actor?.shut(false);
        return outcomeView(refused({ type: 'Rejected', code: 'OWNER_LOST' }));
    }
  }

  /** Shut, its turn stopped, all of it stored; or why not, and then it is open again. */
  async function bringToRest(by: Viewer, id: string, actor: Actor): Promise<Refused | null> {
    // What the database refused for good is not waited for: it goes with the rest.
    const settles = (): Promise<boolean> =>
      actor.persistence().status === 'CONFLICT' ? Promise.resolve(true) : stored(actor);
    if (!(await settles())) return ending(actor) ?? away();
    const stops = hasTurn(actor);
    actor.shut(true);
    await stopTurn(by, id, actor);
    if (await settles()) return null;
    actor.shut(false);
    return ending(actor) ?? away(stops ? 'STOPPED' : undefined);
  }

  return {
    close: (by, input) =>
      oneAtATime(input.workstreamId, async () => outcomeView<CloseWorkstreamOutcome>(await close(by, input))),
    open: async (by, input) => {
      const outcome = await runCommand(deps, by, input, { type: 'open' });
      // It was told nothing while it was closed (D-84).
      if (outcome.type === 'accepted') deps.watchRound.tell(input.workstreamId);
      return outcomeView<OpenWorkstreamOutcome>(outcome);
    },
    delete: (by, input) =>
      oneAtATime(input.workstreamId, () => {
        const permit = permitOf(deps, by);
        return remove(by, input, permit).finally(() => permit.release());
      }),
  };
}

const refused = (refusal: Refused['refusal']): Refused => ({ type: 'refused', refusal });
/** The database is away; `deletion`: how far one came all the same. */
const away = (deletion?: 'STOPPED' | 'UNKNOWN'): Refused =>
  refused({ type: 'Rejected', code: 'STORAGE_UNAVAILABLE', ...(deletion && { deletion }) });
const unsettled = (turnStopped: boolean): Refused =>
  refused({ type: 'Rejected', code: 'JOURNAL_UNSETTLED', turnStopped });

const hasTurn = (actor: Actor | null): boolean =>
  actor !== null && liveTurn(actor.state().projection) !== null;

/** Why nothing more comes of this actor; null while something does. */
function ending(actor: Actor): Refused | null {
  const ended = actor.ended();
  return ended && refused(landingRefusal(ended));
}
