/** Owns: a model that can serve workstreams, as this client reads it. */
import { graphql } from '../graphql.ts';

export const modelFields = graphql(`
  fragment ModelFields on Model {
    alias
    description
    demo
    isDefault
    health
    problem
    window
    maxOutput
    concurrency
    inUse
    waiting
    fallbacks
    temperature
    effort
    efforts
    vision
    reasoning
    price {
      input
      output
      cachedInput
    }
  }
`);
