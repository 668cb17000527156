/**
 * Owns: answering what was spent, and naming the workstreams it was spent for.
 * Does not own: how it is counted and summed (the store), or what a page may be (the GraphQL surface).
 */
import type { UsageTotalModel } from 'schema/model';
import type { Services } from 'schema/services';
import type { Catalog } from '../../ports/catalog.ts';
import type { UsageStore } from '../../ports/usage.ts';
import type { Registry } from '../actor/registry.ts';

export interface UsageDeps {
  readonly usage: UsageStore;
  readonly registry: Registry;
  readonly catalog: Catalog;
}

/** The last day there is. */
const endOfTime = '9999-12-31';

const nothing: UsageTotalModel = {
  calls: 0,
  inputTokens: 0,
  cachedInputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  cost: null,
  estimatedCalls: 0,
};

/** Text that can be an id of ours; the database takes no other text for one. */
const isId = (text: string): boolean => /^[\w-]{1,128}$/.test(text);

export function createUsage({ usage, registry, catalog }: UsageDeps): Services['usage'] {
  /** Null: it is gone. */
  async function titleOf(workstreamId: string): Promise<string | null> {
    const here = registry.peek(workstreamId)?.state().projection;
    const projection = here ?? (await catalog.get(workstreamId))?.projection;
    return projection?.configuration.title ?? null;
  }

  return {
    ofWorkstream: (workstreamId) => usage.totalOf(workstreamId),
    ofTurn: async (workstreamId, turnId) =>
      isId(turnId) ? usage.totalOfTurn(workstreamId, turnId) : nothing,
    async groups({ from, through, workstreamId, by, first }) {
      const groups = await usage.groups({
        from,
        through: through ?? endOfTime,
        workstreamId,
        by,
        limit: first,
      });
      const titles = new Map<string, string | null>();
      // One after another: a single question must not take the database from all others.
      for (const { workstreamId: id } of groups)
        if (id !== null && !titles.has(id)) titles.set(id, await titleOf(id));
      return groups.map((group) => ({
        ...group,
        title: group.workstreamId === null ? null : (titles.get(group.workstreamId) ?? null),
      }));
    },
    async calls(workstreamId, { first, after }) {
      const read = await usage.calls(workstreamId, { limit: first + 1, before: after });
      return { items: read.slice(0, first), hasNext: read.length > first };
    },
  };
}
