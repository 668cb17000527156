/** What a mutation hands to its port, and what of the answer reaches the client. */
import { parse } from 'graphql';
import { describe, expect, it } from 'vitest';
import {
  cancelWatch,
  closeWorkstream,
  compactWorkstream,
  configureWorkstream,
  createWatch,
  createWorkstream,
  deleteWorkstream,
  discardUnsaved,
  editQueuedMessage,
  forkWorkstream,
  openWorkstream,
  pauseWatch,
  resendMessage,
  resumeWatch,
  retryTurn,
  rewindWorkstream,
  runWatchNow,
  sendMessage,
  stopTurn,
  updateWatch,
  withdrawQueuedMessage,
} from '../src/client-kit/index.ts';
import type { Rejection } from '../src/outcome.ts';
import type { Configuration, Queue, Watch } from '../src/projection/index.ts';
import { schema } from '../src/schema.ts';
import { workstreamGlobalId } from '../src/types/global-id.ts';
import { createInProcess } from './client-kit/support/in-process.ts';

const workstreamId = workstreamGlobalId('w1');
const key = 'key-00000001';
const ann = { id: 'a1', name: 'Ann' };

const queue: Queue = {
  held: false,
  items: [
    {
      id: 'q1',
      text: 'not so',
      author: ann,
      delivery: 'STEER',
      turnId: 't1',
      afterStop: false,
      at: '2026-11-30T09:52:03.120Z',
    },
  ],
};
const configuration: Configuration = {
  title: 'T',
  titleSource: 'PERSON',
  model: 'demo',
  workspace: '/w',
  approvalMode: 'TRUST_ALL',
  approvalModeBy: ann,
};
const watch: Watch = {
  id: 'wa1',
  version: 2,
  definition: {
    name: 'ci',
    command: 'make',
    condition: null,
    everySeconds: 300,
    maxPolls: 100,
    deadline: null,
    repeat: false,
    instruction: null,
  },
  status: 'ACTIVE',
  pausedBy: null,
  end: null,
  author: ann,
  depth: 1,
  createdAt: '2026-11-30T09:52:03.120Z',
  lastFire: 0,
  firesTold: 0,
  due: 'NOW',
};
const said = { disposition: 'STEERING', messageId: 'q1', turnId: 't1', revision: 7 } as const;
const rewound = { revision: 9, text: 'hello', superseded: 3 };
const stopped = { stopped: ['t1', 'k1'], nothingToStop: false };

/** A server on which everything is accepted with these facts. */
function accepting() {
  const asked: unknown[] = [];
  const answer =
    <Facts>(facts: Facts) =>
    (_by: unknown, input: unknown) => {
      asked.push(input);
      return Promise.resolve({ type: 'Accepted', durability: 'DURABLE', ...facts } as const);
    };
  const transport = createInProcess({
    workstreams: {
      create: answer({ workstreamId: 'w1' }),
      configure: answer({ configuration }),
      compact: answer({ turnId: 't9' }),
      discardUnsaved: answer({ discarded: 2 }),
      close: answer({ lifecycle: 'CLOSED' as const }),
      open: answer({ lifecycle: 'OPEN' as const }),
      delete: answer({ workstreamId: 'w1', workspaceKept: '/w/w1' }),
      fork: answer({ workstreamId: 'w2' }),
    },
    messages: {
      send: answer(said),
      editQueued: answer({ queue }),
      withdrawQueued: answer({ queue }),
      rewind: answer(rewound),
      resend: answer(said),
    },
    turns: { stop: answer(stopped), retry: answer(said) },
    watches: {
      create: answer({ watch }),
      update: answer({ watch }),
      pause: answer({ watch }),
      resume: answer({ watch }),
      runNow: answer({ watch }),
      cancel: answer({ watch }),
    },
  });
  return { asked, transport };
}

const where = { key, workstreamId };
const handed = { key, workstreamId: 'w1' };
/** What a setting that is not named is handed on as. */
const leave = { title: null, approvalMode: null, model: null, instructions: null, tokenBudget: null };

const { id: watchId, ...watched } = watch;
/** A watch as the client sees it. */
const seen = { watch: { watchId, ...watched } };
const nothingChanged = {
  name: null,
  command: null,
  condition: null,
  every: null,
  maxPolls: null,
  deadline: null,
  repeat: null,
  instruction: null,
};

describe('a mutation', () => {
  it.each([
    [
      'sendMessage: without a word about delivery it is QUEUE (D-63)',
      sendMessage,
      { ...where, text: 'hello' },
      { ...handed, text: 'hello', delivery: 'QUEUE', turnId: null },
      said,
    ],
    [
      'sendMessage: STEER with the turn the caller saw (D-62)',
      sendMessage,
      { ...where, text: 'not so', delivery: 'STEER', turnId: 't1' },
      { ...handed, text: 'not so', delivery: 'STEER', turnId: 't1' },
      said,
    ],
    [
      'editQueuedMessage',
      editQueuedMessage,
      { ...where, messageId: 'q1', text: 'so' },
      { ...handed, messageId: 'q1', text: 'so' },
      { queue },
    ],
    [
      'withdrawQueuedMessage',
      withdrawQueuedMessage,
      { ...where, messageId: 'q1' },
      { ...handed, messageId: 'q1' },
      { queue },
    ],
    [
      'rewindWorkstream: no turn was shown (D-59)',
      rewindWorkstream,
      { ...where, messageId: 'e3' },
      { ...handed, messageId: 'e3', turnId: null },
      rewound,
    ],
    [
      'resendMessage (D-59)',
      resendMessage,
      { ...where, messageId: 'e3', turnId: 't1', text: 'so' },
      { ...handed, messageId: 'e3', turnId: 't1', text: 'so' },
      said,
    ],
    [
      'retryTurn (D-59)',
      retryTurn,
      { ...where, turnId: 't1', from: 'LAST_RESULT' },
      { ...handed, turnId: 't1', from: 'LAST_RESULT' },
      said,
    ],
    [
      'stopTurn: waits unless it is told not to (D-66)',
      stopTurn,
      where,
      { ...handed, turnId: null, force: false },
      stopped,
    ],
    [
      'stopTurn: with force (D-66)',
      stopTurn,
      { ...where, turnId: 't1', force: true },
      { ...handed, turnId: 't1', force: true },
      stopped,
    ],
    [
      'configureWorkstream (D-64)',
      configureWorkstream,
      { ...where, approvalMode: 'TRUST_ALL' },
      { ...handed, ...leave, approvalMode: 'TRUST_ALL' },
      { configuration },
    ],
    [
      'configureWorkstream: what is not named is left',
      configureWorkstream,
      where,
      { ...handed, ...leave },
      { configuration },
    ],
    [
      'configureWorkstream: with a model as it is set up',
      configureWorkstream,
      { ...where, model: { alias: 'fast' } },
      {
        ...handed,
        ...leave,
        model: { alias: 'fast', temperature: null, effort: null },
      },
      { configuration },
    ],
    [
      'configureWorkstream: with a model and how it is to answer',
      configureWorkstream,
      { ...where, model: { alias: 'fast', temperature: 0, effort: 'HIGH' } },
      {
        ...handed,
        ...leave,
        model: { alias: 'fast', temperature: 0, effort: 'HIGH' },
      },
      { configuration },
    ],
    [
      'configureWorkstream: with a title',
      configureWorkstream,
      { ...where, title: 'Fix it' },
      { ...handed, ...leave, title: 'Fix it' },
      { configuration },
    ],
    [
      'configureWorkstream: with instructions and a budget (D-33)',
      configureWorkstream,
      { ...where, instructions: 'Be brief.', tokenBudget: 5_000 },
      { ...handed, ...leave, instructions: 'Be brief.', tokenBudget: 5_000 },
      { configuration },
    ],
    [
      'configureWorkstream: with none of them any more (D-33)',
      configureWorkstream,
      { ...where, instructions: '', tokenBudget: 0 },
      { ...handed, ...leave, instructions: '', tokenBudget: 0 },
      { configuration },
    ],
    ['compactWorkstream (D-40)', compactWorkstream, where, handed, { turnId: 't9' }],
    ['closeWorkstream (D-23)', closeWorkstream, where, handed, { lifecycle: 'CLOSED' }],
    ['openWorkstream (D-23)', openWorkstream, where, handed, { lifecycle: 'OPEN' }],
    [
      'deleteWorkstream: says which folder is left (D-25)',
      deleteWorkstream,
      where,
      handed,
      { workstreamId, workspaceKept: '/w/w1' },
    ],
    [
      'forkWorkstream: of all there is',
      forkWorkstream,
      where,
      { ...handed, revision: null, title: null, workspace: null },
      { workstreamId: workstreamGlobalId('w2') },
    ],
    [
      'forkWorkstream: at a place, with a name and a folder',
      forkWorkstream,
      { ...where, revision: 7, title: 'Other', workspace: '/w/2' },
      { ...handed, revision: 7, title: 'Other', workspace: '/w/2' },
      { workstreamId: workstreamGlobalId('w2') },
    ],
    [
      'createWorkstream: with a mode (D-64)',
      createWorkstream,
      { key, approvalMode: 'TRUST_WORKSPACE', temperature: 1.5, effort: 'NONE' },
      {
        key,
        title: null,
        model: null,
        temperature: 1.5,
        effort: 'NONE',
        workspace: null,
        approvalMode: 'TRUST_WORKSPACE',
        instructions: null,
        tokenBudget: null,
      },
      { workstreamId },
    ],
    [
      'createWorkstream: with instructions and a budget (D-33)',
      createWorkstream,
      { key, instructions: 'Be brief.', tokenBudget: 1_000 },
      {
        key,
        title: null,
        model: null,
        temperature: null,
        effort: null,
        workspace: null,
        approvalMode: null,
        instructions: 'Be brief.',
        tokenBudget: 1_000,
      },
      { workstreamId },
    ],
    [
      'createWatch: with what it cannot do without (D-80)',
      createWatch,
      { ...where, command: 'make', every: '5m' },
      { ...handed, ...nothingChanged, command: 'make', every: '5m', repeat: false },
      seen,
    ],
    [
      'createWatch: with everything (D-80)',
      createWatch,
      {
        ...where,
        name: 'ci',
        command: 'make',
        condition: 'changed',
        every: 'PT5M',
        maxPolls: 3,
        deadline: '2h',
        repeat: true,
        instruction: 'Merge it.',
      },
      {
        ...handed,
        name: 'ci',
        command: 'make',
        condition: 'changed',
        every: 'PT5M',
        maxPolls: 3,
        deadline: '2h',
        repeat: true,
        instruction: 'Merge it.',
      },
      seen,
    ],
    [
      'updateWatch: what is not named is left (D-80)',
      updateWatch,
      { ...where, watchId, version: 1, condition: '' },
      { ...handed, ...nothingChanged, watchId, version: 1, condition: '' },
      seen,
    ],
    ['pauseWatch', pauseWatch, { ...where, watchId }, { ...handed, watchId }, seen],
    ['resumeWatch', resumeWatch, { ...where, watchId }, { ...handed, watchId }, seen],
    ['runWatchNow', runWatchNow, { ...where, watchId }, { ...handed, watchId }, seen],
    ['cancelWatch', cancelWatch, { ...where, watchId }, { ...handed, watchId }, seen],
    ['discardUnsaved (D-51)', discardUnsaved, where, handed, { discarded: 2 }],
  ])('hands on what was asked and brings the facts back: %s', async (_name, document, input, port, facts) => {
    const { asked, transport } = accepting();
    const answer = await transport.request(document as typeof sendMessage, { input: input as never });
    expect(answer).toMatchObject({ ok: true, data: { result: { durability: 'DURABLE', ...facts } } });
    expect(asked).toEqual([port]);
  });
});

const refusal = <C extends Rejection['code']>(code: C) =>
  ({ type: 'Rejected', code, message: 'No.', retryable: false }) as const;

describe('a refusal (D-11)', () => {
  it.each([
    ['Busy', { ...refusal('BUSY'), currentTurnId: 't1' }, 'currentTurnId'],
    ['Busy', { ...refusal('BUSY'), currentTurnId: null }, 'currentTurnId'],
    ['StaleTurn', { ...refusal('STALE_TURN'), currentTurnId: null }, 'currentTurnId'],
    ['NotYours', { ...refusal('NOT_YOURS'), author: ann }, 'author { id name }'],
    ['QueueFull', { ...refusal('QUEUE_FULL'), capacity: 20 }, 'capacity'],
    ['UnsavedConflict', refusal('UNSAVED_CONFLICT'), 'code'],
    ['Discarded', refusal('DISCARDED'), 'code'],
    ['AtCapacity', { ...refusal('AT_CAPACITY'), capacity: 500 }, 'capacity'],
    ['Closing', refusal('CLOSING'), 'code'],
  ] as const)('of sendMessage: %s with its facts', async (name, refused, fields) => {
    const transport = createInProcess({ messages: { send: () => Promise.resolve(refused) } });
    const { type: _, ...facts } = refused;
    expect(await resultOf(transport, 'sendMessage', { text: 'x' }, name, fields)).toEqual({
      __typename: name,
      ...facts,
    });
  });

  it.each([
    [
      'editQueuedMessage',
      'MessageNotQueued',
      { ...refusal('MESSAGE_NOT_QUEUED'), queuedMessageIds: ['q2'] },
      'queuedMessageIds',
    ],
    ['rewindWorkstream', 'MessageNotFound', { ...refusal('MESSAGE_NOT_FOUND'), watermark: 7 }, 'watermark'],
    [
      'rewindWorkstream',
      'MessageNotFound',
      { ...refusal('MESSAGE_NOT_FOUND'), watermark: null },
      'watermark',
    ],
    ['compactWorkstream', 'NothingToCompact', refusal('NOTHING_TO_COMPACT'), 'code'],
    ['compactWorkstream', 'Busy', { ...refusal('BUSY'), currentTurnId: 't1' }, 'currentTurnId'],
    ['discardUnsaved', 'NothingToDiscard', refusal('NOTHING_TO_DISCARD'), 'code'],
    [
      'closeWorkstream',
      'JournalUnsettled',
      { ...refusal('JOURNAL_UNSETTLED'), turnStopped: true },
      'turnStopped',
    ],
    ['openWorkstream', 'AtCapacity', { ...refusal('AT_CAPACITY'), capacity: 500 }, 'capacity'],
    ['deleteWorkstream', 'Closing', refusal('CLOSING'), 'code'],
    ['createWatch', 'WatchLimit', { ...refusal('WATCH_LIMIT'), capacity: 5 }, 'capacity'],
    ['createWatch', 'WatchNameTaken', { ...refusal('WATCH_NAME_TAKEN'), name: 'ci' }, 'name'],
    ['updateWatch', 'StaleWatch', { ...refusal('STALE_WATCH'), currentVersion: 3 }, 'currentVersion'],
    ['cancelWatch', 'WatchNotFound', { ...refusal('WATCH_NOT_FOUND'), watchIds: ['wa1'] }, 'watchIds'],
    ['forkWorkstream', 'InvalidInput', { ...refusal('INVALID_INPUT'), field: 'revision' }, 'field'],
  ] as const)('of %s: %s with its facts', async (verb, name, refused, fields) => {
    const answer = () => Promise.resolve(refused as never);
    const transport = createInProcess({
      messages: { editQueued: answer, rewind: answer },
      workstreams: {
        compact: answer,
        discardUnsaved: answer,
        close: answer,
        open: answer,
        delete: answer,
        fork: answer,
      },
      watches: { create: answer, update: answer, cancel: answer },
    });
    const rest = {
      editQueuedMessage: { messageId: 'q1', text: 'x' },
      rewindWorkstream: { messageId: 'e1' },
      compactWorkstream: {},
      discardUnsaved: {},
      closeWorkstream: {},
      openWorkstream: {},
      deleteWorkstream: {},
      forkWorkstream: {},
      createWatch: { command: 'make', every: '5m' },
      updateWatch: { watchId: 'wa1', version: 1 },
      cancelWatch: { watchId: 'wa1' },
    }[verb];
    const { type: _, ...facts } = refused;
    expect(await resultOf(transport, verb, rest, name, fields)).toEqual({ __typename: name, ...facts });
  });

  it.each(['compactWorkstream', 'closeWorkstream', 'openWorkstream', 'deleteWorkstream', 'forkWorkstream'])(
    'of %s: a text that is the id of nothing reaches no port',
    async (verb) => {
      const nowhere = { workstreamId: 'nothing' };
      expect(await resultOf(createInProcess({}), verb, nowhere, 'WorkstreamNotFound', 'code')).toMatchObject({
        __typename: 'WorkstreamNotFound',
        code: 'WORKSTREAM_NOT_FOUND',
      });
    },
  );

  it('is of a type that the schema names for each code there is', () => {
    const codes = schema.getType('RejectionCode') as unknown as { getValues(): { name: string }[] };
    const names = schema.getPossibleTypes(schema.getType('Rejection') as never).map((t) => t.name);
    const pascal = (code: string) =>
      code.toLowerCase().replace(/(^|_)(\w)/g, (_, __, letter: string) => letter.toUpperCase());
    expect(names.toSorted()).toEqual(
      codes
        .getValues()
        .map(({ name }) => pascal(name))
        .toSorted(),
    );
  });
});

async function resultOf(
  transport: ReturnType<typeof createInProcess>,
  verb: string,
  rest: object,
  type: string,
  fields: string,
): Promise<unknown> {
  const input = `${verb[0]!.toUpperCase()}${verb.slice(1)}Input!`;
  const document = parse(
    `mutation ($input: ${input}) { result: ${verb}(input: $input) {
       __typename ... on Rejection { code message retryable } ... on ${type} { ${fields} } } }`,
  );
  const answer = await transport.request<{ readonly result: unknown }, object>(document, {
    input: { ...where, ...rest },
  });
  return answer.ok ? answer.data.result : answer.failure;
}
