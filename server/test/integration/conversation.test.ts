/**
 * Owns: going back in a conversation, changing what waits in it, and its settings, over the public API of a real
 * server: accepted, refused, and given twice. Does not own: their rules (core).
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newKey, type Api, type Result } from '../../../e2e/support/api.ts';
import { brokenLaws, ofKind } from '../../../e2e/support/journal-laws.ts';
import { setBench, traceOf, type Bench } from './support.ts';

let bench: Bench;
let ada: Api;
let bob: Api;

beforeAll(async () => {
  bench = await setBench();
  const { weir, api } = await bench.join();
  ada = api;
  const { data } = await api.query<{ readonly createToken: { readonly secret: string } }>(
    'mutation ($input: CreateTokenInput!) { createToken(input: $input) { ... on CreateTokenPayload { secret } } }',
    { input: { key: newKey(), name: 'Bob' } },
  );
  bob = weir.api(data!.createToken.secret);
});
afterAll(() => bench.end());

type Answer = Result & Readonly<Record<string, unknown>>;

/** Each mutation, with the type of its input and what its payload adds. */
const mutations = {
  sendMessage: ['SendMessage', 'disposition messageId turnId revision'],
  editQueuedMessage: ['EditQueuedMessage', 'queue { held items { id text } }'],
  withdrawQueuedMessage: ['WithdrawQueuedMessage', 'queue { held items { id text } }'],
  stopTurn: ['StopTurn', 'stopped nothingToStop'],
  rewindWorkstream: ['RewindWorkstream', 'revision text superseded'],
  resendMessage: ['ResendMessage', 'disposition messageId turnId revision'],
  retryTurn: ['RetryTurn', 'disposition messageId turnId revision'],
  configureWorkstream: ['ConfigureWorkstream', 'configuration { approvalMode approvalModeBy { name } }'],
  discardUnsaved: ['DiscardUnsaved', 'discarded'],
} as const;

async function give(api: Api, name: keyof typeof mutations, input: object): Promise<Answer> {
  const [type, fields] = mutations[name];
  const { data, errors } = await api.query<Record<string, Answer>>(
    `mutation ($input: ${type}Input!) { ${name}(input: $input) {
      __typename
      ... on ${type}Payload { durability ${fields} }
      ... on Rejection {
        code
        message
        retryable
        ... on InvalidInput { field }
        ... on Busy { currentTurnId }
        ... on StaleTurn { currentTurnId }
        ... on NotYours { author { name } }
        ... on MessageNotQueued { queuedMessageIds }
      }
    } }`,
    { input: { key: newKey(), ...input } },
  );
  expect(errors).toEqual([]);
  return data![name]!;
}

/**
 * Given twice it is done once and answered the same; its key is good for nothing else (D-60). What it sets off must wait
 * at a gate: nothing else may be written meanwhile.
 */
async function once(name: keyof typeof mutations, input: object, other: object): Promise<Answer> {
  const key = newKey();
  const answer = await give(ada, name, { ...input, key });
  expect(answer, JSON.stringify(answer)).toMatchObject({ durability: 'DURABLE' });
  const { workstreamId } = input as { readonly workstreamId: string };
  const before = (await ada.history(workstreamId)).length;
  expect(await give(ada, name, { ...input, key })).toEqual(answer);
  expect(await give(ada, name, { ...input, ...other, key })).toMatchObject({ code: 'KEY_REUSED' });
  expect(await ada.history(workstreamId)).toHaveLength(before);
  return answer;
}

async function said(workstreamId: string, text: string, answer: string) {
  bench.provider.script([{ stream: [answer] }]);
  const sent = await ada.send(workstreamId, text);
  await ada.waitForState(workstreamId, 'IDLE');
  return { messageId: sent.messageId!, turnId: sent.turnId! };
}

/** A turn that waits at a gate. */
async function busy(gate: string) {
  const workstreamId = await ada.create();
  bench.provider.script([{ stream: ['Busy ', { gate }, 'no more.'] }]);
  const { turnId } = await ada.send(workstreamId, 'Go.');
  await bench.provider.waitForGate(gate);
  await ada.waitFor(workstreamId, (v) => v.overlay.message?.text === 'Busy ', 'the first piece');
  return { workstreamId, turnId: turnId! };
}

describe('what waits', () => {
  it('is steered, edited and withdrawn, each once for its key (D-60, D-63)', async () => {
    const { workstreamId, turnId } = await busy('edit');
    const steer = await once(
      'sendMessage',
      { workstreamId, text: 'Mind the gap.', delivery: 'STEER', turnId },
      { delivery: 'QUEUE', turnId: null },
    );
    expect(steer).toMatchObject({ disposition: 'STEERING', turnId });
    const { messageId } = await ada.send(workstreamId, 'Frist.');
    const edited = await once(
      'editQueuedMessage',
      { workstreamId, messageId, text: 'First.' },
      { text: 'Other.' },
    );
    expect(edited['queue']).toMatchObject({ items: [{ text: 'Mind the gap.' }, { text: 'First.' }] });
    const left = await once(
      'withdrawQueuedMessage',
      { workstreamId, messageId },
      { messageId: steer['messageId'] },
    );
    expect(left['queue']).toMatchObject({ items: [{ text: 'Mind the gap.' }] });
    bench.provider.script([{ stream: ['Minded.'] }]);
    bench.provider.release('edit');
    await ada.waitForState(workstreamId, 'IDLE');
    expect(ofKind(await ada.history(workstreamId), 'USER').map((e) => e.text)).toEqual([
      'Go.',
      'Mind the gap.',
    ]);
    bench.provider.assertDone();
  });

  it('is refused with the facts, and nothing changes (D-11, D-12)', async () => {
    const { workstreamId, turnId } = await busy('refuse');
    const { messageId } = await ada.send(workstreamId, 'Mine.');
    const before = await traceOf(bench.database, ada, workstreamId);
    const on = { workstreamId };
    const steer = { ...on, text: 'x', delivery: 'STEER' };
    for (const [api, name, input, refusal] of [
      [ada, 'sendMessage', steer, { code: 'INVALID_INPUT', field: 'turnId' }],
      [ada, 'sendMessage', { ...on, text: 'x', turnId }, { code: 'INVALID_INPUT', field: 'turnId' }],
      [
        ada,
        'sendMessage',
        { ...on, text: 'x', delivery: 'REJECT' },
        { code: 'BUSY', currentTurnId: turnId, retryable: true },
      ],
      [ada, 'editQueuedMessage', { ...on, messageId, text: ' ' }, { code: 'INVALID_INPUT', field: 'text' }],
      [ada, 'rewindWorkstream', { ...on, messageId, turnId }, { code: 'BUSY', currentTurnId: turnId }],
      [ada, 'resendMessage', { ...on, messageId, turnId, text: 'x' }, { code: 'BUSY' }],
      [ada, 'retryTurn', { ...on, turnId, from: 'MESSAGE' }, { code: 'BUSY' }],
      [ada, 'discardUnsaved', on, { code: 'NOTHING_TO_DISCARD' }],
    ] as const)
      expect(await give(api, name, input), name).toMatchObject(refusal);
    // These stay, so they are recorded and given again.
    for (const [api, name, input, refusal] of [
      [ada, 'sendMessage', { ...steer, turnId: 'older' }, { code: 'STALE_TURN', currentTurnId: turnId }],
      [bob, 'sendMessage', { ...steer, turnId }, { code: 'NOT_YOURS' }],
      [bob, 'editQueuedMessage', { ...on, messageId, text: 'His.' }, { code: 'NOT_YOURS' }],
      [
        ada,
        'editQueuedMessage',
        { ...on, messageId: 'gone', text: 'x' },
        { code: 'MESSAGE_NOT_QUEUED', queuedMessageIds: [messageId] },
      ],
      [
        ada,
        'withdrawQueuedMessage',
        { ...on, messageId: 'gone' },
        { code: 'MESSAGE_NOT_QUEUED', queuedMessageIds: [messageId] },
      ],
    ] as const) {
      const key = newKey();
      const refused = await give(api, name, { ...input, key });
      expect(refused, name).toMatchObject({ ...refusal, retryable: false });
      expect(await give(api, name, { ...input, key }), name).toEqual(refused);
    }
    expect(await traceOf(bench.database, ada, workstreamId)).toEqual(before);
    bench.provider.script([{ stream: ['Yours.'] }]);
    bench.provider.release('refuse');
    await ada.waitForState(workstreamId, 'IDLE');
    bench.provider.assertDone();
  });
});

describe('going back', () => {
  it('retries, says it otherwise and takes it back, each once for its key (D-59, D-60)', async () => {
    const workstreamId = await ada.create();
    const { messageId, turnId } = await said(workstreamId, 'One?', 'No.');
    bench.provider.script([{ stream: [{ gate: 'retried' }, 'Yes.'] }]);
    const retried = await once(
      'retryTurn',
      { workstreamId, turnId, from: 'MESSAGE' },
      { from: 'LAST_RESULT' },
    );
    expect(retried).toMatchObject({ disposition: 'STARTED', messageId });
    bench.provider.release('retried');
    await ada.waitForState(workstreamId, 'IDLE');
    bench.provider.script([{ stream: [{ gate: 'resent' }, 'Two.'] }]);
    const resent = await once(
      'resendMessage',
      { workstreamId, messageId, turnId: retried['turnId'], text: 'Two?' },
      { text: 'Three?' },
    );
    bench.provider.release('resent');
    await ada.waitForState(workstreamId, 'IDLE');
    const rewound = await once(
      'rewindWorkstream',
      { workstreamId, messageId: resent['messageId'], turnId: resent['turnId'] },
      { messageId },
    );
    expect(rewound).toMatchObject({ text: 'Two?', superseded: 2 });
    const history = await ada.history(workstreamId);
    expect(ofKind(history, 'REWIND').map((e) => e.reason)).toEqual(['RETRY', 'EDIT', 'REWIND']);
    expect(brokenLaws(history, { settled: true })).toEqual([]);
    for (const [name, input, refusal] of [
      ['rewindWorkstream', { messageId, turnId: null }, { code: 'MESSAGE_NOT_FOUND' }],
      ['rewindWorkstream', { messageId, turnId }, { code: 'STALE_TURN', currentTurnId: null }],
      ['resendMessage', { messageId, turnId: null, text: 'x' }, { code: 'MESSAGE_NOT_FOUND' }],
      ['resendMessage', { messageId, turnId: null, text: '' }, { code: 'INVALID_INPUT', field: 'text' }],
      ['retryTurn', { turnId: null, from: 'MESSAGE' }, { code: 'MESSAGE_NOT_FOUND' }],
    ] as const)
      expect(await give(ada, name, { workstreamId, ...input }), name).toMatchObject({
        ...refusal,
        retryable: false,
      });
    bench.provider.assertDone();
  });
});

describe('settings and force', () => {
  it('sets the mode once for its key (D-60, D-64)', async () => {
    const workstreamId = await ada.create();
    const set = await once(
      'configureWorkstream',
      { workstreamId, approvalMode: 'TRUST_WORKSPACE' },
      { approvalMode: 'ASK' },
    );
    expect(set['configuration']).toMatchObject({ approvalMode: 'TRUST_WORKSPACE' });
    const { view } = await ada.snapshot(workstreamId);
    expect(view.projection.configuration.approvalMode).toBe('TRUST_WORKSPACE');
  });

  it('stops with force once for its key (D-60, D-66)', async () => {
    const { workstreamId, turnId } = await busy('force');
    const stopped = await once('stopTurn', { workstreamId, turnId, force: true }, { force: false });
    expect(stopped).toMatchObject({ nothingToStop: false });
    bench.provider.release('force');
    await ada.waitForState(workstreamId, 'IDLE');
  });

  it('refuses all of them for a workstream that is not there', async () => {
    const workstreamId = Buffer.from('Workstream:00000000000000000000000000000000').toString('base64');
    for (const [name, input] of [
      ['editQueuedMessage', { messageId: 'x', text: 'x' }],
      ['withdrawQueuedMessage', { messageId: 'x' }],
      ['rewindWorkstream', { messageId: 'x', turnId: null }],
      ['resendMessage', { messageId: 'x', turnId: null, text: 'x' }],
      ['retryTurn', { turnId: null, from: 'MESSAGE' }],
      ['configureWorkstream', { approvalMode: 'ASK' }],
      ['discardUnsaved', {}],
    ] as const)
      expect(await give(ada, name, { workstreamId, ...input }), name).toMatchObject({
        code: 'WORKSTREAM_NOT_FOUND',
      });
  });
});
