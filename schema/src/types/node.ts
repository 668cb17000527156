/** Owns: fetching anything by its global id. An id that nobody handed out is null, never an error. */
import { builder, maxPageSize } from '../builder.ts';
import type { Context } from '../context.ts';
import type { WatchModel, WorkstreamModel } from '../model/index.ts';
import { entryNode, type EntryNode } from './entries/entry.ts';
import { decodeGlobalId } from './global-id.ts';
import { badArgument } from './page.ts';

type NodeValue =
  | EntryNode
  | (WorkstreamModel & { readonly __typename: 'Workstream' })
  | (WatchModel & { readonly __typename: 'Watch' });

async function findNode(id: string, { services }: Context): Promise<NodeValue | null> {
  const ref = decodeGlobalId(id);
  if (!ref) return null;
  if (ref.type === 'Workstream') {
    const workstream = await services.workstreams.get(ref.workstreamId);
    return workstream && { __typename: 'Workstream', ...workstream };
  }
  if (ref.type === 'Watch') {
    const watch = await services.watches.get(ref.watchId);
    return watch && { __typename: 'Watch', ...watch };
  }
  const page = await services.history.page(ref.workstreamId, {
    direction: 'forward',
    count: 1,
    after: ref.revision - 1,
  });
  const entry = page?.entries.find((e) => e.id === ref.entryId);
  return page && entry ? entryNode(ref.workstreamId, entry, entry.revision <= page.durableThrough) : null;
}

/** Most that `nodes` gives at once, UTF-16 code units of JSON. */
const maxSize = 4_000_000;

/** How much there is of it, about: an entry or a watch as it is, a workstream by what can be large of it. */
function sizeOf(node: NodeValue): number {
  const large =
    'entry' in node
      ? node.entry
      : 'projection' in node
        ? [node.projection, node.pending, node.overlay]
        : node;
  return JSON.stringify(large).length;
}

builder.queryField('node', (t) =>
  t.field({
    type: builder.nodeInterfaceRef(),
    nullable: true,
    description: 'Anything by its global id; null when there is nothing with it.',
    args: { id: t.arg.id({ required: true, description: 'A global id that this API handed out.' }) },
    complexity: { field: 10 },
    resolve: (_root, { id }, context) => findNode(id, context) as Promise<object | null>,
  }),
);

builder.queryField('nodes', (t) =>
  t.field({
    type: [builder.nodeInterfaceRef()],
    nullable: { list: false, items: true },
    description: 'Many things by their global ids, in the order asked for; null where there is nothing.',
    args: {
      ids: t.arg.idList({
        required: true,
        description:
          'Global ids, at most 200, of things that have at most about 4 MB together; refused with BAD_USER_INPUT when there is more.',
      }),
    },
    complexity: ({ ids }) => ({ field: 10 * ids.length, multiplier: ids.length }),
    resolve: async (_root, { ids }, context) => {
      if (ids.length > maxPageSize)
        throw badArgument('ids', `\`ids\` takes at most ${maxPageSize} ids; these are ${ids.length}.`);
      const nodes: (object | null)[] = [];
      let size = 0;
      // One after another: a single operation must not take the database from all others.
      for (const id of ids) {
        const node = await findNode(id, context);
        size += node ? sizeOf(node) : 0;
        if (size > maxSize)
          throw badArgument(
            'ids',
            `The first ${nodes.length + 1} of these have too much to say; ask for fewer.`,
          );
        nodes.push(node);
      }
      return nodes;
    },
  }),
);
