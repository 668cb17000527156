/** Owns: Server on the wire. */
import { builder } from '../builder.ts';
import type { ServerModel, WatchFiguresModel } from '../model/index.ts';
import { Persistence } from './persistence.ts';

const WatchFigures = builder.objectRef<WatchFiguresModel>('WatchFigures').implement({
  description: 'How the watches of this server go. Counters begin when it starts.',
  fields: (t) => ({
    due: t.exposeInt('due', {
      description: 'Polls that this server could begin, because they are due and nobody does them.',
    }),
    running: t.exposeInt('running', { description: 'Polls under way.' }),
    late: t.exposeInt('late', { description: 'Of those due: for more than a second.' }),
    polls: t.exposeInt('polls', { description: 'Polls that were done.' }),
    fires: t.exposeInt('fires', {
      description:
        'Of those: at which what a watch waits for had happened. That it ended without is told, too, and is not counted here.',
    }),
    errors: t.exposeInt('errors', {
      description:
        'Of those: whose command could not run or was ended, or whose condition could not be judged.',
    }),
    lateP99Ms: t.exposeInt('lateP99Ms', {
      nullable: true,
      description:
        'Milliseconds from when a poll was due until it began, the greatest of 99 % of the last 1,024; null: there was none.',
    }),
    waiting: t.exposeInt('waiting', {
      description:
        'What watches have said and their workstreams have not written down yet, over all servers.',
    }),
  }),
});

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
    watches: t.field({
      type: WatchFigures,
      description: 'How polling watches is going.',
      complexity: { field: 10 },
      resolve: (_s, _args, { services }) => services.watches.figures(),
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
