/**
 * Owns: which entries a model sees, and how (D-34, D-35). Control entries never reach it. Every declared call is
 * followed by exactly one result before anything else, or the model would be shown an orphan. It is given what is told,
 * in that order: a summary stands before all that came after its watermark.
 *
 * What an entry becomes hangs on nothing that comes after it: a longer conversation begins as the shorter one did.
 */
import type { Author, Entry, EntryOf, Senders } from 'schema/projection';
import { summaryAsTold } from '../context/texts.ts';
import type { ModelMessage } from './message.ts';

const cancellationMark: Readonly<Record<EntryOf<'CANCELLATION'>['reason'], string>> = {
  STOPPED: '[The person stopped this answer here.]',
  FAILED: '[This answer broke off here.]',
};

/** The conversation as a model is told it. */
export function lower(system: string, conversation: readonly Entry[]): readonly ModelMessage[] {
  let senders = nobody;
  const told = conversation.map((entry) => {
    senders = withSender(senders, entry);
    return lowerEntry(entry, senders);
  });
  return [{ role: 'system', text: system }, ...told.filter((message) => message !== null)];
}

export const nobody: Senders = { first: null, several: false };

/** Who has written up to this entry, itself included. */
export function withSender(senders: Senders, entry: Entry): Senders {
  // What comes after a summary is told as it was told before it: it knows who wrote what it stands for.
  if (entry.kind === 'CHECKPOINT') return entry.senders ?? senders;
  if (senders.several || entry.kind !== 'USER' || entry.source === 'COMPACTION_RESUME') return senders;
  const first = senders.first ?? entry.author.id;
  return { first, several: first !== entry.author.id };
}

/** What a model is told of one entry, given who has written up to it, itself included; null: nothing. */
export function lowerEntry(entry: Entry, { several }: Senders): ModelMessage | null {
  switch (entry.kind) {
    case 'USER':
      // From the second sender on, each message says whose it is (D-36); nobody else's label stands at its beginning.
      return {
        role: 'user',
        text:
          several && entry.source !== 'COMPACTION_RESUME'
            ? `[${nameOf(entry.author)} writes:]\n${entry.text}`
            : entry.text,
      };
    case 'SYSTEM':
      return { role: 'user', text: entry.text };
    case 'CHECKPOINT':
      return { role: 'user', text: summaryAsTold(entry) };
    case 'ASSISTANT':
      // An answer with neither text nor calls has nothing to say, and many endpoints refuse it.
      if (entry.text === '' && entry.calls.length === 0 && entry.discarded.length === 0) return null;
      return {
        role: 'assistant',
        text: textOf(entry),
        calls: entry.calls,
        ...(entry.reasoning === '' ? {} : { reasoning: entry.reasoning }),
        ...(entry.native && { native: entry.native }),
      };
    case 'CANCELLATION':
      return {
        role: 'assistant',
        text: [entry.text, cancellationMark[entry.reason]].filter((t) => t !== '').join('\n'),
        calls: [],
      };
    case 'TOOL':
      return { role: 'tool', callId: entry.callId, text: entry.content };
    default:
      return null;
  }
}

/** One line without brackets: a name is what somebody else typed. */
const nameOf = ({ name }: Author): string => name.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}[\]\s]+/gu, ' ').trim();

const discardedFor: Partial<Record<EntryOf<'ASSISTANT'>['finish'], string>> = {
  LENGTH: 'Cut off at the length limit',
  CONTENT_FILTER: 'Stopped by the content filter',
};

function textOf(entry: EntryOf<'ASSISTANT'>): string {
  if (entry.discarded.length === 0) return entry.text;
  const why = discardedFor[entry.finish] ?? 'Too many tool calls in one answer';
  const note = `[${why}; these were not run: ${entry.discarded.join(', ')}.]`;
  return entry.text === '' ? note : `${entry.text}\n${note}`;
}
