import type { SendMessage, SendMessageOutcome } from 'schema/services';
import { beforeEach, describe, expect, it } from 'vitest';
import { isRetryable, type CoreRefusal } from '../../src/core/refusals.ts';
import { refusalView } from '../../src/app/views/refusals.ts';
import { ada, bob, createWorld, newKey, unchanged, until, type World } from './support/world.ts';

let world: World;
let id: string;
beforeEach(async () => {
  world = await createWorld();
  id = await world.open();
});

const projection = () => world.registry.peek(id)!.state().projection;
const texts = () => world.storage.entries(id).flatMap((e) => (e.kind === 'USER' ? [e.text] : []));
const command = () => ({ key: newKey(), workstreamId: id });
const idOf = (sent: SendMessageOutcome): string => {
  if (sent.type !== 'Accepted') throw new Error(sent.message);
  return sent.messageId;
};
const send = (more: Partial<SendMessage>, by = ada) =>
  world.services.messages.send(by, { ...command(), text: 'x', delivery: 'QUEUE', turnId: null, ...more });
/** Says something and has it answered; answers the ids of the message and of its turn. */
async function said(text: string, n = 0): Promise<{ messageId: string; turnId: string }> {
  const messageId = idOf(await world.send(id, text));
  (await until(() => world.model.calls[n])).answer();
  await until(() => projection().turn?.phase === 'COMPLETED');
  await until(() => world.registry.peek(id)!.state().pending.length === 0);
  return { messageId, turnId: projection().turn!.id };
}
/** Starts a turn of Ada's that waits for its model; answers its id. */
async function running(): Promise<string> {
  await world.send(id, 'go');
  await until(() => world.model.calls[0]);
  return projection().turn!.id;
}

const badTexts = [
  ['nothing', ''],
  ['blanks', ' \n\t '],
  ['a byte over a megabyte', 'x'.repeat(1_000_001)],
] as const;

describe('How a message is delivered', () => {
  it.each([
    ['to steer no turn in particular', { delivery: 'STEER', turnId: null }],
    ['to queue for a turn', { delivery: 'QUEUE', turnId: 't' }],
    ['to be refused by a turn', { delivery: 'REJECT', turnId: 't' }],
  ] as const)('%s makes no sense, says so, and changes nothing (D-11, D-62)', async (_, more) => {
    expect(await send(more)).toMatchObject({ code: 'INVALID_INPUT', field: 'turnId', retryable: false });
    expect(world.storage.attempts).toEqual([]);
  });

  it('STEER waits for the calls of the turn it is meant for, QUEUE for its end (D-63)', async () => {
    const turnId = await running();
    expect(await send({ text: 'now', delivery: 'STEER', turnId })).toMatchObject({
      type: 'Accepted',
      durability: 'DURABLE',
      disposition: 'STEERING',
      turnId,
    });
    expect(await send({ text: 'later' })).toMatchObject({ disposition: 'QUEUED' });
    expect(projection().queue.items).toMatchObject([
      { text: 'now', delivery: 'STEER', turnId },
      { text: 'later', delivery: 'QUEUE', turnId: null },
    ]);
  });

  it('STEER for another turn than the live one, or for somebody else’s, is refused (D-12, D-62)', async () => {
    const turnId = await running();
    expect(await send({ delivery: 'STEER', turnId: 'older' })).toMatchObject({
      code: 'STALE_TURN',
      currentTurnId: turnId,
    });
    expect(await send({ delivery: 'STEER', turnId }, bob)).toMatchObject({
      code: 'NOT_YOURS',
      author: { id: 'ada' },
      retryable: false,
      message: expect.stringMatching(/Ask Ada, or send/) as unknown,
    });
  });

  it('REJECT is refused while a turn runs, for now, and says what to do (D-63)', async () => {
    const turnId = await running();
    const key = newKey();
    expect(await send({ key, delivery: 'REJECT' })).toMatchObject({
      code: 'BUSY',
      currentTurnId: turnId,
      retryable: true,
      message: expect.stringMatching(/[Ww]ait.*stop/) as unknown,
    });
    await world.stop(id);
    await until(() => projection().turn?.phase === 'CANCELED');
    expect(await send({ key, delivery: 'REJECT' })).toMatchObject({ disposition: 'STARTED' });
  });
});

describe('A message that waits', () => {
  const waiting = async () => {
    await running();
    return idOf(await send({ text: 'first thought' }));
  };
  const edit = (messageId: string, text: string, by = ada) =>
    world.services.messages.editQueued(by, { ...command(), messageId, text });
  const withdraw = (messageId: string, by = ada) =>
    world.services.messages.withdrawQueued(by, { ...command(), messageId });

  it('is edited by its author, and withdrawn by anybody (D-12, D-63)', async () => {
    const messageId = await waiting();
    expect(await edit(messageId, 'better')).toMatchObject({
      durability: 'DURABLE',
      queue: { items: [{ id: messageId, text: 'better' }] },
    });
    expect(await edit(messageId, 'worse', bob)).toMatchObject({ code: 'NOT_YOURS', author: { id: 'ada' } });
    expect(await withdraw(messageId, bob)).toMatchObject({ durability: 'DURABLE', queue: { items: [] } });
  });

  it('and does not any more is named with those that do (D-62)', async () => {
    const messageId = await waiting();
    const gone = {
      code: 'MESSAGE_NOT_QUEUED',
      queuedMessageIds: [messageId],
      retryable: false,
      message: expect.stringContaining('send another one') as unknown,
    };
    expect(await edit('gone', 'better')).toMatchObject(gone);
    expect(await withdraw('gone')).toMatchObject(gone);
  });

  it.each(badTexts)('is not edited to %s (D-11)', async (_, text) => {
    const messageId = await waiting();
    const before = projection();
    expect(await edit(messageId, text)).toMatchObject({ code: 'INVALID_INPUT', field: 'text' });
    expect(projection()).toEqual(before);
  });
});

describe('Going back', () => {
  const rewind = (messageId: string, turnId: string | null) =>
    world.services.messages.rewind(ada, { ...command(), messageId, turnId });
  const resend = (messageId: string, turnId: string | null, text: string) =>
    world.services.messages.resend(ada, { ...command(), messageId, turnId, text });
  const retry = (turnId: string | null, from: 'MESSAGE' | 'LAST_RESULT' = 'MESSAGE', by = ada) =>
    world.services.turns.retry(by, { ...command(), turnId, from });

  it('takes a message back, once for a key, and says what it was (D-59, D-60)', async () => {
    const { messageId, turnId } = await said('a mistake');
    const input = { ...command(), messageId, turnId };
    const taken = await world.services.messages.rewind(ada, input);
    expect(taken).toMatchObject({ durability: 'DURABLE', text: 'a mistake', superseded: 2 });
    expect(await world.services.messages.rewind(ada, input)).toEqual(taken);
    expect(projection().turn).toBeNull();
    expect(await rewind(messageId, null)).toMatchObject({ code: 'MESSAGE_NOT_FOUND', retryable: false });
    expect(await rewind(messageId, turnId)).toMatchObject({ code: 'STALE_TURN', currentTurnId: null });
  });

  it('says something else in the place of a message (D-59)', async () => {
    const { messageId, turnId } = await said('a mistake');
    expect(await resend(messageId, turnId, 'what was meant')).toMatchObject({ disposition: 'STARTED' });
    const call = await until(() => world.model.calls[1]);
    expect(call.request.messages.filter((m) => m.role === 'user').map((m) => m.text)).toEqual([
      'what was meant',
    ]);
    expect(texts()).toEqual(['a mistake', 'what was meant']);
  });

  it.each(badTexts)('does not say %s instead (D-11)', async (_, text) => {
    const { messageId, turnId } = await said('a mistake');
    const attempts = world.storage.attempts.length;
    expect(await resend(messageId, turnId, text)).toMatchObject({ code: 'INVALID_INPUT', field: 'text' });
    expect(world.storage.attempts).toHaveLength(attempts);
  });

  it('asks again, on the credentials of who had asked and of nobody else (D-12, D-59)', async () => {
    const { messageId, turnId } = await said('a question');
    expect(await retry(turnId, 'MESSAGE', bob)).toMatchObject({ code: 'NOT_YOURS', author: { id: 'ada' } });
    expect(await retry(turnId)).toMatchObject({ disposition: 'STARTED', messageId });
    expect((await until(() => world.model.calls[1])).request.messages.at(-1)?.text).toBe('a question');
  });

  it('waits until the turn is over, and needs to have seen the last one (D-59, D-62)', async () => {
    const { messageId, turnId } = await said('first');
    const second = await world.send(id, 'second');
    const live = second.type === 'Accepted' ? second.turnId : null;
    const busy = { code: 'BUSY', currentTurnId: live, retryable: true };
    for (const refused of [
      await rewind(messageId, live),
      await resend(messageId, live, 'x'),
      await retry(live),
    ])
      expect(refused).toMatchObject(busy);
    (await until(() => world.model.calls[1])).answer();
    await until(() => projection().turn?.phase === 'COMPLETED');
    const stale = { code: 'STALE_TURN', currentTurnId: live, retryable: false };
    for (const refused of [
      await rewind(messageId, turnId),
      await resend(messageId, turnId, 'x'),
      await retry(turnId),
      await retry(null),
    ])
      expect(refused).toMatchObject(stale);
  });
});

describe('A workstream', () => {
  const configure = (approvalMode: 'ASK' | 'TRUST_ALL' | null, by = ada) =>
    world.services.workstreams.configure(by, { ...command(), ...unchanged, approvalMode });

  it('is set to a mode, whose word it then is; null leaves it (D-64)', async () => {
    const trusting = { approvalMode: 'TRUST_ALL', approvalModeBy: { id: 'bob', name: 'Bob' } };
    expect(await configure('TRUST_ALL', bob)).toMatchObject({
      durability: 'DURABLE',
      configuration: trusting,
    });
    expect(await configure(null)).toMatchObject({ configuration: trusting });
    expect(projection().configuration).toMatchObject(trusting);
  });

  it('asks the model that is chosen while a call waits for a slot, and lets that call go (D-36)', async () => {
    await running();
    const first = world.model.calls[0]!;
    first.notice('MODEL_WAITING', 'Waiting for a slot.');
    const choose = (alias: string) =>
      world.services.workstreams.configure(ada, {
        ...command(),
        ...unchanged,
        model: { alias, temperature: null, effort: null },
      });
    expect(await choose('other')).toMatchObject({ configuration: { model: 'other' } });
    expect(first.signal.aborted).toBe(true);
    const second = await until(() => world.model.calls[1]);
    expect(second.request).toMatchObject({ model: { alias: 'other' }, lane: null, givenUp: [] });
    // One that an endpoint has goes on.
    await choose('test');
    expect(second.signal.aborted).toBe(false);
    // While it waits to be asked again it is not waited for.
    second.fail({ kind: 'OVERLOADED' });
    (await until(() => world.model.calls[2])).fail({ kind: 'OVERLOADED' });
    await until(() => world.registry.peek(id)!.state().attempt?.phase === 'backoff');
    await choose('other');
    const last = await until(() => world.model.calls[3]);
    expect(last.request).toMatchObject({ model: { alias: 'other' }, lane: null });
    last.answer({ text: 'Here.' });
    await until(() => projection().turn?.phase === 'COMPLETED');
  });

  it('is freed at once by a stop with force, though its call does not end (D-66)', async () => {
    world.model.ignoreAborts();
    const turnId = await running();
    const input = { ...command(), turnId: null };
    expect(await world.services.turns.stop(ada, { ...input, force: true })).toMatchObject({
      durability: 'DURABLE',
      nothingToStop: false,
    });
    expect(projection().turn).toMatchObject({ id: turnId, phase: 'CANCELED' });
  });
});

describe('A refusal', () => {
  const facts: {
    readonly [C in CoreRefusal['code']]: Omit<Extract<CoreRefusal, { code: C }>, 'type' | 'code'>;
  } = {
    INVALID_INPUT: { field: 'text', problem: 'Write something.' },
    KEY_REUSED: {},
    WORKSTREAM_NOT_FOUND: {},
    WORKSTREAM_CLOSED: {},
    CLOSING: {},
    QUEUE_FULL: { capacity: 20 },
    BUSY: { currentTurnId: null },
    STALE_TURN: { currentTurnId: null },
    NOT_YOURS: { author: bob },
    MESSAGE_NOT_QUEUED: { queuedMessageIds: [] },
    MESSAGE_NOT_FOUND: { watermark: null },
    NOTHING_TO_COMPACT: {},
    WATCH_NOT_FOUND: { watchIds: ['w1'] },
    WATCH_LIMIT: { capacity: 5 },
    WATCH_NAME_TAKEN: { name: 'ci' },
    STALE_WATCH: { version: 2 },
    APPROVAL_GONE: { currentCycleIds: [] },
    ALREADY_DECIDED: {
      decision: { verdict: 'DENIED', source: 'PERSON', by: bob, feedback: null, at: '' },
    },
    ARGUMENTS_CHANGED: { currentHash: '' },
  };

  it.each(Object.keys(isRetryable) as CoreRefusal['code'][])(
    '%s is retryable exactly if the core records nothing for it, and is one sentence or more (D-60)',
    (code) => {
      const refusal = { type: 'Rejected', code, ...facts[code] } as CoreRefusal;
      expect(refusalView(refusal)).toMatchObject({
        ...refusal,
        retryable: isRetryable[code],
        message: expect.stringMatching(/^[A-Z].*\.$/) as unknown,
      });
    },
  );
});
