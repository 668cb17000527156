/** Owns: who wrote or decided, and who is asking. */
import { builder } from '../builder.ts';
import type { Viewer as ViewerModel } from '../model/index.ts';
import type { Author as AuthorModel } from '../projection/index.ts';

export const Author = builder.objectRef<AuthorModel>('Author').implement({
  description: 'Who wrote, decided or started something: a token, until there are users.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Id of the author; stays the same when the name changes.' }),
    name: t.exposeString('name', { description: 'Name for people, at most 100 characters.' }),
  }),
});

const Viewer = builder.objectRef<ViewerModel>('Viewer').implement({
  description: 'Who is asking: the token this operation came with.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id that `Author.id` shows for what this viewer does.' }),
    name: t.exposeString('name', { description: 'Name of the token, at most 100 characters.' }),
    tokenId: t.exposeID('tokenId', { description: 'Id of the token, as in `Query.tokens`.' }),
  }),
});

builder.queryField('viewer', (t) =>
  t.field({
    type: Viewer,
    description: 'Who is asking.',
    resolve: (_root, _args, { viewer }) => viewer,
  }),
);
