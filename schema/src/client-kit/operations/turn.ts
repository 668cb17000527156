/** Owns: commands to a turn: what begins it, ends it, answers it. */
import { rejectionFields } from '../fragments/rejection.ts';
import { cycleFields } from '../fragments/values.ts';
import { graphql } from '../graphql.ts';

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
