/** Owns: an entry body of every kind, for tests of what carries and folds them. */
import type { ApprovalCycle, EntryBody, EntryKind, Turn } from '../../../src/projection/index.ts';

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

/** Total: a new kind does not compile until it stands here. */
const bodyByKind: { readonly [K in EntryKind]: readonly Extract<EntryBody, { readonly kind: K }>[] } = {
  USER: [
    { kind: 'USER', text: 'hello', author, source: 'MESSAGE' },
    { kind: 'USER', text: 'because', author, source: 'FEEDBACK' },
    { kind: 'USER', text: 'not so', author, source: 'STEER' },
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
  SYSTEM: [{ kind: 'SYSTEM', text: 'A note.', source: 'WATCH' }],
  CANCELLATION: [
    { kind: 'CANCELLATION', text: 'half a', reasoning: '', reason: 'STOPPED' },
    { kind: 'CANCELLATION', text: '', reasoning: 'half', reason: 'FAILED' },
  ],
  LIFECYCLE: [{ kind: 'LIFECYCLE', lifecycle: 'OPEN' }],
  CONFIGURATION: [
    {
      kind: 'CONFIGURATION',
      configuration: {
        title: 'T',
        model: 'demo',
        workspace: '/w',
        approvalMode: 'TRUST_ALL',
        approvalModeBy: { id: 'token-2', name: 'other' },
      },
    },
  ],
  TURN: [
    { kind: 'TURN', turn },
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
  APPROVAL: [{ kind: 'APPROVAL', cycle }],
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
  REWIND: [
    { kind: 'REWIND', after: 3, reason: 'REWIND', by: author },
    { kind: 'REWIND', after: 0, reason: 'RETRY', by: author },
    { kind: 'REWIND', after: 5, reason: 'EDIT', by: author },
  ],
  RECOVERY: [{ kind: 'RECOVERY', reason: 'RESTARTED', message: 'The server was restarted.' }],
};

export const bodies: readonly EntryBody[] = Object.values(bodyByKind).flat();
