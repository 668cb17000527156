/** Owns: entries, and pages of them, as this client reads it. */
import { graphql } from '../graphql.ts';
import {
  authorFields,
  callFields,
  configurationFields,
  contextMarkFields,
  cycleFields,
  originFields,
  queueFields,
  turnFields,
} from './values.ts';
import { fireFields, watchRecordFields } from './watch.ts';

export const entryFields = graphql(
  `
    fragment EntryFields on Entry {
      __typename
      entryId
      revision
      epoch
      generation
      lane
      turnId
      at
      tokens
      ... on UserEntry {
        text
        source
        author {
          ...AuthorFields
        }
      }
      ... on AssistantEntry {
        text
        reasoning
        finish
        model
        alias
        discarded
        calls {
          ...CallFields
        }
        usage {
          inputTokens
          outputTokens
          cachedInputTokens
          reasoningTokens
        }
        context {
          ...ContextMarkFields
        }
      }
      ... on ToolEntry {
        callId
        name
        outcome
        effect
        content
      }
      ... on SystemEntry {
        text
        source
        fire {
          ...FireFields
        }
      }
      ... on CancellationEntry {
        text
        reasoning
        reason
      }
      ... on LifecycleEntry {
        lifecycle
        by {
          ...AuthorFields
        }
      }
      ... on ForkEntry {
        origin {
          ...OriginFields
        }
      }
      ... on ConfigurationEntry {
        configuration {
          ...ConfigurationFields
        }
      }
      ... on TurnEntry {
        turn {
          ...TurnFields
        }
      }
      ... on ToolStartedEntry {
        callId
        name
      }
      ... on ToolSettledEntry {
        callId
        name
        result {
          outcome
          effect
          content
        }
      }
      ... on ApprovalEntry {
        cycle {
          ...CycleFields
        }
      }
      ... on QueueEntry {
        queue {
          ...QueueFields
        }
      }
      ... on WatchEntry {
        watch {
          ...WatchRecordFields
        }
      }
      ... on RewindEntry {
        after
        reason
        by {
          ...AuthorFields
        }
        context {
          ...ContextMarkFields
        }
      }
      ... on CheckpointEntry {
        summary
        watermark
        request {
          messageId
          text
          author {
            ...AuthorFields
          }
        }
        trigger
        tokensBefore
        tokensAfter
        model
        alias
        context {
          ...ContextMarkFields
        }
      }
      ... on RecoveryEntry {
        reason
        message
      }
    }
  `,
  [
    authorFields,
    callFields,
    configurationFields,
    contextMarkFields,
    turnFields,
    cycleFields,
    queueFields,
    originFields,
    fireFields,
    watchRecordFields,
  ],
);

export const historyFields = graphql(
  `
    fragment HistoryFields on HistoryConnection {
      durableThrough
      edges {
        node {
          ...EntryFields
        }
      }
      pageInfo {
        hasPreviousPage
        startCursor
        hasNextPage
        endCursor
      }
    }
  `,
  [entryFields],
);
