/** Owns: watches as the GraphQL surface asks for them: what may be made, what is answered, what is shown (D-80, D-83, D-86). */
import type { Fire } from 'schema/projection';
import type { CreateWatch, UpdateWatch } from 'schema/services';
import { beforeEach, describe, expect, it } from 'vitest';
import type { ConditionCheck, ConditionFacts, Conditions, Verdict } from '../../src/ports/conditions.ts';
import { ada, bob, createWorld, newKey, noWatch, settled, type World } from './support/world.ts';

const judged: ConditionFacts[] = [];
let check: ConditionCheck = { type: 'sound' };
let verdict: Verdict = { type: 'holds' };
const conditions: Conditions = {
  check: () => Promise.resolve(check),
  judge(_expression, facts) {
    judged.push(facts);
    return Promise.resolve(verdict);
  },
  stop: () => Promise.resolve(),
};

let world: World;
let id: string;
beforeEach(async () => {
  judged.length = 0;
  check = { type: 'sound' };
  verdict = { type: 'holds' };
  world = await createWorld({ conditions });
  id = await world.open();
});

const usual = {
  name: 'ci',
  command: 'make test',
  condition: null,
  every: '5m',
  maxPolls: null,
  deadline: null,
  repeat: false,
  instruction: null,
} as const;

const create = (over: Partial<CreateWatch> = {}, by = ada) =>
  world.services.watches.create(by, { key: newKey(), workstreamId: id, ...usual, ...over });

const update = (watchId: string, over: Partial<UpdateWatch> = {}, by = ada) =>
  world.services.watches.update(by, {
    key: newKey(),
    workstreamId: id,
    watchId,
    version: 1,
    ...noWatch,
    ...over,
  });

const change = (what: 'pause' | 'resume' | 'runNow' | 'cancel', watchId: string, key = newKey()) =>
  world.services.watches[what](ada, { key, workstreamId: id, watchId });

async function made(over: Partial<CreateWatch> = {}) {
  const outcome = await create(over);
  if (outcome.type !== 'Accepted') throw new Error(outcome.message);
  return outcome.watch;
}

/** One poll of all that is due, which puts this out. */
async function poll(output: string, exitCode: number | null = 0): Promise<void> {
  const due = await world.storage.watches.claim({
    sessionId: world.sessionId,
    host: 'here',
    limit: 10,
    perWorkstream: 10,
    leaseMs: 1_000,
  });
  for (const claim of due)
    await world.storage.watches.record({
      claim,
      durationMs: 12,
      exitCode,
      output,
      error: null,
      errors: 0,
      fire: null,
    });
}

describe('Making a watch', () => {
  it('gives seconds for text, and polls an interval later (D-80)', async () => {
    const at = world.clock.now();
    expect(
      await create({
        every: 'PT5M',
        deadline: '2h30m',
        maxPolls: 7,
        repeat: true,
        instruction: ' Merge it. ',
      }),
    ).toMatchObject({
      type: 'Accepted',
      durability: 'DURABLE',
      watch: {
        version: 1,
        definition: {
          name: 'ci',
          command: 'make test',
          condition: null,
          everySeconds: 300,
          maxPolls: 7,
          deadline: new Date(at + 9_000_000).toISOString(),
          repeat: true,
          instruction: 'Merge it.',
        },
        status: 'ACTIVE',
        author: { id: 'ada', name: 'Ada' },
        depth: 1,
        due: 'LATER',
      },
    });
  });

  it.each([
    ['every', { every: '5x' }, 'Write it as 30s'],
    ['every', { every: '9s' }, '10 s'],
    ['every', { every: '25h' }, '24 h'],
    ['deadline', { deadline: '-5m' }, 'no duration'],
    ['maxPolls', { maxPolls: 0 }, '10000'],
    ['name', { name: 'x'.repeat(61) }, '60'],
    ['command', { command: ' \u200b ' }, 'which command'],
    ['command', { command: 'shutdown -h now' }, ''],
    ['condition', { condition: 'x'.repeat(4_001) }, '4000'],
  ])('is refused for its %s, and nothing is made (D-80, D-82): %o', async (field, over, said) => {
    expect(await create(over)).toMatchObject({
      type: 'Rejected',
      code: 'INVALID_INPUT',
      field,
      message: expect.stringContaining(said) as unknown,
      retryable: false,
    });
    expect(await world.services.watches.ofWorkstream(id, [], true)).toEqual([]);
  });

  it.each([
    [1, 4, 'Column 4: It ends too early.'],
    [2, 1, 'Line 2, column 1: It ends too early.'],
    [1, null, 'It ends too early.'],
  ])('says where its condition is wrong: line %s, column %s (D-83)', async (line, column, message) => {
    check = { type: 'unsound', message: 'It ends too early.', line, column };
    expect(await create({ condition: '1 +' })).toMatchObject({
      code: 'INVALID_INPUT',
      field: 'condition',
      message,
    });
  });

  it('checks no condition where there is none', async () => {
    check = { type: 'unsound', message: 'It is empty.', line: 1, column: null };
    expect(await create({ condition: ' ' })).toMatchObject({ watch: { definition: { condition: null } } });
  });

  it('is done once under its key, also when the deadline would be another by now (D-60)', async () => {
    const key = newKey();
    const first = await create({ key, deadline: '1h' });
    await world.clock.advance(5_000);
    expect(await create({ key, deadline: '1h' })).toEqual(first);
    expect(await create({ key, deadline: '2h' })).toMatchObject({ code: 'KEY_REUSED' });
  });

  it('is refused where there are five, or one of that name, until that changes (D-80)', async () => {
    const first = await made();
    const key = newKey();
    expect(await create({ key })).toMatchObject({ code: 'WATCH_NAME_TAKEN', name: 'ci', retryable: true });
    for (const name of ['b', 'c', 'd', null]) await made({ name });
    expect(await create({ key })).toMatchObject({ code: 'WATCH_LIMIT', capacity: 5, retryable: true });
    await change('cancel', first.id);
    expect(await create({ key })).toMatchObject({ type: 'Accepted' });
  });
});

describe('Editing a watch', () => {
  it('leaves what is not named, and removes what is blank (D-80)', async () => {
    const watch = await made({
      condition: 'changed',
      deadline: '1h',
      instruction: 'Merge it.',
      repeat: true,
    });
    await world.clock.advance(5_000);
    const edited = await update(watch.id, { every: '1m' }, bob);
    expect(edited).toMatchObject({
      type: 'Accepted',
      watch: {
        id: watch.id,
        version: 2,
        definition: { ...watch.definition, everySeconds: 60 },
        author: { id: 'bob' },
        due: 'LATER',
      },
    });
    expect(
      await update(watch.id, {
        version: 2,
        condition: '',
        deadline: ' ',
        instruction: '',
        repeat: false,
        name: ' ',
      }),
    ).toMatchObject({
      watch: {
        definition: { name: 'ci', condition: null, deadline: null, instruction: null, repeat: false },
      },
    });
  });

  it('of a version that is not the current one is refused, whatever is wanted of it (D-80)', async () => {
    const watch = await made();
    const key = newKey();
    await update(watch.id, { command: 'make' });
    expect(await update(watch.id, { key, every: '5x' })).toEqual({
      type: 'Rejected',
      code: 'STALE_WATCH',
      message: expect.stringContaining('as it is now') as unknown,
      retryable: false,
      version: 2,
      currentVersion: 2,
    });
    // It stays the answer of the key.
    await update(watch.id, { version: 2, command: 'make all' });
    expect(await update(watch.id, { key, every: '5x' })).toMatchObject({ currentVersion: 2 });
  });

  it('is held to the same bounds, and to what may run', async () => {
    const watch = await made();
    for (const [field, over] of [
      ['every', { every: '1s' }],
      ['deadline', { deadline: 'x' }],
      ['command', { command: 'shutdown -h now' }],
    ] as const)
      expect(await update(watch.id, over)).toMatchObject({ code: 'INVALID_INPUT', field });
    check = { type: 'unsound', message: 'No.', line: 1, column: 1 };
    expect(await update(watch.id, { condition: 'nope(' })).toMatchObject({ field: 'condition' });
    expect(await update(watch.id, { command: 'make' })).toMatchObject({ type: 'Accepted' });
  });

  it('that was done is answered the same again when it is asked again (D-60)', async () => {
    const watch = await made();
    const key = newKey();
    const first = await update(watch.id, { key, every: '1m' });
    await update(watch.id, { version: 2, every: '2m' });
    expect(await update(watch.id, { key, every: '1m' })).toEqual(first);
    await change('cancel', watch.id);
    expect(await update(watch.id, { key, every: '1m' })).toEqual(first);
  });

  it('of one that is not there names those that are', async () => {
    const watch = await made();
    expect(await update('nothing')).toMatchObject({
      code: 'WATCH_NOT_FOUND',
      watchIds: [watch.id],
      retryable: false,
    });
  });
});

describe('Pausing, resuming, running and cancelling', () => {
  it('does each, and what was asked for under a key is not something else (D-60)', async () => {
    const { id: watchId } = await made();
    const key = newKey();
    expect(await change('pause', watchId, key)).toMatchObject({
      durability: 'DURABLE',
      watch: { status: 'PAUSED', pausedBy: 'PERSON' },
    });
    expect(await change('resume', watchId, key)).toMatchObject({ code: 'KEY_REUSED' });
    expect(await change('resume', watchId)).toMatchObject({ watch: { status: 'ACTIVE', due: 'NOW' } });
    await change('pause', watchId);
    expect(await change('runNow', watchId)).toMatchObject({ watch: { status: 'ACTIVE', due: 'NOW' } });
    expect(await change('cancel', watchId)).toMatchObject({ watch: { status: 'ENDED', end: 'CANCELED' } });
    for (const what of ['pause', 'resume', 'runNow', 'cancel'] as const)
      expect(await change(what, watchId)).toMatchObject({ code: 'WATCH_NOT_FOUND', watchIds: [] });
  });

  it('takes no watch of another workstream', async () => {
    const { id: watchId } = await made();
    const other = await world.open();
    expect(
      await world.services.watches.cancel(ada, { key: newKey(), workstreamId: other, watchId }),
    ).toMatchObject({ code: 'WATCH_NOT_FOUND', watchIds: [] });
  });

  it('is not done where the workstream is closed (D-23)', async () => {
    const { id: watchId } = await made();
    await world.services.workstreams.close(ada, { key: newKey(), workstreamId: id });
    expect(await change('resume', watchId)).toMatchObject({ code: 'WORKSTREAM_CLOSED' });
    expect(await create({ name: 'b' })).toMatchObject({ code: 'WORKSTREAM_CLOSED' });
  });
});

describe('What is known of watches', () => {
  const known = async () => (await world.services.workstreams.get(id))!.projection.watches;
  const shown = async (ended = false) => world.services.watches.ofWorkstream(id, await known(), ended);

  it('is what the workstream has written down, with how their polls go (D-86)', async () => {
    const watch = await made();
    expect(await shown()).toMatchObject([
      { id: watch.id, workstreamId: id, polls: 0, lastPollAt: null, lastOutput: null },
    ]);
    await change('runNow', watch.id);
    await poll('done\n', null);
    await settled();
    const [polled] = await shown();
    expect(polled).toMatchObject({
      id: watch.id,
      version: 1,
      status: 'ACTIVE',
      polls: 1,
      fires: 0,
      lastExitCode: null,
      lastOutput: 'done\n',
      lastError: null,
    });
    expect(await world.services.watches.get(watch.id)).toEqual(polled);
    expect(await world.services.watches.polls(watch.id, { first: 5, before: null })).toMatchObject([
      { poll: 1, durationMs: 12, exitCode: null, fired: false, outputTail: 'done\n' },
    ]);
    expect(await world.services.watches.polls(watch.id, { first: 5, before: 1 })).toEqual([]);
  });

  it('of what is not stored yet is what was accepted', async () => {
    const watch = await made();
    // The store has the first version still.
    const edited = { ...watch, version: 2, status: 'PAUSED', pausedBy: 'PERSON' } as const;
    const fresh = { ...watch, id: 'fresh', definition: { ...watch.definition, name: 'fresh' } };
    expect(await world.services.watches.ofWorkstream(id, [edited, fresh], false)).toMatchObject([
      { id: watch.id, version: 2, status: 'PAUSED' },
      { id: 'fresh', polls: 0, nextPollAt: null },
    ]);
  });

  it('has those that have ended after the others, the newest first, when they are asked for', async () => {
    const names = ['a', 'b', 'c'];
    const watches = [];
    for (const name of names) {
      watches.push(await made({ name }));
      await world.clock.advance(1_000);
    }
    await change('cancel', watches[0]!.id);
    await change('cancel', watches[1]!.id);
    const named = (list: readonly { readonly definition: { readonly name: string } }[]) =>
      list.map(({ definition }) => definition.name);
    expect(named(await shown())).toEqual(['c']);
    expect(named(await shown(true))).toEqual(['c', 'b', 'a']);
  });

  it('is listed over all workstreams, by pages', async () => {
    const first = await made();
    await world.clock.advance(1_000);
    id = await world.open();
    const second = await made();
    const page = await world.services.watches.list({
      workstreamId: null,
      ended: false,
      first: 1,
      after: null,
    });
    expect(page).toMatchObject({ items: [{ id: second.id, workstreamId: id }], hasNext: true });
    expect(
      await world.services.watches.list({ workstreamId: null, ended: false, first: 1, after: second.id }),
    ).toMatchObject({ items: [{ id: first.id }], hasNext: false });
  });

  it('of the server is counted', async () => {
    const watch = await made();
    await change('runNow', watch.id);
    await world.clock.advance(2_000);
    expect(await world.services.watches.figures()).toEqual({
      due: 1,
      running: 2,
      late: 1,
      polls: 3,
      fires: 4,
      errors: 5,
      lateP99Ms: 7,
      waiting: 0,
    });
    const [claim] = await world.storage.watches.claim({
      sessionId: world.sessionId,
      host: 'here',
      limit: 1,
      perWorkstream: 2,
      leaseMs: 1_000,
    });
    const { watchId, definition, author, depth } = claim!;
    const fire: Fire = {
      watchId,
      poll: 1,
      reason: 'CHANGE',
      ended: true,
      definition,
      elapsedSeconds: 2,
      exitCode: 0,
      output: 'x',
      error: null,
      author,
      depth,
      firesBefore: 0,
      skipped: 0,
    };
    await world.storage.watches.record({
      claim: claim!,
      durationMs: 1,
      exitCode: 0,
      output: 'x',
      error: null,
      errors: 0,
      fire,
    });
    expect(await world.services.watches.figures()).toMatchObject({ due: 0, waiting: 1 });
  });
});

describe('Trying a condition (D-83)', () => {
  const attempt = (over: Partial<Parameters<World['services']['watches']['tryCondition']>[0]>) =>
    world.services.watches.tryCondition({ expression: 'changed', watchId: null, sample: null, ...over });
  const sample = { output: 'b', exitCode: 3, prevOutput: 'a' };
  const fine = { soundness: 'SOUND', line: null, column: null, message: null };

  it('says where it is wrong, and judges nothing then', async () => {
    check = { type: 'unsound', message: 'No such name.', line: 2, column: 5 };
    expect(await attempt({ sample })).toEqual({
      soundness: 'UNSOUND',
      line: 2,
      column: 5,
      verdict: null,
      message: 'No such name.',
    });
    expect(judged).toEqual([]);
  });

  it.each([
    [{ type: 'holds' }, 'HOLDS', null],
    [{ type: 'holdsNot' }, 'HOLDS_NOT', null],
    [{ type: 'failed', message: 'There is no "a".' }, 'FAILED', 'There is no "a".'],
  ] as const)('of a sample says what would come of it: %o', async (given, said, message) => {
    verdict = given;
    expect(await attempt({ sample })).toEqual({ ...fine, verdict: said, message });
    expect(judged).toEqual([{ ...sample, poll: 2, elapsedSeconds: 0 }]);
    await attempt({ sample: { ...sample, prevOutput: null } });
    expect(judged.at(-1)).toMatchObject({ poll: 1, prevOutput: null });
  });

  it('of a watch judges what it put out last, as if it came again', async () => {
    const { id: watchId } = await made();
    expect(await attempt({ watchId })).toEqual({ ...fine, verdict: null });
    await change('runNow', watchId);
    await world.clock.advance(1_500);
    await poll('out', null);
    expect(await attempt({ watchId })).toMatchObject({ verdict: 'HOLDS' });
    expect(judged).toEqual([{ output: 'out', prevOutput: 'out', exitCode: -1, poll: 2, elapsedSeconds: 1 }]);
  });

  it('of no watch, or of what is none, has nothing to judge', async () => {
    for (const watchId of ['nothing', 'no id\0', ''])
      expect(await attempt({ watchId })).toMatchObject({ verdict: null });
  });

  it('that is blank holds when the output has changed', async () => {
    check = { type: 'unsound', message: 'It is empty.', line: 1, column: null };
    const said = async (output: string, prevOutput: string | null) =>
      (await attempt({ expression: ' ', sample: { output, exitCode: 0, prevOutput } })).verdict;
    expect(await said('b', 'a')).toBe('HOLDS');
    expect(await said('a', 'a')).toBe('HOLDS_NOT');
    expect(await said('a', null)).toBe('HOLDS_NOT');
  });
});
