/**
 * Owns: entries for tests: by hand, and random ones. A random journal is well formed (each entry is one of the
 * vocabulary, placed at the next revision) but not sensible: the fold must be total all the same (I6).
 */
import fc from 'fast-check';
import type {
  ApprovalCycle,
  ContextMark,
  Entry,
  EntryBody,
  Fire,
  Turn,
  Watch,
} from '../../src/projection/index.ts';

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

export const open: EntryBody = { kind: 'LIFECYCLE', lifecycle: 'OPEN', by: ann };
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
export const markOf = (told: number, over: Partial<ContextMark> = {}): ContextMark => ({
  told,
  counted: null,
  scale: 1,
  overhead: 10,
  window: 1_000,
  ...over,
});
export const summarised = (watermark: number, context: ContextMark): EntryBody => ({
  kind: 'CHECKPOINT',
  summary: 'So far.',
  watermark,
  request: null,
  trigger: 'OVERFLOW',
  before: 900,
  after: 70,
  model: 'test-1',
  alias: 'test',
  context,
});
/** Begins to summarise, in a live turn. */
export const compacting = (id: string): EntryBody => ({
  kind: 'TURN',
  turn: { ...liveTurn, phase: 'COMPACTING', compaction: { id, trigger: 'OVERFLOW', resume: false } },
});
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

/** A question about the budget, and what was decided. */
export const budgeted = (
  budget: { readonly spent: number; readonly limit: number; readonly grant: number },
  verdict: 'APPROVED' | 'DENIED' | null,
): EntryBody => ({
  kind: 'APPROVAL',
  cycle: {
    ...cycle(verdict === null ? 'OPEN' : 'SETTLED', 'budget'),
    id: 'b1',
    kind: 'BUDGET',
    budget,
    items: cycle('OPEN', 'budget').items.map((item) => ({
      ...item,
      decision: verdict && { verdict, source: 'PERSON', by: ann, feedback: null, at: 't' },
    })),
  },
});

export const configured = (over: {
  readonly model?: string;
  readonly instructions?: string;
  readonly tokenBudget?: number;
}): EntryBody => ({
  kind: 'CONFIGURATION',
  configuration: {
    title: 'T',
    titleSource: 'GENERATED',
    model: 'm',
    workspace: '/w',
    approvalMode: 'TRUST_ALL',
    approvalModeBy: ann,
    ...over,
  },
});

export const watchOf = (id: string, over: Partial<Watch> = {}): Watch => ({
  id,
  version: 1,
  definition: {
    name: id,
    command: 'make status',
    condition: null,
    everySeconds: 30,
    maxPolls: 100,
    deadline: null,
    repeat: true,
    instruction: null,
  },
  status: 'ACTIVE',
  pausedBy: null,
  end: null,
  author: ann,
  depth: 1,
  createdAt: 't',
  lastFire: 0,
  firesTold: 0,
  due: 'LATER',
  ...over,
});
export const watching = (id: string, over: Partial<Watch> = {}): EntryBody => ({
  kind: 'WATCH',
  watch: watchOf(id, over),
});
/** What a watch said, as it is told the model. */
export const fired = (id: string, poll: number): EntryBody => {
  const { definition, author, depth } = watchOf(id);
  const fire: Fire = {
    watchId: id,
    poll,
    reason: 'CHANGE',
    ended: false,
    definition,
    elapsedSeconds: 30,
    exitCode: 0,
    output: 'green',
    error: null,
    author,
    depth,
    firesBefore: poll - 1,
    skipped: 0,
  };
  return { kind: 'SYSTEM', text: `It fired at ${poll}.`, source: 'WATCH', fire };
};

const plain = { noNullPrototype: true };
const anyMark: fc.Arbitrary<ContextMark> = fc.record(
  {
    told: fc.nat(2_000),
    counted: fc.option(
      fc.record(
        {
          tokens: fc.nat(2_000),
          told: fc.nat(2_000),
        },
        plain,
      ),
    ),
    scale: fc.double({ min: 0.5, max: 4, noNaN: true }),
    overhead: fc.nat(500),
    window: fc.option(fc.integer({ min: 1, max: 4_000 })),
  },
  plain,
);

const callId = fc.constantFrom('a', 'b', 'c');

/** Any entry of the vocabulary. */
const anyBody: fc.Arbitrary<EntryBody> = fc.oneof(
  fc.constantFrom<EntryBody>(
    open,
    { kind: 'LIFECYCLE', lifecycle: 'CLOSED', by: null },
    { kind: 'FORK', origin: { workstreamId: 'w0', title: 'Source', revision: 7 } },
    configured({}),
    { kind: 'USER', text: 'hello', author: ann, source: 'MESSAGE' },
    { kind: 'SYSTEM', text: 'note', source: 'test' },
    { kind: 'SYSTEM', text: 'wind down', source: 'COMPACTION_ADVICE' },
    watching('w1'),
    watching('w2', { status: 'PAUSED', pausedBy: 'PERSON', due: null }),
    watching('w1', { status: 'ENDED', end: 'CANCELED', due: null }),
    fired('w1', 1),
    configured({ model: 'other', instructions: 'Be brief.' }),
    configured({ tokenBudget: 1_000 }),
    configured({ tokenBudget: 2_000 }),
    compacting('co1'),
    compacting('co2'),
    budgeted({ spent: 1_200, limit: 1_000, grant: 1_000 }, null),
    budgeted({ spent: 1_200, limit: 1_000, grant: 1_000 }, 'APPROVED'),
    budgeted({ spent: 1_200, limit: 1_000, grant: 1_000 }, 'DENIED'),
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
    .tuple(
      fc.nat(40),
      fc.constantFrom('REWIND' as const, 'RETRY' as const, 'EDIT' as const),
      fc.option(anyMark),
    )
    .map(([after, reason, context]): EntryBody => ({
      kind: 'REWIND',
      after,
      reason,
      by: ann,
      ...(context && { context }),
    })),
  fc.tuple(fc.nat(40), anyMark).map(([watermark, context]) => summarised(watermark, context)),
  fc
    .tuple(fc.uniqueArray(callId), fc.option(anyMark))
    .map(([ids, context]): EntryBody => ({ ...said(...ids), ...(context && { context }) })),
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
  .array(fc.tuple(anyBody, fc.option(fc.integer({ min: 1, max: 500 }))), { maxLength: 40, size: 'max' })
  .map((bodies) => bodies.map(([body, tokens], i) => entryAt(i + 1, body, tokens === null ? {} : { tokens })))
  // A rewind goes back, never forward.
  .map((journal) =>
    journal.map((e) => (e.kind === 'REWIND' ? { ...e, after: Math.min(e.after, e.revision - 1) } : e)),
  );
