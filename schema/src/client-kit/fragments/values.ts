/** Owns: the values that entries and projections are made of, as this client reads it. */
import { graphql } from '../graphql.ts';

export const authorFields = graphql(`
  fragment AuthorFields on Author {
    id
    name
  }
`);

export const contextMarkFields = graphql(`
  fragment ContextMarkFields on ContextMark {
    told
    counted {
      tokens
      told
    }
    scale
    overhead
    window
  }
`);

export const usageTotalFields = graphql(`
  fragment UsageTotalFields on UsageTotal {
    calls
    inputTokens
    cachedInputTokens
    outputTokens
    reasoningTokens
    cost
    estimatedCalls
  }
`);

export const turnFields = graphql(
  `
    fragment TurnFields on Turn {
      id
      kind
      phase
      compaction {
        id
        trigger
        resume
      }
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
      depth
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
      budget {
        spent
        limit
        grant
      }
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

export const queueFields = graphql(
  `
    fragment QueueFields on Queue {
      held
      items {
        id
        text
        delivery
        turnId
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

export const callFields = graphql(`
  fragment CallFields on Call {
    callId
    providerId
    name
    arguments
  }
`);

export const configurationFields = graphql(
  `
    fragment ConfigurationFields on Configuration {
      title
      titleSource
      model
      temperature
      effort
      instructions
      tokenBudget
      workspace
      approvalMode
      approvalModeBy {
        ...AuthorFields
      }
    }
  `,
  [authorFields],
);

export const originFields = graphql(`
  fragment OriginFields on Origin {
    workstreamId
    title
    revision
  }
`);

export const persistenceFields = graphql(`
  fragment PersistenceFields on Persistence {
    status
    message
    nextAttemptAt
  }
`);
