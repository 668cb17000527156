/**
 * Owns: which item of the output an event of the responses API means.
 * Does not own: what the event says of it (`responses-reader.ts`).
 *
 * An item is known by its place in the output, its id and, for a call, its call id, the more of them the surer; any of
 * them may be missing, wrong, or used twice.
 *
 * Invariants: an event that may mean an item there is opens no other one, unless what it says of itself speaks against
 * it; finding one costs no more however many there are.
 */
import { textOf, type Json } from './json.ts';
import { createShelves } from './shelves.ts';
import { maxCalls } from './tool-calls.ts';

export type ItemType = 'message' | 'function_call' | 'reasoning';

export interface Part {
  /** What was said of it, in whichever way. */
  said: string;
  /** How much of that its deltas have told. */
  heard: number;
}

export interface Item {
  readonly type: ItemType;
  /** Its number among the items of this answer. */
  readonly number: number;
  id: string;
  callId: string;
  /** Place in the output; null: not told. */
  at: number | null;
  name: string;
  readonly parts: Map<string, Part>;
  /** Of a call: its arguments. */
  readonly input: Part;
  /** It was told as an item, and not only a part of it. */
  announced: boolean;
  /** Of a call: its name was handed on. */
  named: boolean;
  kept: boolean;
  /** Told to be done. */
  done: boolean;
}

/** What an event says of the item it means. */
export interface Told {
  readonly id: string;
  readonly callId: string;
  readonly at: number | null;
  readonly json: Json;
}

/** Most items of one answer; an answer of more calls is not taken anyway. */
const maxItems = 2 * maxCalls;

/** The type of an item as it is told; null for one that Weir does not read. */
export function typeOf(item: Json): ItemType | null {
  const type = item['type'];
  return type === 'message' || type === 'function_call' || type === 'reasoning' ? type : null;
}

type Known = Pick<Told, 'id' | 'callId' | 'at'>;

/** Ways to know an item again, the surest first; null: it cannot be known that way. */
const ways: readonly ((type: ItemType, known: Known) => string | null)[] = [
  (type, { callId, at }) => (callId === '' || at === null ? null : `${type} call ${at} ${callId}`),
  (type, { id, at }) => (id === '' || at === null ? null : `${type} id ${at} ${id}`),
  (type, { callId }) => (callId === '' ? null : `${type} call ${callId}`),
  (type, { id }) => (id === '' ? null : `${type} id ${id}`),
  (type, { at }) => (at === null ? null : `${type} at ${at}`),
];

const differ = (a: string, b: string): boolean => a !== '' && b !== '' && a !== b;
const apart = (item: Item, told: Known): boolean =>
  item.at !== null && told.at !== null && item.at !== told.at;

/** The items of one answer. */
export function createItems() {
  const items: Item[] = [];
  const last: Partial<Record<ItemType, Item>> = {};
  const places = new Set<number>();
  const shelves = createShelves<Item>((item) => [
    ...ways.flatMap((way) => way(item.type, item) ?? []),
    ...(item.announced ? [] : [`${item.type} unannounced`]),
  ]);
  let tooMany = false;

  function open(type: ItemType, told: Known): Item {
    const { id, callId, at } = told;
    const item: Item = {
      type,
      number: items.length,
      id,
      callId,
      at,
      name: '',
      parts: new Map(),
      input: { said: '', heard: 0 },
      announced: false,
      named: false,
      kept: false,
      done: false,
    };
    // No more are kept than are taken; the answer ends here.
    if (items.length >= maxItems) tooMany = true;
    else {
      items.push(item);
      shelves.put(item);
      if (at !== null) places.add(at);
    }
    last[type] = item;
    return item;
  }

  /** Takes what an event says of an item that was not known of it. */
  function learn(item: Item, told: Told): Item {
    const name = textOf(told.json['name']);
    item.name ||= name;
    if (
      item.announced &&
      (item.id || !told.id) &&
      (item.callId || !told.callId) &&
      (item.at !== null || told.at === null)
    )
      return item;
    shelves.change(item, () => {
      item.id ||= told.id;
      item.callId ||= told.callId;
      item.at ??= told.at;
      item.announced = true;
    });
    if (item.at !== null) places.add(item.at);
    return item;
  }

  function find(type: ItemType, told: Told, means: (item: Item) => boolean): Item | undefined {
    for (const way of ways) {
      const key = way(type, told);
      const item = key === null ? undefined : shelves.last(key);
      if (item && means(item)) return item;
    }
    return undefined;
  }

  /** Ids of calls repeat, and the place tells them apart, unless it is that of yet another item. */
  const misplaced = (item: Item, told: Told): boolean =>
    item.type === 'function_call' &&
    apart(item, told) &&
    !(item.callId !== '' && item.callId === told.callId) &&
    !places.has(told.at!);

  /** One of which only parts came, and nothing that says it were another. */
  const orphan = (type: ItemType, told: Told): Item | undefined =>
    shelves
      .all(`${type} unannounced`)
      .find((item) => !apart(item, told) && !differ(item.id, told.id) && !differ(item.callId, told.callId));

  /** A call that is told once more under other ids. */
  const isSameCall = (item: Item, told: Told): boolean =>
    item.name === textOf(told.json['name']) && item.input.said === textOf(told.json['arguments']);

  return {
    all: (): readonly Item[] => items,
    /** Whether there are more than are taken. */
    overflowed: () => tooMany,

    ofPart(type: ItemType, told: Told): Item {
      const found = find(type, told, (item) => !misplaced(item, told));
      if (found) return found;
      // What says nothing of whose it is goes on with the last one, arguments also under an id that nobody knows.
      const isLost =
        type === 'function_call'
          ? told.at === null || places.has(told.at)
          : told.at === null && told.id === '';
      return (isLost ? last[type] : undefined) ?? open(type, told);
    },

    ofAnnouncement(type: ItemType, told: Told): Item {
      const found = find(type, told, (item) => {
        if (differ(item.callId, told.callId)) return false;
        if (apart(item, told))
          return item.id !== '' && item.id === told.id && item.callId !== '' && item.callId === told.callId;
        return !differ(item.id, told.id) || !item.done;
      });
      const again = items.at(-1);
      const isBlank = told.id === '' && told.callId === '' && told.at === null;
      const isAgain =
        isBlank &&
        again?.type === type &&
        again.name === textOf(told.json['name']) &&
        again.input.said === '';
      return learn(found ?? orphan(type, told) ?? (isAgain && again ? again : open(type, told)), told);
    },

    ofDone(type: ItemType, told: Told): Item {
      const found = find(type, told, (item) => {
        if (misplaced(item, told)) return false;
        return !differ(item.callId, told.callId) || !item.done || isSameCall(item, told);
      });
      return learn(found ?? orphan(type, told) ?? open(type, told), told);
    },

    /** The items of the whole output, all by the surest way first; what no way knows again is known by its order. */
    ofOutput(output: readonly Told[]): readonly (readonly [Item, Told])[] {
      if (output.length > maxItems) {
        tooMany = true;
        return [];
      }
      const left = new Set(items);
      const pairs = new Map<Told, Item>();
      for (const way of [...ways, (type: ItemType) => type]) {
        const queues = new Map<string, Item[]>();
        for (const item of left) {
          const key = way(item.type, item);
          if (key === null) continue;
          const queue = queues.get(key);
          if (queue) queue.push(item);
          else queues.set(key, [item]);
        }
        for (const told of output) {
          const type = typeOf(told.json);
          const key = type === null || pairs.has(told) ? null : way(type, told);
          const item = key === null ? undefined : queues.get(key)?.shift();
          if (!item) continue;
          pairs.set(told, item);
          left.delete(item);
        }
      }
      return output.flatMap((told) => {
        const type = typeOf(told.json);
        return type === null ? [] : [[learn(pairs.get(told) ?? open(type, told), told), told] as const];
      });
    },
  };
}
