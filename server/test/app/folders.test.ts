/** Owns: which folders are taken back when it is not known who works in them (D-10, D-20). */
import { expect, it } from 'vitest';
import { giveUpFolder, type FoldersDeps } from '../../src/app/folders.ts';
import { StorageUnavailableError } from '../../src/ports/storage-unavailable.ts';

/** A database that is away, and folders that can be taken back; `taken` are those that were. */
function away() {
  const taken: string[] = [];
  const deps = {
    catalog: { worksIn: () => Promise.reject(new StorageUnavailableError('away')) },
    workspaces: {
      own: (id: string) => Promise.resolve(`/own/${id}`),
      abandon: (path: string) => {
        taken.push(path);
        return Promise.resolve(null);
      },
    },
  } as unknown as FoldersDeps;
  return { deps, taken };
}

it('the folder of what was never published is taken back without asking a database that is away', async () => {
  const { deps, taken } = away();
  expect(await giveUpFolder(deps, { id: 'w1', folder: '' })).toBeNull();
  expect(taken).toEqual(['/own/w1']);
});

it('the folder of what had been published stays while the database cannot say who else works there', async () => {
  const { deps, taken } = away();
  expect(await giveUpFolder(deps, { id: 'w1', folder: '/own/w1' })).toBe('/own/w1');
  expect(taken).toEqual([]);
});
