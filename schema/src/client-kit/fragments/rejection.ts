/** Owns: how a command is refused, and how things stood then, as this client reads it. */
import { graphql } from '../graphql.ts';
import { authorFields } from './values.ts';

export const rejectionFields = graphql(
  `
    fragment RejectionFields on Rejection {
      code
      message
      retryable
      ... on InvalidInput {
        field
      }
      ... on QueueFull {
        capacity
      }
      ... on AtCapacity {
        capacity
      }
      ... on JournalUnsettled {
        turnStopped
      }
      ... on StaleTurn {
        currentTurnId
      }
      ... on Busy {
        currentTurnId
      }
      ... on NotYours {
        author {
          ...AuthorFields
        }
      }
      ... on MessageNotQueued {
        queuedMessageIds
      }
      ... on MessageNotFound {
        watermark
      }
      ... on WatchNotFound {
        watchIds
      }
      ... on WatchLimit {
        capacity
      }
      ... on WatchNameTaken {
        name
      }
      ... on StaleWatch {
        currentVersion
      }
      ... on ApprovalGone {
        currentCycleIds
      }
      ... on AlreadyDecided {
        decision {
          verdict
          source
          feedback
          at
          by {
            ...AuthorFields
          }
        }
      }
      ... on ArgumentsChanged {
        currentHash
      }
    }
  `,
  [authorFields],
);
