/** Owns: commands to what waits in the queue. */
import { rejectionFields } from '../fragments/rejection.ts';
import { queueFields } from '../fragments/values.ts';
import { graphql } from '../graphql.ts';

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
