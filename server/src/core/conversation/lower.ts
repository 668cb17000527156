/**
 * Owns: which entries a model sees, and how (D-34, D-35). Control entries never reach it. Every declared call is
 * followed by exactly one result before anything else, or the model would be shown an orphan.
 */
import type { Entry, EntryOf } from 'schema/projection';
import type { ModelMessage } from './message.ts';

const cancellationMark: Readonly<Record<EntryOf<'CANCELLATION'>['reason'], string>> = {
  STOPPED: '[The person stopped this answer here.]',
  FAILED: '[This answer broke off here.]',
};

/** The conversation as a model is told it. */
export function lower(system: string, conversation: readonly Entry[]): readonly ModelMessage[] {
  const told = conversation.map(lowerEntry);
  return [{ role: 'system', text: system }, ...told.filter((message) => message !== null)];
}

/** What a model is told of one entry, whatever stands around it; null: nothing. */
export function lowerEntry(entry: Entry): ModelMessage | null {
  switch (entry.kind) {
    case 'USER':
    case 'SYSTEM':
      return { role: 'user', text: entry.text };
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
