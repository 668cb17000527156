/** Owns: Model on the wire. */
import { builder } from '../builder.ts';
import type { ModelModel, ModelPrice as ModelPriceModel } from '../model/index.ts';
import { Effort } from './configuration.ts';
import { enumOf } from './enum.ts';

const ModelHealth = enumOf<ModelModel['health']>(
  'ModelHealth',
  'How a model has answered since the server started.',
  {
    UNKNOWN: 'It has not been asked yet.',
    HEALTHY: 'Its last call was accepted.',
    FAILING:
      'The last call to it or to its endpoint failed, and fewer than five in a row: it is asked as before. `problem` says of what it failed.',
    DEGRADED: 'Five calls in a row failed: it is asked last, until one is accepted again.',
  },
);

const ModelPrice = builder.objectRef<ModelPriceModel>('ModelPrice').implement({
  description: 'What a model costs, in United States dollars per million tokens, as configured.',
  fields: (t) => ({
    input: t.exposeFloat('input', { description: 'Tokens read.' }),
    output: t.exposeFloat('output', { description: 'Tokens written, reasoning included.' }),
    cachedInput: t.exposeFloat('cachedInput', {
      nullable: true,
      description: 'Tokens read from the provider’s cache; null: as `input`.',
    }),
  }),
});

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
    health: t.field({
      type: ModelHealth,
      description:
        'How it has answered. Models of one endpoint share it, but for what is about one of them or its key.',
      resolve: (m) => m.health,
    }),
    problem: t.exposeString('problem', {
      nullable: true,
      description:
        'What stands against it until a call is accepted: why the last call to it or to its endpoint failed, where that was not the fault of the request, or what a look at its endpoint found, also while it is UNKNOWN. Null when nothing is wrong.',
    }),
    window: t.exposeInt('window', {
      nullable: true,
      description: 'Tokens it can read at once, as configured or as its endpoint says; null: not known.',
    }),
    maxOutput: t.exposeInt('maxOutput', {
      nullable: true,
      description: 'Most tokens of one answer, as configured; null: as the endpoint does it.',
    }),
    concurrency: t.exposeInt('concurrency', {
      nullable: true,
      description: 'Calls it takes at the same time; further ones wait their turn. Null: no bound.',
    }),
    inUse: t.exposeInt('inUse', { description: 'Calls under way now.' }),
    waiting: t.exposeInt('waiting', { description: 'Calls that wait for one of these to end.' }),
    fallbacks: t.exposeStringList('fallbacks', {
      description: 'Aliases that are asked in its place when it fails, in order.',
    }),
    temperature: t.exposeFloat('temperature', {
      nullable: true,
      description: 'Used where a workstream sets none, from 0 to 2; null: as the endpoint does it.',
    }),
    effort: t.field({
      type: Effort,
      nullable: true,
      description: 'Used where a workstream sets none; null: as the endpoint does it.',
      resolve: (m) => m.effort,
    }),
    efforts: t.field({
      type: [Effort],
      description: 'The efforts it knows; empty: it is told none.',
      resolve: (m) => m.efforts,
    }),
    vision: t.exposeBoolean('vision', { description: 'True when it can see images.' }),
    reasoning: t.exposeBoolean('reasoning', { description: 'True when it thinks before it answers.' }),
    price: t.field({
      type: ModelPrice,
      nullable: true,
      description: 'What it costs; null: not configured.',
      resolve: (m) => m.price,
    }),
  }),
});

builder.queryField('models', (t) =>
  t.field({
    type: [Model],
    description: 'The models of this server as they are now, the default one first.',
    resolve: (_root, _args, { services }) => services.models.list(),
  }),
);
