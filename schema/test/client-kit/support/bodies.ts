/** Owns: an entry body of every kind, for tests of what carries and folds them. */
import type {
  ApprovalCycle,
  ContextMark,
  EntryBody,
  EntryKind,
  Fire,
  Turn,
  Watch,
  WatchDefinition,
} from '../../../src/projection/index.ts';

const author = { id: 'token-1', name: 'test' };
const at = '2026-11-30T09:52:03.120Z';

const turn: Turn = {
  id: 't1',
  kind: 'CHAT',
  phase: 'RUNNING',
  generation: 1,
  principal: author,
  outcome: null,
  recoveries: 2,
  startedAt: at,
  settledAt: null,
};

const call = { callId: 'c1', providerId: 'p1', name: 'shell', arguments: '{"command":"ls"}' };

const cycle: ApprovalCycle = {
  id: 'cy1',
  kind: 'TOOLS',
  turnId: 't1',
  status: 'OPEN',
  items: [
    {
      callId: 'c1',
      name: 'shell',
      arguments: call.arguments,
      argumentsHash: 'a'.repeat(64),
      preview: { kind: 'COMMAND', title: 'ls', body: 'ls' },
      basis: 'b1',
      decision: { verdict: 'DENIED', source: 'PERSON', by: author, feedback: 'no 🙂', at },
    },
    {
      callId: 'c2',
      name: 'write_file',
      arguments: '{}',
      argumentsHash: 'b'.repeat(64),
      preview: { kind: 'DIFF', title: 'notes.txt', body: '+hello' },
      basis: null,
      decision: null,
    },
  ],
  openedAt: at,
  closedAt: null,
};

const mark: ContextMark = {
  told: 40,
  counted: { tokens: 3_000_000_000, told: 40 },
  scale: 1.25,
  overhead: 100,
  window: 8_192,
};

const budgetCycle: ApprovalCycle = {
  ...cycle,
  id: 'cy2',
  kind: 'BUDGET',
  budget: { spent: 3_000_000_001, limit: 3_000_000_000, grant: 5_000 },
  items: [
    {
      callId: 'c3',
      name: 'budget',
      arguments: '',
      argumentsHash: 'c'.repeat(64),
      preview: { kind: 'TEXT', title: 'Spend more tokens?', body: 'More.' },
      basis: null,
      decision: { verdict: 'APPROVED', source: 'PERSON', by: author, feedback: null, at },
    },
  ],
};

const definition: WatchDefinition = {
  name: 'ci',
  command: 'gh run list',
  condition: 'data.state == "done"',
  everySeconds: 30,
  maxPolls: 9,
  deadline: at,
  repeat: true,
  instruction: 'Merge it.',
};

const watch: Watch = {
  id: 'wa1',
  version: 1,
  definition,
  status: 'ACTIVE',
  pausedBy: null,
  end: null,
  author,
  depth: 1,
  createdAt: at,
  lastFire: 0,
  firesTold: 0,
  due: 'LATER',
};

const fire: Fire = {
  watchId: 'wa1',
  poll: 3,
  reason: 'CONDITION',
  ended: false,
  definition,
  elapsedSeconds: 90,
  exitCode: 0,
  output: '{"state":"done"} 🙂',
  error: null,
  author,
  depth: 1,
  firesBefore: 2,
  skipped: 1,
};

/** Total: a new kind does not compile until it stands here. */
const bodyByKind: { readonly [K in EntryKind]: readonly Extract<EntryBody, { readonly kind: K }>[] } = {
  USER: [
    { kind: 'USER', text: 'hello', author, source: 'MESSAGE' },
    { kind: 'USER', text: 'because', author, source: 'FEEDBACK' },
    { kind: 'USER', text: 'not so', author, source: 'STEER' },
    { kind: 'USER', text: 'go on', author, source: 'COMPACTION_RESUME' },
  ],
  ASSISTANT: [
    {
      kind: 'ASSISTANT',
      text: 'I will look.',
      reasoning: 'hm',
      calls: [call, { ...call, callId: 'c2', providerId: 'p2' }],
      finish: 'TOOL_CALLS',
      model: 'demo',
      usage: { inputTokens: 3, outputTokens: 4 },
      context: mark,
      discarded: ['shell'],
    },
    {
      kind: 'ASSISTANT',
      text: 'Done.',
      reasoning: '',
      calls: [],
      finish: 'STOP',
      model: 'demo',
      usage: null,
      discarded: [],
    },
  ],
  TOOL: [
    { kind: 'TOOL', callId: 'c1', name: 'shell', outcome: 'OK', effect: 'COMMITTED', content: 'out' },
    { kind: 'TOOL', callId: 'c2', name: 'write_file', outcome: 'DENIED', effect: 'NONE', content: '' },
  ],
  SYSTEM: [
    { kind: 'SYSTEM', text: 'It is done.', source: 'WATCH', fire },
    {
      kind: 'SYSTEM',
      text: 'It has ended.',
      source: 'WATCH',
      fire: {
        ...fire,
        poll: 1,
        reason: 'DEADLINE',
        ended: true,
        exitCode: null,
        output: '',
        error: 'Too late.',
      },
    },
    { kind: 'SYSTEM', text: 'Wind down.', source: 'COMPACTION_ADVICE' },
  ],
  CANCELLATION: [
    { kind: 'CANCELLATION', text: 'half a', reasoning: '', reason: 'STOPPED' },
    { kind: 'CANCELLATION', text: '', reasoning: 'half', reason: 'FAILED' },
  ],
  LIFECYCLE: [
    { kind: 'LIFECYCLE', lifecycle: 'OPEN', by: author },
    { kind: 'LIFECYCLE', lifecycle: 'CLOSED', by: null },
    { kind: 'LIFECYCLE', lifecycle: 'OPEN', by: null },
  ],
  FORK: [{ kind: 'FORK', origin: { workstreamId: 'w0', title: 'Source', revision: 7 } }],
  CONFIGURATION: [
    {
      kind: 'CONFIGURATION',
      configuration: {
        title: 'T',
        titleSource: 'GENERATED',
        model: 'demo',
        workspace: '/w',
        approvalMode: 'TRUST_ALL',
        approvalModeBy: { id: 'token-2', name: 'other' },
      },
    },
    {
      kind: 'CONFIGURATION',
      configuration: {
        title: 'T',
        titleSource: 'GENERATED',
        model: 'other',
        instructions: 'Be brief.',
        tokenBudget: 5_000,
        workspace: '/w',
        approvalMode: 'ASK',
        approvalModeBy: author,
      },
    },
  ],
  TURN: [
    { kind: 'TURN', turn },
    { kind: 'TURN', turn: { ...turn, depth: 5 } },
    {
      kind: 'TURN',
      turn: {
        ...turn,
        kind: 'COMPACT',
        phase: 'COMPACTING',
        compaction: { id: 'co1', trigger: 'MANUAL', resume: false },
      },
    },
    {
      kind: 'TURN',
      turn: {
        ...turn,
        phase: 'CANCELED',
        settledAt: at,
        outcome: { type: 'CANCELED', reason: 'STOPPED', message: 'Stopped.', unconfirmed: ['c1'] },
      },
    },
  ],
  TOOL_STARTED: [{ kind: 'TOOL_STARTED', callId: 'c1', name: 'shell' }],
  TOOL_SETTLED: [
    {
      kind: 'TOOL_SETTLED',
      callId: 'c1',
      name: 'shell',
      result: { outcome: 'ERROR', effect: 'UNKNOWN', content: 'lost' },
    },
  ],
  APPROVAL: [
    { kind: 'APPROVAL', cycle },
    { kind: 'APPROVAL', cycle: budgetCycle },
  ],
  QUEUE: [
    {
      kind: 'QUEUE',
      queue: {
        held: true,
        items: [
          { id: 'q1', text: 'later', author, delivery: 'QUEUE', turnId: null, afterStop: false, at },
          { id: 'q2', text: 'now', author, delivery: 'STEER', turnId: 't1', afterStop: false, at },
        ],
      },
    },
  ],
  WATCH: [
    { kind: 'WATCH', watch },
    {
      kind: 'WATCH',
      watch: {
        ...watch,
        id: 'wa2',
        version: 2,
        definition: {
          ...definition,
          name: 'other',
          condition: null,
          deadline: null,
          repeat: false,
          instruction: null,
        },
        status: 'PAUSED',
        pausedBy: 'PERSON',
        due: null,
      },
    },
    { kind: 'WATCH', watch: { ...watch, lastFire: 3, due: null } },
    { kind: 'WATCH', watch: { ...watch, status: 'ENDED', end: 'CANCELED', due: null } },
  ],
  REWIND: [
    { kind: 'REWIND', after: 3, reason: 'REWIND', by: author },
    { kind: 'REWIND', after: 0, reason: 'RETRY', by: author, context: { ...mark, counted: null } },
    { kind: 'REWIND', after: 5, reason: 'EDIT', by: author },
  ],
  CHECKPOINT: [
    {
      kind: 'CHECKPOINT',
      summary: 'It went well.',
      watermark: 4,
      request: { messageId: 'm1', text: 'fix it', author },
      trigger: 'TOOLS',
      before: 9_000,
      after: 700,
      model: 'demo-1',
      alias: 'demo',
      context: { told: 600, counted: null, scale: 1, overhead: 100, window: 8_192 },
    },
    {
      kind: 'CHECKPOINT',
      summary: 'So far.',
      watermark: 2,
      request: null,
      trigger: 'MANUAL',
      before: 900,
      after: 70,
      model: 'demo-1',
      alias: 'demo',
      context: { told: 60, counted: null, scale: 1, overhead: 10, window: null },
    },
  ],
  RECOVERY: [{ kind: 'RECOVERY', reason: 'RESTARTED', message: 'The server was restarted.' }],
};

export const bodies: readonly EntryBody[] = Object.values(bodyByKind).flat();
