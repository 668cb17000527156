/** Owns: a token, as this client reads it. */
import { graphql } from '../graphql.ts';

export const tokenFields = graphql(`
  fragment TokenFields on Token {
    id
    name
    createdAt
    lastUsedAt
  }
`);
