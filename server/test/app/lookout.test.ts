import type { TokenChunkModel, WorkstreamStateItem, WorkstreamSummaryModel } from 'schema/model';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Elsewhere } from '../../src/ports/elsewhere.ts';
import { placeOf, subscribe } from './support/subscriber.ts';
import {
  ada,
  attach,
  createWorld,
  newKey,
  plain,
  settled,
  unchanged,
  until,
  waits,
  type World,
} from './support/world.ts';

/** Two servers on one storage; what `there` does is to be heard of `here`. */
let there: World;
let here: World;
/** Every look of the server here: the ids it asked about. */
let looks: (readonly string[])[];

beforeEach(async () => {
  there = await createWorld({ looksOut: true });
  looks = [];
  const elsewhere: Elsewhere = {
    look(ids, since) {
      looks.push(ids);
      return there.storage.elsewhere.look(ids, since);
    },
  };
  here = await createWorld({
    clock: there.clock,
    storage: { ...there.storage, elsewhere },
    looksOut: true,
  });
});

/** One round, and all that comes of it. */
async function round(): Promise<void> {
  await there.clock.advance(2_000);
  await settled();
}

const lifecycle = (what: 'close' | 'open' | 'delete', id: string, world = there) =>
  world.services.workstreams[what](ada, { key: newKey(), workstreamId: id });
const rename = (id: string, title: string, world = there) =>
  world.services.workstreams.configure(ada, {
    key: newKey(),
    workstreamId: id,
    ...unchanged,
    title,
  });

/** A turn from its message to its end. */
async function talk(id: string, world = there): Promise<void> {
  const calls = world.model.calls.length;
  await world.send(id, 'go');
  (await until(() => world.model.calls[calls])).answer();
  await until(
    () =>
      world.storage.entries(id).at(-1)?.kind === 'TURN' && !world.registry.peek(id)?.state().pending.length,
  );
}

function watch(world = here) {
  const controller = new AbortController();
  const items: WorkstreamStateItem[] = [];
  const failed = (async () => {
    for await (const item of world.services.workstreams.states(controller.signal)) items.push(item);
  })().catch((error: unknown) => error);
  return {
    items,
    failed,
    /** What was told of one after the snapshot, a word each. */
    told: (id: string) =>
      items.flatMap((item) =>
        item.type === 'StateChanged' && item.workstream.id === id
          ? [wordOf(item.workstream)]
          : item.type === 'WorkstreamDeleted' && item.workstreamId === id
            ? ['deleted']
            : [],
      ),
    begun: () => until(() => items.some((item) => item.type === 'StatesSnapshot')),
    async cut() {
      controller.abort();
      await failed;
    },
  };
}
const wordOf = ({ lifecycle: l, state, title }: WorkstreamSummaryModel): string =>
  [...(l === 'CLOSED' ? ['closed'] : [state.toLowerCase()]), ...(title === 'Test' ? [] : [title])].join(' ');

describe('The live list of a server', () => {
  it('tells what another one makes, renames, runs, closes, opens and deletes, each once, the making first (D-26, D-101)', async () => {
    const list = watch();
    await list.begun();
    const id = await there.open();
    await round();
    expect(list.told(id)).toEqual(['idle']);
    await rename(id, 'Renamed');
    await round();
    await round();
    await there.send(id, 'go');
    await round();
    (await until(() => there.model.calls[0])).answer();
    await settled();
    await round();
    await lifecycle('close', id);
    await round();
    await round();
    await lifecycle('open', id);
    await round();
    await lifecycle('delete', id);
    await round();
    await round();
    expect(list.told(id)).toEqual([
      'idle',
      'idle Renamed',
      'thinking Renamed',
      'idle Renamed',
      'closed Renamed',
      'idle Renamed',
      'deleted',
    ]);
    await list.cut();
  });

  it('tells what happened between two looks as one change', async () => {
    const list = watch();
    await list.begun();
    const [closed, gone] = [await there.open(), await there.open()];
    for (let i = 0; i < 3; i += 1) await talk(closed);
    await lifecycle('close', closed);
    await lifecycle('delete', gone);
    await round();
    expect([list.told(closed), list.told(gone)]).toEqual([['closed'], ['deleted']]);
    await list.cut();
  });

  it('knows no reservation (D-20)', async () => {
    const list = watch();
    await list.begun();
    await there.storage.reservations.reserve({ id: 'r', incarnation: 'i', sessionId: there.sessionId });
    await round();
    await there.storage.reservations.rollback('r', 'i');
    await round();
    expect(list.told('r')).toEqual([]);
    await list.cut();
  });

  it('tells what this server does once, not again when it is read: making, closing, deleting', async () => {
    const list = watch();
    await list.begun();
    const id = await here.open();
    await round();
    await lifecycle('close', id, here);
    await round();
    expect(here.registry.peek(id)).toBeNull();
    await lifecycle('delete', id, here);
    await round();
    expect(list.told(id)).toEqual(['idle', 'closed', 'deleted']);
    await list.cut();
  });

  it('is told nothing of what runs here by what was read: the actor knows better', async () => {
    const list = watch();
    await list.begun();
    const id = await here.open();
    await here.send(id, 'go');
    await until(() => here.model.calls[0]);
    await rename(id, 'Renamed', here);
    here.storage.hold();
    const closing = lifecycle('close', id, here);
    await round();
    here.storage.release();
    await closing;
    await round();
    await round();
    expect(list.told(id).slice(-2)).toEqual(['idle Renamed', 'closed Renamed']);
    expect(list.told(id).filter((word) => word.startsWith('closed'))).toHaveLength(1);
    await list.cut();
  });

  it('does not take back what was said here while an older state was on its way', async () => {
    const list = watch();
    await list.begun();
    const id = await there.open();
    await rename(id, 'Renamed');
    there.registry.unload(id);
    await settled();
    // Read now, answered late: it is closed here meanwhile, and rests.
    const look = here.storage.elsewhere.look.bind(here.storage.elsewhere);
    let answer = (): void => undefined;
    here.storage.elsewhere.look = async (...asked) => {
      const seen = await look(...asked);
      await new Promise<void>((resolve) => (answer = resolve));
      return seen;
    };
    await there.clock.advance(2_000);
    here.storage.elsewhere.look = look;
    await lifecycle('close', id, here);
    expect(here.registry.peek(id)).toBeNull();
    answer();
    await settled();
    await round();
    await round();
    expect(list.told(id).filter((word) => !word.startsWith('closed'))).toEqual([]);
    expect(list.told(id)).toEqual(['closed Renamed']);
    await list.cut();
  });

  it('is told what is stored of a workstream that was taken from this server', async () => {
    const list = watch();
    await list.begun();
    const id = await here.open();
    await here.load(id);
    await round();
    here.storage.goAway();
    void here.send(id, 'never stored');
    await until(() => list.told(id).at(-1) === 'thinking');
    await settled();
    here.registry.deposeAll();
    here.storage.comeBack();
    await round();
    expect(list.told(id).at(-1)).toBe('idle');
    await list.cut();
  });

  it('misses nothing that is changed from the moment its snapshot is read, also as the first that listens', async () => {
    const id = await there.open();
    const list = watch();
    await list.begun();
    await rename(id, 'Renamed');
    await round();
    expect(list.told(id)).toEqual(['idle Renamed']);
    await list.cut();
    await round();
    // Heard by nobody: and changed back to what the list was last told.
    await rename(id, 'Other');
    await round();
    const again = watch();
    await again.begun();
    await rename(id, 'Renamed');
    await round();
    expect(again.told(id)).toEqual(['idle Renamed']);
    await again.cut();
  });

  it('is told nothing while the database is away, once in the log, and everything when it is back', async () => {
    const id = await there.open();
    const list = watch();
    await list.begun();
    await rename(id, 'Renamed');
    there.storage.goAway();
    for (let i = 0; i < 5; i += 1) await round();
    expect(list.told(id)).toEqual([]);
    expect(here.log.filter(({ message }) => message.startsWith('what other servers do'))).toHaveLength(1);
    there.storage.comeBack();
    await round();
    expect(list.told(id)).toEqual(['idle Renamed']);
    await list.cut();
  });

  it('is told of workstreams that another one swept (D-10)', async () => {
    const id = await there.services.workstreams
      .create(ada, { ...plain, key: newKey(), title: null }, waits)
      .then((made) => (made.type === 'Accepted' ? made.workstreamId : ''));
    const list = watch();
    await list.begun();
    there.storage.age(id, 3 * 60 * 60_000);
    await there.sweep();
    await round();
    expect(list.told(id)).toEqual(['deleted']);
    await list.cut();
  });
});

describe('The feed of a server', () => {
  it('carries every entry that another one stores, once, in order, and ends with a deletion (D-101)', async () => {
    const id = await there.open();
    const feeds = [attach(here, id, null), attach(here, id, null)];
    for (const feed of feeds) await feed.item('Synchronized');
    await talk(id);
    await round();
    await talk(id);
    await round();
    const entries = there.storage.entries(id).slice(2);
    for (const { items } of feeds)
      expect(items.filter((item) => item.type === 'EntryAdmitted')).toEqual(
        entries.map((entry) => ({ type: 'EntryAdmitted', entry, durable: true })),
      );
    await lifecycle('delete', id);
    await round();
    for (const feed of feeds) {
      expect(feed.items.at(-1)).toMatchObject({ type: 'Ended', resumable: false });
      expect(feed.done).toBe(true);
    }
  });

  it('says EpochStarted when another one takes the workstream, and drops nothing that is stored (D-55)', async () => {
    const id = await there.open();
    const subscriber = subscribe(here, id, await placeOf(here, id));
    await until(() => subscriber.synchronizations === 1);
    await talk(id);
    await round();
    there.registry.unload(id);
    await settled();
    await talk(id);
    await round();
    expect(subscriber.place.view.epoch).toBe(2);
    expect(subscriber.place.transcript).toEqual(there.storage.entries(id).slice(2));
    expect(subscriber.status).toBe('following');
    subscriber.cut();
    await subscriber.failed;
  });

  it('goes on from server to server as the workstream does, each entry once', async () => {
    const id = await there.open();
    const subscriber = subscribe(here, id, await placeOf(here, id));
    await until(() => subscriber.synchronizations === 1);
    for (const world of [there, here, there, here]) {
      await talk(id, world);
      await round();
      world.registry.unload(id);
      await settled();
    }
    expect(subscriber.place.transcript).toEqual(there.storage.entries(id).slice(2));
    expect(subscriber.status).toBe('following');
    subscriber.cut();
    await subscriber.failed;
  });

  it('of a workstream made anew under its id ends, to be resumed', async () => {
    const id = await there.open();
    const feed = attach(here, id, null);
    await feed.item('Synchronized');
    here.hub.moved(id, { incarnation: 'another', epoch: 1, revision: 3 });
    expect(await feed.item('Ended')).toMatchObject({ resumable: true });
  });

  it('reads nothing when nothing moved, and all of them are asked about in one query', async () => {
    const ids = [await there.open(), await there.open(), await here.open()];
    await here.load(ids[2]!);
    const feeds = ids.map((id) => attach(here, id, null));
    for (const feed of feeds) await feed.item('Synchronized');
    await round();
    looks.length = 0;
    const read = here.storage.journal.read.bind(here.storage.journal);
    const woken: string[] = [];
    const moved = here.hub.moved.bind(here.hub);
    here.hub.moved = (id, head) => (woken.push(id), moved(id, head));
    let reads = 0;
    here.storage.journal.read = (...asked) => ((reads += 1), read(...asked));
    await round();
    expect(looks).toEqual([ids.slice(0, 2)]);
    await talk(ids[0]!);
    await round();
    expect([woken, reads]).toEqual([[ids[0]], 1]);
    for (const feed of feeds) feed.cut();
  });

  it('tells of tokens how the workstream is, wherever it runs', async () => {
    const id = await there.open();
    const controller = new AbortController();
    const chunks: TokenChunkModel[] = [];
    const reading = (async () => {
      for await (const chunk of here.services.feed.tokens(id, controller.signal)) chunks.push(chunk);
    })();
    await until(() => chunks.length === 1);
    await there.send(id, 'go');
    await round();
    expect(chunks.at(-1)).toMatchObject({ type: 'StateChanged', workstream: { state: 'THINKING' } });
    (await until(() => there.model.calls[0])).answer();
    await settled();
    await round();
    expect(chunks.at(-1)).toMatchObject({ type: 'StateChanged', workstream: { state: 'IDLE' } });
    controller.abort();
    await reading;
  });
});

describe('A server to which nobody listens', () => {
  it('asks the database nothing', async () => {
    await there.open();
    await round();
    expect(looks).toEqual([]);
    const list = watch();
    await list.begun();
    expect(looks).toHaveLength(1);
    await round();
    expect(looks).toHaveLength(2);
    await list.cut();
    await round();
    expect(looks).toHaveLength(2);
  });
});
