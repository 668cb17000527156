/** Owns: what was typed and not sent yet, kept for each workstream for as long as the tab lives. */

const keyOf = (workstreamId: string): string => `weir.draft.${workstreamId}`;

export const readDraft = (storage: Pick<Storage, 'getItem'>, workstreamId: string): string =>
  storage.getItem(keyOf(workstreamId)) ?? '';

export function keepDraft(
  storage: Pick<Storage, 'setItem' | 'removeItem'>,
  workstreamId: string,
  text: string,
): void {
  try {
    if (text === '') storage.removeItem(keyOf(workstreamId));
    else storage.setItem(keyOf(workstreamId), text);
  } catch {
    // The storage is full: the text is still in the composer.
  }
}

/** Bytes a message may have at most, as the server counts them. */
const MOST_BYTES = 1_000_000;

/** Why a text cannot be sent, in words; null when it can. */
export function unsendable(text: string): string | null {
  if (text.trim() === '') return 'Write something first.';
  return new TextEncoder().encode(text).byteLength > MOST_BYTES
    ? 'This is longer than 1 MB. Put it in a file of the workspace and name the file instead.'
    : null;
}
