/**
 * Owns: taking back the folders that were made for workstreams, once nobody works in them.
 *
 * Invariants: a folder that some workstream works in stays, and so does one of which that is not known (D-10); no file
 * is ever deleted.
 */
import type { Catalog } from '../ports/catalog.ts';
import { whenAway } from '../ports/storage-unavailable.ts';
import type { Workspaces } from '../ports/workspaces.ts';

export interface FoldersDeps {
  readonly catalog: Catalog;
  readonly workspaces: Workspaces;
}

/**
 * After workstream `id`, which worked in `folder` ("": it came to nothing before that was known), is gone from storage.
 * A fork works in the folder of its source, so the last of them takes it along. Answers the path of what is left.
 */
export async function giveUpFolder(
  { catalog, workspaces }: FoldersDeps,
  { id, folder }: { readonly id: string; readonly folder: string },
): Promise<string | null> {
  const own = await workspaces.own(id);
  // What was never published was never shared: nobody has to be asked.
  if (folder === '') return own === null ? null : workspaces.abandon(own);
  const used = await catalog.worksIn(folder).catch(whenAway(true));
  return used ? own : workspaces.abandon(folder);
}
