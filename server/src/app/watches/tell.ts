/**
 * Owns: telling workstreams what their watches have said (D-84), until they have written it down: right after a poll, and
 * again for what is still waiting.
 *
 * Invariants: nothing is told that is not kept first, so nothing is lost with a process; told twice, it is written once;
 * no poll is told before an earlier one of its watch that waits; a workstream that cannot take what it is told keeps none
 * of the others waiting.
 */
import type { Log } from '../../ports/log.ts';
import type { WatchStore } from '../../ports/watches.ts';
import type { Actor } from '../actor/actor.ts';
import type { Loading } from '../actor/registry.ts';

/** Most that is told to a workstream at once, and workstreams that are looked for at once. */
const most = 100;

export interface Teller {
  /** What waits for this workstream. Rejects when the database is away. */
  tell(workstreamId: string): Promise<void>;
  /** What waits for all workstreams that this server can load. Rejects when the database is away. */
  tellWaiting(): Promise<void>;
}

export function createTeller(deps: {
  readonly store: Pick<WatchStore, 'waiting' | 'deliveries'>;
  readonly registry: {
    load(
      workstreamId: string,
    ): Promise<
      { readonly type: 'loaded'; readonly actor: Pick<Actor, 'fired'> } | Exclude<Loading, { type: 'loaded' }>
    >;
  };
  readonly sessionId: string;
  readonly host: string;
  readonly log: Log;
}): Teller {
  const { store, registry, sessionId, host, log } = deps;

  async function tell(workstreamId: string): Promise<void> {
    const fires = await store.deliveries({ workstreamId, limit: most });
    if (fires.length === 0) return;
    const loading = await registry.load(workstreamId);
    if (loading.type === 'loaded') loading.actor.fired(fires);
    // It is kept, and told when that has changed.
    else log.info({ workstream: workstreamId, code: loading.code }, 'a fire waits for its workstream');
  }

  return {
    tell,
    async tellWaiting() {
      for (let after: string | null = null; ;) {
        const page: readonly string[] = await store.waiting({ sessionId, host, limit: most, after });
        for (const workstreamId of page) await tell(workstreamId);
        after = page.at(-1) ?? null;
        if (page.length < most) return;
      }
    },
  };
}
