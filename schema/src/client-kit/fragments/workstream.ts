/** Owns: what there is to know of a workstream: the fold, a snapshot, a row of the list, as this client reads it. */
import { graphql } from '../graphql.ts';
import { entryFields } from './journal.ts';
import {
  callFields,
  configurationFields,
  cycleFields,
  originFields,
  persistenceFields,
  queueFields,
  turnFields,
} from './values.ts';
import { watchRecordFields } from './watch.ts';

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
      watches {
        ...WatchRecordFields
      }
      origin {
        ...OriginFields
      }
      superseded {
        after
        through
      }
      context {
        told
        counted {
          tokens
          told
        }
        scale
        overhead
        window
        advised
        tried
        failures
      }
      checkpoint {
        id
        revision
        watermark
      }
      budgetLimit
    }
  `,
  [configurationFields, turnFields, callFields, cycleFields, queueFields, watchRecordFields, originFields],
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

export const summaryFields = graphql(`
  fragment SummaryFields on WorkstreamSummary {
    id
    title
    state
    stopping
    lifecycle
    model
    revision
    persistence
    createdAt
    updatedAt
  }
`);
