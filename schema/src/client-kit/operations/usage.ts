/** Owns: what a client asks about what is spent, and about what the model is told beside the conversation. */
import { usageTotalFields } from '../fragments/values.ts';
import { graphql } from '../graphql.ts';

/** Sums of model calls, told apart as asked. */
export const usageQuery = graphql(
  `
    query Usage($from: Date!, $through: Date, $workstreamId: ID, $by: [UsageKey!]!, $first: Int) {
      usage(from: $from, through: $through, workstreamId: $workstreamId, by: $by, first: $first) {
        day
        workstreamId
        title
        alias
        total {
          ...UsageTotalFields
        }
      }
    }
  `,
  [usageTotalFields],
);

/** What a workstream has spent. */
export const workstreamUsageQuery = graphql(
  `
    query WorkstreamUsage($id: ID!) {
      workstream(id: $id) {
        usage {
          ...UsageTotalFields
        }
      }
    }
  `,
  [usageTotalFields],
);

export const turnUsageQuery = graphql(
  `
    query TurnUsage($workstreamId: ID!, $turnId: ID!) {
      turnUsage(workstreamId: $workstreamId, turnId: $turnId) {
        ...UsageTotalFields
      }
    }
  `,
  [usageTotalFields],
);

/** One page of the model calls of a workstream, newest first. */
export const modelCallsQuery = graphql(`
  query ModelCalls($id: ID!, $first: Int!, $after: String) {
    workstream(id: $id) {
      modelCalls(first: $first, after: $after) {
        edges {
          node {
            id
            purpose
            turnId
            alias
            model
            usage {
              inputTokens
              outputTokens
              cachedInputTokens
              reasoningTokens
            }
            estimated
            outcome
            cost
            at
          }
        }
        pageInfo {
          hasNextPage
          endCursor
        }
      }
    }
  }
`);

/** What the model is told first, now. */
export const systemPromptQuery = graphql(`
  query SystemPrompt($id: ID!) {
    workstream(id: $id) {
      systemPrompt
    }
  }
`);
