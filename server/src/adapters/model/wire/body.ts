/**
 * Owns: the bytes of a request, and keeping of them what the next request of the same conversation begins with.
 * Does not own: what a message looks like on the wire (the forms: `chat-request.ts`, `responses-request.ts`).
 *
 * Invariants: the bytes are those of the whole body written at once; what is kept was made for the very same messages,
 * told in the same way, else it is made anew; bytes that were handed out never change.
 *
 * What it costs: each conversation's bytes once more in memory (with up to half as much room to grow), for each caller
 * that was asked with it, and for as long as its messages live, that is while the workstream is loaded.
 */
import type { ModelMessage } from '../../../ports/model.ts';
import { createWireIds, type Outgoing, type WireIds } from './outgoing.ts';

/** How one dialect tells a request: an object with one list in it, of which each message is a part of its own. */
export interface Form {
  readonly list: 'messages' | 'input';
  /** How many messages from the first on are told outside of the list. */
  leading(messages: readonly ModelMessage[]): number;
  /** What stands before the list. */
  before(outgoing: Outgoing): object;
  /** What one message is in the list: nothing, or one thing or several. */
  items(message: ModelMessage, outgoing: Outgoing, idOf: WireIds['idOf']): readonly object[];
  /** All that `items` goes by and that may be different in the next request. */
  manner(outgoing: Outgoing): string;
  /** What stands after the list. */
  after(outgoing: Outgoing): object;
}

export interface BodyWriter {
  /** The body in pieces, of which the long one is what is kept and no copy of it. */
  write(outgoing: Outgoing): readonly Uint8Array<ArrayBuffer>[];
}

/** Of one conversation, what is on the wire up to and with its last message known here. */
interface Written {
  readonly head: string;
  readonly manner: string;
  readonly ids: WireIds;
  readonly messages: ModelMessage[];
  /** Where each of them ends in `bytes`. */
  readonly ends: number[];
  /** Only ever added to; where there is no room, and where something is cut, others take their place. */
  bytes: Buffer<ArrayBuffer>;
}

const roomAtFirst = 4_096;

/** Whoever writes the bodies of one binding's requests: what is kept does not say of which model it is. */
export function createBodyWriter(form: Form): BodyWriter {
  const writtenUpTo = new WeakMap<ModelMessage, Written>();

  /** Looked for from the end: in a conversation that goes on, only what is new is passed by. */
  function find(messages: readonly ModelMessage[]): Written | undefined {
    for (let i = messages.length - 1; i >= 0; i -= 1) {
      const written = writtenUpTo.get(messages[i]!);
      if (written) return written;
    }
    return undefined;
  }

  function goOn(written: Written, messages: readonly ModelMessage[], outgoing: Outgoing): void {
    for (let i = written.messages.length; i < messages.length; i += 1) {
      const message = messages[i]!;
      written.ids.assign(message);
      const items = form.items(message, outgoing, written.ids.idOf);
      const end = endOf(written);
      const comma = items.length > 0 && end > headEnd(written) ? ',' : '';
      const text = comma + items.map((item) => JSON.stringify(item)).join(',');
      written.ends.push(put(written, end, text));
      written.messages.push(message);
      writtenUpTo.set(message, written);
    }
  }

  return {
    write(outgoing) {
      const told = outgoing.asked.messages.slice(form.leading(outgoing.asked.messages));
      const head = `${JSON.stringify(form.before(outgoing)).slice(0, -1)},"${form.list}":[`;
      const manner = form.manner(outgoing);
      const there = find(told);
      const same = there?.head === head && there.manner === manner ? sharedLength(there.messages, told) : 0;
      const written = there && same > 0 ? cutTo(there, same) : begin(head, manner);
      if (written !== there) for (const message of written.messages) writtenUpTo.set(message, written);
      goOn(written, told, outgoing);
      const rest = Buffer.from(`],${JSON.stringify(form.after(outgoing)).slice(1)}`);
      return [written.bytes.subarray(0, endOf(written)), rest];
    },
  };
}

function begin(head: string, manner: string): Written {
  const written = {
    head,
    manner,
    ids: createWireIds(),
    messages: [],
    ends: [],
    bytes: Buffer.allocUnsafeSlow(roomAtFirst),
  };
  put(written, 0, head);
  return written;
}

/** The same when nothing is cut; else another, since what is cut may still be on its way. */
function cutTo(written: Written, length: number): Written {
  if (length === written.messages.length) return written;
  const messages = written.messages.slice(0, length);
  const ids = createWireIds();
  messages.forEach(ids.assign);
  return {
    ...written,
    ids,
    messages,
    ends: written.ends.slice(0, length),
    bytes: Buffer.from(written.bytes.subarray(0, written.ends[length - 1])),
  };
}

/** How many of the first messages are the very same ones. */
function sharedLength(known: readonly ModelMessage[], told: readonly ModelMessage[]): number {
  const most = Math.min(known.length, told.length);
  let length = 0;
  while (length < most && known[length] === told[length]) length += 1;
  return length;
}

const headEnd = ({ head }: Written): number => Buffer.byteLength(head);

const endOf = (written: Written): number => written.ends.at(-1) ?? headEnd(written);

/** Writes at this place, and answers where it ends. */
function put(written: Written, at: number, text: string): number {
  const end = at + Buffer.byteLength(text);
  if (end > written.bytes.length) {
    const larger = Buffer.allocUnsafeSlow(Math.max(end, Math.ceil(written.bytes.length * 1.5)));
    written.bytes.copy(larger, 0, 0, at);
    written.bytes = larger;
  }
  written.bytes.write(text, at);
  return end;
}
