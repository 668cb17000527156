/** Owns: what the feed of a workstream carries, as this client reads it. */
import { graphql } from '../graphql.ts';
import { entryFields } from './journal.ts';
import { persistenceFields } from './values.ts';

export const feedItemFields = graphql(
  `
    fragment FeedItemFields on FeedItem {
      __typename
      ... on EntryAdmitted {
        durable
        cursor
        entry {
          ...EntryFields
        }
      }
      ... on EntriesDurable {
        durableThrough
      }
      ... on EpochStarted {
        epoch
        from
        cursor
      }
      ... on StreamChunk {
        messageId
        turnId
        channel
        offset
        text
      }
      ... on StreamReset {
        messageId
        reason
      }
      ... on ToolOutputChunk {
        callId
        offset
        text
      }
      ... on Notice {
        level
        code
        message
      }
      ... on PersistenceChanged {
        persistence {
          ...PersistenceFields
        }
      }
      ... on Synchronized {
        epoch
        revision
        durableThrough
        cursor
      }
      ... on SnapshotRequired {
        reason
      }
      ... on Heartbeat {
        epoch
        revision
        durableThrough
        cursor
      }
      ... on Ended {
        reason
        resumable
      }
    }
  `,
  [entryFields, persistenceFields],
);
