/**
 * Owns: the shapes this client reads, as fragments: everything the fold needs of an entry, a feed item, a snapshot.
 * Does not own: the operations (`operations.ts`), or turning these shapes into the fold's values (`wire.ts`).
 */
import { graphql } from './graphql.ts';

const authorFields = graphql(`
  fragment AuthorFields on Author {
    id
    name
  }
`);

const turnFields = graphql(
  `
    fragment TurnFields on Turn {
      id
      kind
      phase
      generation
      principal {
        ...AuthorFields
      }
      outcome {
        type
        reason
        message
        unconfirmed
      }
      recoveries
      startedAt
      settledAt
    }
  `,
  [authorFields],
);

export const cycleFields = graphql(
  `
    fragment CycleFields on ApprovalCycle {
      id
      kind
      turnId
      status
      openedAt
      closedAt
      items {
        callId
        name
        arguments
        argumentsHash
        basis
        preview {
          kind
          title
          body
        }
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
    }
  `,
  [authorFields],
);

const queueFields = graphql(
  `
    fragment QueueFields on Queue {
      held
      items {
        id
        text
        afterStop
        at
        author {
          ...AuthorFields
        }
      }
    }
  `,
  [authorFields],
);

const callFields = graphql(`
  fragment CallFields on Call {
    callId
    providerId
    name
    arguments
  }
`);

const configurationFields = graphql(`
  fragment ConfigurationFields on Configuration {
    title
    model
    workspace
  }
`);

const persistenceFields = graphql(`
  fragment PersistenceFields on Persistence {
    status
    message
    nextAttemptAt
  }
`);

/** `__typename`, not `kind`, tells what it is: a kind this client does not know still has a name and a place. */
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
        discarded
        calls {
          ...CallFields
        }
        usage {
          inputTokens
          outputTokens
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
      }
      ... on CancellationEntry {
        text
        reasoning
        reason
      }
      ... on LifecycleEntry {
        lifecycle
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
      ... on RecoveryEntry {
        reason
        message
      }
    }
  `,
  [authorFields, callFields, configurationFields, turnFields, cycleFields, queueFields],
);

export const projectionFields = graphql(
  `
    fragment ProjectionFields on Projection {
      revision
      epoch
      generation
      lifecycle
      updatedAt
      configuration {
        ...ConfigurationFields
      }
      turn {
        ...TurnFields
      }
      batch {
        messageId
        calls {
          started
          call {
            ...CallFields
          }
          result {
            outcome
            effect
            content
          }
        }
      }
      cycles {
        ...CycleFields
      }
      queue {
        ...QueueFields
      }
    }
  `,
  [configurationFields, turnFields, callFields, cycleFields, queueFields],
);

export const snapshotFields = graphql(
  `
    fragment SnapshotFields on Workstream {
      id
      epoch
      feedCursor
      durable {
        ...ProjectionFields
      }
      pending {
        ...EntryFields
      }
      overlay {
        message {
          id
          turnId
          text
          reasoning
        }
        tools {
          callId
          offset
          text
        }
      }
      persistence {
        ...PersistenceFields
      }
      lastError {
        reason
        message
      }
    }
  `,
  [projectionFields, entryFields, persistenceFields],
);

export const historyFields = graphql(
  `
    fragment HistoryFields on HistoryConnection {
      edges {
        node {
          ...EntryFields
        }
      }
      pageInfo {
        hasPreviousPage
        startCursor
      }
    }
  `,
  [entryFields],
);

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

export const summaryFields = graphql(`
  fragment SummaryFields on WorkstreamSummary {
    id
    title
    state
    stopping
    model
    revision
    createdAt
    updatedAt
  }
`);

export const rejectionFields = graphql(`
  fragment RejectionFields on Rejection {
    code
    message
    retryable
    ... on InvalidInput {
      field
    }
  }
`);

export const tokenFields = graphql(`
  fragment TokenFields on Token {
    id
    name
    createdAt
    lastUsedAt
  }
`);
