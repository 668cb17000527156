/** Owns: reading a workspace's AGENTS.md, whatever is in its place. Real files, links, pipes. */
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readAgents } from '../../../src/adapters/workspaces/index.ts';

let folder: string;
const place = (...names: readonly string[]): string => join(folder, ...names);

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-agents-'));
  await mkdir(place('work'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('AGENTS.md of a workspace', () => {
  it('is read anew each time', async () => {
    expect(await readAgents(place('work'))).toBeNull();
    await writeFile(place('work', 'AGENTS.md'), 'Run make test.');
    expect(await readAgents(place('work'))).toBe('Run make test.');
    await writeFile(place('work', 'AGENTS.md'), 'Run pnpm test.');
    expect(await readAgents(place('work'))).toBe('Run pnpm test.');
  });

  it('may be a link to another file of the workspace', async () => {
    await writeFile(place('work', 'CLAUDE.md'), 'As in there.');
    await symlink('CLAUDE.md', place('work', 'AGENTS.md'));
    expect(await readAgents(place('work'))).toBe('As in there.');
  });

  it('is found where the workspace itself is reached by a link', async () => {
    await writeFile(place('work', 'AGENTS.md'), 'Here.');
    await symlink(place('work'), place('way'));
    expect(await readAgents(place('way'))).toBe('Here.');
  });

  it('is none when it leads outside, for the model would be told a file of the machine', async () => {
    await writeFile(place('secret'), 'a secret of the machine');
    await symlink(place('secret'), place('work', 'AGENTS.md'));
    expect(await readAgents(place('work'))).toBeNull();
  });

  it('is none when it leads to a neighbour whose name begins the same', async () => {
    await mkdir(place('work-of-others'));
    await writeFile(place('work-of-others', 'AGENTS.md'), 'of others');
    await symlink(place('work-of-others', 'AGENTS.md'), place('work', 'AGENTS.md'));
    expect(await readAgents(place('work'))).toBeNull();
  });

  it('is none when it is a folder, a device or a pipe, which nobody waits for', async () => {
    await mkdir(place('work', 'AGENTS.md'));
    expect(await readAgents(place('work'))).toBeNull();
    await rm(place('work', 'AGENTS.md'), { recursive: true });
    await symlink('/dev/zero', place('work', 'AGENTS.md'));
    expect(await readAgents(place('work'))).toBeNull();
    await rm(place('work', 'AGENTS.md'));
    execFileSync('mkfifo', [place('work', 'AGENTS.md')]);
    expect(await readAgents(place('work'))).toBeNull();
  });

  it('is none when the folder is gone', async () => {
    expect(await readAgents(place('nowhere'))).toBeNull();
  });

  it('is read up to a bound, and ends with a whole character', async () => {
    await writeFile(place('work', 'AGENTS.md'), 'x'.repeat(131_071) + 'é'.repeat(100_000));
    const text = await readAgents(place('work'));
    expect(text).toBe('x'.repeat(131_071));
  });
});
