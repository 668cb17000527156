/** Owns: what a follower asks: a snapshot, its feed, the list of workstreams. */
import { feedItemFields } from '../fragments/feed.ts';
import { historyFields } from '../fragments/journal.ts';
import { persistenceFields } from '../fragments/values.ts';
import { snapshotFields, summaryFields } from '../fragments/workstream.ts';
import { graphql } from '../graphql.ts';

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

/** How far a workstream has come. */
export const headQuery = graphql(`
  query Head($id: ID!) {
    workstream(id: $id) {
      revision
    }
  }
`);

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
          older {
            after
            open
            closed
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

/** The list beyond its snapshot, the newest first. */
export const olderWorkstreams = graphql(
  `
    query OlderWorkstreams($first: Int!, $after: String!, $lifecycle: Lifecycle) {
      workstreams(first: $first, after: $after, filter: { lifecycle: $lifecycle }) {
        edges {
          node {
            ...SummaryFields
          }
        }
        pageInfo {
          hasNextPage
          endCursor
        }
      }
    }
  `,
  [summaryFields],
);
