/**
 * Owns: what a person sees of the context and sets of it, at the services: how full it is, a summary that is wanted,
 * instructions, a budget. Does not own: when the core summarises or asks (server/test/core).
 */
import type { CreateWorkstream } from 'schema/services';
import { usedOf } from 'schema/projection';
import { beforeEach, describe, expect, it } from 'vitest';
import { modelInfo } from '../support/fake-model.ts';
import {
  ada,
  bob,
  createWorld,
  newKey,
  plain,
  unchanged,
  until,
  waits,
  type World,
} from './support/world.ts';

const models = [
  { ...modelInfo, alias: 'test', isDefault: true, window: 8_000 },
  { ...modelInfo, alias: 'other' },
];

let world: World;
let id: string;
beforeEach(async () => {
  world = await createWorld({ models });
  id = await world.open();
});

const command = () => ({ key: newKey(), workstreamId: id });
const compact = (by = ada, input = command()) => world.services.workstreams.compact(by, input);
const configure = (more: object) =>
  world.services.workstreams.configure(ada, { ...command(), ...unchanged, ...more });
const create = (more: Partial<CreateWorkstream>) =>
  world.services.workstreams.create(ada, { ...plain, key: newKey(), title: null, ...more }, waits);
const get = async () => (await world.services.workstreams.get(id))!;
const projection = () => world.registry.peek(id)!.state().projection;
const settledTurn = () => until(() => projection().turn?.settledAt);

/** Says so much, and has it answered; `n` counts the model calls of this world. */
async function exchange(text: string, n: number, usage: { input: number; output: number } | null = null) {
  await world.send(id, text);
  (await until(() => world.model.calls[n])).answer({
    text: 'Done.',
    usage: usage && { inputTokens: usage.input, outputTokens: usage.output },
  });
  await settledTurn();
  await until(() => world.registry.peek(id)!.state().pending.length === 0);
}
const long = 'It went on and on, and every word of it counted. '.repeat(60);

describe('How full the context is', () => {
  it('is told of the window that the model is set up with before it has answered, and whether that is known (D-39)', async () => {
    expect((await get()).context).toMatchObject({ told: 0, counted: null, window: 8_000 });
    await configure({ model: { alias: 'other', temperature: null, effort: null } });
    expect((await get()).context.window).toBeNull();
    await configure({ model: { alias: 'test', temperature: null, effort: null } });
    expect((await get()).context.window).toBe(8_000);
  });

  it('is what the provider counted, and the same when it is read from the database (D-39, D-58)', async () => {
    await exchange('hello', 0, { input: 500, output: 20 });
    const here = (await get()).context;
    expect(usedOf(here)).toBe(520);
    const other = await world.restart('there');
    const there = (await other.services.workstreams.get(id))!.context;
    expect(there).toEqual(here);
  });
});

describe('A summary that a person wants', () => {
  it('is made in a turn of its own, on the credentials of who wants it (D-40, D-12)', async () => {
    await exchange(long, 0);
    const outcome = await compact(bob);
    expect(outcome).toMatchObject({ type: 'Accepted', durability: 'DURABLE' });
    expect(projection().turn).toMatchObject({
      id: outcome.type === 'Accepted' && outcome.turnId,
      kind: 'COMPACT',
      phase: 'COMPACTING',
      principal: { id: 'bob' },
    });
  });

  it('is refused for now while a turn runs, and where there is nothing to summarise; the same key may be tried again (D-60)', async () => {
    const input = command();
    expect(await compact(ada, input)).toMatchObject({
      code: 'NOTHING_TO_COMPACT',
      retryable: true,
      message: expect.stringMatching(/too little.*Try again/) as unknown,
    });
    await world.send(id, long);
    const turnId = projection().turn!.id;
    expect(await compact(ada, input)).toMatchObject({ code: 'BUSY', currentTurnId: turnId });
    (await until(() => world.model.calls[0])).answer({ text: 'Done.' });
    await settledTurn();
    expect(await compact(ada, input)).toMatchObject({ type: 'Accepted' });
  });

  it('reads the conversation first where it was left in the database (D-59)', async () => {
    await exchange(long, 0);
    world.storage.expire(world.sessionId);
    const other = await world.restart();
    expect((await other.load(id)).state().conversationFrom).toBeGreaterThan(0);
    expect(await other.services.workstreams.compact(ada, command())).toMatchObject({ type: 'Accepted' });
    expect(other.registry.peek(id)!.state().conversationFrom).toBe(0);
  });

  it('is of nothing that was deleted from under it: that is told, rather than how little there is', async () => {
    await exchange(long, 0);
    world.storage.expire(world.sessionId);
    const other = await world.restart();
    const actor = await other.load(id);
    other.storage.remove(id);
    expect(await other.services.workstreams.compact(ada, command())).toMatchObject({
      code: 'WORKSTREAM_NOT_FOUND',
    });
    expect(actor.ended()).toBe('gone');
  });

  it('is refused as what the database keeps is, while that is away (D-60)', async () => {
    await exchange(long, 0);
    world.storage.expire(world.sessionId);
    const other = await world.restart();
    await other.load(id);
    other.storage.goAway();
    const asking = other.services.workstreams.compact(ada, command());
    await other.clock.advance(5_000);
    expect(await asking).toMatchObject({ code: 'STORAGE_UNAVAILABLE', retryable: true });
    other.storage.comeBack();
  });

  it('bounds what can be taken back, and says what to do instead (D-59)', async () => {
    await exchange(long, 0);
    const said = world.storage.entries(id).find((e) => e.kind === 'USER')!;
    const { turnId } = (await compact()) as { turnId: string };
    await until(() => world.model.calls.length > 1 && projection().turn?.phase === 'COMPACTING');
    for (const call of world.model.calls.slice(1)) call.answer({ text: 'It went on.' });
    await until(() => projection().checkpoint);
    await settledTurn();
    const rewound = await world.services.messages.rewind(ada, { ...command(), messageId: said.id, turnId });
    expect(rewound).toMatchObject({
      code: 'MESSAGE_NOT_FOUND',
      watermark: projection().checkpoint!.watermark,
      message: expect.stringMatching(/summary.*fork/) as unknown,
    });
  });
});

describe('Instructions and a budget', () => {
  const set = { instructions: 'Be brief.', tokenBudget: 1_000 };

  it('are what a workstream is made with, or none (D-33)', async () => {
    const made = await create(set);
    const none = await create({ instructions: ' \n', tokenBudget: 0 });
    const configurationOf = async (outcome: Awaited<ReturnType<typeof create>>) =>
      (await world.services.workstreams.get((outcome as { workstreamId: string }).workstreamId))!.projection;
    expect((await configurationOf(made)).configuration).toMatchObject(set);
    expect((await configurationOf(made)).budgetLimit).toBe(1_000);
    expect((await configurationOf(none)).configuration).not.toHaveProperty('instructions');
    expect((await configurationOf(none)).configuration).not.toHaveProperty('tokenBudget');
  });

  it('are set and removed, and left when they are not named (D-33)', async () => {
    expect(await configure(set)).toMatchObject({ configuration: set });
    expect(await configure({ title: 'Other' })).toMatchObject({ configuration: { ...set, title: 'Other' } });
    const removed = await configure({ instructions: '', tokenBudget: 0 });
    expect(removed).toMatchObject({ type: 'Accepted' });
    expect(projection().configuration).not.toHaveProperty('instructions');
    expect(projection().configuration).not.toHaveProperty('tokenBudget');
  });

  it.each([
    ['instructions', { instructions: 'x'.repeat(20_001) }, /20,000.*AGENTS\.md/],
    ['tokenBudget', { tokenBudget: 999 }, /at least 1,000.*0 for none/],
    ['tokenBudget', { tokenBudget: -1 }, /at least 1,000/],
  ])('have bounds, which are said and change nothing: %s (D-11)', async (field, asked, sentence) => {
    const refused = { code: 'INVALID_INPUT', field, message: expect.stringMatching(sentence) as unknown };
    const before = world.storage.entries(id).length;
    expect(await configure(asked)).toMatchObject(refused);
    expect(await create(asked)).toMatchObject(refused);
    expect(world.storage.entries(id)).toHaveLength(before);
  });

  it('may be as long, and as small, as they may be', async () => {
    expect(await configure({ instructions: 'x'.repeat(20_000), tokenBudget: 1_000 })).toMatchObject({
      type: 'Accepted',
    });
  });
});

it('shows the system prompt as a workstream that is set so would be told it, from files as they are now (D-36)', async () => {
  const guidance = {
    ofServer: () => 'House rules.',
    ofWorkspace: (path: string) => Promise.resolve(`In ${path}.`),
  };
  const here = await createWorld({ guidance });
  const prompt = await here.services.workstreams.systemPrompt({ workspace: '/w', instructions: 'Say moo.' });
  for (const part of ['House rules.', 'In /w.', 'Say moo.']) expect(prompt).toContain(part);
  expect(await here.services.workstreams.systemPrompt({ workspace: '/w' })).not.toContain('Say moo.');
});
