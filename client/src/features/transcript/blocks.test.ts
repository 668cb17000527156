import type { ApprovalCycle, ApprovalDecision, Entry, EntryBody, Fire, Turn, Watch } from 'schema/projection';
import { expect, it } from 'vitest';
import {
  answering,
  argumentsLine,
  argumentsText,
  asks,
  blocksOf,
  type Block,
  type CallBlock,
} from './blocks.ts';

const at = '2026-11-30T09:52:03.120Z';
const author = { id: 'a', name: 'Ann' };
const journal = (bodies: readonly EntryBody[], from = 10): readonly Entry[] =>
  bodies.map((body, i) => ({
    id: `e${from + i}`,
    revision: from + i,
    epoch: 1,
    generation: 1,
    lane: null,
    turnId: 't1',
    at,
    ...body,
  }));
const show = (bodies: readonly EntryBody[]) => blocksOf(journal(bodies), 1_000);
const calls = (blocks: readonly Block[]) => blocks.filter((b): b is CallBlock => b.type === 'call');

const call = (callId: string) => ({
  callId,
  providerId: callId,
  name: 'shell',
  arguments: '{"command":"ls"}',
});
const assistant = (...ids: string[]): EntryBody => ({
  kind: 'ASSISTANT',
  text: '',
  reasoning: '',
  calls: ids.map(call),
  finish: 'TOOL_CALLS',
  model: 'demo',
  usage: null,
  discarded: [],
});
const decision = (verdict: ApprovalDecision['verdict']): ApprovalDecision => ({
  verdict,
  source: 'PERSON',
  by: author,
  feedback: null,
  at,
});
const cycle = (
  status: ApprovalCycle['status'],
  decisions: Readonly<Record<string, ApprovalDecision | null>>,
): EntryBody => ({
  kind: 'APPROVAL',
  cycle: {
    id: 'cy',
    kind: 'TOOLS',
    turnId: 't1',
    status,
    items: Object.entries(decisions).map(([callId, decided]) => ({
      ...call(callId),
      argumentsHash: 'h',
      preview: { kind: 'COMMAND', title: 'ls', body: 'ls' },
      basis: null,
      decision: decided,
    })),
    openedAt: at,
    closedAt: null,
  },
});
const settled = (callId: string): EntryBody => ({
  kind: 'TOOL_SETTLED',
  callId,
  name: 'shell',
  result: { outcome: 'OK', effect: 'COMMITTED', content: 'the whole output' },
});
const tool = (callId: string): EntryBody => ({
  kind: 'TOOL',
  callId,
  name: 'shell',
  outcome: 'OK',
  effect: 'COMMITTED',
  content: 'the output, shortened',
});
const turn = (outcome: Turn['outcome']): EntryBody => ({
  kind: 'TURN',
  turn: {
    id: 't1',
    kind: 'CHAT',
    phase: outcome ? outcome.type : 'RUNNING',
    generation: 1,
    principal: author,
    outcome,
    recoveries: 0,
    startedAt: at,
    settledAt: null,
  },
});

it('a call is one block from its declaration to its result, and keeps who decided', () => {
  const story: EntryBody[] = [
    assistant('c1'),
    cycle('OPEN', { c1: null }),
    cycle('SETTLED', { c1: decision('APPROVED') }),
    { kind: 'TOOL_STARTED', callId: 'c1', name: 'shell' },
    settled('c1'),
    tool('c1'),
    turn({ type: 'COMPLETED', reason: 'DONE', message: '', unconfirmed: [] }),
  ];
  const states = story.map((_, i) => calls(show(story.slice(0, i + 1)))[0]?.state);
  expect(states).toEqual(['DECLARED', 'ASKING', 'APPROVED', 'RUNNING', 'SETTLED', 'SETTLED', 'SETTLED']);
  const blocks = show(story);
  expect(blocks).toHaveLength(1);
  expect(calls(blocks)[0]).toMatchObject({
    cycleId: 'cy',
    item: { decision: { by: author } },
    result: { content: 'the whole output' },
  });
});

it('each call of a batch is asked about on its own', () => {
  const blocks = show([assistant('c1', 'c2'), cycle('OPEN', { c1: decision('APPROVED'), c2: null })]);
  expect(calls(blocks).map((b) => b.state)).toEqual(['APPROVED', 'ASKING']);
});

it('D-65 a stop supersedes what was asked, and says how the turn ended', () => {
  const blocks = show([
    assistant('c1'),
    cycle('OPEN', { c1: null }),
    cycle('SUPERSEDED', { c1: null }),
    turn({ type: 'CANCELED', reason: 'STOPPED', message: 'Stopped.', unconfirmed: [] }),
  ]);
  expect(calls(blocks)[0]!.state).toBe('DROPPED');
  expect(blocks.at(-1)).toMatchObject({ type: 'outcome', outcome: { type: 'CANCELED' } });
});

it('shows a result whose declaration is on an older page, once', () => {
  const blocks = show([settled('c1'), tool('c1')]);
  expect(blocks).toHaveLength(1);
  expect(calls(blocks)[0]).toMatchObject({ arguments: null, state: 'SETTLED' });
});

it('the streaming message and the entry that replaces it are one block', () => {
  const message = { id: 'e10', turnId: 't1', text: 'Hal', reasoning: '' };
  const open = answering({ message, tools: {} }, 10);
  expect(open).toMatchObject({ type: 'assistant', id: 'e10', streaming: true, text: 'Hal' });
  const done = show([{ ...assistant(), text: 'Hallo' } as EntryBody]);
  expect(done).toMatchObject([{ type: 'assistant', id: 'e10', streaming: false, text: 'Hallo' }]);
});

it('marks partial answers, recoveries and failures in place, and skips kinds it does not know', () => {
  const blocks = show([
    { kind: 'CANCELLATION', text: 'half', reasoning: '', reason: 'STOPPED' },
    { kind: 'RECOVERY', reason: 'RESTARTED', message: 'Carried on.' },
    { kind: 'DREAM' } as unknown as EntryBody,
    turn({ type: 'FAILED', reason: 'MODEL_FAILED', message: 'Try again.', unconfirmed: [] }),
  ]);
  expect(blocks.map((b) => b.type)).toEqual(['assistant', 'mark', 'outcome']);
});

it('tells what is not safe yet', () => {
  const said: EntryBody = { kind: 'USER', text: 'hi', author, source: 'MESSAGE' };
  const blocks = blocksOf(journal([said, said]), 10);
  expect(blocks.map((b) => b.type === 'user' && b.durable)).toEqual([true, false]);
});

it('says what a change of the configuration changed, and nothing when what it was is not loaded', () => {
  const configuration = {
    title: 't',
    titleSource: 'DEFAULT',
    model: 'demo',
    workspace: '/w',
    approvalMode: 'ASK',
    approvalModeBy: author,
  };
  const changed = (more: object) =>
    ({ kind: 'CONFIGURATION', configuration: { ...configuration, ...more } }) as EntryBody;
  const other = { approvalMode: 'TRUST_ALL', title: 'Other', titleSource: 'PERSON' };
  const texts = show([
    changed({}),
    changed({ approvalMode: 'TRUST_ALL' }),
    changed({ approvalMode: 'TRUST_ALL', titleSource: 'PERSON' }),
    changed({ approvalMode: 'TRUST_ALL', title: 'Found', titleSource: 'GENERATED' }),
    changed(other),
    changed({ ...other, model: 'main' }),
    changed({ ...other, model: 'main', temperature: 0 }),
    changed({ ...other, model: 'main' }),
    changed({ ...other, model: 'fast', temperature: 0.5, effort: 'LOW' }),
  ]).map((b) => b.type === 'mark' && [b.text, b.by?.name]);
  expect(texts).toEqual([
    ['Now “Trust everything”', 'Ann'],
    ['Named “Found”', undefined],
    ['Renamed to “Other”', undefined],
    ['Now with the model main', undefined],
    ['Now with temperature 0', undefined],
    ['Now with the model as it is set up', undefined],
    ['Now with the model fast (temperature 0.5 · effort low)', undefined],
  ]);
});

it('D-37 says who answered in place of the model that was chosen then, and what the answer cost', () => {
  const usage = { inputTokens: 10, outputTokens: 5 };
  const by = (alias?: string): EntryBody =>
    ({ ...assistant(), text: 'Yes.', usage, ...(alias !== undefined && { alias }) }) as EntryBody;
  const chosen = (model: string) => ({ kind: 'CONFIGURATION', configuration: { model } }) as EntryBody;
  const standIns = (now: string | null, ...entries: EntryBody[]) =>
    blocksOf(journal(entries), 1_000, now).flatMap((b) => (b.type === 'assistant' ? [b.standIn] : []));
  const told = [chosen('main'), by('main'), by('spare'), by(), chosen('fast'), by('main'), by('fast')];
  expect(standIns('fast', ...told)).toEqual([null, 'spare', null, 'main', null]);
  // What was chosen then is not loaded.
  expect(standIns('main', by('main'), by('spare'))).toEqual([null, 'spare']);
  expect(standIns(null, by('main'))).toEqual([null]);
  expect(show([by('main')])).toMatchObject([{ usage }]);
});

it('D-23 says who closed and opened it, and not that making it opened it', () => {
  const lifecycle = (to: 'OPEN' | 'CLOSED', by: typeof author | null) =>
    ({ kind: 'LIFECYCLE', lifecycle: to, by }) as EntryBody;
  const origin = { workstreamId: 'w', title: 'Source', revision: 3 };
  const texts = show([
    { kind: 'FORK', origin },
    lifecycle('CLOSED', author),
    lifecycle('OPEN', author),
    lifecycle('CLOSED', null),
  ]).map((b) => b.type === 'mark' && [b.text, b.by]);
  expect(texts).toEqual([
    ['Forked from “Source”. Files were not copied.', null],
    ['Closed', author],
    ['Opened again', author],
    ['Closed', null],
  ]);
  expect(blocksOf([{ ...journal([lifecycle('OPEN', author)])[0]!, revision: 1 }], 1)).toEqual([]);
});

it('says of a stopped answer once that it was stopped', () => {
  const cut = { kind: 'CANCELLATION', text: 'Half', reasoning: '', reason: 'STOPPED' } as const;
  const ended = (unconfirmed: readonly string[]) =>
    ({
      kind: 'TURN',
      turn: { id: 't1', outcome: { type: 'CANCELED', reason: 'STOPPED', message: '', unconfirmed } },
    }) as unknown as EntryBody;
  const types = (...bodies: EntryBody[]) => show(bodies).map(({ type }) => type);
  expect(types(cut as unknown as EntryBody, ended([]))).toEqual(['assistant']);
  expect(types(ended([]))).toEqual(['outcome']);
  // There is more to say.
  expect(types(cut as unknown as EntryBody, ended(['c1']))).toEqual(['assistant', 'outcome']);
});

it('says the note of a decision once: as a message when it was said, else on the card', () => {
  const noted = { ...decision('DENIED'), feedback: 'Not so.' };
  const note: EntryBody = { kind: 'USER', text: 'Not so.', author, source: 'FEEDBACK' };
  const asked = [assistant('c1', 'c2'), cycle('SETTLED', { c1: noted, c2: noted })];
  const said = (...bodies: EntryBody[]) => calls(show([...asked, ...bodies])).map((b) => b.noteSaid);
  expect(said()).toEqual([false, false]);
  expect(said(note, note)).toEqual([true, true]);
  expect(said({ ...note, text: 'Other.' })).toEqual([false, false]);
});

it.each([
  ['{"command":"ls -la\\n  /tmp"}', 'ls -la /tmp'],
  ['{"path":"notes.txt","content":"hello"}', 'notes.txt'],
  ['{"pattern":"x","count":3}', 'pattern: x, count: 3'],
  ['{"cut off', '{"cut off'],
  ['[1]', '[1]'],
  [null, ''],
])('says the arguments %s in one line', (text, line) => {
  expect(argumentsLine(text)).toBe(line);
});

it('shortens a long line without splitting a character', () => {
  const line = argumentsLine(JSON.stringify({ command: '🙂'.repeat(200) }));
  expect(line.length).toBeLessThanOrEqual(160);
  expect(line.isWellFormed()).toBe(true);
});

it('shows arguments that are not JSON as they are', () => {
  expect(argumentsText('{"a":1}')).toBe('{\n  "a": 1\n}');
  expect(argumentsText('{"a":')).toBe('{"a":');
});

const summary: EntryBody = {
  kind: 'CHECKPOINT',
  summary: '# Short',
  watermark: 9,
  request: { messageId: 'm1', text: 'Build it.', author },
  trigger: 'TOOLS',
  before: 7_412,
  after: 1_204,
  model: 'big-1',
  alias: 'main',
  context: { told: 1_204, counted: null, scale: 1, overhead: 0, window: null },
};
/** The same turn, at another place of its way. */
const phase = (to: Turn['phase']): EntryBody => {
  const entry = turn(null);
  return entry.kind === 'TURN' ? { ...entry, turn: { ...entry.turn, phase: to } } : entry;
};

it('D-40 tells a summary in its place, with all that the model is told by it', () => {
  const [, block, after] = show([assistant('c1'), summary, tool('c1'), turn(null)]);
  expect(block).toMatchObject({
    type: 'checkpoint',
    revision: 11,
    summary: '# Short',
    request: { text: 'Build it.' },
    trigger: 'TOOLS',
    before: 7_412,
    after: 1_204,
    by: 'main',
    durable: true,
  });
  // The result belongs to the call, which is before it.
  expect(after).toBeUndefined();
});

it('D-40 says in its place that a summary came to nothing, and not where it did, or was stopped', () => {
  const marks = (...bodies: EntryBody[]) =>
    show(bodies).flatMap((b) => (b.type === 'mark' ? [[b.tone, b.text]] : []));
  expect(marks(phase('COMPACTING'), phase('COMPACTING'), phase('RUNNING'))).toEqual([
    ['WARNING', 'Older history could not be summarised'],
  ]);
  expect(marks(phase('COMPACTING'), summary, phase('RUNNING'))).toEqual([]);
  expect(marks(phase('COMPACTING'), phase('INTERRUPTING'))).toEqual([]);
  expect(marks(phase('RUNNING'))).toEqual([]);
});

it('D-40 what the server says is no message of a person, whoever the turn runs for', () => {
  const blocks = show([
    { kind: 'SYSTEM', text: 'Wind down.', source: 'COMPACTION_ADVICE' },
    { kind: 'USER', text: 'Go on.', author, source: 'COMPACTION_RESUME' },
  ]);
  expect(blocks.map((b) => b.type === 'system' && [b.source, b.text])).toEqual([
    ['COMPACTION_ADVICE', 'Wind down.'],
    ['COMPACTION_RESUME', 'Go on.'],
  ]);
});

/** A question about the budget, with what was answered. */
const budget = (status: ApprovalCycle['status'], verdict: ApprovalDecision['verdict'] | null): EntryBody => {
  const entry = cycle(status, { b1: verdict && decision(verdict) });
  return entry.kind === 'APPROVAL'
    ? { ...entry, cycle: { ...entry.cycle, kind: 'BUDGET', budget: { spent: 5, limit: 4, grant: 3 } } }
    : entry;
};

it('D-33 a question about the budget is one block from its asking to its answer, and no call', () => {
  const told = (...bodies: EntryBody[]) =>
    show(bodies).map((b) => [b.type, b.revision, b.type === 'budget' ? b.state : null]);
  expect(told(budget('OPEN', null))).toEqual([['budget', 10, 'ASKING']]);
  expect(told(budget('OPEN', null), budget('SETTLED', 'APPROVED'))).toEqual([['budget', 10, 'GRANTED']]);
  expect(told(budget('OPEN', null), budget('SUPERSEDED', null))).toEqual([['budget', 10, 'DROPPED']]);
  const denied = { type: 'CANCELED', reason: 'BUDGET_DENIED', message: 'm', unconfirmed: [] } as const;
  expect(told(budget('OPEN', null), budget('SETTLED', 'DENIED'), turn(denied))).toEqual([
    ['budget', 10, 'DENIED'],
    ['outcome', 12, null],
  ]);
  expect(told(budget('OPEN', null), turn(denied))[0]).toEqual(['budget', 10, 'DROPPED']);
});

it('keeps in sight what waits for a person, be it a call or the budget', () => {
  expect(show([budget('OPEN', null)]).some(asks)).toBe(true);
  expect(show([assistant('c1'), cycle('OPEN', { c1: null })]).some(asks)).toBe(true);
  expect(show([budget('SETTLED', 'APPROVED'), assistant('c1')]).some(asks)).toBe(false);
});

it('D-33 says that instructions or the budget were set or taken away', () => {
  const set = (part: object): EntryBody => ({
    kind: 'CONFIGURATION',
    configuration: {
      title: 't',
      titleSource: 'PERSON',
      model: 'm',
      workspace: '/w',
      approvalMode: 'ASK',
      approvalModeBy: author,
      ...part,
    },
  });
  const texts = show([
    set({}),
    set({ instructions: 'Be brief.', tokenBudget: 50_000 }),
    set({ tokenBudget: 60_000 }),
    set({}),
  ]).map((b) => b.type === 'mark' && b.text);
  expect(texts).toEqual([
    'Instructions set · Now with a budget of 50,000 tokens',
    'Instructions removed · Now with a budget of 60,000 tokens',
    'Now without a budget',
  ]);
});

const ci: Watch = {
  id: 'w1',
  version: 1,
  definition: {
    name: 'ci',
    command: 'make check',
    condition: null,
    everySeconds: 60,
    maxPolls: 100,
    deadline: null,
    repeat: false,
    instruction: null,
  },
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
const fired: Fire = {
  watchId: 'w1',
  poll: 2,
  reason: 'CHANGE',
  ended: true,
  definition: ci.definition,
  elapsedSeconds: 120,
  exitCode: 0,
  output: 'ok',
  error: null,
  author,
  depth: 1,
  firesBefore: 0,
  skipped: 0,
};
const begun = (depth?: number, startedAt = at): EntryBody => ({
  kind: 'TURN',
  turn: {
    id: 't9',
    kind: 'CHAT',
    phase: 'RUNNING',
    outcome: null,
    startedAt,
    ...(depth !== undefined && { depth }),
  } as unknown as Turn,
});

it('D-84 tells a fire as the word of the server, and what becomes of its watch once', () => {
  const ended: Watch = { ...ci, status: 'ENDED', end: 'FIRED', lastFire: 2, due: null };
  const shown = show([
    { kind: 'WATCH', watch: ci },
    { kind: 'SYSTEM', text: 'as told', source: 'WATCH', fire: fired },
    { kind: 'WATCH', watch: ended },
  ]);
  expect(shown.map(({ type }) => type)).toEqual(['mark', 'fire']);
  expect(shown[0]).toMatchObject({ text: 'Watch “ci” made: every 1 min, until its output changes' });
  expect(shown[1]).toMatchObject({ fire: fired });
});

it('D-85 says that a watch began a turn, once and not of one that a person began', () => {
  const texts = (bodies: readonly EntryBody[]) =>
    show(bodies).flatMap((block) => (block.type === 'mark' ? [block.text] : []));
  expect(texts([begun(1), begun(1)])).toEqual(['A watch began this turn (depth 1 of 5)']);
  expect(texts([begun()])).toEqual([]);
  // What is loaded begins in the middle of it.
  expect(texts([begun(1, '2026-11-30T09:00:00.000Z')])).toEqual([]);
});
