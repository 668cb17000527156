/** What a mutation hands to its port, and what of the answer reaches the client. */
import { parse } from 'graphql';
import { describe, expect, it } from 'vitest';
import {
  configureWorkstream,
  createWorkstream,
  discardUnsaved,
  editQueuedMessage,
  resendMessage,
  retryTurn,
  rewindWorkstream,
  sendMessage,
  stopTurn,
  withdrawQueuedMessage,
} from '../src/client-kit/operations.ts';
import type { Rejection } from '../src/outcome.ts';
import type { Configuration, Queue } from '../src/projection/index.ts';
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
  model: 'demo',
  workspace: '/w',
  approvalMode: 'TRUST_ALL',
  approvalModeBy: ann,
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
      discardUnsaved: answer({ discarded: 2 }),
    },
    messages: {
      send: answer(said),
      editQueued: answer({ queue }),
      withdrawQueued: answer({ queue }),
      rewind: answer(rewound),
      resend: answer(said),
    },
    turns: { stop: answer(stopped), retry: answer(said) },
  });
  return { asked, transport };
}

const where = { key, workstreamId };
const handed = { key, workstreamId: 'w1' };

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
      { ...handed, approvalMode: 'TRUST_ALL' },
      { configuration },
    ],
    [
      'configureWorkstream: what is not named is left',
      configureWorkstream,
      where,
      { ...handed, approvalMode: null },
      { configuration },
    ],
    [
      'createWorkstream: with a mode (D-64)',
      createWorkstream,
      { key, approvalMode: 'TRUST_WORKSPACE' },
      { key, title: null, model: null, workspace: null, approvalMode: 'TRUST_WORKSPACE' },
      { workstreamId },
    ],
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
    ['rewindWorkstream', 'MessageNotFound', refusal('MESSAGE_NOT_FOUND'), 'code'],
    ['discardUnsaved', 'NothingToDiscard', refusal('NOTHING_TO_DISCARD'), 'code'],
  ] as const)('of %s: %s with its facts', async (verb, name, refused, fields) => {
    const answer = () => Promise.resolve(refused as never);
    const transport = createInProcess({
      messages: { editQueued: answer, rewind: answer },
      workstreams: { discardUnsaved: answer },
    });
    const rest = {
      editQueuedMessage: { messageId: 'q1', text: 'x' },
      rewindWorkstream: { messageId: 'e1' },
      discardUnsaved: {},
    }[verb];
    const { type: _, ...facts } = refused;
    expect(await resultOf(transport, verb, rest, name, fields)).toEqual({ __typename: name, ...facts });
  });

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
