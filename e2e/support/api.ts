/**
 * Owns: asking a server as a script would: one token, one address; plain calls that answer or throw.
 * Does not own: what the answers mean (the client kit and the fold), or repeating (a test that wants that says so).
 */
import { createClient } from 'graphql-ws';
import {
  createWorkstream,
  decideApproval,
  feedSubscription,
  olderQuery,
  resumeQueue,
  sendMessage,
  snapshotQuery,
  stopTurn,
  type Answer,
  type Failure,
} from 'schema/client-kit';
import {
  openCycles,
  stateOf,
  type Entry,
  type FeedItem,
  type Projection,
  type View,
  type WorkstreamState,
} from 'schema/projection';
import { follow } from '../../schema/src/client-kit/follow.ts';
import { knownOf, type Followed, type Known } from '../../schema/src/client-kit/followed.ts';
import { realPace, type Pace } from '../../schema/src/client-kit/persist.ts';
import { createTransport, type Transport } from '../../schema/src/client-kit/transport.ts';
import { entryOf, feedItemOf } from '../../schema/src/client-kit/wire.ts';
import { within } from './process.ts';

/** The server did not answer, or with an error: nobody knows what became of the request. */
export class RequestFailed extends Error {
  readonly failure: Failure;
  constructor(failure: Failure) {
    super(`${failure.type}: ${failure.message}`);
    this.failure = failure;
  }
}

/** What a command answered: its payload, or a rejection that has a `code`. */
export interface Result {
  readonly __typename: string;
  readonly durability?: 'DURABLE' | 'PENDING';
  readonly code?: string;
  readonly message?: string;
  readonly retryable?: boolean;
  readonly field?: string;
}

export interface Sent extends Result {
  readonly disposition?: 'STARTED' | 'QUEUED' | 'STEERING';
  readonly messageId?: string;
  readonly turnId?: string | null;
  readonly revision?: number;
}

/** A question about one call, as an approval card shows it. */
export interface Question {
  readonly cycleId: string;
  readonly callId: string;
  readonly argumentsHash: string;
  readonly name: string;
}

export interface FeedEvent {
  readonly item: FeedItem;
  /** Where to resume after it, if it says. */
  readonly cursor: string | null;
}

/** What a subscription has brought, and more to come. */
export interface Collected<T> {
  /** Everything that has come. */
  readonly events: readonly T[];
  /** Resolves when this holds; looked at after each event. */
  until(holds: (events: readonly T[]) => boolean, what: string): Promise<readonly T[]>;
  /** Resolves when it is over: with the failure, or null when the server completed it. */
  readonly ended: Promise<Failure | null>;
  stop(): void;
}

export interface Api {
  readonly token: string;
  readonly transport: Transport;
  /** Sends a document as text, and answers what came back, errors too. Throws only when nothing did. */
  query<T = Record<string, never>>(
    document: string,
    variables?: Readonly<Record<string, unknown>>,
  ): Promise<{
    readonly status: number;
    readonly data: T | null;
    readonly errors: readonly {
      readonly message: string;
      readonly extensions?: { readonly code?: string };
    }[];
  }>;
  /** A new workstream; throws when refused. */
  create(input?: {
    readonly title?: string;
    readonly model?: string;
    readonly workspace?: string;
    readonly key?: string;
  }): Promise<string>;
  tryCreate(input: {
    readonly title?: string;
    readonly model?: string;
    readonly workspace?: string;
    readonly key?: string;
  }): Promise<Result & { readonly workstreamId?: string }>;
  send(workstreamId: string, text: string, key?: string): Promise<Sent>;
  decide(
    workstreamId: string,
    question: Question,
    verdict: 'APPROVED' | 'DENIED',
    options?: { readonly key?: string; readonly feedback?: string },
  ): Promise<Result>;
  stop(
    workstreamId: string,
    turnId?: string | null,
    key?: string,
  ): Promise<Result & { nothingToStop?: boolean }>;
  resumeQueue(workstreamId: string, key?: string): Promise<Result>;
  /** All of a workstream from one read, with the newest page of its transcript. */
  snapshot(workstreamId: string): Promise<Known>;
  /** The whole journal, read page by page from its end. */
  history(workstreamId: string): Promise<readonly Entry[]>;
  /** Follows, as long as it takes to reach the server, until the view holds; throws when it does not within `ms`. */
  waitFor(workstreamId: string, holds: (view: View) => boolean, what: string, ms?: number): Promise<Known>;
  /** Waits until it is in this state, and all that has led there is durable. */
  waitForState(workstreamId: string, state: WorkstreamState): Promise<Known>;
  /** Questions to a person, once there are at least so many of them and they are durable: a pending one can vanish. */
  questions(workstreamId: string, atLeast?: number): Promise<readonly Question[]>;
  /** The feed as it comes, unfolded; `after: null` starts at the head. */
  follow(workstreamId: string, after: string | null): Collected<FeedEvent>;
  /** Any subscription, given as text; each event is what came as `data`. */
  subscribe<T>(document: string, variables?: Readonly<Record<string, unknown>>): Collected<T>;
  dispose(): void;
}

const patienceMs = 25_000;
const PAGE = 200;

/** A test does not wait as long as a browser may. */
export const hasty: Pace = {
  ...realPace,
  pause: (ms, signal) => realPace.pause(Math.min(ms, 50), signal),
};

export const newKey = (): string => crypto.randomUUID();

export function createApi(url: string, token: string): Api {
  const transport = createTransport({ url: `${url}/graphql`, token });
  /** For documents that the client kit does not know. */
  const socket = createClient({
    url: `${url.replace(/^http/, 'ws')}/graphql`,
    connectionParams: { token },
    retryAttempts: 0,
  });

  async function request<T>(asked: Promise<Answer<T>>): Promise<T> {
    const answer = await asked;
    if (!answer.ok) throw new RequestFailed(answer.failure);
    return answer.data;
  }

  async function history(id: string): Promise<readonly Entry[]> {
    const first = await request(transport.request(snapshotQuery, { id, last: PAGE }));
    let page = first.workstream?.history;
    let entries: readonly Entry[] = [];
    while (page) {
      entries = [...page.edges.map((edge) => entryOf(edge.node)), ...entries];
      const { hasPreviousPage, startCursor } = page.pageInfo;
      if (!hasPreviousPage || startCursor === null) break;
      const older = await request(transport.request(olderQuery, { id, last: PAGE, before: startCursor }));
      page = older.workstream?.history;
    }
    return entries;
  }

  async function snapshot(id: string): Promise<Known> {
    const { workstream } = await request(transport.request(snapshotQuery, { id, last: PAGE }));
    if (!workstream) throw new Error(`There is no workstream ${id}`);
    return knownOf(workstream);
  }

  function collect<T>(
    begin: (push: (event: T) => void, end: (failure: Failure | null) => void) => () => void,
  ) {
    const events: T[] = [];
    const watchers = new Set<() => void>();
    let over: { readonly failure: Failure | null } | null = null;
    let finish: (failure: Failure | null) => void = () => undefined;
    const ended = new Promise<Failure | null>((resolve) => (finish = resolve));
    const look = (): void => {
      for (const watch of [...watchers]) watch();
    };
    const stop = begin(
      (event) => {
        events.push(event);
        look();
      },
      (failure) => {
        over = { failure };
        look();
        finish(failure);
      },
    );
    const until = (holds: (events: readonly T[]) => boolean, what: string): Promise<readonly T[]> => {
      const come = new Promise<readonly T[]>((resolve, reject) => {
        const watch = (): void => {
          if (holds(events)) resolve(events);
          else if (over)
            reject(new Error(`It ended (${over.failure?.message ?? 'completed'}) before: ${what}`));
          else return;
          watchers.delete(watch);
        };
        watchers.add(watch);
        watch();
      });
      return within(
        patienceMs,
        () => `${what}; the last of ${events.length} is ${JSON.stringify(events.at(-1))}`,
        come,
      );
    };
    return { events, until, ended, stop };
  }

  function feed(id: string, after: string | null): Collected<FeedEvent> {
    return collect<FeedEvent>((push, end) =>
      transport.subscribe(
        feedSubscription,
        { id, after },
        {
          next: ({ workstreamFeed }) => {
            const event = feedItemOf(workstreamFeed);
            if (event) push(event);
          },
          end,
        },
      ),
    );
  }

  async function waitFor(
    id: string,
    holds: (view: View) => boolean,
    what: string,
    ms = patienceMs,
  ): Promise<Known> {
    let last: Followed | null = null;
    let stop = (): void => undefined;
    const come = new Promise<Known>((resolve, reject) => {
      const follower = follow({ transport, pace: hasty }, id, (followed) => {
        last = followed;
        const { known, connection } = followed;
        if (known && holds(known.view)) resolve(known);
        else if (connection.status === 'ENDED' || connection.status === 'SIGNED_OUT')
          reject(new Error(`It is over (${connection.reason}) before: ${what}`));
      });
      stop = follower.stop;
    });
    try {
      return await within(ms, () => `${what}; known is ${JSON.stringify(last)}`, come);
    } finally {
      stop();
    }
  }

  return {
    token,
    transport,
    async query(document, variables = {}) {
      const response = await fetch(`${url}/graphql`, {
        method: 'POST',
        headers: {
          accept: 'application/graphql-response+json',
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify({ query: document, variables }),
      });
      const body = (await response.json()) as { data?: never; errors?: never[] };
      return { status: response.status, data: body.data ?? null, errors: body.errors ?? [] };
    },
    async create(input = {}) {
      // Named: the server names in the background what nobody has, and the journal would move under a test.
      const result = await this.tryCreate({ title: 'Made by a test', ...input });
      if (result.workstreamId === undefined)
        throw new Error(`The workstream was not made: ${JSON.stringify(result)}`);
      return result.workstreamId;
    },
    async tryCreate({ key = newKey(), ...input }) {
      return (await request(transport.request(createWorkstream, { input: { key, ...input } }))).result;
    },
    async send(workstreamId, text, key = newKey()) {
      return (await request(transport.request(sendMessage, { input: { key, workstreamId, text } }))).result;
    },
    async decide(
      workstreamId,
      { cycleId, callId, argumentsHash },
      verdict,
      { key = newKey(), feedback } = {},
    ) {
      const input = {
        key,
        workstreamId,
        cycleId,
        callId,
        argumentsHash,
        verdict,
        feedback: feedback ?? null,
      };
      return (await request(transport.request(decideApproval, { input }))).result;
    },
    async stop(workstreamId, turnId = null, key = newKey()) {
      return (await request(transport.request(stopTurn, { input: { key, workstreamId, turnId } }))).result;
    },
    async resumeQueue(workstreamId, key = newKey()) {
      return (await request(transport.request(resumeQueue, { input: { key, workstreamId } }))).result;
    },
    snapshot,
    history,
    waitFor,
    waitForState: (id, state) =>
      waitFor(
        id,
        (view) => stateOf(view.base) === state && view.pending.length === 0,
        `state ${state} of ${id}`,
      ),
    async questions(id, atLeast = 1) {
      const known = await waitFor(
        id,
        (view) => durableQuestionsOf(view).length >= atLeast,
        `${atLeast} open questions`,
      );
      return durableQuestionsOf(known.view);
    },
    follow: feed,
    subscribe<T>(query: string, variables: Readonly<Record<string, unknown>> = {}) {
      return collect<T>((push, end) =>
        socket.subscribe<T>(
          { query, variables },
          {
            next: ({ data, errors }) => {
              if (errors) end({ type: 'Network', message: JSON.stringify(errors) });
              else if (data) push(data);
            },
            error: (error) => {
              end({ type: 'Network', message: String(error) });
            },
            complete: () => {
              end(null);
            },
          },
        ),
      );
    },
    dispose: () => {
      void socket.dispose();
      transport.dispose();
    },
  };
}

/** What a person sees waiting, pending questions too. */
export const questionsOf = (view: View): readonly Question[] => openQuestions(view.projection);

const durableQuestionsOf = (view: View): readonly Question[] => openQuestions(view.base);

const openQuestions = (projection: Projection): readonly Question[] =>
  openCycles(projection).flatMap((cycle) =>
    cycle.items
      .filter((item) => item.decision === null)
      .map(({ callId, argumentsHash, name }) => ({ cycleId: cycle.id, callId, argumentsHash, name })),
  );
