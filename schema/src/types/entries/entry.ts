/**
 * Owns: the Entry interface and what stands behind an entry on the wire. Each kind has a file beside this one.
 */
import { builder } from '../../builder.ts';
import type { Durability } from '../../outcome.ts';
import type { Entry as JournalEntry, EntryKind as Kind, EntryOf } from '../../projection/index.ts';
import { enumOf } from '../enum.ts';
import { entryGlobalId } from '../global-id.ts';
import { DurabilityEnum } from '../durability.ts';

/** An entry together with what it does not say itself. */
export interface EntryNode<E extends JournalEntry = JournalEntry> {
  readonly __typename: string;
  readonly workstreamId: string;
  readonly durability: Durability;
  readonly entry: E;
}

const typenameByKind: Readonly<Record<Kind, string>> = {
  USER: 'UserEntry',
  ASSISTANT: 'AssistantEntry',
  TOOL: 'ToolEntry',
  SYSTEM: 'SystemEntry',
  CANCELLATION: 'CancellationEntry',
  LIFECYCLE: 'LifecycleEntry',
  FORK: 'ForkEntry',
  CONFIGURATION: 'ConfigurationEntry',
  TURN: 'TurnEntry',
  TOOL_STARTED: 'ToolStartedEntry',
  TOOL_SETTLED: 'ToolSettledEntry',
  APPROVAL: 'ApprovalEntry',
  QUEUE: 'QueueEntry',
  WATCH: 'WatchEntry',
  REWIND: 'RewindEntry',
  CHECKPOINT: 'CheckpointEntry',
  RECOVERY: 'RecoveryEntry',
};

export const entryNode = (workstreamId: string, entry: JournalEntry, durable: boolean): EntryNode => ({
  __typename: typenameByKind[entry.kind],
  workstreamId,
  durability: durable ? 'DURABLE' : 'PENDING',
  entry,
});

export const EntryKind = enumOf<Kind>(
  'EntryKind',
  'What an entry records; each kind is an object type of its own.',
  {
    USER: 'A message to the model, from a person. UserEntry.',
    ASSISTANT: 'A finished answer of the model. AssistantEntry.',
    TOOL: 'The answer to one call, as the model sees it. ToolEntry.',
    SYSTEM: 'A message to the model from the server. SystemEntry.',
    CANCELLATION: 'What there was of an answer that was not finished. CancellationEntry.',
    LIFECYCLE: 'The workstream was opened or closed. LifecycleEntry.',
    FORK: 'The workstream was forked from another one. ForkEntry.',
    CONFIGURATION: 'Title, model, workspace or approval mode were set. ConfigurationEntry.',
    TURN: 'A turn began, changed its phase or settled. TurnEntry.',
    TOOL_STARTED: 'A call began to run. ToolStartedEntry.',
    TOOL_SETTLED: 'A call ended. ToolSettledEntry.',
    APPROVAL: 'An approval cycle was opened, decided or superseded. ApprovalEntry.',
    QUEUE: 'The queue changed. QueueEntry.',
    WATCH: 'A watch was made, changed or ended. WatchEntry.',
    REWIND: 'Earlier entries were taken out of the conversation. RewindEntry.',
    CHECKPOINT: 'Older history was summarised. CheckpointEntry.',
    RECOVERY: 'The workstream was carried on after a loss. RecoveryEntry.',
  },
);

export const Entry = builder.interfaceRef<EntryNode>('Entry').implement({
  description:
    'One accepted row of a journal. Its content never changes; only a PENDING entry can vanish, and then the feed says ' +
    '`EpochStarted`. Every entry carries whole values: the latest TurnEntry is all there is to know about the turn. ' +
    'Kinds may be added: advance the revision over a kind you do not know, and change nothing else.',
  interfaces: [builder.nodeInterfaceRef()],
  resolveType: (node) => node.__typename,
  fields: (t) => ({
    id: t.id({
      description: 'Global id of the entry, for `Query.node`.',
      resolve: (e) => entryGlobalId(e.workstreamId, e.entry),
    }),
    entryId: t.id({
      description:
        'The id the rest of the journal calls this entry by: `StreamChunk.messageId` and `Batch.messageId` are such ids. ' +
        'Random, never reused; an entry that takes the place of a vanished one has another id.',
      resolve: (e) => e.entry.id,
    }),
    kind: t.field({
      type: EntryKind,
      description: 'What it records; says the same as `__typename`.',
      resolve: (e) => e.entry.kind,
    }),
    revision: t.field({
      type: 'Revision',
      description: 'Its place in the journal.',
      resolve: (e) => e.entry.revision,
    }),
    durability: t.field({
      type: DurabilityEnum,
      description: 'Whether it was committed when this was read.',
      resolve: (e) => e.durability,
    }),
    epoch: t.int({
      description:
        'Number of the ownership of the workstream by one process that wrote it. Grows along the journal.',
      resolve: (e) => e.entry.epoch,
    }),
    generation: t.int({
      description:
        'Number of the claim to write that was current when it was written. Grows along the journal.',
      resolve: (e) => e.entry.generation,
    }),
    lane: t.id({
      nullable: true,
      description: 'Whose output it is: null for the workstream itself, else the id of a child workstream.',
      resolve: (e) => e.entry.lane,
    }),
    turnId: t.id({
      nullable: true,
      description: 'The turn it belongs to; null outside of turns.',
      resolve: (e) => e.entry.turnId,
    }),
    at: t.field({
      type: 'DateTime',
      description: 'When it was accepted. For people; order is told by `revision`.',
      resolve: (e) => e.entry.at,
    }),
    tokens: t.field({
      type: 'Tokens',
      nullable: true,
      description:
        'What the model is told of it, in our estimate; null: nothing, or an entry of an earlier build.',
      resolve: (e) => e.entry.tokens ?? null,
    }),
  }),
});

/** What every kind implements. GraphQL wants Node named again; it comes first, so that `id` is the one of Entry. */
export const entryInterfaces = [builder.nodeInterfaceRef(), Entry];

/** The object type of one kind. */
export const entryRef = <K extends Kind>(kind: K) =>
  builder.objectRef<EntryNode<EntryOf<K>>>(typenameByKind[kind]);
