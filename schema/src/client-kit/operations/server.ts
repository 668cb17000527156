/** Owns: what a client asks about the server and about who it is. */
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
    models {
      alias
      description
      demo
      isDefault
    }
    tools {
      name
      description
      asks
    }
  }
`);
