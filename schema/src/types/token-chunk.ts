/** Owns: the text of answers alone, for simple clients. */
import { builder } from '../builder.ts';
import type { TokenChunkModel } from '../model/index.ts';
import { StreamChannel } from './feed-item.ts';
import { workstreamIdOf } from './global-id.ts';
import { untilLeft } from './subscribe.ts';
import { StateChanged } from './workstream-summary.ts';

const TextChunk = builder.objectRef<Extract<TokenChunkModel, { type: 'TextChunk' }>>('TextChunk').implement({
  description: 'Text of the answer being written. Offset 0 begins or replaces a message; otherwise append.',
  fields: (t) => ({
    messageId: t.exposeID('messageId', { description: 'Id of the message; each attempt has another.' }),
    channel: t.field({ type: StreamChannel, description: 'Which text.', resolve: (c) => c.channel }),
    offset: t.exposeInt('offset', {
      description: 'Where `text` begins in this channel, in UTF-16 code units.',
    }),
    text: t.exposeString('text', { description: 'The text.' }),
  }),
});

const TokenChunk = builder.unionType('TokenChunk', {
  description: 'What `tokenChunks` carries. Kinds may be added: skip one you do not know.',
  types: [TextChunk, StateChanged],
  resolveType: (item) => item.type,
});

builder.subscriptionField('tokenChunks', (t) =>
  t.field({
    type: TokenChunk,
    description:
      'The text of answers as it is written, and changes of state, for clients that want no journal. Order: the open ' +
      'answer so far at offset 0, then as it happens. Nothing is kept: what is missed is missed; `workstreamFeed` loses ' +
      'nothing. Ends at once when there is no such workstream.',
    args: { id: t.arg.id({ required: true, description: 'Global id of the workstream.' }) },
    subscribe: (_root, { id }, { services }) => {
      const workstreamId = workstreamIdOf(id);
      return untilLeft((signal) =>
        workstreamId === null ? nothing() : services.feed.tokens(workstreamId, signal),
      );
    },
    resolve: (chunk) => chunk,
  }),
);

async function* nothing(): AsyncGenerator<TokenChunkModel> {
  /* ends at once */
}
