/**
 * Owns: one loaded workstream in this process, its only writer. Takes one input, calls `step`, publishes, hands the
 * batch to the store lane and the effects to the performer, takes the next; it awaits nothing (D-1).
 *
 * Invariants: what a step accepted is published in the same turn of the event loop (D-50); a sealed or deposed actor
 * takes no more inputs and publishes nothing more; every waiting command is answered, whatever happens (D-50); each model
 * call it is told of is counted once, with its batch or without one (D-5).
 */
import type { WorkstreamSummaryModel } from 'schema/model';
import {
  liveTurn,
  stateOf,
  type Author,
  type Entry,
  type FeedItem,
  type Fire,
  type Persistence,
} from 'schema/projection';
import type { CommandKey, Command, Input, Stamp, World } from '../../core/inputs.ts';
import { receiptKey } from '../../core/journal/receipt.ts';
import { reasonOf } from '../../core/kit/reason.ts';
import type { ModelCall } from '../../core/models/spending.ts';
import { step, type Reply } from '../../core/step.ts';
import { allowanceOf } from '../../core/turn/budget.ts';
import { canUnload } from '../../core/workstream/lifecycle.ts';
import { loadedState, type State } from '../../core/workstream/state.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import { receiptKeysLoaded, type Journal } from '../../ports/journal.ts';
import type { Log } from '../../ports/log.ts';
import type { Model } from '../../ports/model.ts';
import type { LoadedWorkstream } from '../../ports/ownership.ts';
import type { Tools } from '../../ports/tools.ts';
import type { UsageStore } from '../../ports/usage.ts';
import type { Hub } from '../feed/hub.ts';
import { summaryOf } from '../views/workstream.ts';
import { within } from '../within.ts';
import { createLateCalls } from './late-calls.ts';
import { createPerformer } from './perform.ts';
import type { Prompt } from './prompt.ts';
import { createStoreLane, type LaneEnd } from './store-lane.ts';

/** How a command's batch ended up: stored, or the actor was gone first. */
export type Landing = 'durable' | LaneEnd | 'stopped' | 'discarded' | 'unloaded';

export type Asked =
  | { readonly type: 'answered'; readonly reply: Reply; readonly landed: Promise<Landing> }
  /** The actor takes no more inputs. */
  | { readonly type: 'ended'; readonly landing: Exclude<Landing, 'durable'> };

/** HERE: taken in this epoch, and told again by asking. STORED: in an earlier one. UNKNOWN: the database must say. */
export type KeyKnowledge = 'NEW' | 'HERE' | 'STORED' | 'UNKNOWN';

export interface Actor {
  ask(by: Author, key: CommandKey, command: Command): Asked;
  /** What is known of a key without asking the database. */
  knows(key: CommandKey): KeyKnowledge;
  state(): State;
  persistence(): Persistence;
  /** Its row in the list, as it is now. */
  summary(): WorkstreamSummaryModel;
  /**
   * What is told below `conversationFrom` is known when this resolves; read once, however many ask. Rejects when the
   * database is away.
   */
  readConversation(): Promise<unknown>;
  /** What its watches have said; it is kept until that is written down (D-84). */
  fired(fires: readonly Fire[]): void;
  /** Shuts the door to new commands and stops the turn, or opens it again (D-23). */
  shut(on: boolean): void;
  /** True once it is so; false when it is not within `ms`, or the actor has ended. */
  until(fact: (state: State) => boolean, ms: number): Promise<boolean>;
  /** Why it takes no more inputs; null while it does. */
  ended(): Exclude<Landing, 'durable'> | null;
  /** It is needed here until the returned function is called: it cannot be sealed. Null: it has ended. */
  hold(): (() => void) | null;
  /**
   * Takes no more inputs, if it can rest: nothing under way, nothing unsettled, nobody who needs it (D-24). Feeds stay:
   * who follows hears of the next load. True when it is sealed now, and then nothing is lost with it.
   */
  seal(): boolean;
  /** Takes no more inputs, lets what was accepted be stored (within `withinMs`), and ends its work. */
  stop(withinMs: number): Promise<void>;
  /** Takes no more inputs and drops everything: another is the owner. */
  depose(reason: Exclude<Landing, 'durable'>): void;
}

export interface ActorDeps {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly journal: Journal;
  readonly model: Model;
  readonly tools: Tools;
  readonly prompt: Prompt;
  readonly usage: Pick<UsageStore, 'record'>;
  readonly hub: Hub;
  readonly log: Log;
  readonly random: () => number;
  /** Called once when the actor ends by itself. `bug`: a step threw. */
  onEnd(reason: Exclude<Landing, 'durable'> | 'bug', detail?: string): void;
  /** What is stored now has no live turn: the workstream has come to rest. */
  onRest(): void;
}

/** What followers are told when an actor ends. */
export const sentenceOf: Readonly<Record<Exclude<Landing, 'durable'>, string>> = {
  gone: 'This workstream is gone.',
  ownerLost: 'This process is not the owner any more; resume from the cursor.',
  stopped: 'The server is stopping; resume from the cursor when it is back.',
  unloaded: 'This workstream rests; resume from the cursor.',
  discarded: 'What could not be stored was discarded; resume from the cursor.',
};

/** How long a stopping actor waits for its tools to die, milliseconds. */
const toolGraceMs = 3_000;
/** How long it waits until what was spent is counted, milliseconds. */
const countingGraceMs = 3_000;

export function createActor(deps: ActorDeps, loaded: LoadedWorkstream): Actor {
  const { clock, ids, hub } = deps;
  let state = loadedState({ ...loaded, conversation: null });
  let ended: Exclude<Landing, 'durable'> | null = null;
  let announced = '';
  /** Keys of recorded commands: read behind the load, which is not to grow with them. Null: too many, or not read. */
  let receiptKeys: ReadonlySet<string> | null = null;
  let keysAsked = false;
  const keysSince = new Set<string>();
  let reading: Promise<readonly Entry[] | null> | null = null;
  let holds = 0;
  const late = createLateCalls({ ...deps, workstreamId: state.workstreamId });
  /** Model calls of batches that are not stored yet. */
  const uncounted = new Map<number, readonly ModelCall[]>();
  const mailbox: { readonly input: Input; readonly answer: ((reply: Reply | null) => void) | null }[] = [];
  let draining = false;
  /** Commands waiting for a batch to land. */
  let waiting: { readonly batch: number; readonly resolve: (landing: Landing) => void }[] = [];
  /** Those who wait for the state to say something. */
  let watching: { readonly fact: (state: State) => boolean; readonly resolve: (is: boolean) => void }[] = [];

  const lane = createStoreLane({
    journal: deps.journal,
    clock,
    random: deps.random,
    onStored(batch) {
      const through = batch.expectedHead + batch.entries.length;
      uncounted.delete(batch.number);
      for (const receipt of batch.receipts) keysSince.add(receiptKey(receipt));
      if (receiptKeys && receiptKeys.size + keysSince.size > receiptKeysLoaded) receiptKeys = null;
      readKeys();
      if (!liveTurn(batch.projection)) deps.onRest();
      if (ended && ended !== 'stopped') return;
      if (batch.entries.length > 0) publish({ type: 'EntriesDurable', durableThrough: through });
      settleWaiting((w) => w.batch <= batch.number, 'durable');
      post({ type: 'acknowledged', epoch: state.epoch, batch: batch.number, through });
    },
    onEnd: endAs,
    onPersistence(persistence) {
      publish({ type: 'PersistenceChanged', persistence });
      announce();
    },
  });

  const performer = createPerformer({
    workstreamId: state.workstreamId,
    model: deps.model,
    tools: deps.tools,
    prompt: deps.prompt,
    clock,
    log: deps.log,
    conversation: readConversation,
    turnId: () => liveTurn(state.projection)?.id ?? null,
    allowance: () => allowanceOf(state),
    post: (stamp: Stamp, event: World, calls: readonly ModelCall[] = []) =>
      post({ type: 'world', stamp, event, calls }),
  });

  function readConversation(): Promise<readonly Entry[] | null> {
    const { incarnation } = state;
    const { revision, superseded, checkpoint } = loaded.projection;
    return (reading ??= deps.journal
      .conversation(state.workstreamId, { incarnation, through: revision, superseded, checkpoint })
      .then((entries) => {
        if (!entries) {
          if (!ended) endAs('gone');
          return null;
        }
        const stamp: Stamp = { epoch: state.epoch, generation: null };
        post({ type: 'world', stamp, event: { type: 'conversationRead', entries } });
        return entries;
      })
      .catch((error: unknown) => {
        reading = null;
        throw error;
      }));
  }

  /** Once; again after the next batch when the database was away. */
  function readKeys(): void {
    if (keysAsked) return;
    keysAsked = true;
    deps.journal
      .receiptKeys(state.workstreamId)
      .then((keys) => (receiptKeys = keys))
      .catch(() => (keysAsked = false));
  }

  function publish(item: FeedItem): void {
    hub.publish(state.workstreamId, item);
  }

  function post(input: Input, answer: ((reply: Reply | null) => void) | null = null): void {
    if (ended) return leave(input, answer);
    mailbox.push({ input, answer });
    if (draining) return;
    draining = true;
    let under = input;
    try {
      for (let next = mailbox.shift(); next; next = mailbox.shift()) {
        under = next.input;
        if (ended) leave(next.input, next.answer);
        else take(next.input, next.answer);
      }
    } catch (error) {
      // A bug stops this actor, not the process; the registry loads it again (D-71).
      const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
      deps.log.error({ workstream: state.workstreamId, error: detail }, 'a step threw');
      depose('ownerLost', 'This workstream failed and is loaded again; resume from the cursor.');
      leave(under, null);
      for (const next of mailbox.splice(0)) leave(next.input, next.answer);
      deps.onEnd('bug', reasonOf(error));
    } finally {
      draining = false;
    }
  }

  /** What comes when it has ended: nothing is done but to count what was spent. */
  function leave(input: Input, answer: ((reply: Reply | null) => void) | null): void {
    if (input.type === 'world') late.keep(input.calls ?? []);
    answer?.(null);
  }

  /** What no batch of this actor will bring any more. */
  function countTheRest(): void {
    late.keep([...uncounted.values()].flat());
    uncounted.clear();
  }

  function take(input: Input, answer: ((reply: Reply | null) => void) | null): void {
    const at = new Date(clock.now()).toISOString();
    const before = state.projection.revision;
    const next = step(state, { input, at, seed: ids.random128() });
    state = next.state;
    for (const entry of next.entries) publish({ type: 'EntryAdmitted', entry, durable: false });
    for (const item of next.items) publish(item);
    if (next.batch !== null) {
      if (next.calls.length > 0) uncounted.set(next.batch, next.calls);
      lane.push({
        number: next.batch,
        workstreamId: state.workstreamId,
        incarnation: state.incarnation,
        epoch: state.epoch,
        expectedHead: before,
        entries: next.entries,
        projection: state.projection,
        state: stateOf(state.projection),
        receipts: next.receipts,
        calls: next.calls,
      });
    }
    for (const effect of next.effects) performer.perform(effect);
    if (next.entries.length > 0) announce();
    answer?.(next.reply);
    settleWatching(({ fact }) => fact(state), true);
  }

  const summary = (): WorkstreamSummaryModel =>
    summaryOf({
      id: state.workstreamId,
      projection: state.projection,
      createdAt: loaded.createdAt,
      persistence: lane.persistence().status,
    });

  /** Tells the list, when what it shows has changed. */
  function announce(): void {
    const row = summary();
    const shown = `${row.lifecycle}|${row.state}|${row.stopping}|${row.persistence}|${row.title}|${row.model}`;
    if (shown === announced) return;
    announced = shown;
    hub.announce(row);
  }

  function settleWaiting(due: (w: { readonly batch: number }) => boolean, landing: Landing): void {
    const now = waiting.filter(due);
    waiting = waiting.filter((w) => !due(w));
    for (const { resolve } of now) resolve(landing);
  }

  function settleWatching(due: (w: (typeof watching)[number]) => boolean, is: boolean): void {
    const now = watching.filter(due);
    if (now.length === 0) return;
    watching = watching.filter((w) => !now.includes(w));
    for (const { resolve } of now) resolve(is);
  }

  function endAs(reason: LaneEnd): void {
    depose(reason);
    deps.onEnd(reason);
  }

  function depose(reason: Exclude<Landing, 'durable'>, sentence = sentenceOf[reason]): void {
    if (ended) return;
    ended = reason;
    lane.end();
    countTheRest();
    void performer.end(0);
    settleWaiting(() => true, reason);
    settleWatching(() => true, false);
    publish({ type: 'Ended', reason: sentence, resumable: reason !== 'gone' });
  }

  post({ type: 'recover' });
  readKeys();

  return {
    ask(by, key, command) {
      let reply: Reply | null = null;
      let asked = false;
      post({ type: 'command', by, key, command }, (r) => {
        reply = r;
        asked = true;
      });
      const answered = reply as Reply | null;
      if (!asked || !answered) return { type: 'ended', landing: ended ?? 'ownerLost' };
      const { batch } = answered;
      const landed =
        batch === null || batch <= state.durableBatches
          ? Promise.resolve<Landing>('durable')
          : ended
            ? Promise.resolve<Landing>(ended)
            : new Promise<Landing>((resolve) => waiting.push({ batch, resolve }));
      return { type: 'answered', reply: answered, landed };
    },
    knows(key) {
      const name = receiptKey(key);
      if (state.receipts.has(name)) return 'HERE';
      if (keysSince.has(name)) return 'STORED';
      if (!receiptKeys) return 'UNKNOWN';
      return receiptKeys.has(name) ? 'STORED' : 'NEW';
    },
    state: () => state,
    persistence: () => lane.persistence(),
    summary,
    readConversation,
    fired(fires) {
      const stamp: Stamp = { epoch: state.epoch, generation: null };
      post({ type: 'world', stamp, event: { type: 'watchesFired', fires } });
    },
    shut: (on) => post({ type: 'closing', on }),
    until(fact, ms) {
      if (ended) return Promise.resolve(false);
      if (fact(state)) return Promise.resolve(true);
      return new Promise((resolve) => {
        const watcher = { fact, resolve: (is: boolean) => (cancel(), resolve(is)) };
        const cancel = clock.after(ms, () => settleWatching((w) => w === watcher, false));
        watching.push(watcher);
      });
    },
    ended: () => ended,
    hold() {
      if (ended) return null;
      holds += 1;
      let held = true;
      return () => {
        if (held) holds -= 1;
        held = false;
      };
    },
    seal() {
      if (ended || draining || mailbox.length > 0 || waiting.length > 0 || watching.length > 0) return false;
      if (holds > 0 || !canUnload(state)) return false;
      // A name is being made; a closed workstream is not named any more.
      if (state.projection.lifecycle === 'OPEN' && !performer.isIdle()) return false;
      ended = 'unloaded';
      lane.end();
      void performer.end(0);
      return true;
    },
    async stop(withinMs) {
      if (ended) return;
      ended = 'stopped';
      settleWatching(() => true, false);
      await within(clock, withinMs, lane.settled());
      lane.end();
      countTheRest();
      settleWaiting(() => true, 'stopped');
      await performer.end(toolGraceMs);
      await within(clock, countingGraceMs, late.settled());
    },
    depose: (reason) => depose(reason),
  };
}
