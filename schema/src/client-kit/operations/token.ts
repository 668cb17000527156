/** Owns: operations on tokens. */
import { rejectionFields } from '../fragments/rejection.ts';
import { tokenFields } from '../fragments/token.ts';
import { graphql } from '../graphql.ts';

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
