/** Owns: reading the past: pages of it, and what was found in it. */
import { historyFields } from '../fragments/journal.ts';
import { authorFields } from '../fragments/values.ts';
import { graphql } from '../graphql.ts';

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
