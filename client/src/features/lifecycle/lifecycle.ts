/** Owns: the words and the order of what is done to workstreams as a whole. Pure but for `inTurns`. */

/** What is said after one is gone. `workspaceKept`: the folder that was made for it and is left; null: none is. */
export const deletedWords = (title: string, workspaceKept: string | null): string =>
  `“${title}” was deleted.${workspaceKept === null ? '' : ` Its folder ${workspaceKept} was kept, because files are in it or others work there.`}`;

/** How closing several goes. */
export interface Closing {
  readonly of: number;
  readonly closed: number;
  readonly refused: number;
}

export const isUnderWay = ({ of, closed, refused }: Closing): boolean => closed + refused < of;

/** How closing several went or goes, in one sentence. */
export function closingWords(closing: Closing): string {
  const { of, closed, refused } = closing;
  if (isUnderWay(closing)) return `Closing: ${closed + refused} of ${of} done. Each may take some 10 s.`;
  if (refused === 0) return `${closed} closed.`;
  return `${closed} closed, ${refused} not: the reason stands at each.`;
}

/** Does something for each, never more than `atOnce` at a time. */
export async function inTurns<Item>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const left = items.values();
  const worker = async () => {
    for (const item of left) await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}
