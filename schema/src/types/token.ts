/** Owns: Token on the wire, making and revoking one. */
import { builder } from '../builder.ts';
import type { TokenModel } from '../model/index.ts';
import type { CreateTokenOutcome, RevokeTokenOutcome } from '../services.ts';
import { Accepted } from './durability.ts';
import { InvalidInput, KeyReused, resultOf, StorageUnavailable, TokenNotFound } from './rejection.ts';

const Token = builder.objectRef<TokenModel>('Token').implement({
  description: 'A key to this server. Only a hash of its secret is kept.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Id of the token, as `revokeToken` takes it. Not secret.' }),
    name: t.exposeString('name', { description: 'What it is for, 1 to 100 characters.' }),
    createdAt: t.field({ type: 'DateTime', description: 'When it was made.', resolve: (k) => k.createdAt }),
    lastUsedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When it was last used, to the minute; null when never.',
      resolve: (k) => k.lastUsedAt,
    }),
  }),
});

builder.queryField('tokens', (t) =>
  t.field({
    type: [Token],
    description: 'All tokens that are valid, the last made first. Secrets are never shown again.',
    resolve: (_root, _args, { services }) => services.tokens.list(),
  }),
);

const CreateTokenInput = builder.inputType('CreateTokenInput', {
  description: 'What to make.',
  fields: (t) => ({
    key: t.field({ type: 'IdempotencyKey', required: true, description: 'Names this intent.' }),
    name: t.string({ required: true, description: 'What it is for, 1 to 100 characters.' }),
  }),
});

type Created = Extract<CreateTokenOutcome, { type: 'Accepted' }>;
const CreateTokenPayload = builder.objectRef<Created>('CreateTokenPayload').implement({
  description: 'The token was made.',
  interfaces: [Accepted],
  fields: (t) => ({
    token: t.field({ type: Token, description: 'The token.', resolve: (p) => p.token }),
    secret: t.exposeString('secret', {
      nullable: true,
      description:
        'What to send as `Authorization: Bearer …` or as `connectionParams.token`. Shown this once: a repeat of the key answers null here.',
    }),
  }),
});

builder.mutationField('createToken', (t) =>
  t.field({
    type: resultOf<CreateTokenOutcome>('createToken', CreateTokenPayload, {
      INVALID_INPUT: InvalidInput,
      KEY_REUSED: KeyReused,
      STORAGE_UNAVAILABLE: StorageUnavailable,
    }),
    description:
      'Makes a token for a script or another device. It may do all that the caller may. Answers when it is stored.',
    args: { input: t.arg({ type: CreateTokenInput, required: true, description: 'What to make.' }) },
    resolve: (_root, { input }, { services, viewer }) =>
      services.tokens.create(viewer, { key: input.key, name: input.name }),
  }),
);

const RevokeTokenInput = builder.inputType('RevokeTokenInput', {
  description: 'Which token to revoke.',
  fields: (t) => ({
    key: t.field({ type: 'IdempotencyKey', required: true, description: 'Names this intent.' }),
    tokenId: t.id({ required: true, description: '`Token.id`.' }),
  }),
});

type Revoked = Extract<RevokeTokenOutcome, { type: 'Accepted' }>;
const RevokeTokenPayload = builder.objectRef<Revoked>('RevokeTokenPayload').implement({
  description: 'The token is not valid any more.',
  interfaces: [Accepted],
  fields: (t) => ({ token: t.field({ type: Token, description: 'What it was.', resolve: (p) => p.token }) }),
});

builder.mutationField('revokeToken', (t) =>
  t.field({
    type: resultOf<RevokeTokenOutcome>('revokeToken', RevokeTokenPayload, {
      TOKEN_NOT_FOUND: TokenNotFound,
      KEY_REUSED: KeyReused,
      STORAGE_UNAVAILABLE: StorageUnavailable,
    }),
    description:
      'Ends a token: it opens nothing any more, and what it has open (sockets, event streams) is closed. Answers when ' +
      'that is stored. Revoking the token that asks is allowed; its own socket may close before the answer.',
    args: { input: t.arg({ type: RevokeTokenInput, required: true, description: 'Which token.' }) },
    resolve: (_root, { input }, { services, viewer }) =>
      services.tokens.revoke(viewer, { key: input.key, tokenId: input.tokenId }),
  }),
);
