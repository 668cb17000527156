/** Owns: how a command is refused, as this client reads it. */
import { graphql } from '../graphql.ts';

export const rejectionFields = graphql(`
  fragment RejectionFields on Rejection {
    code
    message
    retryable
    ... on InvalidInput {
      field
    }
  }
`);
