/**
 * Owns: what a feed carries on the wire, and the feed. The fields are those of `projection/items.ts`, and a `cursor`
 * where an item moves it.
 */
import { builder } from '../builder.ts';
import type { FeedEvent } from '../model/index.ts';
import type { FeedItem as Item, StreamChannel as Channel } from '../projection/index.ts';
import { Entry, entryNode } from './entries/entry.ts';
import { enumOf } from './enum.ts';
import { workstreamIdOf } from './global-id.ts';
import { Persistence } from './persistence.ts';
import { untilLeft } from './subscribe.ts';

interface Sent<T extends Item['type']> {
  readonly workstreamId: string;
  readonly cursor: string;
  readonly item: Extract<Item, { type: T }>;
}

const itemRef = <T extends Item['type']>(type: T) => builder.objectRef<Sent<T>>(type);

export const StreamChannel = enumOf<Channel>('StreamChannel', 'Which text of an answer a chunk belongs to.', {
  TEXT: 'The answer.',
  REASONING: 'The reasoning, where the model shows it.',
});

const cursorText = 'Where to resume after this item.';

const EntryAdmitted = itemRef('EntryAdmitted').implement({
  description:
    'An entry. Apply it when its revision is the next one; a lower one is a repeat; a higher one means something was ' +
    'lost: subscribe again from the last you applied.',
  fields: (t) => ({
    entry: t.field({
      type: Entry,
      description: 'The entry.',
      resolve: ({ workstreamId, item }) => entryNode(workstreamId, item.entry, item.durable),
    }),
    durable: t.boolean({
      description: 'False: it is pending until an `EntriesDurable` covers it.',
      resolve: ({ item }) => item.durable,
    }),
    cursor: t.field({ type: 'FeedCursor', description: cursorText, resolve: (s) => s.cursor }),
  }),
});

const EntriesDurable = itemRef('EntriesDurable').implement({
  description: 'Entries up to here are committed. Changes no revision.',
  fields: (t) => ({
    durableThrough: t.field({
      type: 'Revision',
      description: 'The last committed entry.',
      resolve: ({ item }) => item.durableThrough,
    }),
  }),
});

const EpochStarted = itemRef('EpochStarted').implement({
  description:
    'Another process runs the workstream now, or `discardUnsaved` gave up what could not be stored. Drop the entries above ' +
    '`from`: they were pending and are lost. The rest is ' +
    'committed. Drop the overlay. New entries follow from `from` + 1, under new ids. Pending entries vanish in no other way.',
  fields: (t) => ({
    epoch: t.int({ description: 'The new ownership.', resolve: ({ item }) => item.epoch }),
    from: t.field({
      type: 'Revision',
      description: 'The last entry that stays.',
      resolve: ({ item }) => item.from,
    }),
    cursor: t.field({ type: 'FeedCursor', description: cursorText, resolve: (s) => s.cursor }),
  }),
});

const StreamChunk = itemRef('StreamChunk').implement({
  description:
    'Text of the answer being written. Offset 0 replaces what you have, an offset equal to your length appends, a lower ' +
    'one is a repeat, a higher one waits for the re-base at 0. A `messageId` you do not know begins a new message.',
  fields: (t) => ({
    messageId: t.id({
      description: 'Id of the message: the `entryId` of the entry that will take its place.',
      resolve: ({ item }) => item.messageId,
    }),
    turnId: t.id({ description: 'The turn it belongs to.', resolve: ({ item }) => item.turnId }),
    channel: t.field({
      type: StreamChannel,
      description: 'Which text.',
      resolve: ({ item }) => item.channel,
    }),
    offset: t.int({
      description: 'Where `text` begins in this channel, in UTF-16 code units.',
      resolve: ({ item }) => item.offset,
    }),
    text: t.string({
      description: 'The text; never splits a surrogate pair.',
      resolve: ({ item }) => item.text,
    }),
  }),
});

const StreamReset = itemRef('StreamReset').implement({
  description: 'The open message is void: drop it. The next attempt comes under another id.',
  fields: (t) => ({
    messageId: t.id({ description: 'The void message.', resolve: ({ item }) => item.messageId }),
    reason: t.string({ description: 'Why, for a person.', resolve: ({ item }) => item.reason }),
  }),
});

const ToolOutputChunk = itemRef('ToolOutputChunk').implement({
  description:
    'Live output of a running call. What ends within what you have is a repeat. What begins within it, or at its end, ' +
    'goes on from there; what begins beyond its end, or before its beginning, replaces it. Keep a tail of 65,536 UTF-16 ' +
    'code units.',
  fields: (t) => ({
    callId: t.id({ description: 'The call.', resolve: ({ item }) => item.callId }),
    offset: t.int({
      description: 'Where `text` begins in the whole output, in UTF-16 code units.',
      resolve: ({ item }) => item.offset,
    }),
    text: t.string({
      description: 'The output; never splits a surrogate pair.',
      resolve: ({ item }) => item.text,
    }),
  }),
});

const NoticeLevel = enumOf<Extract<Item, { type: 'Notice' }>['level']>(
  'NoticeLevel',
  'How much a notice matters.',
  {
    INFO: 'Good to know.',
    WARNING: 'Something is not as it should be.',
  },
);

const Notice = itemRef('Notice').implement({
  description:
    'Something a person who looks should know now, for example that the model provider is tried again. Not kept.',
  fields: (t) => ({
    level: t.field({
      type: NoticeLevel,
      description: 'How much it matters.',
      resolve: ({ item }) => item.level,
    }),
    code: t.string({ description: 'A word for programs.', resolve: ({ item }) => item.code }),
    message: t.string({ description: 'One sentence for a person.', resolve: ({ item }) => item.message }),
  }),
});

const PersistenceChanged = itemRef('PersistenceChanged').implement({
  description: 'Storing goes better or worse.',
  fields: (t) => ({
    persistence: t.field({
      type: Persistence,
      description: 'How it is going now.',
      resolve: ({ item }) => item.persistence,
    }),
  }),
});

const Synchronized = itemRef('Synchronized').implement({
  description:
    'All that was accepted when you attached, pending entries included, has been sent. Comes once for each subscription; ' +
    'after it come live items, the overlay first.',
  fields: (t) => ({
    epoch: t.int({ description: 'The current ownership.', resolve: ({ item }) => item.epoch }),
    revision: t.field({
      type: 'Revision',
      description: 'The last entry. If you have fewer, something was lost.',
      resolve: ({ item }) => item.revision,
    }),
    durableThrough: t.field({
      type: 'Revision',
      description: 'The last committed entry.',
      resolve: ({ item }) => item.durableThrough,
    }),
    cursor: t.field({ type: 'FeedCursor', description: cursorText, resolve: (s) => s.cursor }),
  }),
});

const SnapshotRequired = itemRef('SnapshotRequired').implement({
  description:
    'The feed cannot go on from your cursor: it is of another life of the workstream, ahead of it, or more than 2,000 ' +
    'entries or 4 MiB behind. Take the workstream anew and subscribe from its `feedCursor`. The feed ends after it.',
  fields: (t) => ({
    reason: t.string({ description: 'Why, for a person.', resolve: ({ item }) => item.reason }),
  }),
});

const Heartbeat = itemRef('Heartbeat').implement({
  description: 'Comes every 15 s. An equal revision proves that you have lost nothing.',
  fields: (t) => ({
    epoch: t.int({ description: 'The current ownership.', resolve: ({ item }) => item.epoch }),
    revision: t.field({
      type: 'Revision',
      description: 'The last entry.',
      resolve: ({ item }) => item.revision,
    }),
    durableThrough: t.field({
      type: 'Revision',
      description: 'The last committed entry.',
      resolve: ({ item }) => item.durableThrough,
    }),
    cursor: t.field({ type: 'FeedCursor', description: cursorText, resolve: (s) => s.cursor }),
  }),
});

const Ended = itemRef('Ended').implement({
  description: 'The last item of a feed.',
  fields: (t) => ({
    reason: t.string({
      description: 'Why, for a person or a log; `WORKSTREAM_NOT_FOUND` when there is no such workstream.',
      resolve: ({ item }) => item.reason,
    }),
    resumable: t.boolean({
      description:
        'True: subscribe again from the last cursor, after a pause. False: there is nothing more to come.',
      resolve: ({ item }) => item.resumable,
    }),
  }),
});

const FeedItem = builder.unionType('FeedItem', {
  description:
    'What `workstreamFeed` carries. Only `EntryAdmitted` moves the revision; all else is a mark or an overlay. Kinds may ' +
    'be added: skip one you do not know.',
  types: [
    EntryAdmitted,
    EntriesDurable,
    EpochStarted,
    StreamChunk,
    StreamReset,
    ToolOutputChunk,
    Notice,
    PersistenceChanged,
    Synchronized,
    SnapshotRequired,
    Heartbeat,
    Ended,
  ],
  resolveType: ({ item }) => item.type,
});

const noSuchWorkstream: FeedEvent = {
  item: { type: 'Ended', reason: 'WORKSTREAM_NOT_FOUND', resumable: false },
  cursor: '',
};

builder.subscriptionField('workstreamFeed', (t) =>
  t.field({
    type: FeedItem,
    description:
      'One workstream, live, without a gap and without a repeat, across reconnects, restarts of the server and changes of ' +
      'node. Order: entries after the cursor by revision, committed and then pending; one `Synchronized`; the overlay at ' +
      'offset 0; then everything as it happens, and a heartbeat every 15 s. `EpochStarted` can come at any place. A ' +
      'subscriber that is too slow is ended, resumable. Following does not load the workstream.',
    args: {
      id: t.arg.id({ required: true, description: 'Global id of the workstream.' }),
      after: t.arg({
        type: 'FeedCursor',
        description: 'Go on after this; null: begin with what happens from now on.',
      }),
    },
    subscribe: (_root, { id, after }, { services }) => {
      const workstreamId = workstreamIdOf(id);
      return untilLeft(async function* (signal) {
        if (workstreamId === null) yield { event: noSuchWorkstream, workstreamId: '' };
        else
          for await (const event of services.feed.follow(workstreamId, after ?? null, signal))
            yield { event, workstreamId };
      });
    },
    resolve: ({ event, workstreamId }) => ({ workstreamId, ...event }) as Sent<Item['type']> as never,
  }),
);
