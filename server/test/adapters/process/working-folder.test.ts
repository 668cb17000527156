import { mkdirSync, readdirSync, realpathSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openWorkingFolder } from '../../../src/adapters/process/working-folder.ts';
import { start, temporaryFolder } from './support.ts';

function createFolders(): { readonly given: string; readonly other: string } {
  const base = realpathSync(temporaryFolder());
  const [given, other] = [join(base, 'given'), join(base, 'other')];
  mkdirSync(given);
  mkdirSync(other);
  return { given, other };
}

function swapForLink(folder: string, target: string): void {
  renameSync(folder, `${folder}.old`);
  symlinkSync(target, folder);
}

describe('the folder a command runs in', () => {
  it('is the one given, by its own name', async () => {
    const { given } = createFolders();
    const { output } = await start('pwd; touch ran', { cwd: given }).result;
    expect(output).toBe(`${given}\n`);
    expect(readdirSync(given)).toEqual(['ran']);
  });

  it('is never behind a link put in its place, or in the place of one above it', async () => {
    const { given, other } = createFolders();
    mkdirSync(join(given, 'inner'));
    mkdirSync(join(other, 'inner'));
    swapForLink(given, other);
    for (const cwd of [given, join(given, 'inner')]) {
      expect(await start('touch ran', { cwd }).result).toMatchObject({
        ending: 'notStarted',
        message: expect.stringContaining('replaced by a symbolic link') as string,
      });
    }
    expect(readdirSync(other)).toEqual(['inner']);
    expect(readdirSync(join(other, 'inner'))).toEqual([]);
  });

  it.runIf(process.platform === 'linux')(
    'stays the one that was checked when it is swapped after that',
    async () => {
      const { given, other } = createFolders();
      mkdirSync(join(given, 'mine'));
      const folder = await openWorkingFolder(given);
      if (folder === null) throw new Error('nothing was swapped yet');
      swapForLink(given, other);
      expect(readdirSync(folder.path)).toEqual(['mine']);
      await folder.close();
      expect(await openWorkingFolder(given)).toBeNull();
    },
  );
});
