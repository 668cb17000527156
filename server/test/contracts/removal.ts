/** Owns: what the app relies on when workstreams leave storage, and in what is read of one late (D-21, D-22, D-25). */
import { emptyProjection, type Configuration } from 'schema/projection';
import { describe, expect, it } from 'vitest';
import type { Storage } from '../../src/adapters/storage/index.ts';
import type { Session } from '../../src/ports/ownership.ts';
import type { Removed } from '../../src/ports/removal.ts';
import {
  ada,
  after,
  batchOf,
  beginSession,
  birth,
  configuration,
  cycle,
  message,
  openWorkstream,
  queued,
  randomId,
  receipt,
  turn,
  type Made,
} from '../adapters/storage/fixtures.ts';
import { says, watchOf } from '../support/watch-fixtures.ts';

/** Longer than all these tests take, milliseconds. */
const long = 60 * 60_000;

export function removalContract(
  get: () => {
    readonly opened: {
      age(workstreamIds: readonly string[], ms: number): Promise<void>;
      expire(session: Session): Promise<void>;
    };
    readonly storage: Storage;
    readonly session: Session;
  },
): void {
  const workstream = (): Promise<Made> => openWorkstream(get().storage, get().session);
  const isThere = async (id: string): Promise<boolean> => (await get().storage.journal.head(id)) !== null;
  async function commit(
    made: Made,
    bodies: Parameters<typeof batchOf>[1],
    more: Parameters<typeof batchOf>[2] = {},
  ): Promise<Made> {
    const batch = batchOf(made, bodies, more);
    expect(await get().storage.journal.commit(batch)).toEqual({ type: 'committed' });
    return after(made, batch);
  }
  const remove = (made: Made, more: Partial<Parameters<Storage['removal']['remove']>[0]> = {}) =>
    get().storage.removal.remove({
      workstreamId: made.id,
      incarnation: made.incarnation,
      epoch: made.epoch,
      sessionId: get().session.id,
      receipt: receipt('ada', randomId()),
      ...more,
    });

  describe('Deleting', () => {
    it('takes everything that is its own, and leaves the receipt of the deletion (D-25, D-60)', async () => {
      const { storage, session } = get();
      let made = await workstream();
      const [turnId, other] = [randomId(), await workstream()];
      const kept = receipt(`${ada.id}/${made.id}`, randomId());
      made = await commit(
        made,
        [
          message('hello'),
          { kind: 'TURN', turn: turn(turnId) },
          { kind: 'APPROVAL', cycle: cycle(randomId(), turnId) },
          { kind: 'QUEUE', queue: { items: [queued('later')], held: false } },
        ],
        { receipts: [kept] },
      );
      const own = receipt('ada', randomId());
      expect(await remove(made, { receipt: own })).toEqual({ type: 'removed' });
      expect(await isThere(made.id)).toBe(false);
      expect(await storage.journal.read(made.id, { after: 0, through: 99, limit: 99 })).toEqual([]);
      expect(await storage.journal.findReceipt(kept.scope, kept.key)).toBeNull();
      expect(await storage.journal.findReceipt(own.scope, own.key)).toEqual(own);
      expect((await storage.ownership.claim(made.id, session.id)).type).toBe('notFound');
      expect(await storage.journal.commit(batchOf(made, [message('late')]))).toEqual({ type: 'fenced' });
      expect(await isThere(other.id)).toBe(true);
    });

    it('is of exactly one incarnation and ownership, once, and of nobody else’s (D-25, D-101)', async () => {
      const { storage } = get();
      const made = await workstream();
      expect(await remove(made, { incarnation: randomId() })).toEqual({ type: 'notFound' });
      expect(await remove(made, { epoch: 0 })).toEqual({ type: 'fenced' });
      const stranger = await beginSession(storage);
      expect(await remove(made, { sessionId: stranger.id, epoch: null })).toEqual({ type: 'elsewhere' });
      const taken = receipt('ada', randomId());
      await remove(await workstream(), { receipt: taken });
      expect(await remove(made, { receipt: taken })).toEqual({ type: 'duplicate' });
      expect(await isThere(made.id)).toBe(true);
      const both = await Promise.all([remove(made), remove(made)]);
      expect(both.map((o) => o.type).toSorted()).toEqual(['notFound', 'removed']);
    });

    it('of a reservation is not for a person: nobody has seen it (D-20)', async () => {
      const { storage, session } = get();
      const made = { id: randomId(), incarnation: randomId(), epoch: 0, projection: emptyProjection };
      await storage.reservations.reserve({ ...made, sessionId: session.id });
      expect(await remove(made)).toEqual({ type: 'notFound' });
    });
  });

  describe('A folder', () => {
    const root = `/tmp/${randomId()}`;
    const left = () => get().storage.removal.leftFolders(`${root}/`);
    const take = (): Promise<string> => Promise.resolve('taken');
    const letGo = (folder: string) => get().storage.removal.letGo(folder, take);
    async function reserve(folder: string): Promise<Made> {
      const made = { id: randomId(), incarnation: randomId(), epoch: 0, projection: emptyProjection };
      await get().storage.reservations.reserve({ ...made, sessionId: get().session.id, folder });
      return made;
    }
    async function inFolder(workspace: string): Promise<Made> {
      const made = await reserve(workspace);
      const bodies = [
        { kind: 'LIFECYCLE', lifecycle: 'OPEN', by: ada },
        { kind: 'CONFIGURATION', configuration: { ...configuration, workspace } },
      ] as const;
      const batch = batchOf(made, bodies);
      await get().storage.reservations.publish(batch);
      return after(made, batch);
    }

    it('is left by whoever worked in it, for as long as nobody let it go, and let go only when nobody works in it', async () => {
      const folder = `${root}/${'a'.repeat(32)}`;
      const [one, two] = [await inFolder(folder), await inFolder(folder)];
      expect(await left()).toEqual([]);
      expect(await remove(one, { epoch: null })).toEqual({ type: 'removed' });
      expect(await left()).toEqual([folder]);
      expect(await letGo(folder)).toBe('inUse');
      expect(await left()).toEqual([]);
      await remove(two, { epoch: null });
      expect(await left()).toEqual([folder]);
      expect(await get().storage.removal.leftFolders(`${root}/${'a'.repeat(31)}/`)).toEqual([]);
      expect(await letGo(folder)).toBe('taken');
      expect(await left()).toEqual([]);
    });

    it('that was made for a workstream is the same one under whatever path it was written down (broke: after a move it was taken from under who works in it)', async () => {
      const { reservations, removal } = get().storage;
      const name = randomId();
      const [was, is] = [`${root}/old/${name}`, `${root}/new/${name}`];
      const [one, two] = [await inFolder(was), await inFolder(is)];
      await remove(one, { epoch: null });
      expect(await letGo(was)).toBe('inUse');
      await remove(two, { epoch: null });
      expect(await removal.leftFolders(`${root}/`)).toEqual([is]);
      const [made, order] = [await reserve(''), [] as string[]];
      let settling = Promise.resolve();
      await removal.letGo(was, async () => {
        settling = reservations
          .settleIn(made.id, made.incarnation, is)
          .then(() => void order.push('settled'));
        for (let n = 0; n < 20; n += 1) await get().storage.journal.head(made.id);
        order.push('taken');
      });
      await settling;
      expect(order).toEqual(['taken', 'settled']);
      expect(await letGo(was)).toBe('inUse');
      await reservations.rollback(made.id, made.incarnation);
      await letGo(is);
    });

    it('that a person chose is not left by anybody', async () => {
      await remove(await inFolder(`${root}/project`), { epoch: null });
      expect(await left()).toEqual([]);
    });

    it('of a reservation is left by it, and used by it, be it one in which it settled (D-20)', async () => {
      const { reservations } = get().storage;
      const [own, other] = [`${root}/${'b'.repeat(32)}`, `${root}/${'c'.repeat(32)}`];
      const [one, two] = [await reserve(own), await reserve(own)];
      await reservations.settleIn(two.id, two.incarnation, other);
      await reservations.settleIn(one.id, randomId(), other);
      expect([await letGo(own), await letGo(other)]).toEqual(['inUse', 'inUse']);
      await reservations.rollback(two.id, two.incarnation);
      expect(await left()).toEqual([other]);
      await reservations.rollback(one.id, one.incarnation);
      expect(await left()).toEqual([own, other]);
      expect([await letGo(own), await letGo(other)]).toEqual(['taken', 'taken']);
    });

    it('is not forgotten when who works in it goes just as it is let go (broke: its note was taken with an older one)', async () => {
      const { reservations, removal, journal } = get().storage;
      const folder = `${root}/${'e'.repeat(32)}`;
      for (let n = 0; n < 60; n += 1) {
        const [one, two] = [await reserve(folder), await reserve(folder)];
        await reservations.rollback(one.id, one.incarnation);
        const letting = letGo(folder);
        // At another moment of that each time.
        for (let i = 0; i < n % 6; i += 1) await journal.head(two.id);
        const [how] = await Promise.all([letting, reservations.rollback(two.id, two.incarnation)]);
        if (how === 'inUse') expect(await removal.leftFolders(`${root}/`), `round ${n}`).toEqual([folder]);
        await letGo(folder);
      }
    });

    it('is settled in after it was let go, or not let go: never both at once', async () => {
      const { reservations, removal } = get().storage;
      const [made, folder] = [await reserve(''), `${root}/${'d'.repeat(32)}`];
      const order: string[] = [];
      let taken = (): void => undefined;
      const taking = new Promise<void>((resolve) => (taken = resolve));
      let settling = Promise.resolve();
      const letting = removal.letGo(folder, async () => {
        settling = reservations
          .settleIn(made.id, made.incarnation, folder)
          .then(() => void order.push('settled'));
        // Time enough for it, did it not wait.
        for (let n = 0; n < 100; n += 1) await get().storage.journal.head(made.id);
        order.push('taken');
        taken();
      });
      await Promise.all([taking, letting]);
      await settling;
      expect(order).toEqual(['taken', 'settled']);
      expect(await letGo(folder)).toBe('inUse');
      await reservations.rollback(made.id, made.incarnation);
      await letGo(folder);
    });
  });

  describe('A sweep', () => {
    it('reaps reservations that are old, and neither fresh ones, nor those of a live other, nor what is excepted (D-21)', async () => {
      const { storage, session, opened } = get();
      const [living, dead] = [await beginSession(storage), await beginSession(storage)];
      const reserve = async (sessionId: string): Promise<string> => {
        const id = randomId();
        await storage.reservations.reserve({ id, incarnation: randomId(), sessionId });
        return id;
      };
      const [mine, theirs, lost, pending] = [
        await reserve(session.id),
        await reserve(living.id),
        await reserve(dead.id),
        await reserve(session.id),
      ];
      await opened.expire(dead);
      const by = { sessionId: session.id, except: [pending] };
      expect((await storage.removal.reap(by, long)).map((r) => r.id)).not.toContain(mine);
      await opened.age([mine, theirs, lost, pending], 2 * long);
      const ids = (await storage.removal.reap(by, long)).map((r) => r.id);
      expect(ids.toSorted()).toEqual([mine, lost].toSorted());
      expect([await isThere(theirs), await isThere(pending), await isThere(mine)]).toEqual([
        true,
        true,
        false,
      ]);
    });

    it('takes workstreams that nobody used or named, and closed ones, when they are old and nobody has them', async () => {
      const { storage, session, opened } = get();
      const configured = (more: Partial<Configuration> = {}) =>
        ({
          kind: 'CONFIGURATION',
          configuration: { ...configuration, titleSource: 'DEFAULT', ...more },
        }) as const;
      /** As it was made with this, and what came then. */
      const unnamedWith = async (
        more: Partial<Configuration>,
        ...then: Parameters<typeof batchOf>[1]
      ): Promise<Made> => {
        const made = { id: randomId(), incarnation: randomId(), epoch: 0, projection: emptyProjection };
        await storage.reservations.reserve({ ...made, sessionId: session.id });
        const birth = batchOf(made, [{ kind: 'LIFECYCLE', lifecycle: 'OPEN', by: ada }, configured(more)]);
        await storage.reservations.publish(birth);
        const born = after(made, birth);
        const grown = then.length === 0 ? born : await commit(born, then);
        await storage.ownership.release(made.id, session.id, 0);
        return grown;
      };
      const unnamed = (...then: Parameters<typeof batchOf>[1]) => unnamedWith({}, ...then);
      const closing = { kind: 'LIFECYCLE', lifecycle: 'CLOSED', by: ada } as const;
      const [unused, used, watching, held, young, closed, heldClosed, theirsClosed] = [
        await unnamed(),
        await unnamed(message('hi')),
        // Nobody said anything in it, and it is woken.
        await unnamed(says(watchOf())),
        await unnamed(),
        await unnamed(),
        await unnamed(closing),
        await unnamed(closing),
        await unnamed(closing),
      ];
      // Nobody said anything in them, and somebody wrote something for them.
      const told = [
        await unnamedWith({ instructions: 'Speak German.' }),
        await unnamedWith({ tokenBudget: 9_000 }),
        await unnamed(configured({ model: 'other' })),
        await unnamed(closing, { kind: 'LIFECYCLE', lifecycle: 'OPEN', by: ada }),
      ];
      const other = await beginSession(storage);
      const named = await workstream();
      await storage.ownership.release(named.id, session.id, named.epoch);
      await storage.ownership.claim(held.id, session.id);
      // Read, or about to be opened.
      await storage.ownership.claim(heldClosed.id, session.id);
      await storage.ownership.claim(theirsClosed.id, other.id);
      const old = [unused, used, watching, held, closed, named, heldClosed, theirsClosed, ...told];
      await opened.age(
        old.map(({ id }) => id),
        2 * long,
      );
      const by = { sessionId: session.id, except: [] };
      const heard: Removed[] = [];
      const hear = (batch: readonly Removed[]): void => void heard.push(...batch);
      expect((await storage.removal.sweepUnused(by, long, hear)).map((r) => r.id)).toEqual([unused.id]);
      expect((await storage.removal.sweepClosed(by, 3 * long, hear)).map((r) => r.id)).toEqual([]);
      expect((await storage.removal.sweepClosed(by, long, hear)).map((r) => r.id)).toEqual([closed.id]);
      for (const { id } of [used, watching, held, young, named, heldClosed, theirsClosed, ...told])
        expect(await isThere(id)).toBe(true);
      await opened.expire(other);
      expect((await storage.removal.sweepClosed(by, long, hear)).map((r) => r.id)).toEqual([theirsClosed.id]);
      // What goes is named before, exactly.
      expect(heard).toMatchObject(
        [unused, closed, theirsClosed].map(({ id, incarnation }) => ({ id, incarnation })),
      );
    });

    it('takes a hundred at a time, and the rest when it is asked again', async () => {
      const { storage, session, opened } = get();
      const ids = await Promise.all(
        Array.from({ length: 101 }, async () => {
          const id = randomId();
          await storage.reservations.reserve({ id, incarnation: randomId(), sessionId: session.id });
          return id;
        }),
      );
      await opened.age(ids, 2 * long);
      const by = { sessionId: session.id, except: [] };
      const first = await storage.removal.reap(by, long);
      expect(first).toHaveLength(100);
      const second = await storage.removal.reap(by, long);
      expect([...first, ...second].map((r) => r.id)).toEqual(expect.arrayContaining(ids));
      expect(await storage.removal.reap(by, long)).toEqual([]);
    });
  });

  describe('What is read late', () => {
    it('is the conversation up to a place, without what was superseded, and the rewinds that say so (D-59)', async () => {
      const { storage } = get();
      let made = await workstream();
      made = await commit(made, ['a', 'b', 'c'].map(message));
      made = await commit(made, [{ kind: 'REWIND', after: 3, reason: 'REWIND', by: ada }, message('d')]);
      const texts = async (through: number, superseded: readonly { after: number; through: number }[]) =>
        (
          await storage.journal.conversation(made.id, { ...made, through, superseded, checkpoint: null })
        )?.map((e) => 'text' in e && e.text);
      expect(await texts(99, made.projection.superseded)).toEqual(['a', 'd']);
      expect(await texts(5, [])).toEqual(['a', 'b', 'c']);
      expect(await texts(4, [])).toEqual(['a', 'b']);
      expect(await texts(0, [])).toEqual([]);
      expect((await storage.journal.rewinds(made.id, 99)).map((e) => e.after)).toEqual([3]);
      expect(await storage.journal.rewinds(made.id, 5)).toEqual([]);
    });

    it('is whole however long it is', async () => {
      const { storage } = get();
      let made = await workstream();
      made = await commit(
        made,
        Array.from({ length: 2_300 }, (_, i) => message(String(i))),
      );
      const told = await storage.journal.conversation(made.id, {
        ...made,
        through: made.projection.revision,
        superseded: [],
        checkpoint: null,
      });
      expect(told?.map((e) => e.revision)).toEqual(Array.from({ length: 2_300 }, (_, i) => i + 3));
    });

    it('are the keys of the commands on it (D-60)', async () => {
      const { storage } = get();
      const made = await workstream();
      const kept = receipt(`${ada.id}/${made.id}`, randomId());
      await commit(made, [message('a')], { receipts: [kept] });
      expect(await storage.journal.receiptKeys(made.id)).toEqual(new Set([`${kept.scope}\n${kept.key}`]));
    });
  });

  it('A closed workstream takes answers to be kept, and no entry but the one that opens it (D-23)', async () => {
    const { storage } = get();
    let made = await workstream();
    made = await commit(made, [{ kind: 'LIFECYCLE', lifecycle: 'CLOSED', by: ada }]);
    expect(await storage.journal.commit(batchOf(made, [message('late')]))).toEqual({ type: 'fenced' });
    await commit(made, [], { receipts: [receipt(`${ada.id}/${made.id}`, randomId())] });
    const closed = await storage.catalog.list({ first: 200, after: null }, 'CLOSED');
    expect(closed.items.map((row) => row.id)).toContain(made.id);
    expect(closed.items.every((row) => row.lifecycle === 'CLOSED')).toBe(true);
    expect(closed.totalCount).toBe(closed.items.length);
    const open = await storage.catalog.list({ first: 200, after: null }, 'OPEN');
    expect(open.items.map((row) => row.id)).not.toContain(made.id);
  });

  it('A turn that waits for a person only is nobody’s to carry on: the decision loads it (D-24)', async () => {
    const { storage, session } = get();
    const made = await workstream();
    const turnId = randomId();
    const asked = cycle(randomId(), turnId);
    const calls = asked.items.map(({ callId, name }) => ({
      callId,
      name,
      providerId: callId,
      arguments: '{}',
    }));
    const waits = await commit(made, [
      { kind: 'TURN', turn: turn(turnId) },
      {
        kind: 'ASSISTANT',
        text: '',
        reasoning: '',
        calls,
        finish: 'TOOL_CALLS',
        model: 'demo',
        usage: null,
        discarded: [],
      },
      { kind: 'APPROVAL', cycle: asked },
    ]);
    await storage.ownership.release(made.id, session.id, made.epoch);
    expect(await storage.ownership.liveTurns(session.id)).not.toContain(made.id);
    await storage.ownership.claim(made.id, session.id);
    const claimed = { ...waits, epoch: waits.epoch + 1 };
    const decision = {
      verdict: 'APPROVED',
      source: 'PERSON',
      by: ada,
      feedback: null,
      at: turn('').startedAt,
    } as const;
    const items = asked.items.map((item, i) => (i === 0 ? { ...item, decision } : item));
    await commit(claimed, [{ kind: 'APPROVAL', cycle: { ...asked, items } }]);
    expect(await storage.ownership.liveTurns(session.id)).toContain(made.id);
  });

  it('A batch with the birth of a long fork is stored whole', async () => {
    const { storage, session } = get();
    const made = { id: randomId(), incarnation: randomId(), epoch: 0, projection: emptyProjection };
    await storage.reservations.reserve({ ...made, sessionId: session.id });
    const bodies = [...birth('Fork'), ...Array.from({ length: 8_000 }, (_, i) => message(String(i)))];
    expect(await storage.reservations.publish(batchOf(made, bodies))).toEqual({ type: 'published' });
    expect((await storage.journal.head(made.id))?.revision).toBe(8_002);
  });
}
