/**
 * Owns: one workstream in a world that a test moves by hand: a journal that commits when told to, a model, tools and
 * timers that answer when told to, a follower at the feed, and a process that can be lost at any moment.
 *
 * Does not own: what must hold (`laws.ts`, the scenarios), or which moves are made (`moves.ts`).
 *
 * The world never peeks: it does what `step` asks and tells it what came of it. What it knows about durability it
 * knows from its own journal, not from the state under test.
 */
import {
  applyEntries,
  applyItem,
  emptyProjection,
  liveTurn,
  openItems,
  viewOf,
  type ApprovalMode,
  type Author,
  type Entry,
  type EntryBody,
  type FeedItem,
  type ModelChoice,
  type ToolResult,
  type Usage,
  type View,
} from 'schema/projection';
import type { PreparedCall } from '../../../src/core/approvals/prepared.ts';
import { isOverHard } from '../../../src/core/context/meter.ts';
import { estimateTokens, weightOfAll } from '../../../src/core/context/tokens.ts';
import type { ModelAnswer, ModelOutcome } from '../../../src/core/conversation/message.ts';
import type { Effect } from '../../../src/core/effects.ts';
import type {
  Command,
  CommandKey,
  Input,
  Stamp,
  SummaryOutcome,
  Timed,
  World as Event,
} from '../../../src/core/inputs.ts';
import type { Receipt } from '../../../src/core/journal/receipt.ts';
import type { ModelFault } from '../../../src/core/models/fault.ts';
import { spentBy, type ModelCall } from '../../../src/core/models/spending.ts';
import { step, type Step } from '../../../src/core/step.ts';
import { canUnload } from '../../../src/core/workstream/lifecycle.ts';
import { loadedState, told, type State } from '../../../src/core/workstream/state.ts';

export const ann: Author = { id: 'ann', name: 'Ann' };
export const bob: Author = { id: 'bob', name: 'Bob' };

type EffectOf<T extends Effect['type']> = Extract<Effect, { readonly type: T }>;

/** What one step accepted, on its way to the database. */
export interface StoredBatch {
  readonly number: number;
  readonly through: number;
  readonly entries: readonly Entry[];
  readonly receipts: readonly Receipt[];
  readonly calls: readonly ModelCall[];
}

/** How the provider of the model is; a test may change it at any time. */
export interface Provider {
  /** Tokens the model can read; null: nobody knows. */
  window: number | null;
  /** Of the system prompt and the tools, estimated. */
  overhead: number;
  /** Tokens it really counts for each one of our estimate. */
  factor: number;
  /** What it says it has counted. */
  counts: 'HONESTLY' | 'NOTHING' | 'ZEROS' | 'ABSURDLY' | 'ABSURDLY_LITTLE' | 'NEARLY_FULL' | 'FULL';
}

/** One input taken: everything a law may look at. */
export interface Moment {
  readonly before: State;
  readonly timed: Timed;
  readonly step: Step;
  readonly world: World;
}

export interface Watcher {
  readonly onStep?: (moment: Moment) => void;
  /** The process was lost and the state rebuilt from what was durable; `recover` has not been taken yet. */
  readonly onCrash?: (world: World) => void;
  readonly onEnd?: (world: World) => void;
}

/** What a tool is said to be going to do: only look, change files, do anything, or nothing as it is not understood. */
export type PreparedKind = 'read' | 'write' | 'execute' | 'invalid';

export interface World {
  readonly state: State;
  /** Committed entries, as they would come back from the database. */
  readonly durable: readonly Entry[];
  /** Durable entries and those accepted since. */
  readonly journal: readonly Entry[];
  /** Receipts of committed batches, by scope and key. */
  readonly receipts: ReadonlyMap<string, Receipt>;
  readonly follower: View;
  readonly uncommitted: readonly StoredBatch[];
  readonly unacknowledged: readonly StoredBatch[];
  readonly modelCalls: readonly EffectOf<'callModel'>[];
  readonly running: readonly EffectOf<'runTool'>[];
  readonly preparing: readonly EffectOf<'prepareCalls'>[];
  readonly backoffs: readonly EffectOf<'backoff'>[];
  readonly stopWatches: readonly EffectOf<'watchStop'>[];
  readonly titles: readonly EffectOf<'suggestTitle'>[];
  readonly summaries: readonly EffectOf<'summarise'>[];
  /** Conversations that are to be read for a summary. */
  readonly readings: readonly EffectOf<'readConversation'>[];
  /** Tokens spent by what is durable. */
  readonly durablySpent: number;
  /** Set: what the core is told of room, usage and spending. Null: nothing. */
  provider: Provider | null;
  /** Effects of all steps so far. */
  readonly effects: readonly Effect[];

  readonly take: (input: Input) => Step;
  /** An event of work begun under `stamp`, now or earlier. */
  readonly tell: (stamp: Stamp, event: Event, calls?: readonly ModelCall[]) => Step;
  readonly command: (by: Author, command: Command, key?: Partial<CommandKey>) => Step;

  readonly send: (text: string, by?: Author, delivery?: 'QUEUE' | 'REJECT') => Step;
  /** Sent to steer the live turn, or the one named. */
  readonly steer: (text: string, by?: Author, turnId?: string) => Step;
  readonly edit: (messageId: string, text: string, by?: Author) => Step;
  readonly withdraw: (messageId: string, by?: Author) => Step;
  readonly stop: (turnId?: string | null) => Step;
  readonly force: (turnId?: string | null) => Step;
  /** These three by somebody who has seen the last turn, or says which one he saw. */
  readonly rewind: (messageId: string, by?: Author, turnId?: string | null) => Step;
  readonly resend: (messageId: string, text: string, by?: Author, turnId?: string | null) => Step;
  readonly retry: (from?: 'MESSAGE' | 'LAST_RESULT', by?: Author, turnId?: string | null) => Step;
  readonly configure: (approvalMode: ApprovalMode | null, by?: Author) => Step;
  readonly choose: (model: ModelChoice, by?: Author) => Step;
  readonly rename: (title: string, by?: Author) => Step;
  /** 0: no budget. */
  readonly budget: (tokenBudget: number, by?: Author) => Step;
  readonly instruct: (instructions: string, by?: Author) => Step;
  readonly compact: (by?: Author) => Step;
  readonly close: (by?: Author) => Step;
  readonly open: (by?: Author) => Step;
  /** It is about to be closed or deleted, or not after all. */
  readonly door: (shut: boolean) => Step;
  readonly resumeQueue: () => Step;
  /** Decides the first open item, or the one of `callId`. */
  readonly decide: (
    verdict: 'APPROVED' | 'DENIED',
    how?: {
      readonly callId?: string;
      readonly feedback?: string;
      readonly by?: Author;
      readonly hash?: string;
    },
  ) => Step;

  /** Commits the oldest batch; the actor has not heard of it yet. */
  readonly commit: () => boolean;
  /** Tells the actor how far the journal is durable. */
  readonly acknowledge: () => Step | null;
  /** Commits and acknowledges everything, batch by batch. */
  readonly store: () => void;

  readonly piece: (text: string, reasoning?: string) => Step;
  readonly answer: (answer?: Partial<ModelAnswer>) => Step;
  /** The model answers with one call for each name. */
  readonly declare: (...names: readonly string[]) => Step;
  readonly fail: (fault?: Partial<ModelFault>) => Step;
  /** Why the oldest call cannot be answered: found before anybody was asked, or said by the provider. Null: it can. */
  readonly overflows: () => 'HERE' | 'THERE' | null;
  /** The oldest call is too long, found here or there. */
  readonly overflow: (where?: 'HERE' | 'THERE', message?: string) => Step;
  /** The oldest request for a summary has ended; a text: with that summary. */
  readonly summarised: (outcome?: string | SummaryOutcome) => Step;
  /** What a summary is made of has been read; false: it cannot be. */
  readonly readForSummary: (answered?: boolean) => Step;
  readonly endModel: (outcome: ModelOutcome, messageId?: string) => Step;
  /** Answers the oldest request to prepare, one kind for each call (the last one for the rest). */
  readonly prepare: (...kinds: readonly PreparedKind[]) => Step;
  readonly output: (callId: string, text: string) => Step;
  readonly end: (callId: string, result?: Partial<ToolResult>) => Step;
  /** The oldest wait before another attempt is over. */
  readonly waitOver: () => Step;
  /** The 10 s of the latest stop are over. */
  readonly stopOverdue: () => Step;
  /** A name comes that was asked for; null: the model has none. */
  readonly suggest: (title: string | null) => Step;
  /** What lies below is read: for a person who wants to go back, or for the live turn. */
  readonly read: (stamp?: Stamp) => Step;
  /**
   * The process is lost with all it had not committed, and another one takes over from the journal. Lazily: it reads
   * history when it is needed.
   */
  readonly crash: (lazily?: boolean) => Step;
  /** It leaves memory, if it can, and is loaded again. */
  readonly reload: (lazily?: boolean) => Step | null;
  readonly finish: () => void;
}

/** A world around an open workstream with an empty transcript. */
export const createWorld = (...watchers: readonly Watcher[]): World => worldOf(opening(), ...watchers);

/** A world around what these entries are the journal of. */
export function worldOf(opened: readonly Entry[], ...watchers: readonly Watcher[]): World {
  let durable: readonly Entry[] = opened;
  let journal: readonly Entry[] = opened;
  const receipts = new Map<string, Receipt>();
  let durablySpent = 0;
  let state = load(1);
  let follower: View = viewOf(applyEntries(emptyProjection, opened), [], 1);
  let uncommitted: StoredBatch[] = [];
  let unacknowledged: StoredBatch[] = [];
  let modelCalls: EffectOf<'callModel'>[] = [];
  let running: EffectOf<'runTool'>[] = [];
  let preparing: EffectOf<'prepareCalls'>[] = [];
  let backoffs: EffectOf<'backoff'>[] = [];
  let stopWatches: EffectOf<'watchStop'>[] = [];
  let titles: EffectOf<'suggestTitle'>[] = [];
  let summaries: EffectOf<'summarise'>[] = [];
  let readings: EffectOf<'readConversation'>[] = [];
  let provider: Provider | null = null;
  const effects: Effect[] = [];
  let inputs = 0;
  let keys = 0;

  function load(epoch: number, lazily = false): State {
    return freeze(
      loadedState({
        id: 'w1',
        incarnation: 'incarnation',
        epoch,
        projection: applyEntries(emptyProjection, durable),
        conversation: lazily ? null : durable,
        spent: durablySpent,
      }),
    );
  }

  function take(input: Input): Step {
    inputs += 1;
    const timed: Timed = { input, at: new Date(inputs * 1_000).toISOString(), seed: `s${inputs}` };
    const before = state;
    const taken = freeze(step(before, timed));
    state = taken.state;
    journal = [...journal, ...taken.entries];
    if (taken.batch !== null)
      uncommitted = [
        ...uncommitted,
        {
          number: taken.batch,
          through: taken.state.projection.revision,
          entries: taken.entries,
          receipts: taken.receipts,
          calls: taken.calls,
        },
      ];
    for (const item of publish(taken)) [follower] = applyItem(follower, item);
    for (const effect of taken.effects) perform(effect);
    for (const watcher of watchers) watcher.onStep?.({ before, timed, step: taken, world });
    return taken;
  }

  function perform(effect: Effect): void {
    effects.push(effect);
    switch (effect.type) {
      case 'callModel':
        modelCalls = [...modelCalls, effect];
        break;
      case 'runTool':
        running = [...running, effect];
        break;
      case 'prepareCalls':
        preparing = [...preparing, effect];
        break;
      case 'backoff':
        backoffs = [...backoffs, effect];
        break;
      case 'watchStop':
        stopWatches = [...stopWatches, effect];
        break;
      case 'suggestTitle':
        titles = [...titles, effect];
        break;
      case 'summarise':
        summaries = [...summaries, effect];
        break;
      case 'readConversation':
        readings = [...readings, effect];
        break;
      // What is aborted still reports how it ended; a test decides when, or that it never does.
      case 'abortModel':
      case 'abortTool':
        break;
    }
  }

  const tell = (stamp: Stamp, event: Event, calls?: readonly ModelCall[]): Step =>
    take({ type: 'world', stamp, event, ...(calls && { calls }) });

  const command = (by: Author, what: Command, key?: Partial<CommandKey>): Step => {
    keys += 1;
    return take({
      type: 'command',
      by,
      key: { scope: `${by.id}/w1`, key: `key-${keys}`, inputHash: JSON.stringify(what), ...key },
      command: what,
    });
  };

  function commit(): boolean {
    const [batch, ...rest] = uncommitted;
    if (!batch) return false;
    uncommitted = rest;
    unacknowledged = [...unacknowledged, batch];
    durable = [...durable, ...throughTheDatabase(batch.entries)];
    durablySpent += batch.calls.reduce((sum, call) => sum + spentBy(call), 0);
    for (const receipt of batch.receipts) receipts.set(`${receipt.scope}\n${receipt.key}`, receipt);
    return true;
  }

  function acknowledge(): Step | null {
    const latest = unacknowledged.at(-1);
    if (!latest) return null;
    unacknowledged = [];
    [follower] = applyItem(follower, { type: 'EntriesDurable', durableThrough: latest.through });
    return take({
      type: 'acknowledged',
      epoch: state.epoch,
      batch: latest.number,
      through: latest.through,
    });
  }

  function crash(lazily = false): Step {
    const from = durable.at(-1)?.revision ?? 0;
    journal = durable;
    uncommitted = [];
    unacknowledged = [];
    modelCalls = [];
    running = [];
    preparing = [];
    backoffs = [];
    stopWatches = [];
    titles = [];
    summaries = [];
    readings = [];
    state = load(state.epoch + 1, lazily);
    [follower] = applyItem(follower, { type: 'EpochStarted', epoch: state.epoch, from });
    for (const watcher of watchers) watcher.onCrash?.(world);
    return take({ type: 'recover' });
  }

  function endModel(outcome: ModelOutcome, messageId?: string): Step {
    const call = must(
      modelCalls.find((c) => messageId === undefined || c.messageId === messageId),
      'a model call',
    );
    modelCalls = modelCalls.filter((c) => c !== call);
    const { messageId: id } = call;
    if (!provider) return tell(call.stamp, { type: 'modelEnded', messageId: id, outcome });
    const { window, overhead } = provider;
    const text = outcome.type === 'answered' ? outcome.text : '';
    const real = { inputTokens: weigh(call), outputTokens: weighText(text) };
    const asked = outcome.type !== 'failed' || !outcome.local;
    const told: ModelOutcome =
      outcome.type === 'answered' && outcome.usage === null ? { ...outcome, usage: counted(real) } : outcome;
    return tell(
      call.stamp,
      { type: 'modelEnded', messageId: id, outcome: told, room: { window, overhead } },
      asked ? [paid(id, 'TURN', real)] : undefined,
    );
  }

  /** Tokens the provider really reads for this call, and writes for this text. */
  const weigh = (call: EffectOf<'callModel'>): number =>
    Math.round(((provider?.overhead ?? 0) + weightOfAll(contextOf(world, call))) * (provider?.factor ?? 1));
  const weighText = (text: string): number => Math.round(estimateTokens(text) * (provider?.factor ?? 1));

  function counted(real: Usage): Usage | null {
    switch (provider?.counts) {
      case 'HONESTLY':
        return real;
      case 'ZEROS':
        return { inputTokens: 0, outputTokens: 0 };
      case 'ABSURDLY':
        return { inputTokens: 1e12, outputTokens: 1e12 };
      case 'ABSURDLY_LITTLE':
        return { inputTokens: 1, outputTokens: 1e12 };
      case 'NEARLY_FULL':
      case 'FULL': {
        const share = provider.counts === 'FULL' ? 0.95 : 0.85;
        return { ...real, inputTokens: Math.round((provider.window ?? 100_000) * share) };
      }
      default:
        return null;
    }
  }

  function paid(id: string, purpose: ModelCall['purpose'], usage: Usage): ModelCall {
    return {
      id: `paid-${id}`,
      purpose,
      turnId: null,
      alias: 'test',
      model: 'test',
      usage,
      estimated: false,
      outcome: 'ANSWERED',
      cost: null,
    };
  }

  function overflows(): 'HERE' | 'THERE' | null {
    const call = modelCalls[0];
    if (!call || !provider || provider.window === null) return null;
    const { window, overhead } = provider;
    if (call.guarded && isOverHard({ ...call.context, window, overhead })) return 'HERE';
    return weigh(call) > window ? 'THERE' : null;
  }

  const answer = (given: Partial<ModelAnswer> = {}): Step =>
    endModel({
      type: 'answered',
      text: '',
      reasoning: '',
      calls: [],
      finish: given.calls?.length ? 'TOOL_CALLS' : 'STOP',
      usage: null,
      alias: 'test',
      model: 'test',
      ...given,
    });

  const lastTurnId = (): string | null => state.projection.turn?.id ?? null;

  const world: World = {
    get state() {
      return state;
    },
    get durable() {
      return durable;
    },
    get journal() {
      return journal;
    },
    get receipts() {
      return receipts;
    },
    get follower() {
      return follower;
    },
    get uncommitted() {
      return uncommitted;
    },
    get unacknowledged() {
      return unacknowledged;
    },
    get modelCalls() {
      return modelCalls;
    },
    get running() {
      return running;
    },
    get preparing() {
      return preparing;
    },
    get backoffs() {
      return backoffs;
    },
    get stopWatches() {
      return stopWatches;
    },
    get titles() {
      return titles;
    },
    get summaries() {
      return summaries;
    },
    get readings() {
      return readings;
    },
    get durablySpent() {
      return durablySpent;
    },
    get provider() {
      return provider;
    },
    set provider(next) {
      provider = next;
    },
    effects,
    take,
    tell,
    command,
    send: (text, by = ann, delivery = 'QUEUE') => command(by, { type: 'send', text, delivery, turnId: null }),
    steer: (text, by = ann, turnId = liveTurn(state.projection)?.id ?? 'none') =>
      command(by, { type: 'send', text, delivery: 'STEER', turnId }),
    edit: (messageId, text, by = ann) => command(by, { type: 'editQueued', messageId, text }),
    withdraw: (messageId, by = ann) => command(by, { type: 'withdrawQueued', messageId }),
    stop: (turnId = null) => command(ann, { type: 'stop', turnId, force: false }),
    force: (turnId = null) => command(ann, { type: 'stop', turnId, force: true }),
    rewind: (messageId, by = ann, turnId = lastTurnId()) =>
      command(by, { type: 'rewind', messageId, turnId }),
    resend: (messageId, text, by = ann, turnId = lastTurnId()) =>
      command(by, { type: 'resend', messageId, text, turnId }),
    retry: (from = 'MESSAGE', by = ann, turnId = lastTurnId()) =>
      command(by, { type: 'retry', from, turnId }),
    configure: (approvalMode, by = ann) =>
      command(by, { type: 'configure', title: null, approvalMode, model: null }),
    choose: (model, by = ann) => command(by, { type: 'configure', title: null, approvalMode: null, model }),
    rename: (title, by = ann) => command(by, { type: 'configure', title, approvalMode: null, model: null }),
    budget: (tokenBudget, by = ann) =>
      command(by, { type: 'configure', title: null, approvalMode: null, model: null, tokenBudget }),
    instruct: (instructions, by = ann) =>
      command(by, { type: 'configure', title: null, approvalMode: null, model: null, instructions }),
    compact: (by = ann) => command(by, { type: 'compact' }),
    close: (by = ann) => command(by, { type: 'close' }),
    open: (by = ann) => command(by, { type: 'open' }),
    door: (shut) => take({ type: 'closing', on: shut }),
    resumeQueue: () => command(ann, { type: 'resumeQueue' }),
    decide(verdict, { callId, feedback, by = ann, hash } = {}) {
      const item = must(
        openItems(state.projection).find((i) => callId === undefined || i.callId === callId),
        'an open approval item',
      );
      const cycle = must(
        state.projection.cycles.find((c) => c.items.includes(item)),
        'its cycle',
      );
      return command(by, {
        type: 'decide',
        cycleId: cycle.id,
        callId: item.callId,
        argumentsHash: hash ?? item.argumentsHash,
        verdict,
        feedback: feedback ?? null,
      });
    },
    commit,
    acknowledge,
    store() {
      while (uncommitted.length > 0 || unacknowledged.length > 0) {
        commit();
        acknowledge();
      }
    },
    piece(text, reasoning = '') {
      const call = must(modelCalls.at(-1), 'a model call');
      return tell(call.stamp, { type: 'modelDelta', messageId: call.messageId, text, reasoning });
    },
    answer,
    declare: (...names) => answer({ calls: names.map((name) => declaration(name)) }),
    fail: (fault = {}) => endModel({ ...retryable, ...fault }),
    overflows,
    overflow: (where = overflows() ?? 'THERE', message = `Too long, found ${where.toLowerCase()}.`) =>
      endModel({ ...retryable, kind: 'CONTEXT_OVERFLOW', message, ...(where === 'HERE' && { local: true }) }),
    summarised(outcome = 'In short.') {
      const asked = must(summaries[0], 'a request for a summary');
      summaries = summaries.slice(1);
      const { compactionId, entries } = asked;
      const ended: SummaryOutcome =
        typeof outcome === 'string'
          ? { type: 'summarised', summary: outcome, alias: 'test', model: 'test' }
          : outcome;
      const usage = { inputTokens: weightOfAll(entries), outputTokens: 10 };
      return tell(
        asked.stamp,
        { type: 'summaryEnded', compactionId, outcome: ended },
        provider ? [paid(compactionId, 'SUMMARY', usage)] : undefined,
      );
    },
    readForSummary(answered = true) {
      const asked = must(readings[0], 'a conversation to read');
      readings = readings.slice(1);
      if (answered) return world.read(asked.stamp);
      const outcome = { type: 'failed', reason: 'UNREAD', message: 'The database is away.' } as const;
      return tell(asked.stamp, { type: 'summaryEnded', compactionId: asked.compactionId, outcome });
    },
    endModel,
    prepare(...kinds) {
      const request = must(preparing[0], 'a request to prepare');
      preparing = preparing.slice(1);
      return tell(request.stamp, {
        type: 'callsPrepared',
        calls: request.calls.map(({ callId }, i) => ({
          callId,
          prepared: prepared(kinds[i] ?? kinds.at(-1) ?? 'read', callId),
        })),
      });
    },
    output(callId, text) {
      const call = must(
        running.find((r) => r.call.callId === callId),
        'a running call',
      );
      return tell(call.stamp, { type: 'toolOutput', callId, text });
    },
    end(callId, result = {}) {
      const call = must(
        running.find((r) => r.call.callId === callId),
        'a running call',
      );
      running = running.filter((r) => r !== call);
      return tell(call.stamp, {
        type: 'toolEnded',
        callId,
        result: { outcome: 'OK', effect: 'COMMITTED', content: 'done', ...result },
      });
    },
    waitOver() {
      const wait = must(backoffs[0], 'a wait');
      backoffs = backoffs.slice(1);
      return tell(wait.stamp, { type: 'backoffOver', messageId: wait.messageId });
    },
    stopOverdue() {
      const watch = must(stopWatches.at(-1), 'a watched stop');
      stopWatches = stopWatches.slice(0, -1);
      return tell(watch.stamp, { type: 'stopOverdue', turnId: watch.turnId });
    },
    suggest(title) {
      const asked = must(titles[0], 'a question for a name');
      titles = titles.slice(1);
      return tell(asked.stamp, { type: 'titleSuggested', title, question: asked.question });
    },
    read: (stamp = { epoch: state.epoch, generation: null }) =>
      tell(stamp, {
        type: 'conversationRead',
        entries: durable.filter((e) => e.revision <= state.conversationFrom),
      }),
    crash,
    reload: (lazily) => (canUnload(state) ? crash(lazily) : null),
    finish() {
      for (const watcher of watchers) watcher.onEnd?.(world);
    },
  };
  return world;
}

export const declaration = (name: string, args = '{}'): ModelAnswer['calls'][number] => ({
  providerId: `provider-${name}`,
  name,
  arguments: args,
});

export const retryable: ModelFault = {
  type: 'failed',
  kind: 'OVERLOADED',
  alias: 'test',
  accepted: false,
  othersLeft: false,
  message: 'The endpoint is busy.',
  retryAfterMs: null,
};

const accessOf = { read: 'READ', write: 'WRITE', execute: 'EXECUTE' } as const;

export function prepared(kind: PreparedKind, callId: string): PreparedCall {
  if (kind === 'invalid') return { type: 'invalid', message: 'There is no such tool.' };
  return {
    type: 'ready',
    access: accessOf[kind],
    argumentsHash: `hash-${callId}`,
    preview: { kind: 'TEXT', title: callId, body: '' },
    basis: `basis-${callId}`,
  };
}

/** The entries a created workstream begins with. */
function opening(): readonly Entry[] {
  return [
    place(1, {
      kind: 'CONFIGURATION',
      configuration: {
        title: 'Test',
        titleSource: 'DEFAULT',
        model: 'test',
        workspace: '/workspace',
        approvalMode: 'ASK',
        approvalModeBy: ann,
      },
    }),
    place(2, { kind: 'LIFECYCLE', lifecycle: 'OPEN', by: null }),
  ];
}

/** What the model is told, whole: what the journal has below `conversationFrom`, and what is in memory above. */
export const contextOf = (
  w: World,
  from: { readonly conversation: readonly Entry[]; readonly conversationFrom: number } = w.state,
): readonly Entry[] => [
  ...told(
    w.state.projection,
    w.durable.filter((e) => e.revision <= from.conversationFrom),
  ),
  ...from.conversation,
];

/** An entry at a revision of epoch 1, of no turn. */
export const place = (revision: number, body: EntryBody, over: Partial<Entry> = {}): Entry =>
  ({
    ...body,
    id: `e${revision}`,
    revision,
    epoch: 1,
    generation: 0,
    lane: null,
    turnId: null,
    at: new Date(revision * 1_000).toISOString(),
    ...over,
  }) as Entry;

/** What a follower is sent of a step: the entries, then what is only shown. */
const publish = (taken: Step): readonly FeedItem[] => [
  ...taken.entries.map((entry): FeedItem => ({ type: 'EntryAdmitted', entry, durable: false })),
  ...taken.items,
];

/** Entries as jsonb gives them back: a value that is not JSON would not survive this. */
const throughTheDatabase = (entries: readonly Entry[]): readonly Entry[] =>
  JSON.parse(JSON.stringify(entries)) as Entry[];

function must<T>(found: T | undefined, what: string): T {
  if (found === undefined) throw new Error(`The test expects ${what}, and there is none.`);
  return found;
}

/** Freezes all the way down, so that a step that changes what it was given throws. Skips what is frozen already. */
function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const part of Object.values(value)) freeze(part);
  return value;
}
