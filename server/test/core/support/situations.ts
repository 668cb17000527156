/**
 * Owns: a canonical life for each situation of the state table, each event of it as something that happens in that
 * life, and telling the situation from a state.
 */
import { activityOf, isCompacting, isStopping, liveTurn, stateOf } from 'schema/projection';
import type { Command, Input, World as Event } from '../../../src/core/inputs.ts';
import { step, type Step } from '../../../src/core/step.ts';
import { loadedState, type State } from '../../../src/core/workstream/state.ts';
import type {
  CommandEvent,
  Situation,
  TableEvent,
  WorldEvent,
} from '../../../src/core/workstream/situations.ts';
import { ann, createWorld, declaration, place, prepared, retryable, type World } from './world.ts';

const resting = createWorld;

const admitted = (): World => {
  const w = createWorld();
  w.send('hello');
  return w;
};
const asking = (): World => {
  const w = admitted();
  w.store();
  return w;
};
const preparing = (): World => {
  const w = asking();
  w.declare('write_file');
  w.store();
  return w;
};
const waiting = (): World => {
  const w = preparing();
  w.prepare('write');
  w.store();
  return w;
};
const starting = (): World => {
  const w = waiting();
  w.decide('APPROVED');
  return w;
};
const working = (): World => {
  const w = starting();
  w.store();
  return w;
};
const then = (w: World, more: (w: World) => unknown): World => {
  more(w);
  w.store();
  return w;
};

/** Two exchanges, so that there is older history. */
const talked = (): World =>
  then(
    then(
      then(asking(), (w) => w.answer({ text: 'hi' })),
      (w) => w.send('and more'),
    ),
    (w) => w.answer({ text: 'more' }),
  );
const askingAgain = (): World => then(talked(), (w) => w.send('again'));
const compacting = (): World => then(askingAgain(), (w) => w.overflow('THERE'));
const compactingByHand = (): World => then(talked(), (w) => w.compact());
/** It has a budget, which the first answer spends. */
const spent = (): World => {
  const w = createWorld();
  w.provider = { window: null, overhead: 10, factor: 1, counts: 'NOTHING' };
  w.send('hello');
  w.store();
  w.answer({ text: 'hi' });
  // Set by then, so that the first exchange has asked for a name.
  w.budget(1);
  w.send('again');
  w.store();
  return w;
};

export const canonical: Readonly<Record<Situation, () => World>> = {
  CREATING: resting,
  CLOSED: () =>
    then(
      then(asking(), (w) => w.answer({ text: 'hi' })),
      (w) => w.close(),
    ),
  IDLE: () => then(asking(), (w) => w.answer({ text: 'hi' })),
  ERROR: () => then(askingAgain(), (w) => w.fail({ kind: 'BAD_REQUEST' })),
  ORPHANED: () => then(askingAgain(), (w) => w.force()),
  ADMITTED: admitted,
  ASKING: askingAgain,
  BACKOFF: () => then(asking(), (w) => w.fail()),
  PREPARING: preparing,
  WAITING: waiting,
  STARTING: starting,
  WORKING: working,
  BUDGET: spent,
  COMPACTING: compacting,
  COMPACTING_BY_HAND: compactingByHand,
  STOPPING_ANSWER: () => then(asking(), (w) => w.stop()),
  STOPPING_CALLS: () => then(working(), (w) => w.stop()),
  STOPPING_SUMMARY: () => then(compacting(), (w) => w.stop()),
};

/** The state of the canonical life. CREATING is no step of it: another service writes that entry. */
export function stateIn(situation: Situation, w: World): State {
  if (situation !== 'CREATING') return w.state;
  const marked = place(w.state.projection.revision + 1, {
    kind: 'LIFECYCLE',
    lifecycle: situation,
    by: null,
  });
  const { projection } = w.state;
  return loadedState({
    id: 'w1',
    incarnation: 'incarnation',
    epoch: 1,
    projection: { ...projection, lifecycle: situation, revision: marked.revision },
    conversation: [],
  });
}

/** Which situation a state is in, told from the outside: the view, and what is under way. */
export function situationOf(state: State): Situation {
  const { projection, attempt, progress, held, summary } = state;
  const shows = stateOf(projection);
  switch (shows) {
    case 'ATTENTION':
      return activityOf(projection) === 'BUDGET' ? 'BUDGET' : 'WAITING';
    case 'THINKING':
      if (isStopping(projection)) return summary ? 'STOPPING_SUMMARY' : 'STOPPING_ANSWER';
      if (isCompacting(projection))
        return projection.turn?.kind === 'COMPACT' ? 'COMPACTING_BY_HAND' : 'COMPACTING';
      if (attempt?.phase === 'backoff') return 'BACKOFF';
      return held.some(({ deed }) => deed.type === 'callModel') ? 'ADMITTED' : 'ASKING';
    case 'RUNNING':
      if (isStopping(projection)) return 'STOPPING_CALLS';
      if (Object.values(progress).some((p) => p.type === 'preparing')) return 'PREPARING';
      return held.some(({ deed }) => deed.type === 'runTool') ? 'STARTING' : 'WORKING';
    case 'IDLE':
      return state.orphans.length > 0 ? 'ORPHANED' : 'IDLE';
    default:
      return shows;
  }
}

/** The event happens to this state: what the step makes of it. */
export function happen(event: TableEvent, state: State, w: World): Step {
  const input = inputOf(event, state, w);
  return step(prior(event, state), { input, at: '2026-01-01T00:00:00.000Z', seed: 'seed' });
}

/** The state the event happens to: for a takeover, what another process makes of the journal; with no budget left. */
export function prior(event: TableEvent, state: State): State {
  // A door is opened that was shut: with the turn that was stopped for it this is another situation.
  if (event === 'doorOpened') return { ...state, closing: true };
  if (event === 'sendUnpaid')
    return { ...state, spent: 1, projection: { ...state.projection, budgetLimit: 1 } };
  if (event !== 'recovered' && event !== 'recoveredAgain') return state;
  const { turn } = state.projection;
  const before = event === 'recovered' || !turn ? turn : { ...turn, recoveries: 2 };
  return loadedState({
    id: state.workstreamId,
    incarnation: state.incarnation,
    epoch: state.epoch + 1,
    projection: { ...state.projection, turn: before },
    conversation: state.conversation,
  });
}

function inputOf(event: TableEvent, state: State, w: World): Input {
  if (event === 'recovered' || event === 'recoveredAgain') return { type: 'recover' };
  if (event === 'doorShut' || event === 'doorOpened') return { type: 'closing', on: event === 'doorShut' };
  if (event === 'acknowledged')
    return {
      type: 'acknowledged',
      epoch: state.epoch,
      batch: state.batches,
      through: state.projection.revision,
    };
  if (isCommand(event))
    return {
      type: 'command',
      by: ann,
      key: { scope: 'ann/w1', key: 'a key of its own', inputHash: event },
      command: commands[event](w),
    };
  // Reports come under the claim of the last deed, which is that of the live turn, or of what a forced one left behind.
  const stamp = w.effects
    .flatMap((e) => ('stamp' in e && e.stamp.generation !== null ? [e.stamp] : []))
    .at(-1) ?? {
    epoch: state.epoch,
    generation: 1,
  };
  if (event === 'oldClaim') {
    const old =
      situationOf(state) === 'ORPHANED'
        ? { ...stamp, epoch: stamp.epoch - 1 }
        : { ...stamp, generation: (stamp.generation ?? 1) - 1 };
    return { type: 'world', stamp: old, event: reports.modelAnswered(w) };
  }
  if (event === 'named')
    return { type: 'world', stamp: { epoch: state.epoch, generation: null }, event: reports[event](w) };
  return { type: 'world', stamp, event: reports[event](w) };
}

const commands: Readonly<Record<CommandEvent, (w: World) => Command>> = {
  send: () => ({ type: 'send', text: 'more', delivery: 'QUEUE', turnId: null }),
  sendUnpaid: () => ({ type: 'send', text: 'more', delivery: 'QUEUE', turnId: null }),
  sendOrReject: () => ({ type: 'send', text: 'more', delivery: 'REJECT', turnId: null }),
  steer: (w) => ({ type: 'send', text: 'rather', delivery: 'STEER', turnId: turnId(w) }),
  steerOther: () => ({ type: 'send', text: 'rather', delivery: 'STEER', turnId: 'another' }),
  editQueued: () => ({ type: 'editQueued', messageId: 'none', text: 'more' }),
  withdrawQueued: () => ({ type: 'withdrawQueued', messageId: 'none' }),
  stop: (w) => ({ type: 'stop', turnId: liveTurn(w.state.projection)?.id ?? null, force: false }),
  stopOther: () => ({ type: 'stop', turnId: 'another', force: false }),
  force: (w) => ({ type: 'stop', turnId: liveTurn(w.state.projection)?.id ?? null, force: true }),
  rewind: (w) => ({ type: 'rewind', messageId: messageId(w), turnId: turnId(w) }),
  rewindOther: (w) => ({ type: 'rewind', messageId: messageId(w), turnId: 'another' }),
  resend: (w) => ({ type: 'resend', messageId: messageId(w), turnId: turnId(w), text: 'rather' }),
  retry: (w) => ({ type: 'retry', turnId: turnId(w), from: 'MESSAGE' }),
  approveLast: (w) => decision(w, 'APPROVED'),
  denyLast: (w) => decision(w, 'DENIED'),
  decideChanged: (w) => ({ ...decision(w, 'APPROVED'), argumentsHash: 'other arguments' }),
  decideOther: (w) => ({ ...decision(w, 'APPROVED'), cycleId: 'another' }),
  resumeQueue: () => ({ type: 'resumeQueue' }),
  configure: () => ({ type: 'configure', title: null, approvalMode: 'TRUST_ALL', model: null }),
  choose: () => ({
    type: 'configure',
    title: null,
    approvalMode: null,
    model: { alias: 'other', temperature: null, effort: null },
  }),
  rename: () => ({ type: 'configure', title: 'A name of its own', approvalMode: null, model: null }),
  compact: () => ({ type: 'compact' }),
  close: () => ({ type: 'close' }),
  open: () => ({ type: 'open' }),
};

/** The last turn that was seen. */
const turnId = (w: World): string | null => w.state.projection.turn?.id ?? null;
const messageId = (w: World): string => w.journal.find((e) => e.kind === 'USER')?.id ?? 'none';

const isCommand = (event: TableEvent): event is CommandEvent => event in commands;

function decision(w: World, verdict: 'APPROVED' | 'DENIED'): Extract<Command, { readonly type: 'decide' }> {
  const cycle = w.state.projection.cycles.at(-1);
  const item = cycle?.items.at(-1);
  return {
    type: 'decide',
    cycleId: cycle?.id ?? 'none',
    callId: item?.callId ?? 'none',
    argumentsHash: item?.argumentsHash ?? 'none',
    verdict,
    feedback: null,
  };
}

/** Events about what the world was last asked for, by the ids it was told. */
const reports: Readonly<
  Record<
    Exclude<WorldEvent, 'acknowledged' | 'oldClaim' | 'recovered' | 'recoveredAgain'>,
    (w: World) => Event
  >
> = {
  modelSpoke: (w) => ({ type: 'modelDelta', messageId: asked(w), text: 'piece', reasoning: '' }),
  modelAnswered: (w) => ({ type: 'modelEnded', messageId: asked(w), outcome: answer }),
  modelDeclared: (w) => ({
    type: 'modelEnded',
    messageId: asked(w),
    outcome: { ...answer, calls: [declaration('read_file')] },
  }),
  modelCutOff: (w) => ({
    type: 'modelEnded',
    messageId: asked(w),
    outcome: { ...answer, calls: [declaration('read_file')], finish: 'LENGTH' },
  }),
  modelFailedForNow: (w) => ({ type: 'modelEnded', messageId: asked(w), outcome: retryable }),
  modelFailedForGood: (w) => ({
    type: 'modelEnded',
    messageId: asked(w),
    outcome: { ...retryable, kind: 'BAD_REQUEST' },
  }),
  modelOverflows: (w) => ({
    type: 'modelEnded',
    messageId: asked(w),
    outcome: { ...retryable, kind: 'CONTEXT_OVERFLOW' },
  }),
  modelAborted: (w) => ({ type: 'modelEnded', messageId: asked(w), outcome: { type: 'aborted' } }),
  retryDue: (w) => ({ type: 'backoffOver', messageId: asked(w) }),
  callsAllowed: (w) => allPrepared(w, 'read'),
  callsAsk: (w) => allPrepared(w, 'write'),
  callsInvalid: (w) => allPrepared(w, 'invalid'),
  callSpoke: (w) => ({ type: 'toolOutput', callId: begun(w), text: 'piece' }),
  lastCallSettled: (w) => ({
    type: 'toolEnded',
    callId: begun(w),
    result: { outcome: 'OK', effect: 'COMMITTED', content: 'done' },
  }),
  summarised: (w) => ({
    type: 'summaryEnded',
    compactionId: summary(w),
    outcome: { type: 'summarised', summary: '', alias: 'test', model: 'test' },
  }),
  summaryFailed: (w) => ({
    type: 'summaryEnded',
    compactionId: summary(w),
    outcome: { type: 'failed', reason: 'EMPTY_SUMMARY', message: 'The model had nothing to say.' },
  }),
  named: () => ({ type: 'titleSuggested', title: 'A name', question: 'hello' }),
  stopOverdue: (w) => ({ type: 'stopOverdue', turnId: w.state.projection.turn?.id ?? 'none' }),
};

const answer = {
  type: 'answered',
  text: 'text',
  reasoning: '',
  calls: [],
  finish: 'STOP',
  usage: null,
  alias: 'test',
  model: 'test',
} as const;

const asked = (w: World): string => w.effects.findLast((e) => e.type === 'callModel')?.messageId ?? 'none';
const summary = (w: World): string =>
  w.effects.findLast((e) => e.type === 'summarise')?.compactionId ?? 'none';
const begun = (w: World): string => w.effects.findLast((e) => e.type === 'runTool')?.call.callId ?? 'none';

function allPrepared(w: World, kind: 'read' | 'write' | 'invalid'): Event {
  const request = w.effects.findLast((e) => e.type === 'prepareCalls');
  return {
    type: 'callsPrepared',
    calls: (request?.calls ?? []).map(({ callId }) => ({ callId, prepared: prepared(kind, callId) })),
  };
}
