/**
 * Owns: putting streamed pieces of tool calls together, however a provider cuts, numbers and repeats them.
 * Does not own: how a dialect writes a piece (its reader), the text of arguments (`arguments.ts`), whether a call makes sense (the tools), or our own ids (D-35).
 *
 * Which call a piece belongs to: its id, unless the index says otherwise; then its index; then the last call. A
 * piece opens a new call when what it brings cannot continue the call it points at.
 *
 * Invariant: a piece costs what it is long, however many came before it.
 */
import { createArgumentsText, type ArgumentsText } from './arguments.ts';
import type { CallPiece } from './chunk.ts';
import { createShelves } from './shelves.ts';

/** Most calls of one answer; more than that is no plan but a loop. */
export const maxCalls = 1_000;
/** Most of a name that is kept, UTF-16 units. Those of tools have at most 64. */
const maxName = 1_000;
/** Most of a provider's id that is kept, UTF-16 units. */
const maxId = 1_000;

export interface AssembledCall {
  readonly providerId: string;
  readonly name: string;
  /** JSON text as the model wrote it, not necessarily valid; `{}` when it wrote nothing. */
  readonly arguments: string;
  /** What the provider wants to see again beside it; absent when nothing came. */
  readonly extra?: unknown;
}

interface Slot {
  /** Its number among the calls, as they were opened. */
  readonly number: number;
  place: number | null;
  index: number | null;
  id: string;
  name: Name;
  readonly arguments: ArgumentsText;
  extra?: unknown;
  /** Number of the chunk that last wrote to it. */
  chunk: number;
}

/** What the pieces of a name amount to so far. */
interface Name {
  /** Pieces joined; one that goes on from what there is replaces it. '' when none came. */
  readonly joined: string;
  /** The last piece that is a tool that was offered. */
  readonly known: string | null;
}

const noName: Name = { joined: '', known: null };

export interface ToolCallAssembly {
  /**
   * The pieces of one event. Gives the UTF-16 units of arguments that were kept, or null once there are more calls
   * than `maxCalls`, or more pieces in one event; what is beyond them is dropped.
   */
  add(pieces: readonly CallPiece[]): number | null;
  finish(): readonly AssembledCall[];
}

/** `toolNames` are the tools that were offered; they settle in how many pieces a name came. */
export function createToolCallAssembly(toolNames: ReadonlySet<string>): ToolCallAssembly {
  const slots: Slot[] = [];
  const shelves = createShelves<Slot>(({ id, index }) => [
    ...(id === '' ? [] : [`id ${id}`, `id ${id} at ${index}`]),
    `at ${index}`,
  ]);
  let chunk = 0;

  function put(piece: CallPiece): number | null {
    const pointed = target(piece);
    const slot = pointed && continues(pointed, piece) ? pointed : openSlot(piece);
    if (!slot) return null;
    slot.chunk = chunk;
    slot.place ??= piece.place ?? null;
    if ((slot.index === null && piece.index !== null) || (slot.id === '' && piece.id !== ''))
      shelves.change(slot, () => {
        slot.index ??= piece.index;
        slot.id ||= piece.id;
      });
    if (piece.extra !== undefined) slot.extra = piece.extra;
    if (piece.name !== '') slot.name = withPiece(slot.name, piece.name, toolNames);
    return slot.arguments.add(piece.arguments);
  }

  /** The call a piece points at. */
  function target({ id, index }: CallPiece): Slot | undefined {
    if (id !== '') {
      const byId =
        index === null ? shelves.last(`id ${id}`) : later(`id ${id} at ${index}`, `id ${id} at null`);
      if (byId) return byId;
    }
    return index === null ? slots.at(-1) : shelves.last(`at ${index}`);
  }

  function later(key: string, other: string): Slot | undefined {
    const [a, b] = [shelves.last(key), shelves.last(other)];
    return a && b ? (a.number > b.number ? a : b) : (a ?? b);
  }

  function continues(slot: Slot, piece: CallPiece): boolean {
    const named = slot.name.joined !== '';
    if (piece.name !== '' && named) {
      // Two named entries of one chunk are two calls, even when they are alike.
      if (slot.chunk === chunk) return false;
      if (namesAnother(slot, piece) || bringsOtherArguments(slot, piece)) return false;
    }
    if (piece.id === '' || slot.id === piece.id) return true;
    // Another id: it comes late to a slot that had none, …
    if (slot.id === '') return piece.name === '' || !named;
    // … or it is one of those that change with every chunk, which name nothing and go on with unfinished arguments.
    return piece.index !== null && piece.name === '' && piece.arguments !== '' && !slot.arguments.isWhole();
  }

  /** Both names are tools, and the second does not merely go on with the first. */
  function namesAnother(slot: Slot, piece: CallPiece): boolean {
    const name = nameText(slot.name, toolNames);
    const grown = nameText(withPiece(slot.name, piece.name, toolNames), toolNames);
    return piece.name !== name && grown === piece.name && !piece.name.startsWith(name) && toolNames.has(name);
  }

  function openSlot({ index, id }: CallPiece): Slot | null {
    if (slots.length >= maxCalls) return null;
    const slot: Slot = {
      number: slots.length,
      place: null,
      index,
      id,
      name: noName,
      arguments: createArgumentsText(),
      chunk,
    };
    slots.push(slot);
    shelves.put(slot);
    return slot;
  }

  return {
    add(pieces) {
      if (pieces.length > maxCalls) return null;
      chunk++;
      let kept = 0;
      for (const piece of pieces) {
        const units = put(trimmed(piece));
        if (units === null) return null;
        kept += units;
      }
      return kept;
    },
    finish: () =>
      inPlace(slots)
        // A slot that got neither name nor arguments is a stray id.
        .filter((slot) => slot.name.joined !== '' || !slot.arguments.isEmpty())
        .map((slot) => ({
          providerId: slot.id,
          name: nameText(slot.name, toolNames),
          arguments: slot.arguments.text(),
          ...(slot.extra !== undefined && { extra: slot.extra }),
        })),
  };
}

const trimmed = (piece: CallPiece): CallPiece => ({
  ...piece,
  id: piece.id.trim().slice(0, maxId),
  name: piece.name.trim().slice(0, maxName),
});

/** In the order of their places where all have one, else as they came. */
const inPlace = (slots: readonly Slot[]): readonly Slot[] =>
  slots.every(({ place }) => place !== null) ? slots.toSorted((a, b) => a.place! - b.place!) : slots;

/** A call that is whole is followed by its own repetition at most; other arguments begin the next call. */
function bringsOtherArguments(slot: Slot, piece: CallPiece): boolean {
  if (!piece.arguments.trimStart().startsWith('{') || !slot.arguments.isWhole()) return false;
  const written = slot.arguments.text();
  // `{}` first and the real arguments later is one call.
  return written !== piece.arguments && written.trim() !== '{}';
}

/** A name may come whole each time, growing, or in fragments. */
function withPiece({ joined, known }: Name, piece: string, toolNames: ReadonlySet<string>): Name {
  return {
    joined: piece.startsWith(joined) ? piece : (joined + piece).slice(0, maxName),
    known: toolNames.has(piece) ? piece : known,
  };
}

/**
 * Fragments joined give the name unless only one piece of them is a tool that was offered. A prefix such as
 * `functions.` is dropped when only what follows is known.
 */
function nameText({ joined, known }: Name, toolNames: ReadonlySet<string>): string {
  if (toolNames.has(joined)) return joined;
  if (known !== null) return known;
  const bare = joined.replace(/^.*[.:/]/, '');
  return toolNames.has(bare) ? bare : joined;
}
