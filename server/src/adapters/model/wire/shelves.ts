/**
 * Owns: finding again the last of many things by what is known of it, without looking at all of them. Pure.
 *
 * Invariant: what is on a shelf stands in the order in which it was first put there.
 */

export interface Shelves<T> {
  put(thing: T): void;
  /** Changes what a thing is known by. */
  change(thing: T, change: () => void): void;
  last(key: string): T | undefined;
  all(key: string): readonly T[];
}

/** `keysOf` gives all a thing is known by now; it may change by `change` alone. */
export function createShelves<T extends { readonly number: number }>(
  keysOf: (thing: T) => readonly string[],
): Shelves<T> {
  const shelves = new Map<string, T[]>();

  function put(thing: T): void {
    for (const key of keysOf(thing)) {
      const shelf = shelves.get(key) ?? [];
      shelves.set(key, shelf);
      shelf.splice(shelf.findLastIndex(({ number }) => number < thing.number) + 1, 0, thing);
    }
  }

  return {
    put,
    change(thing, change) {
      for (const key of keysOf(thing)) {
        const shelf = shelves.get(key);
        const at = shelf?.indexOf(thing) ?? -1;
        if (at !== -1) shelf?.splice(at, 1);
      }
      change();
      put(thing);
    },
    last: (key) => shelves.get(key)?.at(-1),
    all: (key) => shelves.get(key) ?? [],
  };
}
