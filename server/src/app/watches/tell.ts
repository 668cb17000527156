/**
 * Owns: telling workstreams what their watches have said (D-84), until they have written it down: right after a poll, and
 * again for what is still waiting.
 *
 * Invariant: nothing is told that is not kept first, so nothing is lost with a process; told twice, it is written once.
 */
import type { Fire } from 'schema/projection';
import type { Log } from '../../ports/log.ts';
import type { WatchStore } from '../../ports/watches.ts';
import type { Actor } from '../actor/actor.ts';
import type { Loading } from '../actor/registry.ts';

/** Most that is told at once. */
const most = 100;

export interface Teller {
  tell(workstreamId: string, fires: readonly Fire[]): Promise<void>;
  /** What waits, of all workstreams that this server can load; answers how many. Rejects when the database is away. */
  tellWaiting(): Promise<number>;
}

export function createTeller(deps: {
  readonly store: WatchStore;
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

  async function tell(workstreamId: string, fires: readonly Fire[]): Promise<void> {
    const loading = await registry.load(workstreamId);
    if (loading.type === 'loaded') loading.actor.fired(fires);
    // It is kept, and told when that has changed.
    else log.info({ workstream: workstreamId, code: loading.code }, 'a fire waits for its workstream');
  }

  return {
    tell,
    async tellWaiting() {
      const waiting = await store.deliveries({ workstreamId: null, sessionId, host, limit: most });
      const byWorkstream = Map.groupBy(waiting, ({ workstreamId }) => workstreamId);
      for (const [workstreamId, deliveries] of byWorkstream)
        await tell(
          workstreamId,
          deliveries.map(({ fire }) => fire),
        );
      return waiting.length;
    },
  };
}
