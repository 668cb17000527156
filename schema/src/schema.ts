/** Owns: which types make up the schema. Each file under `types/` holds one type with its operations. */
import { builder } from './builder.ts';
import './types/scalars.ts';
import './types/author.ts';
import './types/workstream.ts';
import './types/workstream-summary.ts';
import './types/entries/user.ts';
import './types/entries/assistant.ts';
import './types/entries/tool.ts';
import './types/entries/system.ts';
import './types/entries/cancellation.ts';
import './types/entries/lifecycle.ts';
import './types/entries/fork.ts';
import './types/entries/configuration.ts';
import './types/entries/turn.ts';
import './types/entries/tool-started.ts';
import './types/entries/tool-settled.ts';
import './types/entries/approval.ts';
import './types/entries/queue.ts';
import './types/entries/watch.ts';
import './types/entries/rewind.ts';
import './types/entries/checkpoint.ts';
import './types/entries/recovery.ts';
import './types/node.ts';
import './types/lifecycle.ts';
import './types/fork.ts';
import './types/message.ts';
import './types/queue.ts';
import './types/rewind.ts';
import './types/configuration.ts';
import './types/compaction.ts';
import './types/usage.ts';
import './types/watch.ts';
import './types/watch-commands.ts';
import './types/watch-condition.ts';
import './types/persistence.ts';
import './types/turn.ts';
import './types/approval-cycle.ts';
import './types/model.ts';
import './types/tool.ts';
import './types/search.ts';
import './types/server.ts';
import './types/token.ts';
import './types/feed-item.ts';
import './types/token-chunk.ts';

export { answerLimits, servicesOfOne, weigh } from './answer-limits.ts';
export {
  hasMoreValues,
  operationLimits,
  parseOperation,
  refusalsOf,
  stackOverflow,
  validateOperation,
} from './limits.ts';

export const schema = builder.toSchema();
