/** Owns: what a client asks about the server and about who it is. */
import { modelFields } from '../fragments/model.ts';
import { graphql } from '../graphql.ts';

/** Who asks, and what the server offers: all that does not change while a page is open. */
export const serverQuery = graphql(`
  query Server {
    viewer {
      id
      name
      tokenId
    }
    server {
      version
      node
      database
      workspaceRoots
    }
    tools {
      name
      description
      asks
    }
  }
`);

/**
 * What changes while the server runs: the models, with what of them is in use and how they answer; and what an operator
 * should know, which for the most part is about them.
 */
export const modelsQuery = graphql(
  `
    query Models {
      models {
        ...ModelFields
      }
      server {
        warnings
      }
    }
  `,
  [modelFields],
);
