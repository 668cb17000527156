/** Owns: the open answer's chunks alone, for simple clients; state changes ride with them. */
import type { TokenChunkModel } from 'schema/model';
import { applyEntries } from 'schema/projection';
import { follow, type FeedDeps } from './follow.ts';
import { whileHere } from './reading.ts';
import { summaryOf } from '../views/workstream.ts';

export async function* tokens(
  deps: FeedDeps,
  workstreamId: string,
  signal: AbortSignal,
): AsyncGenerator<TokenChunkModel> {
  const read = () =>
    whileHere(deps.reading, signal)
      .ask(() => deps.catalog.get(workstreamId))
      .catch((error: unknown) => {
        if (!signal.aborted) throw error;
        return null;
      });
  const row = await read();
  if (!row) return;
  /** For when it does not run here: another process's word. */
  let { projection } = row;
  let shown = '';
  for await (const { item } of follow(deps, workstreamId, null, signal)) {
    if (item.type === 'StreamChunk') {
      const { messageId, channel, offset, text } = item;
      yield { type: 'TextChunk', messageId, channel, offset, text };
    }
    if (item.type === 'Synchronized' && item.revision > projection.revision)
      projection = (await read())?.projection ?? projection;
    if (item.type === 'EntryAdmitted' && item.entry.revision === projection.revision + 1)
      projection = applyEntries(projection, [item.entry]);
    const actor = deps.registry.peek(workstreamId);
    const workstream = summaryOf({
      id: row.id,
      projection: actor?.state().projection ?? projection,
      createdAt: row.createdAt,
      persistence: actor?.persistence().status ?? 'HEALTHY',
    });
    const state = `${workstream.state}|${workstream.stopping}`;
    if (state === shown) continue;
    shown = state;
    yield { type: 'StateChanged', workstream };
  }
}
