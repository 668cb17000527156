/**
 * Owns: values that outlive a reload of the page, in the storage of its tab. Does not own: what they mean.
 *
 * Invariant: what is read has the shape that was asked for, whoever wrote it: an older page may have.
 */

export type Store = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

/** What is kept under this key; null when there is nothing, or nothing that `is` knows. */
export function readKept<Value>(
  store: Pick<Store, 'getItem'>,
  key: string,
  is: (value: unknown) => value is Value,
): Value | null {
  try {
    const kept: unknown = JSON.parse(store.getItem(key) ?? 'null');
    return is(kept) ? kept : null;
  } catch {
    return null;
  }
}

/**
 * Keeps a value; null: nothing any more. False when the storage has no room for it: then it is only on the page, and
 * what was kept before stays there.
 */
export function keep(store: Omit<Store, 'getItem'>, key: string, value: unknown): boolean {
  try {
    if (value === null) store.removeItem(key);
    else store.setItem(key, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
