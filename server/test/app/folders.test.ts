/**
 * Owns: that the folders which were made for workstreams are taken back in the end, whatever goes wrong on the way, and
 * never from under somebody (D-10, D-20, D-25). The plain cases are in `create.test.ts`.
 */
import { existsSync, readdirSync } from 'node:fs';
import { cp, mkdir, mkdtemp, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createWorkspaces } from '../../src/adapters/workspaces/index.ts';
import { whereFoldersAre } from '../../src/app/moved-folders.ts';
import { StorageUnavailableError } from '../../src/ports/storage-unavailable.ts';
import type { Workspaces } from '../../src/ports/workspaces.ts';
import { ada, createWorld, newKey, plain, waits, type World } from './support/world.ts';

let root: string;
let own: string;
let workspaces: Workspaces;
let world: World;

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'weir-folders-')));
  const data = join(root, 'data');
  await mkdir(data);
  own = join(data, 'workspaces');
  workspaces = await createWorkspaces({ roots: [root], dataDir: data, moves: false });
  world = await createWorld({ workspaces });
});
afterEach(() => rm(root, { recursive: true }));

const folders = () => readdirSync(own).toSorted();
const hours = (n: number): number => n * 60 * 60_000;
const create = (workspace: string | null = null) =>
  world.services.workstreams.create(ada, { ...plain, key: newKey(), title: null, workspace }, waits);
async function made(workspace: string | null = null): Promise<string> {
  const outcome = await create(workspace);
  if (outcome.type !== 'Accepted') throw new Error(outcome.message);
  return outcome.workstreamId;
}
const fork = (workstreamId: string) =>
  world.services.workstreams.fork(
    ada,
    { key: newKey(), workstreamId, revision: null, title: null, workspace: null },
    waits,
  );
const remove = (workstreamId: string, key = newKey()) =>
  world.services.workstreams.delete(ada, { key, workstreamId });

/** Does `first` when this function of a port is called next, and then what was called. */
function before<P extends object, K extends keyof P & string>(
  port: P,
  name: K,
  first: () => void | Promise<void>,
): void {
  const call = port[name] as (...args: unknown[]) => unknown;
  Object.assign(port, {
    [name]: async (...args: unknown[]) => {
      Object.assign(port, { [name]: call });
      await first();
      return call(...args);
    },
  });
}

/** Does `then` when this function of a port has been called next, and answers what that gave. */
function afterwards<P extends object, K extends keyof P & string>(
  port: P,
  name: K,
  then: () => void | Promise<void>,
): void {
  const call = port[name] as (...args: unknown[]) => unknown;
  Object.assign(port, {
    [name]: async (...args: unknown[]) => {
      Object.assign(port, { [name]: call });
      const value = await call(...args);
      await then();
      return value;
    },
  });
}

describe('A folder that could not be taken back at once (D-10, D-25)', () => {
  it('because the database went away when the row was gone goes with the next sweep', async () => {
    const id = await made();
    afterwards(world.storage.removal, 'remove', () => world.storage.goAway());
    expect(await remove(id)).toMatchObject({ type: 'Accepted', workspaceKept: join(own, id) });
    world.storage.comeBack();
    expect(folders()).toEqual([id]);
    await world.sweep();
    expect(folders()).toEqual([]);
  });

  it('because the database went away when a reservation was taken back goes with the next sweep', async () => {
    before(workspaces, 'choose', () =>
      afterwards(world.storage.journal, 'head', () => world.storage.goAway()),
    );
    before(world.storage.reservations, 'publish', () => Promise.reject(new Error('no')));
    await expect(create()).rejects.toThrow('no');
    expect(folders()).toHaveLength(1);
    world.storage.comeBack();
    await world.sweep();
    expect(folders()).toEqual([]);
  });

  it.each(['a sweep', 'a deletion'])(
    'because the server ended in the middle of %s goes when the next one starts',
    async (what) => {
      const id = await made();
      await world.clock.advance(hours(3));
      const { removal } = world.storage;
      const name = what === 'a sweep' ? 'sweepUnused' : 'remove';
      afterwards(removal, name, () => world.storage.goAway());
      await (what === 'a sweep' ? world.sweep() : remove(id));
      world.storage.comeBack();
      expect([world.storage.rows, folders()]).toEqual([0, [id]]);
      world.storage.expire(world.sessionId);
      const next = await world.restart();
      await next.sweep();
      expect(folders()).toEqual([]);
    },
  );

  it('because another server deleted its workstream goes with a sweep of the one that made it', async () => {
    const id = await made();
    await mkdir(join(root, 'elsewhere'));
    const elsewhere = await createWorkspaces({
      roots: [root],
      dataDir: join(root, 'elsewhere'),
      moves: false,
    });
    const other = await createWorld({ clock: world.clock, storage: world.storage, workspaces: elsewhere });
    const outcome = await other.services.workstreams.delete(ada, { key: newKey(), workstreamId: id });
    expect(outcome).toMatchObject({ type: 'Accepted', workspaceKept: null });
    await other.sweep();
    expect(folders()).toEqual([id]);
    await world.sweep();
    expect(folders()).toEqual([]);
  });

  it('is not asked for again when files are in it, and they stay', async () => {
    const id = await made();
    await writeFile(join(own, id, 'file'), '');
    afterwards(world.storage.removal, 'remove', () => world.storage.goAway());
    await remove(id);
    world.storage.comeBack();
    await world.sweep();
    expect(existsSync(join(own, id, 'file'))).toBe(true);
    expect(await world.storage.removal.leftFolders(own)).toEqual([]);
  });

  it('stays noted while the place of all of them cannot be reached', async () => {
    const id = await made();
    afterwards(world.storage.removal, 'remove', () => world.storage.goAway());
    await remove(id);
    world.storage.comeBack();
    const { writtenBelow } = workspaces;
    Object.assign(workspaces, { writtenBelow: () => Promise.resolve(null) });
    await world.sweep();
    Object.assign(workspaces, { writtenBelow });
    expect(folders()).toEqual([id]);
    await world.sweep();
    expect(folders()).toEqual([]);
  });

  it('and that nobody left is nobody’s to take, though it is empty and named like one', async () => {
    const theirs = 'f'.repeat(32);
    await mkdir(join(own, theirs));
    await world.sweep();
    expect(folders()).toEqual([theirs]);
  });
});

describe('A fork in the folder of its source (D-20)', () => {
  it.each(['publish', 'settleIn'] as const)(
    'has that folder, or is not made, when the source is deleted right before it would %s',
    async (moment) => {
      const id = await made();
      before(world.storage.reservations, moment, async () => {
        await remove(id);
      });
      const outcome = await fork(id);
      if (moment === 'settleIn') {
        expect(outcome).toMatchObject({ code: 'WORKSTREAM_NOT_FOUND' });
        expect([world.storage.rows, folders()]).toEqual([0, []]);
        return;
      }
      expect(outcome).toMatchObject({ type: 'Accepted' });
      expect(folders()).toEqual([id]);
      await remove(outcome.type === 'Accepted' ? outcome.workstreamId : '');
      expect(folders()).toEqual([]);
    },
  );

  it('that comes to nothing when the source is gone leaves it to the next sweep', async () => {
    const id = await made();
    before(world.storage.journal, 'conversation', async () => {
      await remove(id);
    });
    expect(await fork(id)).toMatchObject({ code: 'WORKSTREAM_NOT_FOUND' });
    expect(folders()).toEqual([id]);
    await world.sweep();
    expect(folders()).toEqual([]);
  });

  it('is told of what is left by a deletion that is repeated because its answer was lost, as the first time', async () => {
    const id = await made();
    const outcome = await fork(id);
    const other = outcome.type === 'Accepted' ? outcome.workstreamId : '';
    await writeFile(join(own, id, 'file'), '');
    await remove(id);
    const key = newKey();
    const first = await remove(other, key);
    expect(first).toMatchObject({ type: 'Accepted', workspaceKept: join(own, id) });
    expect(await remove(other, key)).toEqual(first);
    await rm(join(own, id, 'file'));
    expect(await remove(other, key)).toMatchObject({ type: 'Accepted', workspaceKept: null });
    expect(folders()).toEqual([]);
  });
});

describe('A workstream that is to work in the folder of another one (D-20)', () => {
  it('is not made when that was taken back while it was', async () => {
    const id = await made();
    before(world.storage.reservations, 'settleIn', async () => {
      await remove(id);
    });
    expect(await create(join(own, id))).toMatchObject({ code: 'INVALID_INPUT', field: 'workspace' });
    expect([world.storage.rows, folders()]).toEqual([0, []]);
  });

  it('keeps it when the other one goes while it is made', async () => {
    const id = await made();
    before(world.storage.reservations, 'publish', async () => {
      await remove(id);
    });
    const heir = await made(join(own, id));
    expect(folders()).toEqual([id]);
    expect(await remove(heir)).toMatchObject({ workspaceKept: null });
    expect(folders()).toEqual([]);
  });

  it('keeps it when whether it was made is not known for long', async () => {
    const id = await made();
    const { reservations } = world.storage;
    const { publish } = reservations;
    Object.assign(reservations, {
      publish: async (...args: Parameters<typeof publish>) => {
        await publish(...args);
        Object.assign(reservations, { publish });
        world.storage.goAway();
        throw new StorageUnavailableError('lost');
      },
    });
    await create(join(own, id));
    world.storage.comeBack();
    await remove(id);
    await world.clock.advance(60_000);
    await world.sweep();
    expect(folders()).toEqual([id]);
  });
});

describe('The folder of all data, moved or copied with what is in it', () => {
  /** Where it is now, with a server of its own. */
  const movedTo = async (place: string) => {
    const there = await createWorkspaces({ roots: [root], dataDir: join(root, place), moves: true });
    return { there, ownThere: join(root, place, 'workspaces') };
  };

  it('has the folders that were made in it where it is now, and no other is looked for there', async () => {
    const [id, elsewhere] = [await made(), 'f'.repeat(32)];
    await mkdir(join(root, 'copy'));
    await cp(own, join(root, 'copy', 'workspaces'), { recursive: true });
    const { there, ownThere } = await movedTo('copy');
    expect(await there.at(join(own, id))).toBe(join(ownThere, id));
    for (const path of [join(root, id), join(root, 'chosen'), join(own, 'chosen')])
      expect(await there.at(path)).toBe(path);
    // Also one that is not there any more: it is not that of the original instead.
    expect(await there.at(join(own, elsewhere))).toBe(join(ownThere, elsewhere));
    // Of a database that others share, another server may have made it.
    expect(await workspaces.at(join(ownThere, id))).toBe(join(ownThere, id));
  });

  it('has its tools, commands and prompts in there, and not where it was', async () => {
    const id = await made();
    await mkdir(join(root, 'copy'));
    await cp(own, join(root, 'copy', 'workspaces'), { recursive: true });
    const { there, ownThere } = await movedTo('copy');
    const placed = whereFoldersAre(there);
    const [was, is] = [join(own, id), join(ownThere, id)];
    const seen: string[] = [];
    const note = <T>(where: string, value: T) => {
      seen.push(where);
      return Promise.resolve(value);
    };
    const { signal } = new AbortController();
    const tools = placed.tools({
      ...world.tools,
      prepare: (call) => note(call.workspace, 'prepared' as never),
      run: (call) => note(call.workspace, 'ran' as never),
    });
    const call = { callId: 'c', name: 'shell', arguments: '{}', workstreamId: id, workspace: was };
    expect(await tools.prepare(call)).toBe('prepared');
    expect(await tools.run({ ...call, basis: null }, signal, () => undefined)).toBe('ran');
    expect(await placed.prompt((folder) => note(folder, 'told'))(was, null)).toBe('told');
    const processes = placed.processes({
      run: ({ cwd }) => note(cwd, 'run' as never),
      sessions: () => Promise.resolve([]),
      endLeftovers: () => Promise.resolve([]),
    });
    const command = { script: 'pwd', cwd: was, callId: 'c', timeoutMs: 1_000, maxOutputBytes: 10 };
    expect(await processes.run(command, signal, () => undefined)).toBe('run');
    expect(seen).toEqual([is, is, is, is]);
  });

  it('has them taken back from where they are, and tells what is left there', async () => {
    const [empty, full] = [await made(), await made()];
    await writeFile(join(own, full, 'kept.txt'), 'x');
    await mkdir(join(root, 'new'));
    await rename(own, join(root, 'new', 'workspaces'));
    const { there, ownThere } = await movedTo('new');
    Object.assign(workspaces, there);
    expect(await remove(empty)).toMatchObject({ type: 'Accepted', workspaceKept: null });
    expect(await remove(full)).toMatchObject({ type: 'Accepted', workspaceKept: join(ownThere, full) });
    expect(readdirSync(ownThere)).toEqual([full]);
  });

  it('has one that is chosen under its new path, and goes on, when who it was made for goes (broke: it was taken)', async () => {
    const id = await made();
    await mkdir(join(root, 'new'));
    await rename(own, join(root, 'new', 'workspaces'));
    const { there, ownThere } = await movedTo('new');
    Object.assign(workspaces, there);
    const heir = await made(join(ownThere, id));
    expect(await remove(id)).toMatchObject({ type: 'Accepted', workspaceKept: join(ownThere, id) });
    expect(readdirSync(ownThere)).toEqual([id]);
    expect(await remove(heir)).toMatchObject({ type: 'Accepted', workspaceKept: null });
    expect(readdirSync(ownThere)).toEqual([]);
  });

  it('has those taken back that were left before it was moved', async () => {
    const id = await made();
    afterwards(world.storage.removal, 'remove', () => world.storage.goAway());
    await remove(id);
    world.storage.comeBack();
    await mkdir(join(root, 'new'));
    await rename(own, join(root, 'new', 'workspaces'));
    const { there, ownThere } = await movedTo('new');
    Object.assign(workspaces, there);
    expect(readdirSync(ownThere)).toEqual([id]);
    await world.sweep();
    expect(readdirSync(ownThere)).toEqual([]);
  });

  it('has in it no folder that may be chosen but those of workstreams, and what only looks like one is none', async () => {
    const id = await made();
    const { there, ownThere } = await movedTo('data');
    const theirs = join(root, 'theirs', 'workspaces', 'a'.repeat(32));
    for (const path of [join(own, id, 'sub'), join(own, 'mine'), join(root, 'data', 'project'), theirs])
      await mkdir(path, { recursive: true });
    const problem = async (path: string) => {
      const chosen = await there.choose('w', path);
      return chosen.type === 'refused' ? chosen.problem : null;
    };
    expect(await problem(join(ownThere, id))).toBeNull();
    for (const path of [
      join(own, id, 'sub'),
      join(own, 'mine'),
      join(root, 'data', 'project'),
      join(root, 'data'),
    ])
      expect(await problem(path)).toContain(`is in Weir's own data. Choose one outside of`);
    expect(await problem(theirs)).toContain(
      'was made for a workstream, by its name, and not by this server.',
    );
    // Of a database that others share, another server may have made it.
    expect(await workspaces.choose('w', theirs)).toEqual({ type: 'chosen', path: theirs });
  });
});
