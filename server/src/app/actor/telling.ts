/**
 * Owns: what the model of one workstream is told, kept from call to call: the same entry is the same message, so that
 * who asks the model can know what it was told before, and only what is new is made.
 * Does not own: what is told of an entry (`core/conversation/lower.ts`).
 *
 * Relies on: a conversation grows at its end and is cut at its end (D-59), so what stands before an entry is always the
 * same, unless a summary has taken the place of its beginning (D-40), which then begins with another entry.
 */
import type { Entry, Senders } from 'schema/projection';
import { lowerEntry, nobody, withSender } from '../../core/conversation/lower.ts';
import type { ModelMessage } from '../../ports/model.ts';

/** Tells what `lower` does, of one conversation at any time. */
export function createTelling(): (system: string, conversation: readonly Entry[]) => readonly ModelMessage[] {
  let known: readonly Entry[] = [];
  /** The system message, and what comes of the entries known. */
  const messages: ModelMessage[] = [];
  /** Up to and with each of them: how many messages there are, and who has written. */
  const through: { readonly messages: number; readonly senders: Senders }[] = [];

  /** How many of the entries known still stand: all, unless some were taken back, or the beginning is summarised. */
  function standing(conversation: readonly Entry[]): number {
    if (known[0] !== conversation[0]) return 0;
    let length = Math.min(known.length, conversation.length);
    while (length > 0 && known[length - 1] !== conversation[length - 1]) length -= 1;
    return length;
  }

  return (system, conversation) => {
    const first = messages[0];
    if (first?.role !== 'system' || first.text !== system) messages[0] = { role: 'system', text: system };
    through.length = standing(conversation);
    messages.length = through.at(-1)?.messages ?? 1;
    for (const entry of conversation.slice(through.length)) {
      const senders = withSender(through.at(-1)?.senders ?? nobody, entry);
      const message = lowerEntry(entry, senders);
      if (message) messages.push(message);
      through.push({ messages: messages.length, senders });
    }
    known = conversation;
    return messages.slice();
  };
}
