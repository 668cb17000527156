/** One entry of each kind with every field filled, for tests that must not lose any. */
import type {
  ApprovalCycle,
  Author,
  ContextMark,
  Entry,
  EntryBody,
  EntryKind,
  Turn,
  WatchDefinition,
} from '../src/projection/index.ts';

const ann: Author = { id: 'a1', name: 'Ann' };
const at = '2026-11-30T09:52:03.120Z';

const sampleTurn: Turn = {
  id: 't1',
  kind: 'CHAT',
  phase: 'COMPACTING',
  compaction: { id: 'co1', trigger: 'END_OF_TURN', resume: true },
  generation: 2,
  principal: ann,
  outcome: null,
  recoveries: 1,
  depth: 2,
  startedAt: at,
  settledAt: null,
};

const sampleMark: ContextMark = {
  told: 40,
  counted: { tokens: 60, told: 30 },
  scale: 1.5,
  overhead: 20,
  window: 100,
};

const sampleCycle: ApprovalCycle = {
  id: 'c1',
  kind: 'BUDGET',
  budget: { spent: 1_200, limit: 1_000, grant: 1_000 },
  turnId: 't1',
  status: 'OPEN',
  items: [
    {
      callId: 'k1',
      name: 'shell',
      arguments: '{"command":"ls"}',
      argumentsHash: 'ab12',
      preview: { kind: 'COMMAND', title: 'ls', body: 'ls -la' },
      basis: 'ff00',
      decision: null,
    },
    {
      callId: 'k2',
      name: 'write_file',
      arguments: '{}',
      argumentsHash: 'cd34',
      preview: { kind: 'DIFF', title: 'a.txt', body: '+a' },
      basis: null,
      decision: { verdict: 'DENIED', source: 'PERSON', by: ann, feedback: 'not that file', at },
    },
  ],
  openedAt: at,
  closedAt: null,
};

const sampleDefinition: WatchDefinition = {
  name: 'ci',
  command: 'gh run list',
  condition: 'data.state == "done"',
  everySeconds: 30,
  maxPolls: 9,
  deadline: at,
  repeat: true,
  instruction: 'Merge it.',
};

const bodies: { readonly [K in EntryKind]: Extract<EntryBody, { kind: K }> } = {
  LIFECYCLE: { kind: 'LIFECYCLE', lifecycle: 'OPEN', by: ann },
  CONFIGURATION: {
    kind: 'CONFIGURATION',
    configuration: {
      title: 'Fix it',
      titleSource: 'PERSON',
      model: 'demo',
      temperature: 0.5,
      effort: 'LOW',
      instructions: 'Be brief.',
      tokenBudget: 1_000,
      workspace: '/tmp/w',
      approvalMode: 'TRUST_WORKSPACE',
      approvalModeBy: ann,
    },
  },
  REWIND: { kind: 'REWIND', after: 1, reason: 'EDIT', by: ann, context: sampleMark },
  USER: { kind: 'USER', text: 'hello 🌊', author: ann, source: 'STEER' },
  TURN: { kind: 'TURN', turn: sampleTurn },
  ASSISTANT: {
    kind: 'ASSISTANT',
    text: 'I will look.',
    reasoning: 'hm',
    calls: [
      { callId: 'k1', providerId: 'call_0', name: 'shell', arguments: '{"command":"ls"}' },
      { callId: 'k2', providerId: 'call_1', name: 'write_file', arguments: '{}' },
    ],
    finish: 'TOOL_CALLS',
    model: 'demo',
    alias: 'fast',
    native: { alias: 'fast', model: 'demo', dialect: 'RESPONSES', parts: [{ type: 'reasoning' }] },
    usage: { inputTokens: 10, outputTokens: 4, cachedInputTokens: 6, reasoningTokens: 1 },
    context: sampleMark,
    discarded: ['shell'],
  },
  APPROVAL: { kind: 'APPROVAL', cycle: sampleCycle },
  TOOL_STARTED: { kind: 'TOOL_STARTED', callId: 'k1', name: 'shell' },
  TOOL_SETTLED: {
    kind: 'TOOL_SETTLED',
    callId: 'k1',
    name: 'shell',
    result: { outcome: 'OK', effect: 'COMMITTED', content: 'a.txt' },
  },
  WATCH: {
    kind: 'WATCH',
    watch: {
      id: 'wa1',
      version: 2,
      definition: sampleDefinition,
      status: 'PAUSED',
      pausedBy: 'CLOSED',
      end: null,
      author: ann,
      depth: 3,
      createdAt: at,
      lastFire: 4,
      firesTold: 3,
      due: 'LATER',
    },
  },
  QUEUE: {
    kind: 'QUEUE',
    queue: {
      items: [
        { id: 'q1', text: 'next', author: ann, delivery: 'QUEUE', turnId: null, at, afterStop: false },
        { id: 'q2', text: 'not so', author: ann, delivery: 'STEER', turnId: 't1', at, afterStop: false },
      ],
      held: true,
    },
  },
  SYSTEM: {
    kind: 'SYSTEM',
    text: 'watch fired',
    source: 'WATCH',
    fire: {
      watchId: 'wa1',
      poll: 4,
      reason: 'CONDITION_ERRORS',
      ended: true,
      definition: sampleDefinition,
      elapsedSeconds: 90,
      exitCode: 1,
      output: 'not yet 🌊',
      error: 'There is no "state" in it.',
      author: ann,
      depth: 3,
      firesBefore: 3,
      skipped: 2,
    },
  },
  RECOVERY: { kind: 'RECOVERY', reason: 'PROCESS_LOST', message: 'The process was lost; the turn goes on.' },
  TOOL: {
    kind: 'TOOL',
    callId: 'k2',
    name: 'write_file',
    outcome: 'DENIED',
    effect: 'NONE',
    content: 'Denied.',
  },
  CANCELLATION: { kind: 'CANCELLATION', text: 'half an ans', reasoning: '', reason: 'STOPPED' },
  CHECKPOINT: {
    kind: 'CHECKPOINT',
    summary: 'It went well.',
    watermark: 4,
    request: { messageId: 'm1', text: 'fix it', author: ann },
    senders: { first: ann.id, several: true },
    trigger: 'TOOLS',
    before: 90,
    after: 70,
    model: 'demo-1',
    alias: 'demo',
    context: sampleMark,
  },
  FORK: { kind: 'FORK', origin: { workstreamId: 'w0', title: 'Source', revision: 7 } },
};

/** In an order that could have happened, so that its fold has an open batch and an open cycle. */
export const sampleEntries: readonly Entry[] = Object.values(bodies).map((body, i) => ({
  ...body,
  id: `e${i + 1}`,
  revision: i + 1,
  epoch: 1,
  generation: 2,
  lane: body.kind === 'SYSTEM' ? 'w2' : null,
  turnId: i < 4 ? null : 't1',
  at,
  tokens: 7,
}));
