/**
 * Owns: turning what the wire carries into the fold's values. Mechanical: no rule of the domain is here.
 * Does not own: what is asked for (`fragments/`), or what follows from it (the projection).
 *
 * Ids of workstreams stay the global ones, as everything a client does takes them.
 *
 * Invariants: total over every kind of the schema; a kind this client does not know keeps its place, so that the
 * revision goes on (D-58), and an unknown feed item is skipped.
 */
import type { ResultOf } from 'gql.tada';
import type {
  ApprovalCycle,
  ContextMark,
  Entry,
  EntryBody,
  EntryOf,
  FeedItem,
  Overlay,
  Persistence,
  Projection,
  Turn,
  Watch,
} from '../projection/index.ts';
import type { feedItemFields } from './fragments/feed.ts';
import type { entryFields } from './fragments/journal.ts';
import type { cycleFields, turnFields } from './fragments/values.ts';
import type { watchFields, watchRecordFields } from './fragments/watch.ts';
import type { modelFields } from './fragments/model.ts';
import type { projectionFields, snapshotFields, summaryFields } from './fragments/workstream.ts';

export type WireEntry = ResultOf<typeof entryFields>;
export type WireFeedItem = ResultOf<typeof feedItemFields>;
export type WireProjection = ResultOf<typeof projectionFields>;
export type WireSnapshot = ResultOf<typeof snapshotFields>;
/** A row of the list of workstreams. */
export type WorkstreamSummary = ResultOf<typeof summaryFields>;
/** A model that can serve workstreams, and how it is doing. */
export type Model = ResultOf<typeof modelFields>;
/** A watch as it is now, with how its polls go. */
export type PolledWatch = ResultOf<typeof watchFields>;

type WirePersistence = WireSnapshot['persistence'];

export function entryOf(wire: WireEntry): Entry {
  const { entryId, revision, epoch, generation, lane, turnId, at, tokens } = wire;
  return {
    id: entryId,
    revision,
    epoch,
    generation,
    lane,
    turnId,
    at,
    ...known({ tokens }),
    ...bodyOf(wire),
  };
}

/** The values of an entry of a kind this client does not know: a place in the journal and nothing to show. */
const unknownBody = (typename: string): EntryBody => ({ kind: typename }) as unknown as EntryBody;

const sources = [
  'MESSAGE',
  'FEEDBACK',
  'STEER',
  'COMPACTION_RESUME',
] as const satisfies readonly EntryOf<'USER'>['source'][];
const cancellationReasons = [
  'STOPPED',
  'FAILED',
] as const satisfies readonly EntryOf<'CANCELLATION'>['reason'][];
const rewindReasons = ['REWIND', 'RETRY', 'EDIT'] as const satisfies readonly EntryOf<'REWIND'>['reason'][];

/** A word this client knows; one of a newer server is read as the first, which is the plainest. */
const oneOf = <Word extends string>(words: readonly [Word, ...Word[]], word: string): Word =>
  words.find((known) => known === word) ?? words[0];

type Known<T> = { [K in keyof T as null extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as null extends T[K] ? K : never]?: NonNullable<T[K]>;
};

/** Where a value is absent here, the wire says null. */
const known = <T extends object>(wire: T): Known<T> =>
  Object.fromEntries(Object.entries(wire).filter(([, value]) => value !== null)) as Known<T>;

function bodyOf(wire: WireEntry): EntryBody {
  switch (wire.__typename) {
    case 'UserEntry':
      return {
        kind: 'USER',
        text: wire.text,
        author: wire.author,
        source: oneOf(sources, wire.source),
      };
    case 'AssistantEntry': {
      const { text, reasoning, calls, finish, model, alias, usage, context, discarded } = wire;
      return {
        kind: 'ASSISTANT',
        text,
        reasoning,
        calls,
        finish,
        model,
        ...known({ alias }),
        usage: usage && known(usage),
        ...known({ context }),
        discarded,
      };
    }
    case 'ToolEntry': {
      const { callId, name, outcome, effect, content } = wire;
      return { kind: 'TOOL', callId, name, outcome, effect, content };
    }
    case 'SystemEntry':
      return { kind: 'SYSTEM', text: wire.text, source: wire.source, ...known({ fire: wire.fire }) };
    case 'CancellationEntry':
      return {
        kind: 'CANCELLATION',
        text: wire.text,
        reasoning: wire.reasoning,
        reason: oneOf(cancellationReasons, wire.reason),
      };
    case 'LifecycleEntry':
      return { kind: 'LIFECYCLE', lifecycle: wire.lifecycle, by: wire.by };
    case 'ForkEntry':
      return { kind: 'FORK', origin: wire.origin };
    case 'ConfigurationEntry':
      return { kind: 'CONFIGURATION', configuration: known(wire.configuration) };
    case 'TurnEntry':
      return { kind: 'TURN', turn: turnOf(wire.turn) };
    case 'ToolStartedEntry':
      return { kind: 'TOOL_STARTED', callId: wire.callId, name: wire.name };
    case 'ToolSettledEntry':
      return { kind: 'TOOL_SETTLED', callId: wire.callId, name: wire.name, result: wire.result };
    case 'ApprovalEntry':
      return { kind: 'APPROVAL', cycle: cycleOf(wire.cycle) };
    case 'QueueEntry':
      return { kind: 'QUEUE', queue: wire.queue };
    case 'WatchEntry':
      return { kind: 'WATCH', watch: watchOf(wire.watch) };
    case 'RewindEntry':
      return {
        kind: 'REWIND',
        after: wire.after,
        reason: oneOf(rewindReasons, wire.reason),
        // This server always says who.
        by: wire.by ?? { id: '', name: 'the server' },
        ...known({ context: wire.context }),
      };
    case 'CheckpointEntry': {
      const { summary, watermark, request, trigger, tokensBefore, tokensAfter, model } = wire;
      return {
        kind: 'CHECKPOINT',
        summary,
        watermark,
        request,
        trigger,
        before: tokensBefore,
        after: tokensAfter,
        model,
        // This server always says both.
        alias: wire.alias ?? model,
        context: wire.context ?? noMark,
      };
    }
    case 'RecoveryEntry':
      return { kind: 'RECOVERY', reason: wire.reason, message: wire.message };
    default:
      return unknownBody((wire as WireEntry).__typename);
  }
}

const noMark: ContextMark = { told: 0, counted: null, scale: 1, overhead: 0, window: null };

const turnOf = ({ compaction, depth, ...turn }: ResultOf<typeof turnFields>): Turn => ({
  ...turn,
  ...(depth > 0 && { depth }),
  ...known({ compaction }),
});

const cycleOf = ({ budget, ...cycle }: ResultOf<typeof cycleFields>): ApprovalCycle => ({
  ...cycle,
  ...known({ budget }),
});

export const watchOf = ({ watchId, ...watch }: ResultOf<typeof watchRecordFields>): Watch => ({
  id: watchId,
  ...watch,
});

export const projectionOf = (wire: WireProjection): Projection => ({
  ...wire,
  configuration: known(wire.configuration),
  turn: wire.turn && turnOf(wire.turn),
  cycles: wire.cycles.map(cycleOf),
  watches: wire.watches.map(watchOf),
});

export function persistenceOf(wire: WirePersistence): Persistence {
  switch (wire.status) {
    case 'RETRYING':
      return {
        status: 'RETRYING',
        nextAttemptAt: wire.nextAttemptAt ?? '',
        message: wire.message ?? 'The database does not answer.',
      };
    case 'CONFLICT':
      return { status: 'CONFLICT', message: wire.message ?? 'The database refuses what it was given.' };
    case 'PENDING':
      return { status: 'PENDING' };
    default:
      return { status: 'HEALTHY' };
  }
}

export const overlayOf = (wire: WireSnapshot['overlay']): Overlay => ({
  message: wire.message,
  tools: Object.fromEntries(wire.tools.map(({ callId, offset, text }) => [callId, { offset, text }])),
});

/** The item and where to resume after it, if it says; null for a kind this client does not know. */
export function feedItemOf(
  wire: WireFeedItem,
): { readonly item: FeedItem; readonly cursor: string | null } | null {
  switch (wire.__typename) {
    case 'EntryAdmitted':
      return at(wire.cursor, { type: 'EntryAdmitted', entry: entryOf(wire.entry), durable: wire.durable });
    case 'EntriesDurable':
      return at(null, { type: 'EntriesDurable', durableThrough: wire.durableThrough });
    case 'EpochStarted':
      return at(wire.cursor, { type: 'EpochStarted', epoch: wire.epoch, from: wire.from });
    case 'StreamChunk': {
      const { messageId, turnId, channel, offset, text } = wire;
      return at(null, { type: 'StreamChunk', messageId, turnId, channel, offset, text });
    }
    case 'StreamReset':
      return at(null, { type: 'StreamReset', messageId: wire.messageId, reason: wire.reason });
    case 'ToolOutputChunk': {
      const { callId, offset, text } = wire;
      return at(null, { type: 'ToolOutputChunk', callId, offset, text });
    }
    case 'Notice':
      return at(null, { type: 'Notice', level: wire.level, code: wire.code, message: wire.message });
    case 'PersistenceChanged':
      return at(null, { type: 'PersistenceChanged', persistence: persistenceOf(wire.persistence) });
    case 'Synchronized': {
      const { epoch, revision, durableThrough } = wire;
      return at(wire.cursor, { type: 'Synchronized', epoch, revision, durableThrough });
    }
    case 'SnapshotRequired':
      return at(null, { type: 'SnapshotRequired', reason: wire.reason });
    case 'Heartbeat': {
      const { epoch, revision, durableThrough } = wire;
      return at(wire.cursor, { type: 'Heartbeat', epoch, revision, durableThrough });
    }
    case 'Ended':
      return at(null, { type: 'Ended', reason: wire.reason, resumable: wire.resumable });
    default:
      return null;
  }
}

const at = (cursor: string | null, item: FeedItem) => ({ item, cursor });
