/**
 * Owns: how much one operation may be answered, and read on the way, and saying so when it would be more.
 * Does not own: what it may ask for (`limits.ts`), or how long a page is (the server).
 *
 * The bounds of single fields do not hold an operation: under 400 aliases, 1 MB is 400 MB, and each of them is allowed.
 *
 * Invariants: nothing is made into text that would be larger than `answerLimits.bytes` (or `item`) because it tells the
 * same again, or larger than `answerLimits.largest`; no more than `answerLimits.read` and one answer of a service is read for one
 * operation.
 */
import { getOperationAST, GraphQLError, OperationTypeNode, type DocumentNode } from 'graphql';
import type { Reading, Services } from './services.ts';

/**
 * The largest a client of ours asks for at once is a workstream whose queue is full (1 MB of text), which tells that
 * three times while it is not stored, with a page of its history (2 MiB, or one message of 1 MB); a control character
 * is six bytes of JSON.
 */
export const answerLimits = {
  /** Of JSON, for a query or a mutation; more when that takes telling nothing a third time. */
  bytes: 24 * 1024 * 1024,
  /** As `bytes`, for one item of a subscription: the longest list, twice. What is long in an item is one entry. */
  item: 4 * 1024 * 1024,
  /** Of JSON, however few times anything is told. */
  largest: 64 * 1024 * 1024,
  /** Of JSON: from here on an answer is large. A thousand small ones on their way at once come to 32 MiB. */
  large: 32 * 1024,
  /** Of texts that come from services, UTF-16 code units, for one operation. */
  read: 16 * 1024 * 1024,
} as const;

/** UTF-16 code units from which a text is remembered; there are only so many values, so shorter ones come to little. */
const long = 1_000;
const code = 'ANSWER_TOO_LARGE';

/** Bytes of JSON, about: of all there is, and of its long texts, each of them once. */
function measure(data: unknown): { readonly all: number; readonly once: number } {
  const known = new Map<string, number>();
  let all = 0;
  let once = 0;
  const visit = (value: unknown): void => {
    if (typeof value === 'string') {
      const before = value.length < long ? undefined : known.get(value);
      const bytes = before ?? Buffer.byteLength(JSON.stringify(value));
      all += bytes;
      if (value.length < long || before !== undefined) return;
      known.set(value, bytes);
      once += bytes;
    } else if (Array.isArray(value)) {
      all += 2 + value.length;
      for (const item of value) visit(item);
    } else if (typeof value === 'object' && value !== null) {
      all += 2;
      for (const name in value) {
        // The client's own, and as long as it likes.
        all += name.length + 4;
        visit((value as Readonly<Record<string, unknown>>)[name]);
      }
    } else all += 5;
  };
  visit(data);
  return { all, once };
}

/**
 * What is to be known of a result before it is made into text: why it must not be (ANSWER_TOO_LARGE), or null, and
 * whether that would be large.
 */
export function weigh(
  { data }: { readonly data?: unknown },
  operation: { readonly document: DocumentNode; readonly operationName?: string | null | undefined },
): { readonly refused: GraphQLError | null; readonly large: boolean } {
  const { bytes, item, largest, large } = answerLimits;
  const kind = getOperationAST(operation.document, operation.operationName)?.operation;
  const { all, once } = measure(data);
  const allowed = Math.min(
    largest,
    Math.max(kind === OperationTypeNode.SUBSCRIPTION ? item : bytes, 2 * once),
  );
  return { refused: all > allowed ? tooLarge(all, allowed, kind) : null, large: all >= large };
}

function tooLarge(all: number, allowed: number, kind: OperationTypeNode | undefined): GraphQLError {
  const done =
    kind === OperationTypeNode.MUTATION
      ? ' What it was to do has been done: send it again with the same keys, and select less of the answer.'
      : '';
  return new GraphQLError(
    `The answer would have ${Math.ceil(all / mebibyte)} MiB; at most ${Math.floor(allowed / mebibyte)} are allowed. Select nothing several times under other names, or ask for smaller pages.${done}`,
    { extensions: { code } },
  );
}

const mebibyte = 1024 * 1024;

/**
 * The services of one operation: what it reads is read one after another, and no more once it has read too much. So a
 * single operation neither takes the database from all others nor holds all that it names in memory at once. Each of them
 * waits for its turn, as does what a subscription reads; commands pass it by.
 */
export function servicesOfOne(services: Services, reading: Reading): Services {
  let read = 0;
  let before: Promise<unknown> = Promise.resolve();
  const draw = <T>(query: () => Promise<T>, textOf: (value: T) => unknown): Promise<T> => {
    const mine = before.then(async () => {
      if (read > answerLimits.read)
        throw new GraphQLError(
          `This operation has read more than ${answerLimits.read / mebibyte} MiB. Ask in several operations, or for smaller pages.`,
          { extensions: { code } },
        );
      return reading.ask(
        async () => {
          const value = await query();
          read += lengthOf(textOf(value));
          return value;
        },
        () => read >= answerLimits.large,
      );
    });
    before = mine.catch(() => undefined);
    return mine;
  };
  const { workstreams, history, search, approvals, usage, watches, feed } = services;
  const whole = <T>(value: T): T => value;
  return {
    ...services,
    workstreams: {
      ...workstreams,
      // What is pending and open is in memory anyway, whoever asks.
      get: (id) =>
        draw(
          () => workstreams.get(id),
          (w) => w?.projection,
        ),
      list: (...asked) => draw(() => workstreams.list(...asked), whole),
      systemPrompt: (set) => draw(() => workstreams.systemPrompt(set), whole),
      states: (signal) => workstreams.states(signal, reading),
    },
    usage: {
      ofWorkstream: (id) => draw(() => usage.ofWorkstream(id), whole),
      ofTurn: (...asked) => draw(() => usage.ofTurn(...asked), whole),
      groups: (asked) => draw(() => usage.groups(asked), whole),
      calls: (...asked) => draw(() => usage.calls(...asked), whole),
    },
    watches: {
      ...watches,
      get: (id) => draw(() => watches.get(id), whole),
      list: (asked) => draw(() => watches.list(asked), whole),
      ofWorkstream: (...asked) => draw(() => watches.ofWorkstream(...asked), whole),
      polls: (...asked) => draw(() => watches.polls(...asked), whole),
      tryCondition: (asked) => draw(() => watches.tryCondition(asked, reading), whole),
      figures: () => draw(() => watches.figures(), whole),
    },
    feed: {
      follow: (id, after, signal) => feed.follow(id, after, signal, reading),
      tokens: (id, signal) => feed.tokens(id, signal, reading),
    },
    history: { page: (...asked) => draw(() => history.page(...asked), whole) },
    search: { find: (asked) => draw(() => search.find(asked), whole) },
    approvals: { ...approvals, list: (range) => draw(() => approvals.list(range), whole) },
  };
}

/** Of all the texts in it. */
function lengthOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce<number>((sum, part) => sum + lengthOf(part), 0);
}
