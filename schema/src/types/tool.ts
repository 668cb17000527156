/** Owns: Tool on the wire. */
import { builder } from '../builder.ts';
import type { ToolModel } from '../model/index.ts';

const Tool = builder.objectRef<ToolModel>('Tool').implement({
  description: 'Something the model can call.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its name, as in `Call.name`.' }),
    description: t.exposeString('description', { description: 'What the model is told about it.' }),
    asks: t.exposeBoolean('asks', { description: 'True: a person is asked before each call.' }),
  }),
});

builder.queryField('tools', (t) =>
  t.field({
    type: [Tool],
    description: 'The tools of this server.',
    resolve: (_root, _args, { services }) => services.tools.list(),
  }),
);
