/**
 * Owns: what was typed and is not safe on the server yet, as one value: the text in the field, the messages under way,
 * and those that came back; how it is kept for as long as the tab lives.
 * Does not own: sending (`outbox.svelte.ts`).
 *
 * Invariants: a message keeps its key for as long as nobody changes its text (D-60); messages stay in the order in
 * which they were written; two messages become one only in the hands of a person.
 */
import { isBlank } from 'schema/projection';
import { isRecord, type Kept } from '../../lib/kept.ts';

/** A message as it is sent: the same text under the same key each time. */
export interface Message {
  readonly key: string;
  readonly text: string;
  /**
   * The turn it is said to while that runs (STEER); null: it waits until no turn runs. Absent in what came back and was
   * never sent under this key: whoever sends it again chooses.
   */
  readonly steers?: string | null;
}

export interface Outgoing {
  /** What stands in the field. */
  readonly text: string;
  /** Taken out of the field and not acknowledged, oldest first. */
  readonly sending: readonly Message[];
  /** Put back into the field, in this order at its beginning, unless they were changed there. */
  readonly returned: readonly Message[];
}

export const nothing: Outgoing = { text: '', sending: [], returned: [] };

/** Between messages that stand in the field together. */
const GAP = '\n\n';

/** What sending the field would send: the messages that came back and are unchanged, and what stands behind them. */
export function split(
  text: string,
  returned: readonly Message[],
): { same: readonly Message[]; rest: string } {
  const same: Message[] = [];
  let rest = text;
  for (const message of returned) {
    if (rest.trimEnd() === message.text.trimEnd()) rest = '';
    else if (rest.startsWith(message.text + GAP)) rest = rest.slice(message.text.length + GAP.length);
    else break;
    same.push(message);
  }
  return { same, rest: isBlank(rest) ? '' : rest };
}

/** Takes everything out of the field, to be sent behind what is under way already. `steers`: as in `Message`. */
export function taken(
  { text, sending, returned }: Outgoing,
  newKey: () => string,
  steers: string | null = null,
): Outgoing {
  const { same, rest } = split(text, returned);
  const again = same.map((message) => ({ steers, ...message }));
  const written = rest === '' ? [] : [{ key: newKey(), text: rest, steers }];
  return { text: '', sending: [...sending, ...again, ...written], returned: [] };
}

/** Puts these messages back in front of what was typed meanwhile. Nothing is under way any more. */
export function broughtBack({ text }: Outgoing, messages: readonly Message[]): Outgoing {
  const texts = messages.map((message) => message.text);
  return {
    text: [...texts, ...(isBlank(text) ? [] : [text])].join(GAP),
    sending: [],
    returned: messages,
  };
}

const PREFIX = 'composer.';

/** The workstreams of which something is kept. */
export const keptIn = ({ names }: Kept): readonly string[] =>
  names.flatMap((name) => (name.startsWith(PREFIX) ? [name.slice(PREFIX.length)] : []));

export const read = (kept: Kept, workstreamId: string): Outgoing =>
  kept.read(PREFIX + workstreamId, isOutgoing) ?? nothing;

/** False when the storage has no room for it. */
export function keep(kept: Kept, workstreamId: string, outgoing: Outgoing): boolean {
  const { text, sending, returned } = outgoing;
  const isEmpty = text === '' && sending.length === 0 && returned.length === 0;
  return kept.keep(PREFIX + workstreamId, isEmpty ? null : outgoing);
}

const isMessages = (value: unknown): boolean =>
  Array.isArray(value) &&
  value.every(
    (message) =>
      isRecord(message) &&
      typeof message['key'] === 'string' &&
      typeof message['text'] === 'string' &&
      ((message['steers'] ?? null) === null || typeof message['steers'] === 'string'),
  );

const isOutgoing = (value: unknown): value is Outgoing =>
  isRecord(value) &&
  typeof value['text'] === 'string' &&
  isMessages(value['sending']) &&
  isMessages(value['returned']);

/** Bytes a message may have at most, as the server counts them. */
const MOST_BYTES = 1_000_000;

/** Why a text cannot be sent, in words; null when it can. */
export function unsendable(text: string): string | null {
  if (isBlank(text)) return 'Write something first.';
  return new TextEncoder().encode(text).byteLength > MOST_BYTES
    ? 'This is longer than 1 MB. Put it in a file of the workspace and name the file instead.'
    : null;
}
