/** Owns: Model on the wire. */
import { builder } from '../builder.ts';
import type { ModelModel } from '../model/index.ts';

const Model = builder.objectRef<ModelModel>('Model').implement({
  description: 'A model that can serve workstreams.',
  fields: (t) => ({
    alias: t.exposeString('alias', { description: 'Its name here, as `createWorkstream` takes it.' }),
    description: t.exposeString('description', {
      description:
        'What serves it, for people: the host of the endpoint and the name of the model there, or "built in".',
    }),
    demo: t.exposeBoolean('demo', {
      description:
        'True for the built-in demo, which is not a language model: it obeys a few documented phrases.',
    }),
    isDefault: t.exposeBoolean('isDefault', {
      description: 'True for the one that `createWorkstream` takes when none is named.',
    }),
  }),
});

builder.queryField('models', (t) =>
  t.field({
    type: [Model],
    description: 'The models of this server, the default one first.',
    resolve: (_root, _args, { services }) => services.models.list(),
  }),
);
