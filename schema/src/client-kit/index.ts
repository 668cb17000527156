/**
 * What a script or the browser needs to follow a workstream rightly: typed operations, the conversion to the fold's
 * values, following over a connection that fails, and commands that are repeated under their key.
 */
import type { ResultOf, TadaDocumentNode } from 'gql.tada';
import { ask } from './ask.ts';
import type { Answer } from './failure.ts';
import { follow, type Follower } from './follow.ts';
import type { Followed } from './followed.ts';
import { createIntent, type AcceptedOf, type Intent, type Outcome } from './intent.ts';
import { latest, type Source } from './latest.ts';
import { decideApproval } from './operations/turn.ts';
import { compactWorkstream } from './operations/workstream.ts';
import { realPace, type Pace, type Persistent } from './persist.ts';
import { questionTaker, type Question } from './questions.ts';
import { sendAndSettle, type Settlement, type SettleOptions } from './settle.ts';
import { followStates, type States, type StatesFollower } from './states.ts';
import { createTransport, type Transport, type TransportOptions } from './transport.ts';
import { watchCommands, type WatchCommands } from './watches.ts';
import { openWindow, type Windowed, type WindowReader } from './window.ts';

interface Until {
  /** Ends it when aborted. */
  readonly signal?: AbortSignal;
}

export interface WeirClient {
  /** Sends a query once. */
  request<R, V>(document: TadaDocumentNode<R, V>, variables: V, signal?: AbortSignal): Promise<Answer<R>>;
  /** Sends a query until it is answered or stopped; `observe` hears of each failure, and once of the answer. */
  ask<R, V>(document: TadaDocumentNode<R, V>, variables: V, observe: (answer: Answer<R>) => void): Persistent;
  /**
   * A mutation under a key of its own; `run` it until it is accepted or refused. Who must be able to go on after the
   * process has ended makes the `key` before (`newKey`), keeps it with the input, and names it here.
   */
  intend<R extends { readonly __typename: string }, I extends { readonly key: string }>(
    document: TadaDocumentNode<{ result: R }, { input: I }>,
    input: Omit<I, 'key'>,
    key?: string,
  ): Intent<AcceptedOf<R>>;
  /**
   * Follows one workstream. Each iterator gives the newest state whenever it is asked, or the next one to come: who is
   * slow misses what was between, never what it led to. Ends by itself when nothing more will come: there is no such
   * workstream, the token is not accepted, the server says so, `dispose`. The last state says why.
   */
  follow(workstreamId: string, until?: Until): AsyncIterable<Followed>;
  /** The same for who is called rather than asks, until stopped: every state, and older history on demand. */
  observe(workstreamId: string, observe: (followed: Followed) => void): Follower;
  /** Sends a message and waits until the turn that took it has ended; every way it can go is a value. */
  sendAndSettle(workstreamId: string, text: string, options?: SettleOptions): Promise<Settlement>;
  /** What waits for a person: each question once, in order, as long as it is open. Ends as `follow` does. */
  questions(workstreamId: string, until?: Until): AsyncIterable<Question>;
  /** Answers a question; feedback is said to the model with the results. */
  decide(
    workstreamId: string,
    question: Pick<Question, 'cycleId' | 'callId' | 'argumentsHash'>,
    verdict: 'APPROVED' | 'DENIED',
    feedback?: string,
  ): Promise<Outcome<Decided>>;
  /** Summarises older history now; follow the workstream to see its turn end. */
  compact(workstreamId: string): Promise<Outcome<Compacting>>;
  /** Makes, edits and ends watches. */
  readonly watches: WatchCommands;
  /** Reads around a place of history, a cursor as `search` gives it; does not follow. */
  window(workstreamId: string, place: string, observe: (windowed: Windowed) => void): WindowReader;
  /** Follows the list of workstreams until stopped: every state, and older ones on demand. */
  followStates(observe: (states: States) => void): StatesFollower;
  /** Ends the socket and with it everything that follows. */
  dispose(): void;
}

type DecideResult = ResultOf<typeof decideApproval>['result'];
type Decided = AcceptedOf<DecideResult>;
type Compacting = AcceptedOf<ResultOf<typeof compactWorkstream>['result']>;

export interface WeirClientOptions extends TransportOptions {
  /** Other ways to travel, to wait and to draw chance, for tests. */
  readonly transport?: Transport;
  readonly pace?: Pace;
}

export function createWeirClient(options: WeirClientOptions): WeirClient {
  const transport = options.transport ?? createTransport(options);
  const deps = { transport, pace: options.pace ?? realPace };
  const disposed = new AbortController();
  const orDisposed = (signal: AbortSignal | undefined) =>
    signal ? AbortSignal.any([signal, disposed.signal]) : disposed.signal;
  const observe: WeirClient['observe'] = (workstreamId, callback) => {
    const follower = follow(deps, workstreamId, callback);
    disposed.signal.addEventListener('abort', follower.stop);
    const stop = () => {
      disposed.signal.removeEventListener('abort', follower.stop);
      follower.stop();
    };
    return { ...follower, stop };
  };
  /** An iterable over what a follower's states have to give. */
  const iterate = <Value>(
    workstreamId: string,
    { signal }: Until,
    taker: Source<Followed, Value>['taker'],
  ): AsyncIterable<Value> =>
    latest(
      { observe: (callback) => follow(deps, workstreamId, callback).stop, isLast, taker },
      orDisposed(signal),
    );
  return {
    request: (document, variables, signal) => transport.request(document, variables, signal),
    ask: (document, variables, observe) => ask(deps, document, variables, observe),
    intend: (document, input, key) => createIntent(deps, document, input, key),
    follow: (workstreamId, until = {}) => iterate(workstreamId, until, newerTaker),
    observe,
    sendAndSettle: (workstreamId, text, options = {}) =>
      sendAndSettle(deps, workstreamId, text, { ...options, signal: orDisposed(options.signal) }),
    questions: (workstreamId, until = {}) =>
      iterate(workstreamId, until, () => {
        const take = questionTaker();
        return ({ known }) => take(known);
      }),
    decide: (workstreamId, { cycleId, callId, argumentsHash }, verdict, feedback) => {
      const input = { workstreamId, cycleId, callId, argumentsHash, verdict, feedback: feedback ?? null };
      return createIntent(deps, decideApproval, input).run();
    },
    compact: (workstreamId) => createIntent(deps, compactWorkstream, { workstreamId }).run(),
    watches: watchCommands(deps),
    window: (workstreamId, place, callback) => openWindow(deps, workstreamId, place, callback),
    followStates: (observe) => followStates(deps, observe),
    dispose: () => {
      disposed.abort();
      transport.dispose();
    },
  };
}

/** Nothing more comes, and `connection` says why. */
const isLast = ({ connection }: Followed): boolean =>
  connection.status === 'SIGNED_OUT' || connection.status === 'ENDED';

/** Gives each state once. */
function newerTaker(): (followed: Followed) => Followed | undefined {
  let given: Followed | null = null;
  return (followed) => (followed === given ? undefined : (given = followed));
}

export * from './operations/back.ts';
export * from './operations/follow.ts';
export * from './operations/history.ts';
export * from './operations/queue.ts';
export * from './operations/server.ts';
export * from './operations/token.ts';
export * from './operations/turn.ts';
export * from './operations/usage.ts';
export * from './operations/watches.ts';
export * from './operations/workstream.ts';
export { failureText, type Answer, type Failure } from './failure.ts';
export type { Follower } from './follow.ts';
export type { Followed, Known, Notice } from './followed.ts';
export { newKey, type Facts, type Intent, type Outcome, type Progress, type Refused } from './intent.ts';
export type { Connection, Persistent } from './persist.ts';
export { openQuestions, type Question } from './questions.ts';
export { exchangeCode, type Exchange } from './session.ts';
export type { Settled, Settlement, SettleOptions } from './settle.ts';
export type { Listing, Older } from './older.ts';
export { listedIn, noStates, rowIn, type States, type StatesFollower } from './states.ts';
export { rowsOf, type Row, type Window, type Windowed, type WindowReader } from './window.ts';
export type { WatchCommands } from './watches.ts';
export type { Model, PolledWatch, WorkstreamSummary } from './wire.ts';
export type { ResultOf } from 'gql.tada';
