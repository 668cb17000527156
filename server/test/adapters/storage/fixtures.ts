/** Owns: batches for the storage tests, made the way the core makes them: entries, then the fold over them. */
import { randomBytes } from 'node:crypto';
import {
  applyEntries,
  emptyProjection,
  stateOf,
  type ApprovalCycle,
  type Configuration,
  type Entry,
  type EntryBody,
  type EntryOf,
  type Projection,
  type QueuedMessage,
  type Turn,
} from 'schema/projection';
import { expect } from 'vitest';
import type { ModelCall } from '../../../src/core/models/spending.ts';
import type { Batch, Receipt } from '../../../src/ports/journal.ts';
import type { Session } from '../../../src/ports/ownership.ts';
import type { Storage } from '../../../src/adapters/storage/index.ts';

export const randomId = (): string => randomBytes(16).toString('hex');
export const at = '2026-11-30T10:00:00.000Z';
export const ada = { id: 'token-ada', name: 'Ada' };

export interface Made {
  readonly id: string;
  readonly incarnation: string;
  readonly epoch: number;
  readonly projection: Projection;
}

/** The batch that follows `made` with these bodies. */
export function batchOf(
  made: Made,
  bodies: readonly (EntryBody & { readonly turnId?: string; readonly tokens?: number })[],
  more: Partial<Batch> = {},
): Batch {
  const head = more.expectedHead ?? made.projection.revision;
  const epoch = more.epoch ?? made.epoch;
  const entries = bodies.map(({ turnId, ...body }, i): Entry => ({
    id: randomId(),
    revision: head + 1 + i,
    epoch,
    generation: 1,
    lane: null,
    turnId: turnId ?? null,
    at,
    ...body,
  }));
  const projection = applyEntries({ ...made.projection, revision: head }, entries);
  return {
    workstreamId: made.id,
    incarnation: made.incarnation,
    epoch,
    expectedHead: head,
    entries,
    projection,
    state: stateOf(projection),
    receipts: [],
    calls: [],
    ...more,
  };
}

/** `made` after the batch landed. */
export const after = (made: Made, batch: Batch): Made => ({ ...made, projection: batch.projection });

export const configuration: Configuration = {
  title: '',
  titleSource: 'PERSON',
  model: 'demo',
  workspace: '/tmp/w',
  approvalMode: 'ASK',
  approvalModeBy: ada,
};

export const queued = (text: string, more: Partial<QueuedMessage> = {}): QueuedMessage => ({
  id: randomId(),
  text,
  author: ada,
  delivery: 'QUEUE',
  turnId: null,
  afterStop: false,
  at,
  ...more,
});

export const birth = (title: string): readonly EntryBody[] => [
  { kind: 'LIFECYCLE', lifecycle: 'OPEN', by: ada },
  { kind: 'CONFIGURATION', configuration: { ...configuration, title } },
];

export const message = (text: string): EntryBody => ({ kind: 'USER', text, author: ada, source: 'MESSAGE' });

export const turn = (id: string, more: Partial<Turn> = {}): Turn => ({
  id,
  kind: 'CHAT',
  phase: 'RUNNING',
  generation: 1,
  principal: ada,
  outcome: null,
  recoveries: 0,
  startedAt: at,
  settledAt: null,
  ...more,
});

export const completed = (id: string): Turn =>
  turn(id, {
    phase: 'COMPLETED',
    outcome: { type: 'COMPLETED', reason: 'DONE', message: '', unconfirmed: [] },
    settledAt: at,
  });

export const cycle = (id: string, turnId: string, more: Partial<ApprovalCycle> = {}): ApprovalCycle => ({
  id,
  kind: 'TOOLS',
  turnId,
  status: 'OPEN',
  items: ['b', 'a'].map((call) => ({
    callId: `${id}-${call}`,
    name: 'shell',
    arguments: '{"command":"ls"}',
    argumentsHash: 'f'.repeat(64),
    preview: { kind: 'COMMAND', title: 'ls', body: 'ls -la' },
    basis: null,
    decision: null,
  })),
  openedAt: at,
  closedAt: null,
  ...more,
});

export const modelCall = (id: string, more: Partial<ModelCall> = {}): ModelCall => ({
  id,
  purpose: 'TURN',
  turnId: null,
  alias: 'demo',
  model: 'demo-1',
  usage: { inputTokens: 100, outputTokens: 10 },
  estimated: false,
  outcome: 'ANSWERED',
  cost: null,
  ...more,
});

/** The summary of all up to `watermark`. */
export const checkpoint = (
  watermark: number,
  more: Partial<EntryOf<'CHECKPOINT'>> = {},
): EntryBody & { readonly tokens: number } => ({
  kind: 'CHECKPOINT',
  summary: `all up to ${watermark}`,
  watermark,
  request: null,
  trigger: 'MANUAL',
  before: 1_000,
  after: 100,
  model: 'demo-1',
  alias: 'demo',
  context: { told: 100, counted: null, scale: 1, overhead: 0, window: 1_000 },
  tokens: 100,
  ...more,
});

/** A question about money: one item, which is no call. */
export const budgetCycle = (
  id: string,
  turnId: string,
  more: Partial<ApprovalCycle> = {},
): ApprovalCycle => ({
  ...cycle(id, turnId),
  kind: 'BUDGET',
  budget: { spent: 1_200, limit: 1_000, grant: 500 },
  items: [
    {
      callId: `${id}-budget`,
      name: 'budget',
      arguments: '',
      argumentsHash: 'a'.repeat(64),
      preview: { kind: 'TEXT', title: 'Spend more tokens?', body: 'This workstream has spent 1,200 tokens.' },
      basis: null,
      decision: null,
    },
  ],
  ...more,
});

export const receipt = (scope: string, key: string, inputHash = 'h'.repeat(64)): Receipt => ({
  scope,
  key,
  inputHash,
  outcome: { type: 'Accepted', durability: 'DURABLE' },
});

export async function beginSession(storage: Storage, nodeId = randomId(), host = 'here'): Promise<Session> {
  const begun = await storage.sessions.begin(nodeId, host);
  if (begun.type !== 'begun') throw new Error('the node is busy');
  return begun.session;
}

/** Published by epoch 0 and claimed by the session: open, at epoch 1. */
export async function openWorkstream(
  storage: Storage,
  session: Session,
  title = 'A workstream',
): Promise<Made> {
  const id = randomId();
  const incarnation = randomId();
  await storage.reservations.reserve({ id, incarnation, sessionId: session.id });
  const reserved: Made = { id, incarnation, epoch: 0, projection: emptyProjection };
  const published = await storage.reservations.publish(batchOf(reserved, birth(title)));
  if (published.type !== 'published') throw new Error(published.type);
  const claimed = await storage.ownership.claim(id, session.id);
  if (claimed.type !== 'claimed') throw new Error(claimed.type);
  const { epoch, projection } = claimed.workstream;
  return { id, incarnation, epoch, projection };
}

// vitest types its asymmetric matchers as any.
export const containing = (text: string): unknown => expect.stringContaining(text);
export const lacking = (text: string): unknown => expect.not.stringContaining(text);
export const matching = (pattern: RegExp): unknown => expect.stringMatching(pattern);
