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
      warnings
    }
    tools {
      name
      description
      asks
    }
  }
`);

/** The models as they are now: what of them is in use, how their endpoints answer, and which there are changes. */
export const modelsQuery = graphql(
  `
    query Models {
      models {
        ...ModelFields
      }
    }
  `,
  [modelFields],
);
