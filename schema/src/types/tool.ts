/** Owns: Tool on the wire. */
import { builder } from '../builder.ts';
import type { ToolModel } from '../model/index.ts';

const Tool = builder.objectRef<ToolModel>('Tool').implement({
  description: 'Something the model can call.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its name, as in `Call.name`.' }),
    description: t.exposeString('description', { description: 'What the model is told about it.' }),
    asks: t.exposeBoolean('asks', {
      description:
        'True: it changes something, so a person is asked before each call, as far as the `ApprovalMode` of the workstream ' +
        'wants it: always in ASK; in TRUST_WORKSPACE only if it runs commands; never in TRUST_ALL. False: it only looks, and ' +
        'nobody is asked.',
    }),
  }),
});

builder.queryField('tools', (t) =>
  t.field({
    type: [Tool],
    description: 'The tools of this server.',
    resolve: (_root, _args, { services }) => services.tools.list(),
  }),
);
