/**
 * Owns: putting streamed pieces of tool calls together, however a provider cuts, numbers and repeats them.
 * Does not own: whether a call makes sense (the tools), or our own ids (D-35).
 *
 * Which call a piece belongs to: its id, unless the index says otherwise; then its index; then the last call. A
 * piece opens a new call when what it brings cannot continue the call it points at.
 */
import { isRecord, listOf, parseJson, textOf, type Json } from './json.ts';

export interface AssembledCall {
  readonly providerId: string;
  readonly name: string;
  /** JSON text as the model wrote it, not necessarily valid; `{}` when it wrote nothing. */
  readonly arguments: string;
}

interface Piece {
  readonly index: number | null;
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

interface Slot {
  index: number | null;
  id: string;
  readonly names: string[];
  readonly fragments: string[];
  /** Number of the chunk that last wrote to it. */
  chunk: number;
}

export interface ToolCallAssembly {
  /** The `tool_calls` of one delta; anything else than a list is ignored. */
  add(toolCalls: unknown): void;
  finish(): readonly AssembledCall[];
}

/** `toolNames` are the tools that were offered; they settle in how many pieces a name came. */
export function createToolCallAssembly(toolNames: ReadonlySet<string>): ToolCallAssembly {
  const slots: Slot[] = [];
  let chunk = 0;

  function put(piece: Piece): void {
    const pointed = target(slots, piece);
    const slot = pointed && continues(pointed, piece) ? pointed : openSlot(piece);
    slot.chunk = chunk;
    slot.index ??= piece.index;
    if (slot.id === '') slot.id = piece.id;
    if (piece.name !== '') slot.names.push(piece.name);
    if (piece.arguments !== '') slot.fragments.push(piece.arguments);
  }

  function continues(slot: Slot, piece: Piece): boolean {
    if (piece.name !== '' && slot.names.length > 0) {
      // Two named entries of one chunk are two calls, even when they are alike.
      if (slot.chunk === chunk) return false;
      if (namesAnother(slot, piece) || bringsOtherArguments(slot, piece)) return false;
    }
    if (piece.id === '' || slot.id === piece.id) return true;
    // Another id: it comes late to a slot that had none, …
    if (slot.id === '') return piece.name === '' || slot.names.length === 0;
    // … or it is one of those that change with every chunk, which name nothing and go on with unfinished arguments.
    return piece.index !== null && piece.name === '' && piece.arguments !== '' && !isWhole(slot);
  }

  /** Both names are tools, and the second does not merely go on with the first. */
  function namesAnother(slot: Slot, piece: Piece): boolean {
    const name = joinName(slot.names, toolNames);
    const grown = joinName([...slot.names, piece.name], toolNames);
    return piece.name !== name && grown === piece.name && !piece.name.startsWith(name) && toolNames.has(name);
  }

  function openSlot(piece: Piece): Slot {
    const slot: Slot = { index: piece.index, id: piece.id, names: [], fragments: [], chunk };
    slots.push(slot);
    return slot;
  }

  return {
    add(toolCalls) {
      chunk++;
      for (const item of listOf(toolCalls)) if (isRecord(item)) put(toPiece(item));
    },
    finish: () =>
      slots
        // A slot that got neither name nor arguments is a stray id.
        .filter((slot) => slot.names.length > 0 || slot.fragments.length > 0)
        .map((slot) => ({
          providerId: slot.id,
          name: joinName(slot.names, toolNames),
          arguments: joinArguments(slot.fragments),
        })),
  };
}

function toPiece(item: Json): Piece {
  const f = isRecord(item['function']) ? item['function'] : {};
  const input = f['arguments'];
  const index = item['index'];
  return {
    index: typeof index === 'number' && Number.isInteger(index) ? index : null,
    id: textOf(item['id']).trim(),
    name: textOf(f['name']).trim(),
    // Some endpoints send the arguments as an object instead of its text.
    arguments: typeof input === 'string' ? input : isRecord(input) ? JSON.stringify(input) : '',
  };
}

/** The call a piece points at. */
function target(slots: readonly Slot[], piece: Piece): Slot | undefined {
  const sameIndex = (slot: Slot): boolean =>
    piece.index === null || slot.index === null || slot.index === piece.index;
  if (piece.id !== '') {
    const byId = slots.findLast((slot) => slot.id === piece.id && sameIndex(slot));
    if (byId) return byId;
  }
  return piece.index === null ? slots.at(-1) : slots.findLast((slot) => slot.index === piece.index);
}

/** A call that is whole is followed by its own repetition at most; other arguments begin the next call. */
function bringsOtherArguments(slot: Slot, piece: Piece): boolean {
  if (!piece.arguments.trimStart().startsWith('{') || !isWhole(slot)) return false;
  const written = slot.fragments.join('');
  // `{}` first and the real arguments later is one call.
  return written.trim() !== '{}' && written !== piece.arguments;
}

const isWhole = (slot: Slot): boolean =>
  slot.fragments.length > 0 && isObjectText(joinArguments(slot.fragments));

const isObjectText = (text: string): boolean => text.trimEnd().endsWith('}') && isRecord(parseJson(text));

/**
 * A name may come whole each time, growing, or in fragments. Fragments joined give the name unless only one piece of
 * them is a tool that was offered. A prefix such as `functions.` is dropped when only what follows is known.
 */
function joinName(pieces: readonly string[], toolNames: ReadonlySet<string>): string {
  const joined = pieces.reduce((name, piece) => (piece.startsWith(name) ? piece : name + piece), '');
  if (toolNames.has(joined)) return joined;
  const known = pieces.findLast((piece) => toolNames.has(piece));
  if (known) return known;
  const bare = joined.replace(/^.*[.:/]/, '');
  return toolNames.has(bare) ? bare : joined;
}

/** Fragments joined, unless that is no object and the fragments are repeats of one or grow towards the last. */
function joinArguments(fragments: readonly string[]): string {
  const joined = fragments.join('');
  if (joined.trim() === '') return '{}';
  if (fragments.length === 1 || isObjectText(joined)) return joined;
  const last = fragments.at(-1) ?? '';
  if (isObjectText(last) && fragments.every((f) => f.trim() === '{}' || last.startsWith(f))) return last;
  // `{}` as a placeholder before the real fragments.
  if (fragments[0]?.trim() === '{}') return joinArguments(fragments.slice(1));
  // The fragments, and then the whole once more.
  const before = fragments.slice(0, -1).join('');
  return isObjectText(last) && before === last ? last : joined;
}
