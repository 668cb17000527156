/** Owns: the scalars and what text each accepts. */
import { GraphQLError } from 'graphql';
import { builder } from '../builder.ts';
import { decodeCursor } from '../projection/index.ts';

const refuse = (message: string): never => {
  throw new GraphQLError(message, { extensions: { code: 'BAD_USER_INPUT' } });
};

builder.scalarType('DateTime', {
  description:
    'A moment as ISO 8601 text in UTC, for example `2026-11-30T09:52:03.120Z`. For people to read; order is told by revisions.',
  parseValue: (value) =>
    typeof value === 'string' && !Number.isNaN(Date.parse(value))
      ? new Date(value).toISOString()
      : refuse('A DateTime is ISO 8601 text, for example "2026-11-30T09:52:03.120Z".'),
  serialize: (value) => value,
});

builder.scalarType('Revision', {
  description:
    'Place of an entry in the journal of its workstream: 1, 2, 3 … without gaps; 0 stands before the first. ' +
    'An integer of at most 2^53 - 1.',
  parseValue: (value) =>
    typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
      ? value
      : refuse('A Revision is an integer from 0 to 9007199254740991.'),
  serialize: (value) => value,
});

builder.scalarType('FeedCursor', {
  description:
    'Where to go on in the feed of one workstream. Opaque: take it from a snapshot or a feed item and hand it back ' +
    'as it is, to any server, at any later time.',
  parseValue: (value) =>
    typeof value === 'string' && decodeCursor(value) !== null
      ? value
      : refuse('A FeedCursor is text that this server handed out; this one is not.'),
  serialize: (value) => value,
});

builder.scalarType('IdempotencyKey', {
  description:
    'Names one intent of the caller: 8 to 100 characters of `A-Z a-z 0-9 _ -`, for example a UUID. Make a new one for ' +
    'each thing a person asks for, and repeat it on every retry of that. Remembered for at least 7 days.',
  parseValue: (value) =>
    typeof value === 'string' && /^[A-Za-z0-9_-]{8,100}$/.test(value)
      ? value
      : refuse('An IdempotencyKey is 8 to 100 characters of A-Z, a-z, 0-9, "_" and "-".'),
  serialize: (value) => value,
});

builder.scalarType('Tokens', {
  description:
    'A number of tokens, as a model or its provider counts them, or estimated where it says so. An integer of at most 2^53 - 1.',
  parseValue: (value) =>
    typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
      ? value
      : refuse('A number of tokens is an integer from 0 to 9007199254740991.'),
  serialize: (value) => value,
});

builder.scalarType('Date', {
  description: 'A day as an ISO 8601 date in UTC, for example `2026-11-30`.',
  parseValue: (value) =>
    typeof value === 'string' && isDay(value)
      ? value
      : refuse('A Date is a day that there is, as an ISO 8601 date, for example "2026-11-30".'),
  serialize: (value) => value,
});

/** JavaScript takes November 31 for December 1; a year 0 the database has not. */
function isDay(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text) || text.startsWith('0000')) return false;
  const day = new Date(`${text}T00:00:00.000Z`);
  return !Number.isNaN(day.valueOf()) && day.toISOString().startsWith(text);
}
