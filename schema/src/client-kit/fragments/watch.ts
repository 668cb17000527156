/** Owns: watches, their polls and what they say, as this client reads it. */
import { graphql } from '../graphql.ts';
import { authorFields } from './values.ts';

const watchDefinitionFields = graphql(`
  fragment WatchDefinitionFields on WatchDefinition {
    name
    command
    condition
    everySeconds
    maxPolls
    deadline
    repeat
    instruction
  }
`);

/** As the journal has it. */
export const watchRecordFields = graphql(
  `
    fragment WatchRecordFields on WatchRecord {
      watchId
      version
      definition {
        ...WatchDefinitionFields
      }
      status
      pausedBy
      end
      author {
        ...AuthorFields
      }
      depth
      createdAt
      lastFire
      firesTold
      due
    }
  `,
  [watchDefinitionFields, authorFields],
);

export const fireFields = graphql(
  `
    fragment FireFields on Fire {
      watchId
      poll
      reason
      ended
      definition {
        ...WatchDefinitionFields
      }
      elapsedSeconds
      exitCode
      output
      error
      author {
        ...AuthorFields
      }
      depth
      firesBefore
      skipped
    }
  `,
  [watchDefinitionFields, authorFields],
);

/** As it is now, with how its polls go, but what they put out. */
export const watchFields = graphql(
  `
    fragment WatchFields on Watch {
      id
      watchId
      workstreamId
      version
      definition {
        ...WatchDefinitionFields
      }
      status
      pausedBy
      end
      author {
        ...AuthorFields
      }
      depth
      createdAt
      polls
      fires
      nextPollAt
      lastPollAt
      lastExitCode
      lastError
    }
  `,
  [watchDefinitionFields, authorFields],
);

export const watchPollFields = graphql(`
  fragment WatchPollFields on WatchPoll {
    poll
    at
    durationMs
    exitCode
    fired
    error
    outputTail
  }
`);
