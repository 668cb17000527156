import { existsSync, readdirSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { CreateWorkstream } from 'schema/services';
import { createWorkspaces } from '../../src/adapters/workspaces/index.ts';
import { StorageUnavailableError } from '../../src/ports/storage-unavailable.ts';
import type { Workspaces } from '../../src/ports/workspaces.ts';
import { ada, bob, createWorld, newKey, plain, settled, until, waits, type World } from './support/world.ts';

let folder: string;
let world: World;
let workspaces: Workspaces;
let stopping: boolean;

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'weir-create-')));
  await mkdir(join(folder, 'allowed', 'project'), { recursive: true });
  await mkdir(join(folder, 'data'));
  await mkdir(join(folder, 'allowed-too'));
  await mkdir(join(folder, 'outside'));
  await writeFile(join(folder, 'allowed', 'file'), '');
  await symlink(join(folder, 'outside'), join(folder, 'allowed', 'way-out'));
  await symlink(join(folder, 'allowed', 'project'), join(folder, 'allowed', 'way-in'));
  workspaces = await createWorkspaces({
    roots: [join(folder, 'allowed')],
    dataDir: join(folder, 'data'),
    moves: false,
  });
  stopping = false;
  world = await createWorld({ workspaces, isStopping: () => stopping });
});
afterEach(() => rm(folder, { recursive: true }));

const create = (more: Partial<CreateWorkstream> = {}, by = ada, caller = waits) =>
  world.services.workstreams.create(by, { ...plain, key: newKey(), title: null, ...more }, caller);
const messageOf = (outcome: Awaited<ReturnType<typeof create>>) =>
  outcome.type === 'Rejected' ? outcome.message : outcome.type;
const stored = async (outcome: Awaited<ReturnType<typeof create>>) => {
  if (outcome.type !== 'Accepted') throw new Error(outcome.message);
  return (await world.storage.catalog.get(outcome.workstreamId))!;
};

describe('Creating', () => {
  it('makes an open workstream with a folder of its own, and announces it once (D-20)', async () => {
    const announced: string[] = [];
    world.hub.onAnnounce(({ id, state }) => announced.push(`${id} ${state}`));
    const row = await stored(await create());
    expect(row.projection).toMatchObject({
      lifecycle: 'OPEN',
      revision: 2,
      configuration: {
        title: 'New workstream',
        model: 'test',
        workspace: join(folder, 'data', 'workspaces', row.id),
      },
    });
    expect(announced).toEqual([`${row.id} IDLE`]);
    expect(row.owner).toBeNull();
  });

  it.each(['', ' ', '\u200b\ufeff\0'])('calls it something when the title is blank (%j)', async (title) => {
    const row = await stored(await create({ title }));
    expect(row.projection.configuration.title).toBe('New workstream');
  });

  it('takes the title, model and folder that were asked for', async () => {
    const row = await stored(
      await create({ title: '  Mine \0 ', model: 'other', workspace: join(folder, 'allowed', 'project') }),
    );
    expect(row.projection.configuration).toEqual({
      title: 'Mine \ufffd',
      titleSource: 'PERSON',
      model: 'other',
      workspace: join(folder, 'allowed', 'project'),
      approvalMode: 'ASK',
      approvalModeBy: { id: 'ada', name: 'Ada' },
    });
  });

  it('asks unless another mode is chosen, whose word it then is (D-64)', async () => {
    const row = await stored(await create({ approvalMode: 'TRUST_WORKSPACE' }, bob));
    expect(row.projection.configuration).toMatchObject({
      approvalMode: 'TRUST_WORKSPACE',
      approvalModeBy: { id: 'bob', name: 'Bob' },
    });
  });

  it.each([
    ['a title of 201 characters', 'title', { title: 'x'.repeat(201) }],
    ['a model nobody has', 'model', { model: 'unheard of' }],
    ['a missing folder', 'workspace', { workspace: 'ALLOWED/missing' }],
    ['a folder far outside', 'workspace', { workspace: '/etc' }],
    ['a folder beside the allowed one', 'workspace', { workspace: 'ALLOWED/../outside' }],
    ['one whose name only begins like it', 'workspace', { workspace: 'ALLOWED-too' }],
    ['the folder above it', 'workspace', { workspace: 'ALLOWED/..' }],
    ['a link that leads out', 'workspace', { workspace: 'ALLOWED/way-out' }],
    ['a file', 'workspace', { workspace: 'ALLOWED/file' }],
    ['a path with a NUL', 'workspace', { workspace: 'ALLOWED/project\0/../..' }],
    ['a path of endless length', 'workspace', { workspace: `ALLOWED/${'x/'.repeat(5_000)}` }],
    ['a relative path', 'workspace', { workspace: 'project' }],
    ['an empty path', 'workspace', { workspace: '' }],
  ])('with %s is refused, and leaves nothing at all (D-11, D-20)', async (_, field, bad) => {
    const asked = 'workspace' in bad ? bad.workspace : null;
    const input = { ...bad, workspace: asked?.replace('ALLOWED', join(folder, 'allowed')) ?? null };
    const announced: unknown[] = [];
    world.hub.onAnnounce((summary) => announced.push(summary));
    const key = newKey();
    expect(await create({ ...input, key })).toMatchObject({
      type: 'Rejected',
      code: 'INVALID_INPUT',
      field,
      retryable: false,
    });
    expect([world.storage.rows, announced]).toEqual([0, []]);
    expect(await world.storage.journal.findReceipt(ada.id, key)).toBeNull();
    // The key is still good for a better try.
    expect(await create({ key })).toMatchObject({ type: 'Accepted' });
  });

  it.each([
    ['model', (long: string) => ({ model: long })],
    ['workspace', (long: string) => ({ workspace: join(folder, long) })],
  ])('with 3 MB for the %s is refused with the beginning of it only', async (field, bad) => {
    // Each character is half a pair, so that a cut between the halves would show.
    const outcome = await create(bad('😀'.repeat(1_500_000)));
    expect(outcome).toMatchObject({ code: 'INVALID_INPUT', field });
    const { message } = outcome as { readonly message: string };
    expect(message).toContain('😀…');
    expect(message.length).toBeLessThan(400);
    expect(message.isWellFormed()).toBe(true);
  });

  it('takes a folder by a link that stays inside, by its real name', async () => {
    const row = await stored(await create({ workspace: join(folder, 'allowed', 'way-in') }));
    expect(row.projection.configuration.workspace).toBe(join(folder, 'allowed', 'project'));
  });

  it('once for a key, however many ask at once, and again when asked again (D-60)', async () => {
    const key = newKey();
    const all = await Promise.all(Array.from({ length: 10 }, () => create({ key, title: 'one' })));
    expect(new Set(all.map((o) => (o.type === 'Accepted' ? o.workstreamId : o.code))).size).toBe(1);
    expect(world.storage.rows).toBe(1);
    expect(await create({ key, title: 'one' })).toEqual(all[0]);
    expect(await create({ key, title: 'two' })).toMatchObject({ code: 'KEY_REUSED', retryable: false });
    expect(await create({ key, title: 'one' }, bob)).not.toEqual(all[0]);
  });

  it('without a database is refused for now, and can be tried again with the same key', async () => {
    const key = newKey();
    world.storage.goAway();
    expect(await create({ key })).toMatchObject({ code: 'STORAGE_UNAVAILABLE', retryable: true });
    world.storage.comeBack();
    expect(await create({ key })).toMatchObject({ type: 'Accepted', durability: 'DURABLE' });
    expect(world.storage.rows).toBe(1);
  });

  it('when the database goes away half-way is seen by nobody (D-20)', async () => {
    const { reservations } = world.storage;
    const { publish } = reservations;
    Object.assign(reservations, {
      publish: (batch: never) => {
        world.storage.goAway();
        return publish(batch);
      },
    });
    const creating = create();
    expect(await creating).toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
    world.storage.comeBack();
    expect(
      await world.services.workstreams.list({ first: 10, after: null }, { lifecycle: null }),
    ).toMatchObject({
      totalCount: 0,
    });
    // What could not be rolled back is told to the operator, and looked for again.
    expect(world.log.map((line) => line.message)).toContain('a reservation was left behind');
    await world.clock.advance(1_000);
    expect(world.storage.rows).toBe(0);
  });

  it('whose folder cannot be made is refused, says why, and leaves nothing (D-11, D-20)', async () => {
    await rm(join(folder, 'data', 'workspaces'), { recursive: true });
    await writeFile(join(folder, 'data', 'workspaces'), 'in the way');
    const refusal = await create();
    expect(refusal).toMatchObject({ code: 'INVALID_INPUT', field: 'workspace' });
    expect(messageOf(refusal)).toMatch(/^No folder can be made in .*ENOTDIR/);
    expect(world.storage.rows).toBe(0);
  });

  it('does not bring back a data folder that vanished, for it would be an empty one', async () => {
    await rm(join(folder, 'data', 'workspaces'), { recursive: true });
    expect(messageOf(await create())).toContain('(ENOENT)');
    expect(existsSync(join(folder, 'data', 'workspaces'))).toBe(false);
    expect(world.storage.rows).toBe(0);
  });

  it.runIf(process.platform === 'linux')(
    'is refused at once where folders vanish as they are made (broke: a recursive mkdir never returned)',
    async () => {
      const there = await createWorkspaces({ roots: ['/proc'], dataDir: '/proc/weir/own', moves: false });
      expect(await there.choose('w', null)).toMatchObject({ type: 'refused' });
      expect(await there.choose('w', '/proc/weir/asked')).toMatchObject({ type: 'refused' });
    },
  );

  it('without a database can be refused before anything is known of it, and then says that nothing was done (D-11)', async () => {
    world.storage.goAway();
    expect(messageOf(await create())).toBe(
      'The database does not answer, and nothing was done. Try again with the same key.',
    );
  });

  it('is refused while the server stops', async () => {
    stopping = true;
    expect(await create()).toMatchObject({ code: 'SHUTTING_DOWN', retryable: true });
    expect(world.storage.rows).toBe(0);
  });
});

describe('Creating, when an answer of the database is lost', () => {
  const folders = () => readdirSync(join(folder, 'data', 'workspaces'));
  let announced: string[];
  beforeEach(() => {
    announced = [];
    world.hub.onAnnounce(({ id, lifecycle }) => announced.push(`${id} ${lifecycle}`));
    world.hub.onDeleted((id) => announced.push(`${id} DELETED`));
  });
  /** The next `publish` is carried out, and the database is away before it is answered. */
  function loseAllAfterPublish(): void {
    const { reservations } = world.storage;
    const { publish } = reservations;
    Object.assign(reservations, {
      publish: async (...args: Parameters<typeof publish>) => {
        Object.assign(reservations, { publish });
        await publish(...args);
        world.storage.goAway();
        throw new StorageUnavailableError('lost');
      },
    });
  }

  it('that to publishing is read: what was made is there, with its folder, and announced once (D-8, D-20, D-26)', async () => {
    const key = newKey();
    const { reservations } = world.storage;
    const { publish } = reservations;
    Object.assign(reservations, {
      publish: (...args: Parameters<typeof publish>) => {
        world.storage.loseAnswers();
        return publish(...args);
      },
    });
    const outcome = await create({ key });
    const { id } = await stored(outcome);
    expect(folders()).toEqual([id]);
    expect(announced).toEqual([`${id} OPEN`]);
    expect(await create({ key })).toEqual(outcome);
    await world.clock.advance(120_000);
    expect([world.storage.rows, folders(), announced]).toEqual([1, [id], [`${id} OPEN`]]);
  });

  it('that to reserving leaves nothing, and the key is good for another try (D-20)', async () => {
    const key = newKey();
    world.storage.loseAnswers();
    expect(messageOf(await create({ key }))).toContain('and nothing was done');
    expect([world.storage.rows, folders(), announced]).toEqual([0, [], []]);
    expect(await create({ key })).toMatchObject({ type: 'Accepted' });
  });

  it('that to taking it back is read, and the folder goes with it (D-20)', async () => {
    const { choose } = workspaces;
    Object.assign(workspaces, {
      choose: async (...args: Parameters<typeof choose>) => {
        await choose(...args);
        world.storage.loseAnswers();
        return { type: 'refused', problem: 'No.' };
      },
    });
    expect(messageOf(await create())).toBe('No.');
    await world.clock.advance(1_000);
    await until(() => folders().length === 0);
    expect([world.storage.rows, announced]).toEqual([0, []]);
  });

  it('and cannot be read says so, leaves the folder, and announces it when it is known (D-8, D-9, D-26)', async () => {
    const key = newKey();
    loseAllAfterPublish();
    const message =
      'The database does not answer, so it is not known whether the workstream was made. Try again with the same key.';
    expect(await create({ key })).toMatchObject({ code: 'STORAGE_UNAVAILABLE', retryable: true, message });
    expect([folders().length, announced]).toEqual([1, []]);
    expect(await create({ key })).toMatchObject({ code: 'STORAGE_UNAVAILABLE', message });
    world.storage.comeBack();
    const [id] = folders();
    await world.clock.advance(60_000);
    expect(announced).toEqual([`${id} OPEN`]);
    expect(await create({ key })).toMatchObject({ type: 'Accepted', workstreamId: id });
    expect([folders(), announced]).toEqual([[id], [`${id} OPEN`]]);
  });

  it('and cannot be read is announced before whoever repeats the command is answered (D-26)', async () => {
    const key = newKey();
    loseAllAfterPublish();
    await create({ key });
    world.storage.comeBack();
    const both = await Promise.all([create({ key }), create({ key })]);
    const [id] = folders();
    expect(both).toMatchObject([{ workstreamId: id }, { workstreamId: id }]);
    expect(announced).toEqual([`${id} OPEN`]);
    await world.clock.advance(120_000);
    expect(announced).toEqual([`${id} OPEN`]);
  });

  it('and somebody who found it acts on it is announced as made before that (D-26)', async () => {
    loseAllAfterPublish();
    await create();
    world.storage.comeBack();
    const [id] = folders();
    await world.services.workstreams.close(bob, { key: newKey(), workstreamId: id! });
    await world.services.workstreams.delete(bob, { key: newKey(), workstreamId: id! });
    await world.clock.advance(120_000);
    expect(announced).toEqual([`${id} OPEN`, `${id} CLOSED`, `${id} DELETED`]);
    expect(folders()).toEqual([]);
  });

  it('and the process ends before that is known is the reaper’s, with its folder (D-21)', async () => {
    const { reservations } = world.storage;
    const { publish } = reservations;
    Object.assign(reservations, {
      publish: () => {
        world.storage.goAway();
        return Promise.reject(new StorageUnavailableError('lost'));
      },
    });
    await create();
    stopping = true;
    await world.clock.advance(60_000);
    world.storage.comeBack();
    Object.assign(reservations, { publish });
    world.storage.expire(world.sessionId);
    expect([world.storage.rows, folders().length]).toEqual([1, 1]);
    const next = await world.restart();
    await world.clock.advance(3 * 60 * 60_000);
    await next.sweep();
    expect([world.storage.rows, folders(), announced]).toEqual([0, [], []]);
  });
});

describe('Creating for a caller who goes away', () => {
  const folders = () => readdirSync(join(folder, 'data', 'workspaces'));
  const gone = new Error('VANISHED');
  /** Aborts when `at` is asked for next, and then lets that go on. */
  function vanishing(port: object, at: string): AbortSignal {
    const caller = new AbortController();
    const method = Reflect.get(port, at) as (...args: unknown[]) => unknown;
    Object.assign(port, {
      [at]: (...args: unknown[]) => {
        Object.assign(port, { [at]: method });
        caller.abort(gone);
        return Reflect.apply(method, port, args);
      },
    });
    return caller.signal;
  }

  it.each([
    ['is looked up', () => world.storage.journal, 'findReceipt', 0],
    ['is reserved', () => world.storage.reservations, 'reserve', 0],
    ['is prepared', () => workspaces, 'choose', 1],
    ['is being published', () => world.storage.reservations, 'publish', 1],
  ] as const)(
    'while it %s leaves nothing, and the key makes it afresh (D-20)',
    async (_, port, method, prepared) => {
      const announced: string[] = [];
      world.hub.onAnnounce(({ id }) => announced.push(id));
      const key = newKey();
      const choose = vi.spyOn(workspaces, 'choose');
      await expect(create({ key }, ada, vanishing(port(), method))).rejects.toBe(gone);
      expect(choose).toHaveBeenCalledTimes(prepared);
      expect([world.storage.rows, folders(), announced]).toEqual([0, [], []]);
      const { id } = await stored(await create({ key }));
      expect([world.storage.rows, folders(), announced]).toEqual([1, [id], [id]]);
    },
  );

  it('once it is published takes nothing back (D-20)', async () => {
    const caller = new AbortController();
    const { reservations } = world.storage;
    const { publish } = reservations;
    Object.assign(reservations, {
      publish: (...args: Parameters<typeof publish>) => publish(...args).finally(() => caller.abort(gone)),
    });
    const { id } = await stored(await create({}, ada, caller.signal));
    expect([world.storage.rows, folders()]).toEqual([1, [id]]);
  });

  it('leaves nothing of a fork, however long what is copied is (D-20)', async () => {
    const { id } = await stored(await create());
    const forking = (at: string, port: object) =>
      world.services.workstreams.fork(
        ada,
        { key: newKey(), workstreamId: id, revision: null, title: null, workspace: null },
        vanishing(port, at),
      );
    const { journal, reservations } = world.storage;
    for (const [at, port] of [
      ['conversation', journal],
      ['publish', reservations],
    ] as const)
      await expect(forking(at, port)).rejects.toBe(gone);
    expect([world.storage.rows, folders()]).toEqual([1, [id]]);
  });
});

describe('The folder of a workstream', () => {
  const own = join('data', 'workspaces');
  const remove = (id: string) => world.services.workstreams.delete(ada, { key: newKey(), workstreamId: id });
  const fork = async (id: string) => {
    const input = { key: newKey(), workstreamId: id, revision: null, title: null, workspace: null };
    const outcome = await world.services.workstreams.fork(ada, input, waits);
    return outcome.type === 'Accepted' ? outcome.workstreamId : '';
  };

  it.each([
    ['source', true],
    ['fork', false],
  ])('that it shares with its fork goes with the last of them, when the %s went first', async (_, first) => {
    const { id } = await stored(await create());
    const other = await fork(id);
    const path = join(folder, own, id);
    const [one, two] = first ? [id, other] : [other, id];
    expect(await remove(one)).toMatchObject({ workspaceKept: first ? path : null });
    expect(existsSync(path)).toBe(true);
    expect(await remove(two)).toMatchObject({ workspaceKept: null });
    expect(existsSync(path)).toBe(false);
  });

  it('stays with the files in it, and whoever deletes the last one is told', async () => {
    const { id } = await stored(await create());
    const other = await fork(id);
    const path = join(folder, own, id);
    await writeFile(join(path, 'file'), '');
    await remove(id);
    expect(await remove(other)).toMatchObject({ workspaceKept: path });
    expect(existsSync(join(path, 'file'))).toBe(true);
  });

  it('goes with the last of them that a sweep deletes, and with one whose deletion was answered late', async () => {
    const { id } = await stored(await create());
    const other = await fork(id);
    await remove(id);
    world.storage.loseAnswers();
    expect(await remove(other)).toMatchObject({ type: 'Accepted', workspaceKept: null });
    const { id: unused } = await stored(await create());
    expect(readdirSync(join(folder, own))).toEqual([unused]);
    await world.clock.advance(3 * 60 * 60_000);
    await world.sweep();
    expect(readdirSync(join(folder, own))).toEqual([]);
  });

  it('is never one that a person made, empty or not', async () => {
    const there = join(folder, 'allowed', 'project');
    const { id } = await stored(await create({ workspace: there }));
    expect(await remove(id)).toMatchObject({ workspaceKept: null });
    expect(existsSync(there)).toBe(true);
    // Also not right beside the ones that are made, nor one with a name like theirs elsewhere.
    const beside = await createWorkspaces({ roots: [folder], dataDir: join(folder, 'data'), moves: false });
    for (const path of [join(folder, own, 'mine'), join(folder, 'allowed', 'a'.repeat(32))]) {
      await mkdir(path);
      expect(await beside.abandon(path)).toBeNull();
      expect(existsSync(path)).toBe(true);
    }
  });
});

describe('Reading', () => {
  it('never loads, and says the same of a workstream loaded here and not (D-22, D-58)', async () => {
    const { id } = await stored(await create({ title: 'Mine' }));
    const before = await world.services.workstreams.get(id);
    expect(world.registry.peek(id)).toBeNull();
    await world.load(id);
    const after = await world.services.workstreams.get(id);
    const same = {
      state: 'IDLE',
      durableThrough: 2,
      pending: [],
      persistence: { status: 'HEALTHY' },
      quarantine: null,
    };
    expect(before).toMatchObject({ ...same, epoch: 0, owner: null });
    expect(after).toMatchObject({ ...same, epoch: 1, owner: world.sessionId });
    expect(after?.projection).toEqual(before?.projection);
    expect(await world.services.workstreams.get('nothing')).toBeNull();
  });

  it('a workstream and the list say what is accepted, stored or not', async () => {
    const { id } = await stored(await create());
    await world.load(id);
    const sending = world.send(id, 'hello');
    await until(() => world.registry.peek(id)!.state().pending.length === 2);
    world.storage.hold();
    const asking = Promise.all([
      world.services.workstreams.get(id),
      world.services.workstreams.list({ first: 10, after: null }, { lifecycle: null }),
    ]);
    await settled();
    world.storage.release();
    const [model, list] = await asking;
    expect(model).toMatchObject({ state: 'THINKING' });
    expect(model!.projection.revision).toBe(4);
    expect(list.items[0]).toMatchObject({ id, state: 'THINKING', revision: 4 });
    await sending;
  });
});
