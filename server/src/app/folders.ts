/**
 * Owns: taking back the folders that were made for workstreams, once nobody works in them. A fork works in the folder of
 * its source, so the last of them takes it along.
 *
 * Invariants: a folder that some workstream works in, or is about to, stays, and so does one of which that is not known
 * (D-10); no file is ever deleted. Storage notes what was left, so whatever keeps a folder from being taken back now
 * (a lost answer, a database that is away, the end of this process) only puts that off until the next sweep.
 */
import type { Removal } from '../ports/removal.ts';
import { whenAway } from '../ports/storage-unavailable.ts';
import type { Workspaces } from '../ports/workspaces.ts';

export interface FoldersDeps {
  readonly removal: Removal;
  readonly workspaces: Workspaces;
}

/** After workstream `id`, which worked in `folder`, is gone from storage. Answers the path of what is left of its own. */
export async function giveUpFolder(
  { removal, workspaces }: FoldersDeps,
  { id, folder }: { readonly id: string; readonly folder: string },
): Promise<string | null> {
  const place = await workspaces.at(folder);
  if (!isBelow(await workspaces.ownRoot(), place)) return null;
  const left = await removal.letGo(folder, () => workspaces.abandon(place)).catch(whenAway('inUse'));
  if (left !== 'inUse') return left;
  return place === (await workspaces.own(id)) ? place : null;
}

/** All that were left here, by whomever. Rejects when the database is away: then the rest stays for the next time. */
export async function giveUpLeftFolders({ removal, workspaces }: FoldersDeps): Promise<void> {
  const beginning = await workspaces.writtenBelow();
  if (beginning === null) return;
  for (;;) {
    const left = await removal.leftFolders(beginning);
    if (left.length === 0) return;
    for (const folder of left)
      await removal.letGo(folder, async () => workspaces.abandon(await workspaces.at(folder)));
  }
}

/** Another server may have made it, on another disk. */
const isBelow = (root: string | null, folder: string): boolean =>
  root !== null && folder.startsWith(`${root}/`);
