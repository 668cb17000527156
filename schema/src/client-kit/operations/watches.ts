/** Owns: what a client asks about watches, and the commands to them. */
import { rejectionFields } from '../fragments/rejection.ts';
import { watchFields, watchPollFields, watchRecordFields } from '../fragments/watch.ts';
import { graphql } from '../graphql.ts';

/** One page of the watches of all workstreams, newest first. */
export const watchesQuery = graphql(
  `
    query Watches($first: Int!, $after: String, $filter: WatchFilter) {
      watches(first: $first, after: $after, filter: $filter) {
        edges {
          node {
            ...WatchFields
          }
        }
        pageInfo {
          hasNextPage
          endCursor
        }
      }
    }
  `,
  [watchFields],
);

/** Those of one workstream. */
export const workstreamWatchesQuery = graphql(
  `
    query WorkstreamWatches($id: ID!, $ended: Boolean) {
      workstream(id: $id) {
        watches(ended: $ended) {
          ...WatchFields
        }
      }
    }
  `,
  [watchFields],
);

/** One watch with what its last poll put out, and a page of its polls. */
export const watchQuery = graphql(
  `
    query Watch($id: ID!, $first: Int!, $before: Int) {
      watch(id: $id) {
        ...WatchFields
        lastOutput
        history(first: $first, before: $before) {
          ...WatchPollFields
        }
      }
    }
  `,
  [watchFields, watchPollFields],
);

export const tryWatchConditionQuery = graphql(`
  query TryWatchCondition($input: TryWatchConditionInput!) {
    tryWatchCondition(input: $input) {
      soundness
      line
      column
      verdict
      message
    }
  }
`);

/** How the watches of the server go. */
export const watchFiguresQuery = graphql(`
  query WatchFigures {
    server {
      watches {
        due
        running
        late
        polls
        fires
        errors
        lateP99Ms
        waiting
      }
    }
  }
`);

export const createWatch = graphql(
  `
    mutation CreateWatch($input: CreateWatchInput!) {
      result: createWatch(input: $input) {
        __typename
        ... on CreateWatchPayload {
          durability
          watch {
            ...WatchRecordFields
          }
        }
        ...RejectionFields
      }
    }
  `,
  [rejectionFields, watchRecordFields],
);

export const updateWatch = graphql(
  `
    mutation UpdateWatch($input: UpdateWatchInput!) {
      result: updateWatch(input: $input) {
        __typename
        ... on UpdateWatchPayload {
          durability
          watch {
            ...WatchRecordFields
          }
        }
        ...RejectionFields
      }
    }
  `,
  [rejectionFields, watchRecordFields],
);

export const pauseWatch = graphql(
  `
    mutation PauseWatch($input: PauseWatchInput!) {
      result: pauseWatch(input: $input) {
        __typename
        ... on PauseWatchPayload {
          durability
          watch {
            ...WatchRecordFields
          }
        }
        ...RejectionFields
      }
    }
  `,
  [rejectionFields, watchRecordFields],
);

export const resumeWatch = graphql(
  `
    mutation ResumeWatch($input: ResumeWatchInput!) {
      result: resumeWatch(input: $input) {
        __typename
        ... on ResumeWatchPayload {
          durability
          watch {
            ...WatchRecordFields
          }
        }
        ...RejectionFields
      }
    }
  `,
  [rejectionFields, watchRecordFields],
);

export const runWatchNow = graphql(
  `
    mutation RunWatchNow($input: RunWatchNowInput!) {
      result: runWatchNow(input: $input) {
        __typename
        ... on RunWatchNowPayload {
          durability
          watch {
            ...WatchRecordFields
          }
        }
        ...RejectionFields
      }
    }
  `,
  [rejectionFields, watchRecordFields],
);

export const cancelWatch = graphql(
  `
    mutation CancelWatch($input: CancelWatchInput!) {
      result: cancelWatch(input: $input) {
        __typename
        ... on CancelWatchPayload {
          durability
          watch {
            ...WatchRecordFields
          }
        }
        ...RejectionFields
      }
    }
  `,
  [rejectionFields, watchRecordFields],
);
