/**
 * What a script or the browser needs to follow a workstream rightly: typed operations, the conversion to the fold's
 * values, following over a connection that fails, and commands that are repeated under their key.
 */
import type { TadaDocumentNode } from 'gql.tada';
import { ask } from './ask.ts';
import type { Answer } from './failure.ts';
import { follow, type Follower } from './follow.ts';
import type { Followed } from './followed.ts';
import { createIntent, type AcceptedOf, type Intent } from './intent.ts';
import { realPace, type Pace, type Persistent } from './persist.ts';
import { followStates, type States } from './states.ts';
import { createTransport, type Transport, type TransportOptions } from './transport.ts';

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
  /** Follows one workstream until stopped. */
  follow(workstreamId: string, observe: (followed: Followed) => void): Follower;
  /** Follows the list of workstreams until stopped. */
  followStates(observe: (states: States) => void): Persistent;
  /** Ends the socket and with it everything that follows. */
  dispose(): void;
}

export interface WeirClientOptions extends TransportOptions {
  /** Other ways to travel, to wait and to draw chance, for tests. */
  readonly transport?: Transport;
  readonly pace?: Pace;
}

export function createWeirClient(options: WeirClientOptions): WeirClient {
  const transport = options.transport ?? createTransport(options);
  const deps = { transport, pace: options.pace ?? realPace };
  return {
    request: (document, variables, signal) => transport.request(document, variables, signal),
    ask: (document, variables, observe) => ask(deps, document, variables, observe),
    intend: (document, input, key) => createIntent(deps, document, input, key),
    follow: (workstreamId, observe) => follow(deps, workstreamId, observe),
    followStates: (observe) => followStates(deps, observe),
    dispose: () => {
      transport.dispose();
    },
  };
}

export * from './operations.ts';
export { failureText, type Answer, type Failure } from './failure.ts';
export type { Follower } from './follow.ts';
export type { Followed, Known, Notice } from './followed.ts';
export { newKey, type Intent, type Outcome, type Progress } from './intent.ts';
export type { Connection, Persistent } from './persist.ts';
export { exchangeCode, type Exchange } from './session.ts';
export type { States } from './states.ts';
export type { WorkstreamSummary } from './wire.ts';
export type { ResultOf } from 'gql.tada';
