/**
 * Owns: entries for tests: by hand, and random ones. A random journal is well formed (each entry is one of the
 * vocabulary, placed at the next revision) but not sensible: the fold must be total all the same (I6).
 */
import fc from 'fast-check';
import type { ApprovalCycle, Entry, EntryBody, Turn } from '../../src/projection/index.ts';

export const ann = { id: 'ann', name: 'Ann' };

/** An entry at a revision. */
export const entryAt = (revision: number, body: EntryBody, over: Partial<Entry> = {}): Entry =>
  ({
    ...body,
    id: `e${revision}`,
    revision,
    epoch: 1,
    generation: 0,
    lane: null,
    turnId: null,
    at: `t${revision}`,
    ...over,
  }) as Entry;

/** Entries at 1, 2, 3 … */
export const journalOf = (...bodies: readonly EntryBody[]): readonly Entry[] =>
  bodies.map((body, i) => entryAt(i + 1, body));

export const liveTurn: Turn = {
  id: 't1',
  kind: 'CHAT',
  phase: 'RUNNING',
  generation: 1,
  principal: ann,
  outcome: null,
  recoveries: 0,
  startedAt: 't0',
  settledAt: null,
};

export const settled = (type: 'COMPLETED' | 'FAILED' | 'CANCELED'): Turn => ({
  ...liveTurn,
  phase: type,
  outcome: { type, reason: 'DONE', message: '', unconfirmed: [] },
  settledAt: 't9',
});

export const open: EntryBody = { kind: 'LIFECYCLE', lifecycle: 'OPEN' };
export const began: EntryBody = { kind: 'TURN', turn: liveTurn };

export const said = (...callIds: readonly string[]): EntryBody => ({
  kind: 'ASSISTANT',
  text: 'text',
  reasoning: '',
  calls: callIds.map((callId) => ({ callId, providerId: 'p', name: 'tool', arguments: '{}' })),
  finish: 'STOP',
  model: 'test',
  usage: null,
  discarded: [],
});

const ok = { outcome: 'OK', effect: 'COMMITTED', content: 'done' } as const;
export const started = (callId: string): EntryBody => ({ kind: 'TOOL_STARTED', callId, name: 'tool' });
export const ended = (callId: string): EntryBody => ({
  kind: 'TOOL_SETTLED',
  callId,
  name: 'tool',
  result: ok,
});
export const rewound = (after: number): EntryBody => ({ kind: 'REWIND', after, reason: 'REWIND', by: ann });
export const answered = (callId: string): EntryBody => ({ kind: 'TOOL', callId, name: 'tool', ...ok });

const cycle = (status: ApprovalCycle['status'], ...callIds: readonly string[]): ApprovalCycle => ({
  id: 'c1',
  kind: 'TOOLS',
  turnId: 't1',
  status,
  items: callIds.map((callId) => ({
    callId,
    name: 'tool',
    arguments: '{}',
    argumentsHash: 'h',
    preview: { kind: 'TEXT', title: '', body: '' },
    basis: null,
    decision: null,
  })),
  openedAt: 't',
  closedAt: null,
});
export const asked = (status: ApprovalCycle['status'], ...callIds: readonly string[]): EntryBody => ({
  kind: 'APPROVAL',
  cycle: cycle(status, ...callIds),
});

const callId = fc.constantFrom('a', 'b', 'c');

/** Any entry of the vocabulary. */
const anyBody: fc.Arbitrary<EntryBody> = fc.oneof(
  fc.constantFrom<EntryBody>(
    open,
    { kind: 'LIFECYCLE', lifecycle: 'CLOSED' },
    {
      kind: 'CONFIGURATION',
      configuration: {
        title: 'T',
        model: 'm',
        workspace: '/w',
        approvalMode: 'TRUST_ALL',
        approvalModeBy: ann,
      },
    },
    { kind: 'USER', text: 'hello', author: ann, source: 'MESSAGE' },
    { kind: 'SYSTEM', text: 'note', source: 'test' },
    { kind: 'CANCELLATION', text: 'part', reasoning: '', reason: 'STOPPED' },
    { kind: 'RECOVERY', reason: 'MODEL', message: 'again' },
  ),
  fc
    .constantFrom(
      liveTurn,
      { ...liveTurn, recoveries: 2 },
      { ...liveTurn, phase: 'INTERRUPTING' as const },
      settled('COMPLETED'),
      settled('FAILED'),
      settled('CANCELED'),
    )
    .map((turn): EntryBody => ({ kind: 'TURN', turn })),
  fc
    .tuple(fc.nat(40), fc.constantFrom('REWIND' as const, 'RETRY' as const, 'EDIT' as const))
    .map(([after, reason]): EntryBody => ({ kind: 'REWIND', after, reason, by: ann })),
  fc.uniqueArray(callId).map((ids) => said(...ids)),
  callId.map(started),
  callId.map(ended),
  callId.map(answered),
  fc
    .tuple(fc.constantFrom('OPEN' as const, 'SETTLED' as const, 'SUPERSEDED' as const), callId)
    .map(([status, id]) => asked(status, id)),
  fc.boolean().map((held): EntryBody => ({
    kind: 'QUEUE',
    queue: {
      held,
      items: [
        { id: 'q', text: 'later', author: ann, delivery: 'QUEUE', turnId: null, afterStop: false, at: 't' },
      ],
    },
  })),
);

/** A random journal: revisions 1..n. */
export const anyJournal: fc.Arbitrary<readonly Entry[]> = fc
  .array(anyBody, { maxLength: 40, size: 'max' })
  .map((bodies) => journalOf(...bodies))
  // A rewind goes back, never forward.
  .map((journal) =>
    journal.map((e) => (e.kind === 'REWIND' ? { ...e, after: Math.min(e.after, e.revision - 1) } : e)),
  );
