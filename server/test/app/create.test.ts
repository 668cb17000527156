import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CreateWorkstream } from 'schema/services';
import { createWorkspaces } from '../../src/adapters/workspaces/index.ts';
import type { Workspaces } from '../../src/ports/workspaces.ts';
import { ada, bob, createWorld, newKey, settled, until, type World } from './support/world.ts';

let folder: string;
let world: World;
let workspaces: Workspaces;
let stopping: boolean;

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'weir-create-')));
  await mkdir(join(folder, 'allowed', 'project'), { recursive: true });
  await mkdir(join(folder, 'allowed-too'));
  await mkdir(join(folder, 'outside'));
  await writeFile(join(folder, 'allowed', 'file'), '');
  await symlink(join(folder, 'outside'), join(folder, 'allowed', 'way-out'));
  await symlink(join(folder, 'allowed', 'project'), join(folder, 'allowed', 'way-in'));
  workspaces = await createWorkspaces({ roots: [join(folder, 'allowed')], ownRoot: join(folder, 'own') });
  stopping = false;
  world = await createWorld({ workspaces, isStopping: () => stopping });
});
afterEach(() => rm(folder, { recursive: true }));

const create = (more: Partial<CreateWorkstream> = {}, by = ada) =>
  world.services.workstreams.create(by, {
    key: newKey(),
    title: null,
    model: null,
    temperature: null,
    effort: null,
    workspace: null,
    approvalMode: null,
    ...more,
  });
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
      configuration: { title: 'New workstream', model: 'test', workspace: join(folder, 'own', row.id) },
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
    // What could not be rolled back is told to the operator, and left to the reaper.
    expect(world.log.map((line) => line.message)).toContain('a reservation was left behind');
  });

  it('whose folder cannot be made is refused, says why, and leaves nothing (D-11, D-20)', async () => {
    await rm(join(folder, 'own'), { recursive: true });
    await writeFile(join(folder, 'own'), 'in the way');
    const refusal = await create();
    expect(refusal).toMatchObject({ code: 'INVALID_INPUT', field: 'workspace' });
    expect(messageOf(refusal)).toMatch(/^No folder can be made in .*ENOTDIR/);
    expect(world.storage.rows).toBe(0);
  });

  it('does not bring back a data folder that vanished, for it would be an empty one', async () => {
    await rm(join(folder, 'own'), { recursive: true });
    expect(messageOf(await create())).toContain('(ENOENT)');
    expect(existsSync(join(folder, 'own'))).toBe(false);
    expect(world.storage.rows).toBe(0);
  });

  it.runIf(process.platform === 'linux')(
    'is refused at once where folders vanish as they are made (broke: a recursive mkdir never returned)',
    async () => {
      const there = await createWorkspaces({ roots: ['/proc'], ownRoot: '/proc/weir/own' });
      expect(await there.choose('w', null)).toMatchObject({ type: 'refused' });
      expect(await there.choose('w', '/proc/weir/asked')).toMatchObject({ type: 'refused' });
    },
  );

  it('is refused while the server stops', async () => {
    stopping = true;
    expect(await create()).toMatchObject({ code: 'SHUTTING_DOWN', retryable: true });
    expect(world.storage.rows).toBe(0);
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
