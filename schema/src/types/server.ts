/** Owns: Server on the wire. */
import { builder } from '../builder.ts';
import type { ServerModel } from '../model/index.ts';
import { Persistence } from './persistence.ts';

const Server = builder.objectRef<ServerModel>('Server').implement({
  description: 'The server that answers.',
  fields: (t) => ({
    version: t.exposeString('version', { description: 'Version of Weir it runs.' }),
    node: t.exposeString('node', { description: 'Name of this node; another server answers with another.' }),
    database: t.exposeString('database', {
      description: 'What stores the journal, for people, for example "PostgreSQL 18.4 (embedded)".',
    }),
    workspaceRoots: t.exposeStringList('workspaceRoots', {
      description: 'Absolute paths under which the folder of a workstream may lie.',
    }),
    warnings: t.exposeStringList('warnings', {
      description: 'What an operator should know, each one sentence, for example that tools run as root.',
    }),
    persistence: t.field({
      type: Persistence,
      description: 'How storing is going, over all workstreams it runs.',
      resolve: (s) => s.persistence,
    }),
  }),
});

builder.queryField('server', (t) =>
  t.field({
    type: Server,
    description: 'The server that answers.',
    resolve: (_root, _args, { services }) => services.server.info(),
  }),
);
