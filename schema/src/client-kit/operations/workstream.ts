/** Owns: commands to a workstream as a whole: made, set, summarised, closed, forked, deleted. */
import { rejectionFields } from '../fragments/rejection.ts';
import { configurationFields } from '../fragments/values.ts';
import { graphql } from '../graphql.ts';

export const createWorkstream = graphql(
  `
    mutation CreateWorkstream($input: CreateWorkstreamInput!) {
      result: createWorkstream(input: $input) {
        __typename
        ... on CreateWorkstreamPayload {
          durability
          workstreamId
        }
        ...RejectionFields
      }
    }
  `,
  [rejectionFields],
);

export const configureWorkstream = graphql(
  `
    mutation ConfigureWorkstream($input: ConfigureWorkstreamInput!) {
      result: configureWorkstream(input: $input) {
        __typename
        ... on ConfigureWorkstreamPayload {
          durability
          configuration {
            ...ConfigurationFields
          }
        }
        ...RejectionFields
      }
    }
  `,
  [rejectionFields, configurationFields],
);

export const compactWorkstream = graphql(
  `
    mutation CompactWorkstream($input: CompactWorkstreamInput!) {
      result: compactWorkstream(input: $input) {
        __typename
        ... on CompactWorkstreamPayload {
          durability
          turnId
        }
        ...RejectionFields
      }
    }
  `,
  [rejectionFields],
);

export const closeWorkstream = graphql(
  `
    mutation CloseWorkstream($input: CloseWorkstreamInput!) {
      result: closeWorkstream(input: $input) {
        __typename
        ... on CloseWorkstreamPayload {
          durability
          lifecycle
        }
        ...RejectionFields
      }
    }
  `,
  [rejectionFields],
);

export const openWorkstream = graphql(
  `
    mutation OpenWorkstream($input: OpenWorkstreamInput!) {
      result: openWorkstream(input: $input) {
        __typename
        ... on OpenWorkstreamPayload {
          durability
          lifecycle
        }
        ...RejectionFields
      }
    }
  `,
  [rejectionFields],
);

export const deleteWorkstream = graphql(
  `
    mutation DeleteWorkstream($input: DeleteWorkstreamInput!) {
      result: deleteWorkstream(input: $input) {
        __typename
        ... on DeleteWorkstreamPayload {
          durability
          workstreamId
          workspaceKept
        }
        ...RejectionFields
      }
    }
  `,
  [rejectionFields],
);

export const forkWorkstream = graphql(
  `
    mutation ForkWorkstream($input: ForkWorkstreamInput!) {
      result: forkWorkstream(input: $input) {
        __typename
        ... on ForkWorkstreamPayload {
          durability
          workstreamId
        }
        ...RejectionFields
      }
    }
  `,
  [rejectionFields],
);

export const discardUnsaved = graphql(
  `
    mutation DiscardUnsaved($input: DiscardUnsavedInput!) {
      result: discardUnsaved(input: $input) {
        __typename
        ... on DiscardUnsavedPayload {
          durability
          discarded
        }
        ...RejectionFields
      }
    }
  `,
  [rejectionFields],
);
