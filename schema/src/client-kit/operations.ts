/**
 * Owns: every operation this client sends. Does not own: how they travel (`transport.ts`), or when they are repeated
 * (`intent.ts`, `follow.ts`).
 */
import { feedItemFields } from './fragments/feed.ts';
import { historyFields } from './fragments/journal.ts';
import { rejectionFields } from './fragments/rejection.ts';
import { tokenFields } from './fragments/token.ts';
import {
  authorFields,
  configurationFields,
  cycleFields,
  persistenceFields,
  queueFields,
} from './fragments/values.ts';
import { snapshotFields, summaryFields } from './fragments/workstream.ts';
import { graphql } from './graphql.ts';

/** A workstream from one read at one revision: what a follower starts from, and the newest page of history beside it. */
export const snapshotQuery = graphql(
  `
    query Snapshot($id: ID!, $last: Int!) {
      workstream(id: $id) {
        ...SnapshotFields
        history(last: $last) {
          ...HistoryFields
        }
      }
    }
  `,
  [snapshotFields, historyFields],
);

/** The page of history before a cursor. */
export const olderQuery = graphql(
  `
    query Older($id: ID!, $last: Int!, $before: String!) {
      workstream(id: $id) {
        superseded {
          after
          through
        }
        history(last: $last, before: $before) {
          ...HistoryFields
        }
      }
    }
  `,
  [historyFields],
);

/** The page of history after a cursor; null: from the first entry. */
export const newerQuery = graphql(
  `
    query Newer($id: ID!, $first: Int!, $after: String) {
      workstream(id: $id) {
        superseded {
          after
          through
        }
        history(first: $first, after: $after) {
          ...HistoryFields
        }
      }
    }
  `,
  [historyFields],
);

/** How far a workstream has come. */
export const headQuery = graphql(`
  query Head($id: ID!) {
    workstream(id: $id) {
      revision
    }
  }
`);

/** One page of what was found, newest first. */
export const searchQuery = graphql(
  `
    query Search($text: String!, $workstreamId: ID, $first: Int!, $after: String) {
      search(text: $text, workstreamId: $workstreamId, first: $first, after: $after) {
        edges {
          node {
            workstreamId
            title
            superseded
            historyCursor
            snippet {
              text
              hit
            }
            entry {
              __typename
              entryId
              revision
              at
              ... on UserEntry {
                author {
                  ...AuthorFields
                }
              }
              ... on ToolEntry {
                name
              }
            }
          }
        }
        pageInfo {
          hasNextPage
          endCursor
        }
      }
    }
  `,
  [authorFields],
);

/** The entries around a place of history, to jump to what was found: `before` older ones, `after` newer ones. Two hundred of each are refused as too much. */
export const aroundQuery = graphql(
  `
    query Around($id: ID!, $place: String!, $before: Int!, $after: Int!) {
      workstream(id: $id) {
        older: history(last: $before, before: $place) {
          ...HistoryFields
        }
        newer: history(first: $after, after: $place) {
          edges {
            cursor
          }
          pageInfo {
            hasNextPage
            endCursor
          }
          ...HistoryFields
        }
      }
    }
  `,
  [historyFields],
);

export const feedSubscription = graphql(
  `
    subscription Feed($id: ID!, $after: FeedCursor) {
      workstreamFeed(id: $id, after: $after) {
        ...FeedItemFields
      }
    }
  `,
  [feedItemFields],
);

export const statesSubscription = graphql(
  `
    subscription States {
      workstreamStates {
        __typename
        ... on StatesSnapshot {
          workstreams {
            ...SummaryFields
          }
        }
        ... on StateChanged {
          workstream {
            ...SummaryFields
          }
        }
        ... on WorkstreamDeleted {
          workstreamId
        }
        ... on ServerPersistenceChanged {
          persistence {
            ...PersistenceFields
          }
        }
      }
    }
  `,
  [summaryFields, persistenceFields],
);

/** Who asks, and what the server offers: all that does not change while a page is open. */
export const serverQuery = graphql(`
  query Server {
    viewer {
      id
      name
      tokenId
    }
    server {
      version
      node
      database
      workspaceRoots
      warnings
    }
    models {
      alias
      description
      demo
      isDefault
    }
    tools {
      name
      description
      asks
    }
  }
`);

export const tokensQuery = graphql(
  `
    query Tokens {
      tokens {
        ...TokenFields
      }
    }
  `,
  [tokenFields],
);

export const createWorkstream = graphql(
  `
    mutation CreateWorkstream($input: CreateWorkstreamInput!) {
      result: createWorkstream(input: $input) {
        __typename
        ... on CreateWorkstreamPayload {
          durability
          workstreamId
        }
        ...RejectionFields
      }
    }
  `,
  [rejectionFields],
);

export const sendMessage = graphql(
  `
    mutation SendMessage($input: SendMessageInput!) {
      result: sendMessage(input: $input) {
        __typename
        ... on SendMessagePayload {
          durability
          disposition
          messageId
          turnId
          revision
        }
        ...RejectionFields
      }
    }
  `,
  [rejectionFields],
);

export const stopTurn = graphql(
  `
    mutation StopTurn($input: StopTurnInput!) {
      result: stopTurn(input: $input) {
        __typename
        ... on StopTurnPayload {
          durability
          nothingToStop
          stopped
        }
        ...RejectionFields
      }
    }
  `,
  [rejectionFields],
);

export const decideApproval = graphql(
  `
    mutation DecideApproval($input: DecideApprovalInput!) {
      result: decideApproval(input: $input) {
        __typename
        ... on DecideApprovalPayload {
          durability
          cycle {
            ...CycleFields
          }
        }
        ...RejectionFields
      }
    }
  `,
  [rejectionFields, cycleFields],
);

export const resumeQueue = graphql(
  `
    mutation ResumeQueue($input: ResumeQueueInput!) {
      result: resumeQueue(input: $input) {
        __typename
        ... on ResumeQueuePayload {
          durability
          turnId
        }
        ...RejectionFields
      }
    }
  `,
  [rejectionFields],
);

export const editQueuedMessage = graphql(
  `
    mutation EditQueuedMessage($input: EditQueuedMessageInput!) {
      result: editQueuedMessage(input: $input) {
        __typename
        ... on EditQueuedMessagePayload {
          durability
          queue {
            ...QueueFields
          }
        }
        ...RejectionFields
      }
    }
  `,
  [rejectionFields, queueFields],
);

export const withdrawQueuedMessage = graphql(
  `
    mutation WithdrawQueuedMessage($input: WithdrawQueuedMessageInput!) {
      result: withdrawQueuedMessage(input: $input) {
        __typename
        ... on WithdrawQueuedMessagePayload {
          durability
          queue {
            ...QueueFields
          }
        }
        ...RejectionFields
      }
    }
  `,
  [rejectionFields, queueFields],
);

export const rewindWorkstream = graphql(
  `
    mutation RewindWorkstream($input: RewindWorkstreamInput!) {
      result: rewindWorkstream(input: $input) {
        __typename
        ... on RewindWorkstreamPayload {
          durability
          revision
          text
          superseded
        }
        ...RejectionFields
      }
    }
  `,
  [rejectionFields],
);

export const resendMessage = graphql(
  `
    mutation ResendMessage($input: ResendMessageInput!) {
      result: resendMessage(input: $input) {
        __typename
        ... on ResendMessagePayload {
          durability
          disposition
          messageId
          turnId
          revision
        }
        ...RejectionFields
      }
    }
  `,
  [rejectionFields],
);

export const retryTurn = graphql(
  `
    mutation RetryTurn($input: RetryTurnInput!) {
      result: retryTurn(input: $input) {
        __typename
        ... on RetryTurnPayload {
          durability
          disposition
          messageId
          turnId
          revision
        }
        ...RejectionFields
      }
    }
  `,
  [rejectionFields],
);

export const configureWorkstream = graphql(
  `
    mutation ConfigureWorkstream($input: ConfigureWorkstreamInput!) {
      result: configureWorkstream(input: $input) {
        __typename
        ... on ConfigureWorkstreamPayload {
          durability
          configuration {
            ...ConfigurationFields
          }
        }
        ...RejectionFields
      }
    }
  `,
  [rejectionFields, configurationFields],
);

export const closeWorkstream = graphql(
  `
    mutation CloseWorkstream($input: CloseWorkstreamInput!) {
      result: closeWorkstream(input: $input) {
        __typename
        ... on CloseWorkstreamPayload {
          durability
          lifecycle
        }
        ...RejectionFields
      }
    }
  `,
  [rejectionFields],
);

export const openWorkstream = graphql(
  `
    mutation OpenWorkstream($input: OpenWorkstreamInput!) {
      result: openWorkstream(input: $input) {
        __typename
        ... on OpenWorkstreamPayload {
          durability
          lifecycle
        }
        ...RejectionFields
      }
    }
  `,
  [rejectionFields],
);

export const deleteWorkstream = graphql(
  `
    mutation DeleteWorkstream($input: DeleteWorkstreamInput!) {
      result: deleteWorkstream(input: $input) {
        __typename
        ... on DeleteWorkstreamPayload {
          durability
          workstreamId
          workspaceKept
        }
        ...RejectionFields
      }
    }
  `,
  [rejectionFields],
);

export const forkWorkstream = graphql(
  `
    mutation ForkWorkstream($input: ForkWorkstreamInput!) {
      result: forkWorkstream(input: $input) {
        __typename
        ... on ForkWorkstreamPayload {
          durability
          workstreamId
        }
        ...RejectionFields
      }
    }
  `,
  [rejectionFields],
);

export const discardUnsaved = graphql(
  `
    mutation DiscardUnsaved($input: DiscardUnsavedInput!) {
      result: discardUnsaved(input: $input) {
        __typename
        ... on DiscardUnsavedPayload {
          durability
          discarded
        }
        ...RejectionFields
      }
    }
  `,
  [rejectionFields],
);

export const createToken = graphql(
  `
    mutation CreateToken($input: CreateTokenInput!) {
      result: createToken(input: $input) {
        __typename
        ... on CreateTokenPayload {
          durability
          secret
          token {
            ...TokenFields
          }
        }
        ...RejectionFields
      }
    }
  `,
  [rejectionFields, tokenFields],
);

export const revokeToken = graphql(
  `
    mutation RevokeToken($input: RevokeTokenInput!) {
      result: revokeToken(input: $input) {
        __typename
        ... on RevokeTokenPayload {
          durability
          token {
            ...TokenFields
          }
        }
        ...RejectionFields
      }
    }
  `,
  [rejectionFields, tokenFields],
);
