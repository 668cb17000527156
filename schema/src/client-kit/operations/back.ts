/** Owns: commands that go back in the conversation (D-59). */
import { rejectionFields } from '../fragments/rejection.ts';
import { graphql } from '../graphql.ts';

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
