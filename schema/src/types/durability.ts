/** Owns: how safe something accepted is, and the interface of every acceptance. */
import { builder } from '../builder.ts';
import type { Durability } from '../outcome.ts';
import { enumOf } from './enum.ts';

export const DurabilityEnum = enumOf<Durability>(
  'Durability',
  'Whether something accepted survives the loss of the server.',
  {
    DURABLE: 'Committed to the database. It stays, whatever happens to the server.',
    PENDING:
      'Accepted and visible, not committed yet, because the database has not answered. It can still be lost with the ' +
      'process. As an answer of a mutation (after 5 s) it is not an acceptance: keep the input and repeat the key until ' +
      'DURABLE or a rejection.',
  },
);

export const Accepted = builder.interfaceRef<{ readonly durability: Durability }>('Accepted').implement({
  description: 'What every success of a mutation says.',
  fields: (t) => ({
    durability: t.field({
      type: DurabilityEnum,
      description: 'DURABLE, or PENDING when the database has not answered for 5 s.',
      resolve: (a) => a.durability,
    }),
  }),
});
