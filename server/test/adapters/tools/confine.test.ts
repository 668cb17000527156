import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { basename, join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isWithin, resolveInside } from '../../../src/adapters/tools/confine.ts';
import { openFile, openFolder } from '../../../src/adapters/tools/open-inside.ts';
import { isRefusal } from '../../../src/adapters/tools/tool.ts';
import { writeInside } from '../../../src/adapters/tools/write-inside.ts';
import { createBench, type Bench } from './support.ts';

/** Every tool with a path refuses it, twice: when prepared, and when run as if it had been. */
async function expectRefused({ prepare, run }: Bench, path: string): Promise<void> {
  const calls: [string, object][] = [
    ['read_file', { path }],
    ['list_files', { path }],
    ['write_file', { path, content: 'taken over' }],
    ['edit_file', { path, old_text: 'secret', new_text: 'taken over' }],
  ];
  for (const [name, args] of calls) {
    const prepared = await prepare(name, args);
    const basis = prepared.type === 'ready' ? prepared.basis : 'absent@x';
    const result = await run(name, args, basis);
    expect(result, `${name} ${path}`).toMatchObject({ outcome: 'ERROR', effect: 'NONE' });
    expect(JSON.stringify([prepared, result])).not.toContain('secret\\n');
  }
}

/** Nothing beside the workspace was made, changed or taken away. */
function expectOutsideUntouched({ outside, workspace }: Bench): void {
  expect(readdirSync(outside)).toEqual(['secret.txt']);
  expect(readFileSync(join(outside, 'secret.txt'), 'utf8')).toBe('secret\n');
  expect(readdirSync(join(workspace, '..')).sort()).toEqual(['work', 'work-outside']);
}

describe('a path outside the workspace is refused', () => {
  it.each([
    '..',
    '../work-outside/secret.txt',
    '../work-outside/new.txt',
    'a/../../work-outside/secret.txt',
    './././../work-outside',
    '/etc/passwd',
    '/',
    '/new.txt',
    '//etc//passwd',
    '/proc/self/environ',
    '/dev/null',
  ])('as %s', async (path) => {
    const bench = createBench();
    await expectRefused(bench, path);
    expectOutsideUntouched(bench);
  });

  it('as the absolute path of a folder whose name begins like the workspace', async () => {
    const bench = createBench();
    await expectRefused(bench, join(bench.outside, 'secret.txt'));
    expectOutsideUntouched(bench);
  });

  it('through a symbolic link: to a file, to a folder, by a chain, to nowhere', async () => {
    const bench = createBench();
    const { workspace, outside } = bench;
    symlinkSync(join(outside, 'secret.txt'), join(workspace, 'file'));
    symlinkSync(outside, join(workspace, 'folder'));
    symlinkSync('../work-outside', join(workspace, 'relative'));
    symlinkSync('folder', join(workspace, 'chain'));
    symlinkSync(join(outside, 'new.txt'), join(workspace, 'nowhere'));
    symlinkSync(join(outside, 'no', 'such'), join(workspace, 'deep'));
    symlinkSync('circle', join(workspace, 'circle'));
    symlinkSync('/', join(workspace, 'root'));
    for (const path of [
      'file',
      'folder',
      'folder/secret.txt',
      'folder/new.txt',
      'folder/a/b/new.txt',
      'relative/secret.txt',
      'chain/secret.txt',
      'nowhere',
      'deep',
      'deep/new.txt',
      'circle',
      'circle/x',
      'root/etc/passwd',
      './folder/../folder/secret.txt',
    ]) {
      await expectRefused(bench, path);
    }
    expectOutsideUntouched(bench);
    const told = await Promise.all(
      ['folder/secret.txt', 'folder/no-such', 'nowhere'].map((path) => bench.prepare('read_file', { path })),
    );
    // The answer does not tell what is there.
    const withoutPath = told.map((call) =>
      call.type === 'invalid' ? call.message.replace(/"[^"]*"/, '') : '',
    );
    expect(new Set(withoutPath).size).toBe(1);
  });

  it('and by its absolute path inside it is not', async () => {
    const bench = createBench();
    bench.files({ 'a.txt': 'a' });
    for (const path of ['a.txt', join(bench.workspace, 'a.txt'), `${bench.workspace}/./b/../a.txt`]) {
      expect(await resolveInside(bench.workspace, path, [])).toMatchObject({ label: 'a.txt' });
    }
  });
});

/** Moves the folder away and puts a link to `target` in its place, as one approved `mv … && ln -s …` does. */
function swapForLink(folder: string, target: string): void {
  renameSync(folder, `${folder}.old`);
  symlinkSync(target, folder);
}

describe('a workspace swapped for a link', () => {
  const calls = (absolute: string): [string, object][] => [
    ['read_file', { path: 'secret.txt' }],
    ['read_file', { path: join(absolute, 'secret.txt') }],
    ['list_files', {}],
    ['list_files', { path: '.' }],
    ['write_file', { path: 'new.txt', content: 'taken over' }],
    ['write_file', { path: 'a/b/new.txt', content: 'taken over' }],
    ['edit_file', { path: 'secret.txt', old_text: 'secret', new_text: 'taken over' }],
    ['shell', { command: 'cat secret.txt; touch ran' }],
  ];
  const said = /The workspace folder, or one above it, was replaced by a symbolic link/;

  it('is refused by every tool, when prepared and when run, and nothing behind it is told or touched', async () => {
    const bench = createBench();
    swapForLink(bench.workspace, bench.outside);
    for (const [name, args] of calls(bench.workspace)) {
      expect(await bench.prepare(name, args), name).toEqual({
        type: 'invalid',
        message: expect.stringMatching(said) as string,
      });
      const result = await bench.run(name, args, 'absent@new.txt');
      expect(result, name).toMatchObject({ outcome: 'ERROR', effect: 'NONE' });
      expect(result.content, name).toMatch(/replaced by a symbolic link/);
      expect(result.content, name).not.toMatch(/secret/);
    }
    expect(readdirSync(bench.outside)).toEqual(['secret.txt']);
    expect(readFileSync(join(bench.outside, 'secret.txt'), 'utf8')).toBe('secret\n');
  });

  it('between prepare and run is refused with effect NONE', async () => {
    for (const [name, args] of calls('.')) {
      const bench = createBench();
      bench.files({ 'secret.txt': 'secret\n' });
      const prepared = await bench.prepare(name, args);
      if (prepared.type !== 'ready') throw new Error(`${name} works before the swap: ${prepared.message}`);
      swapForLink(bench.workspace, bench.outside);
      const result = await bench.run(name, args, prepared.basis);
      expect(result, name).toMatchObject({ outcome: 'ERROR', effect: 'NONE' });
      expect(result.content, name).toMatch(/replaced by a symbolic link/);
      expect(readdirSync(bench.outside), name).toEqual(['secret.txt']);
      expect(readFileSync(join(bench.outside, 'secret.txt'), 'utf8')).toBe('secret\n');
    }
  });

  it('by an approved command of its own is refused from the next call on', async () => {
    const bench = createBench();
    const command = 'mv "$PWD" "$PWD.old" && ln -s ../work-outside "$PWD"';
    await bench.call('shell', {
      command: `cd "$(pwd)" && ${command.replace('../work-outside', bench.outside)}`,
    });
    expect(realpathSync(bench.workspace)).toBe(bench.outside);
    expect(await bench.call('read_file', { path: 'secret.txt' })).toEqual({
      refused: expect.stringMatching(said) as string,
    });
    expect(await bench.call('list_files', {})).toEqual({ refused: expect.stringMatching(said) as string });
  });

  it('is noticed also when a folder above it was swapped', async () => {
    const bench = createBench();
    bench.files({ 'project/a.txt': 'a' });
    mkdirSync(join(bench.outside, 'project'));
    const project = join(bench.workspace, 'project');
    swapForLink(bench.workspace, bench.outside);
    expect(await resolveInside(project, 'a.txt', [])).toEqual({
      refused: expect.stringMatching(said) as string,
    });
  });

  it('is not used under another name: a workspace is given by its real path', async () => {
    const bench = createBench();
    bench.files({ 'a.txt': 'a' });
    const alias = join(bench.workspace, '..', 'alias');
    symlinkSync(bench.workspace, alias);
    expect(await resolveInside(alias, 'a.txt', [])).toEqual({
      refused: expect.stringMatching(said) as string,
    });
  });
});

describe('what is no plain file is refused', () => {
  it('a pipe, a socket, a device by link, without waiting for it', async () => {
    const bench = createBench();
    await bench.call('shell', { command: 'mkfifo pipe' });
    expect(readdirSync(bench.workspace)).toEqual(['pipe']);
    const server = createServer().listen(join(bench.workspace, 'socket'));
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    symlinkSync('/dev/zero', join(bench.workspace, 'zero'));
    for (const path of ['pipe', 'socket', 'zero']) await expectRefused(bench, path);
  });

  it('a folder, where a file is asked for, and a file as a folder', async () => {
    const bench = createBench();
    bench.files({ 'folder/a.txt': 'a' });
    for (const path of ['folder', '.']) {
      expect(await bench.call('read_file', { path })).toMatchObject({ outcome: 'ERROR', effect: 'NONE' });
      expect(await bench.prepare('write_file', { path, content: '' })).toMatchObject({ type: 'invalid' });
    }
    for (const path of ['folder/a.txt/b', 'folder/a.txt/b/c']) await expectRefused(bench, path);
    expect(await bench.call('list_files', { path: 'folder/a.txt' })).toMatchObject({ outcome: 'ERROR' });
  });

  it('names with NUL, broken characters, or too long', async () => {
    const bench = createBench();
    for (const path of [
      'a\0b',
      '\0',
      'a\uD800',
      '',
      'x'.repeat(256),
      'a/'.repeat(3_000),
      'x'.repeat(1_000_000),
    ]) {
      await expectRefused(bench, path);
      const prepared = await bench.prepare('read_file', { path });
      if (prepared.type === 'invalid') expect(prepared.message.length).toBeLessThan(1_000);
    }
    expect(readdirSync(bench.workspace)).toEqual([]);
  });

  it('but the longest name there is works', async () => {
    const bench = createBench();
    const path = 'x'.repeat(255);
    expect(await bench.call('write_file', { path, content: 'a' })).toMatchObject({ outcome: 'OK' });
    expect(readdirSync(bench.workspace)).toEqual([path]);
  });
});

describe('links inside the workspace', () => {
  it('are followed, named by where they lead, and stay links when their file is written', async () => {
    const bench = createBench();
    bench.files({ 'real/a.txt': 'one\n' });
    symlinkSync('real', join(bench.workspace, 'way'));
    symlinkSync('real/a.txt', join(bench.workspace, 'link.txt'));
    expect(
      await bench.prepare('edit_file', { path: 'way/a.txt', old_text: 'one', new_text: 'two' }),
    ).toMatchObject({
      preview: { title: 'real/a.txt' },
    });
    expect(await bench.call('write_file', { path: 'link.txt', content: 'three\n' })).toMatchObject({
      outcome: 'OK',
    });
    expect(readFileSync(join(bench.workspace, 'real/a.txt'), 'utf8')).toBe('three\n');
    expect(realpathSync(join(bench.workspace, 'link.txt'))).toBe(join(bench.workspace, 'real/a.txt'));
  });

  it('turned to another file of the same content after the approval are noticed', async () => {
    const bench = createBench();
    bench.files({ 'a.txt': 'same', 'b.txt': 'same' });
    const link = join(bench.workspace, 'link');
    symlinkSync('a.txt', link);
    const args = { path: 'link', content: 'new' };
    const prepared = await bench.prepare('write_file', args);
    rmSync(link);
    symlinkSync('b.txt', link);
    const basis = prepared.type === 'ready' ? prepared.basis : null;
    expect(await bench.run('write_file', args, basis)).toMatchObject({ outcome: 'ERROR', effect: 'NONE' });
    expect(readFileSync(join(bench.workspace, 'b.txt'), 'utf8')).toBe('same');
  });
});

describe("the server's data folder in a workspace", () => {
  /** A workspace that contains it, with a database and the folders of two workstreams, and tools that know of it. */
  function createHome() {
    const bench = createBench((workspace) => ({
      closedFolders: ['', '/postgres', '/workspaces'].map((name) => join(workspace, '.data') + name),
    }));
    bench.files({
      '.data/postgres/secret.txt': 'secret\n',
      '.data/workspaces/w1/notes.txt': 'one\n',
      '.data/workspaces/w2/secret.txt': 'secret\n',
      '.database/free.txt': 'free\n',
      'a.txt': 'a\n',
    });
    return { ...bench, data: join(bench.workspace, '.data') };
  }

  it('is closed to file tools: as it is, below, where nothing is, and through links', async () => {
    const bench = createHome();
    symlinkSync('.data', join(bench.workspace, 'link'));
    symlinkSync('.data/postgres/secret.txt', join(bench.workspace, 'deep'));
    const said = 'lies in the data folder of the Weir server';
    for (const path of [
      '.data',
      '.data/postgres/secret.txt',
      '.data/new.txt',
      'link/postgres/secret.txt',
      'deep',
    ]) {
      await expectRefused(bench, path);
      expect(JSON.stringify(await bench.call('read_file', { path })), path).toContain(said);
    }
    expect(readdirSync(bench.data).sort()).toEqual(['postgres', 'workspaces']);
    rmSync(bench.data, { recursive: true });
    await expectRefused(bench, '.data/postgres/new.txt');
  });

  it('is named in a listing and not looked into, and what is beside it is open', async () => {
    const bench = createHome();
    const { content } = await bench.run('list_files', { depth: 5 }, null);
    expect(content).toMatch(/^\.data\/$/m);
    expect(content).not.toContain('secret.txt');
    expect(content).toContain('.database/free.txt');
    expect(await bench.call('read_file', { path: '.database/free.txt' })).toMatchObject({
      content: 'free\n',
    });
  });

  it('is open to a workstream in the folder that was made for it there, and that folder alone', async () => {
    const bench = createHome();
    const own = bench.at(join(bench.data, 'workspaces/w1'));
    expect(await own.call('read_file', { path: 'notes.txt' })).toMatchObject({ content: 'one\n' });
    symlinkSync('../w2', join(own.workspace, 'other'));
    await expectRefused(own, '../w2/secret.txt');
    await expectRefused(own, 'other/secret.txt');
  });

  it('is closed also when it, or a folder of Weir in it, is the workspace', async () => {
    const bench = createHome();
    for (const [folder, path] of [
      ['', 'postgres/secret.txt'],
      ['postgres', 'secret.txt'],
      ['workspaces', 'w2/secret.txt'],
    ] as const)
      await expectRefused(bench.at(join(bench.data, folder)), path);
  });

  it.runIf(process.platform === 'linux')(
    'is not reached by a link put there after the path was checked',
    async () => {
      const bench = createHome();
      const resolved = await resolveInside(bench.workspace, 'a.txt', [bench.data]);
      if (isRefusal(resolved)) throw new Error('it is open');
      renameSync(join(bench.data, 'postgres'), join(bench.data, 'a'));
      const path = join(bench.workspace, 'way');
      symlinkSync('.data', path);
      const opened = await openFile({ ...resolved, path: join(path, 'a/secret.txt') });
      expect(opened).toEqual({
        refused: expect.stringContaining('data folder of the Weir server') as string,
      });
    },
  );
});

describe.runIf(process.platform === 'linux')('a link put there after the path was checked', () => {
  it('leads no read outside: as the last name, or as a folder on the way', async () => {
    const { workspace, outside, files } = createBench();
    files({ 'a.txt': 'a', 'folder/secret.txt': 'mine' });
    const file = { root: workspace, closed: [], path: join(workspace, 'a.txt'), label: 'a.txt' };
    rmSync(file.path);
    symlinkSync(join(outside, 'secret.txt'), file.path);
    expect(await openFile(file)).toHaveProperty('refused');

    const inner = {
      root: workspace,
      closed: [],
      path: join(workspace, 'folder/secret.txt'),
      label: 'folder/secret.txt',
    };
    renameSync(join(workspace, 'folder'), join(workspace, 'moved'));
    symlinkSync(outside, join(workspace, 'folder'));
    expect(await openFile(inner)).toHaveProperty('refused');
  });

  it('leads no write outside', async () => {
    const bench = createBench();
    const { workspace, outside, files } = bench;
    files({ 'folder/secret.txt': 'secret\n', 'other/x': '' });
    const existing = await resolveInside(workspace, 'folder/secret.txt', []);
    const fresh = await resolveInside(workspace, 'other/a/b/new.txt', []);
    if (isRefusal(existing) || isRefusal(fresh)) throw new Error('both are inside');
    for (const name of ['folder', 'other']) {
      renameSync(join(workspace, name), join(workspace, `${name}-moved`));
      symlinkSync(outside, join(workspace, name));
    }
    for (const resolved of [existing, fresh]) {
      expect(await writeInside(resolved, Buffer.from('taken over'), 'absent@x')).toMatchObject({
        type: 'failed',
      });
    }
    // A link where a missing folder is about to be made.
    const made = await resolveInside(workspace, 'late/new.txt', []);
    if (isRefusal(made)) throw new Error('it is inside');
    symlinkSync(outside, join(workspace, 'late'));
    expect(await writeInside(made, Buffer.from('taken over'), 'absent@late/new.txt')).toMatchObject({
      type: 'failed',
    });
    expectOutsideUntouched(bench);
  });
});

describe.runIf(process.platform === 'linux')('a folder above swapped after the path was checked', () => {
  /** `inner` is in the workspace and, with the same name, outside: only where the opened folder is tells them apart. */
  function createTwins(): Bench & { readonly inner: string } {
    const bench = createBench();
    bench.files({ 'folder/inner/secret.txt': 'mine\n' });
    mkdirSync(join(bench.outside, 'inner'));
    return { ...bench, inner: join(bench.workspace, 'folder/inner') };
  }

  it('leads no listing outside', async () => {
    const { workspace, outside, inner } = createTwins();
    const folder = { root: workspace, closed: [], path: inner, label: 'folder/inner' };
    const before = await openFolder(folder);
    if (isRefusal(before)) throw new Error('it is inside');
    await before.handle.close();
    swapForLink(join(workspace, 'folder'), outside);
    expect(await openFolder(folder)).toEqual({ refused: expect.stringContaining('was replaced') as string });
  });

  it('leads no write outside', async () => {
    const { workspace, outside } = createTwins();
    const path = 'folder/inner/new.txt';
    const resolved = await resolveInside(workspace, path, []);
    if (isRefusal(resolved)) throw new Error('it is inside');
    swapForLink(join(workspace, 'folder'), outside);
    expect(await writeInside(resolved, Buffer.from('taken over'), `absent@${path}`)).toMatchObject({
      type: 'failed',
      madeFolders: false,
    });
    expect(readdirSync(join(outside, 'inner'))).toEqual([]);
  });

  it('leads nothing outside when it is the workspace itself', async () => {
    const { workspace, outside, files } = createTwins();
    files({ 'secret.txt': 'mine\n', 'inner/x': '' });
    const resolved = await resolveInside(workspace, 'inner/new.txt', []);
    if (isRefusal(resolved)) throw new Error('it is inside');
    swapForLink(workspace, outside);
    const at = (name: string) => ({ root: workspace, closed: [], path: join(workspace, name), label: name });
    expect(await openFile(at('secret.txt'))).toHaveProperty('refused');
    expect(await openFolder(at('inner'))).toHaveProperty('refused');
    expect(await openFolder(at(''))).toHaveProperty('refused');
    expect(await writeInside(resolved, Buffer.from('taken over'), 'absent@inner/new.txt')).toMatchObject({
      type: 'failed',
    });
    expect(readdirSync(join(outside, 'inner'))).toEqual([]);
  });
});

describe('whatever path is tried', () => {
  it('what it resolves to is inside, and no write ever lands outside', async () => {
    const bench = createBench();
    const { workspace, outside } = bench;
    bench.files({ 'a/b/file': 'x', 'a/file': 'x', file: 'x' });
    symlinkSync(outside, join(workspace, 'out'));
    symlinkSync('..', join(workspace, 'up'));
    symlinkSync('../..', join(workspace, 'a/upup'));
    symlinkSync('b', join(workspace, 'a/in'));
    symlinkSync('.', join(workspace, 'here'));
    symlinkSync('/', join(workspace, 'slash'));
    symlinkSync('gone/far', join(workspace, 'gone'));
    mkdirSync(join(workspace, '...'));
    const part = fc.constantFrom(
      ...['..', '.', '...', '', 'a', 'b', 'file', 'new', 'out', 'up', 'upup', 'in', 'here', 'slash', 'gone'],
      ...['secret.txt', 'etc', ' ', '~', '%2e%2e', '..\\', '\u2024\u2024', basename(outside), 'work'],
    );
    const start = fc.constantFrom(
      '',
      '',
      '',
      '/',
      './',
      '../',
      `${workspace}/`,
      `${outside}/`,
      `${workspace}/../`,
    );
    const path = fc
      .tuple(
        start,
        fc.array(fc.oneof({ weight: 9, arbitrary: part }, fc.string({ maxLength: 5 })), { maxLength: 7 }),
      )
      .map(([first, parts]) => first + parts.join('/'));
    let inside = 0;
    await fc.assert(
      fc.asyncProperty(path, async (tried) => {
        const resolved = await resolveInside(workspace, tried, []);
        if (isRefusal(resolved)) return;
        inside++;
        expect(isWithin(workspace, realpathSync(resolved.nearest))).toBe(true);
        expect(
          resolved.missing.filter((name) => ['', '.', '..'].includes(name) || name.includes('/')),
        ).toEqual([]);
        if (resolved.missing.length > 0)
          expect(existsSync(join(resolved.nearest, resolved.missing[0] as string))).toBe(false);
      }),
      { numRuns: 2_000 },
    );
    expect(inside).toBeGreaterThan(200);

    await fc.assert(
      fc.asyncProperty(path, async (tried) => {
        await bench.call('write_file', { path: tried, content: `written to ${tried}` });
        await bench.call('edit_file', { path: tried, old_text: 's', new_text: 'S' });
        expectOutsideUntouched(bench);
      }),
      { numRuns: 300 },
    );
    writeFileSync(join(workspace, 'done'), '');
  });
});
