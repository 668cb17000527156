/**
 * Owns: the one fold. State is the open parts of a workstream; the transcript is the list of entries beside it.
 * Does not own: overlays and marks of a subscriber (`view.ts`).
 *
 * Invariants: total and deterministic (I6); snapshot(k) + fold(k+1..n) = snapshot(n) (D-58, I5); unknown kinds
 * advance the revision and change nothing else; a repeat or a gap is never applied (I7).
 */
import {
  compactionAdvice,
  type ApprovalCycle,
  type Call,
  type CompactionTrigger,
  type Configuration,
  type ContextMark,
  type Entry,
  type EntryKind,
  type Lifecycle,
  type Origin,
  type Queue,
  type ToolResult,
  type Turn,
  type Watch,
} from './entries.ts';

/** A declared call of the open batch, and how far it has come. */
export interface BatchCall {
  readonly call: Call;
  readonly started: boolean;
  /** Set by TOOL_SETTLED; the model sees it only once the TOOL entries are written. */
  readonly result: ToolResult | null;
}

/** From the ASSISTANT entry that declared calls to the TOOL entries that answer them all. */
export interface Batch {
  readonly messageId: string;
  readonly calls: readonly BatchCall[];
}

/** Entries with `after` < revision ≤ `through`. */
export interface Span {
  readonly after: number;
  readonly through: number;
}

/** How full the context is now, and what was done about it (D-39, D-40). */
export interface Context extends ContextMark {
  /** In this turn the model was advised to wind down, and no compaction was tried since. */
  readonly advised: boolean;
  /**
   * Why a compaction was tried last since its last answer, or since another model was chosen: there is one in each step,
   * and one more because what is asked does not fit (D-39). Null: none was.
   */
  readonly tried: CompactionTrigger | null;
  /** Compactions tried in this turn that came to nothing, since one came to something. */
  readonly failures: number;
}

/** The summary that stands for all up to its watermark. */
export interface Checkpoint {
  readonly id: string;
  readonly revision: number;
  readonly watermark: number;
}

export interface Projection {
  readonly revision: number;
  readonly epoch: number;
  readonly generation: number;
  readonly lifecycle: Lifecycle;
  readonly configuration: Configuration;
  /** The live turn, or the last one; see `liveTurn`. */
  readonly turn: Turn | null;
  readonly batch: Batch | null;
  /**
   * Cycles of the live turn's latest batch. They outlive it until the next answer, so that who decides a moment too
   * late is told what was decided (D-64); a settled turn has none.
   */
  readonly cycles: readonly ApprovalCycle[];
  readonly queue: Queue;
  /** Those that have not ended, the oldest first. */
  readonly watches: readonly Watch[];
  /** Null: not a fork. */
  readonly origin: Origin | null;
  /** What rewinds took out of the conversation: ascending, apart from one another (D-59). */
  readonly superseded: readonly Span[];
  readonly context: Context;
  /** The latest; null: nothing was summarised. */
  readonly checkpoint: Checkpoint | null;
  /** Tokens spent at which a person is asked (D-33); null: any number may be. */
  readonly budgetLimit: number | null;
  /** ISO 8601 time of the latest entry; null before the first. */
  readonly updatedAt: string | null;
}

export const emptyProjection: Projection = {
  revision: 0,
  epoch: 0,
  generation: 0,
  lifecycle: 'CREATING',
  configuration: {
    title: '',
    titleSource: 'DEFAULT',
    model: '',
    workspace: '',
    approvalMode: 'ASK',
    approvalModeBy: { id: '', name: '' },
  },
  turn: null,
  batch: null,
  cycles: [],
  queue: { items: [], held: false },
  watches: [],
  origin: null,
  superseded: [],
  context: {
    told: 0,
    counted: null,
    scale: 1,
    overhead: 0,
    window: null,
    advised: false,
    tried: null,
    failures: 0,
  },
  checkpoint: null,
  budgetLimit: null,
  updatedAt: null,
};

/** True for a phase that never changes again. */
export const isSettled = (turn: Turn): boolean => turn.outcome !== null;

/** The turn that still runs, if any. */
export const liveTurn = (p: Projection): Turn | null => (p.turn && !isSettled(p.turn) ? p.turn : null);

/** True when a rewind took this place of the journal out of the conversation. */
export const isSuperseded = (p: Pick<Projection, 'superseded'>, revision: number): boolean =>
  p.superseded.some((span) => revision > span.after && revision <= span.through);

/** Applies the next entry. An entry that is not the next one leaves the projection as it is. */
export function applyEntry(p: Projection, entry: Entry): Projection {
  if (entry.revision !== p.revision + 1) return p;
  const next: Projection = {
    ...p,
    revision: entry.revision,
    epoch: Math.max(p.epoch, entry.epoch),
    generation: Math.max(p.generation, entry.generation),
    updatedAt: entry.at,
    context: entry.tokens ? { ...p.context, told: p.context.told + entry.tokens } : p.context,
  };
  if (progress.has(entry.kind) && next.turn && next.turn.recoveries > 0 && !isSettled(next.turn)) {
    return applyKind({ ...next, turn: { ...next.turn, recoveries: 0 } }, entry);
  }
  return applyKind(next, entry);
}

/** A turn that gets one of these written is not stuck: recoveries are counted anew (D-71). */
const progress: ReadonlySet<EntryKind> = new Set(['ASSISTANT', 'TOOL_STARTED', 'TOOL_SETTLED', 'TOOL']);

function applyKind(next: Projection, entry: Entry): Projection {
  switch (entry.kind) {
    case 'LIFECYCLE':
      return { ...next, lifecycle: entry.lifecycle };
    case 'FORK':
      return { ...next, origin: entry.origin };
    case 'CONFIGURATION':
      return configure(next, entry.configuration);
    case 'TURN':
      return withTurn(next, entry.turn);
    case 'SYSTEM':
      return entry.source === compactionAdvice
        ? { ...next, context: { ...next.context, advised: true } }
        : next;
    case 'CHECKPOINT':
      return {
        ...next,
        context: { ...withMark(next.context, entry.context), failures: 0 },
        checkpoint: { id: entry.id, revision: entry.revision, watermark: entry.watermark },
      };
    case 'ASSISTANT':
      return {
        ...next,
        context: { ...withMark(next.context, entry.context ?? next.context), tried: null },
        batch:
          entry.calls.length === 0
            ? next.batch
            : {
                messageId: entry.id,
                calls: entry.calls.map((call) => ({ call, started: false, result: null })),
              },
        cycles: [],
      };
    case 'TOOL_STARTED':
      return { ...next, batch: mapCall(next.batch, entry.callId, (c) => ({ ...c, started: true })) };
    case 'TOOL_SETTLED':
      return { ...next, batch: mapCall(next.batch, entry.callId, (c) => ({ ...c, result: entry.result })) };
    case 'TOOL': {
      const left = next.batch?.calls.filter((c) => c.call.callId !== entry.callId) ?? [];
      return left.length > 0 && next.batch
        ? { ...next, batch: { ...next.batch, calls: left } }
        : { ...next, batch: null };
    }
    case 'APPROVAL':
      return withCycle(next, entry.cycle);
    case 'QUEUE':
      return { ...next, queue: entry.queue };
    case 'WATCH':
      return withWatch(next, entry.watch);
    case 'REWIND':
      // What failed is superseded with the rest: the last turn is not the last word any more.
      return {
        ...next,
        turn: null,
        context: withMark(next.context, entry.context ?? next.context),
        superseded: supersede(next.superseded, { after: entry.after, through: entry.revision - 1 }),
      };
    default:
      return next;
  }
}

/** A mark is the whole account; what was done about it is not its to say. */
const withMark = ({ advised, tried, failures }: Context, mark: ContextMark): Context => ({
  ...mark,
  advised,
  tried,
  failures,
});

/** Of a model that was not asked yet nobody has said that anything does not fit, so that nothing was tried for it. */
const forAnother = ({ told, overhead, advised, failures }: Context): Context => ({
  told,
  overhead,
  counted: null,
  scale: 1,
  window: null,
  advised,
  tried: null,
  failures,
});

function configure(next: Projection, configuration: Configuration): Projection {
  const { model, tokenBudget } = next.configuration;
  const context: Context = configuration.model === model ? next.context : forAnother(next.context);
  const budgetLimit =
    configuration.tokenBudget === tokenBudget ? next.budgetLimit : (configuration.tokenBudget ?? null);
  return { ...next, configuration, context, budgetLimit };
}

function withTurn(next: Projection, turn: Turn): Projection {
  const { context } = next;
  if (isSettled(turn)) {
    const over: Context = { ...context, advised: false, tried: null, failures: 0 };
    return { ...next, turn, batch: null, cycles: [], context: over };
  }
  const begins = turn.phase === 'COMPACTING' && next.turn?.compaction?.id !== turn.compaction?.id;
  return begins
    ? {
        ...next,
        turn,
        context: {
          ...context,
          advised: false,
          tried: turn.compaction?.trigger ?? null,
          failures: context.failures + 1,
        },
      }
    : { ...next, turn };
}

function withWatch(next: Projection, watch: Watch): Projection {
  const { watches } = next;
  if (watch.status === 'ENDED') return { ...next, watches: watches.filter((known) => known.id !== watch.id) };
  const known = watches.some(({ id }) => id === watch.id);
  return {
    ...next,
    watches: known ? watches.map((w) => (w.id === watch.id ? watch : w)) : [...watches, watch],
  };
}

function withCycle(next: Projection, cycle: ApprovalCycle): Projection {
  const cycles = [...next.cycles.filter((c) => c.id !== cycle.id), cycle];
  const { budget, items } = cycle;
  const granted = budget && items.some((item) => item.decision?.verdict === 'APPROVED');
  if (!granted) return { ...next, cycles };
  // A compaction that ended for want of budget may be tried again: not for ever, as it begins anew each time.
  const context: Context = { ...next.context, tried: null };
  // It may have been raised or taken away since it was asked about: a grant never makes it less.
  const budgetLimit =
    next.budgetLimit === null ? null : Math.max(next.budgetLimit, budget.spent + budget.grant);
  return { ...next, cycles, context, budgetLimit };
}

/** Adds a span that ends after all others; what it covers or touches becomes one with it. */
function supersede(spans: readonly Span[], span: Span): readonly Span[] {
  const touched = spans.filter((known) => known.through >= span.after);
  const after = Math.min(span.after, ...touched.map((known) => known.after));
  return [...spans.filter((known) => known.through < span.after), { ...span, after }];
}

/** Applies entries in order, skipping those that are not next. */
export const applyEntries = (p: Projection, entries: readonly Entry[]): Projection =>
  entries.reduce(applyEntry, p);

function mapCall(batch: Batch | null, callId: string, f: (c: BatchCall) => BatchCall): Batch | null {
  return batch && { ...batch, calls: batch.calls.map((c) => (c.call.callId === callId ? f(c) : c)) };
}
