/**
 * Owns: making, changing and ending watches in the core, by people (D-80) and by the model's tool; closing with them (D-23).
 */
import { describe, expect, it } from 'vitest';
import { basisOf, type WatchAction } from '../../src/core/watches/tool.ts';
import { all, callIds, kinds, last } from './support/telling.ts';
import { change, definitionOf, fired, fireOf, make, watchIn } from './support/watching.ts';
import { ann, bob, createWorld, type World } from './support/world.ts';

const names = (w: World): readonly string[] =>
  w.state.projection.watches.map(({ definition }) => definition.name);

const five = (): World => {
  const w = createWorld();
  for (const name of ['a', 'b', 'c', 'd', 'e']) make(w, { name });
  return w;
};

describe('a watch that a person makes', () => {
  it('is one entry: active, his, one watch away from a person, and first polled after an interval (D-80, D-85)', () => {
    const w = createWorld();
    const { reply } = make(w, {}, bob);
    expect(kinds(w)).toEqual(['WATCH']);
    const { watch } = last(w, 'WATCH');
    expect(watch).toMatchObject({ version: 1, status: 'ACTIVE', author: bob, depth: 1, due: 'LATER' });
    expect(watch).toMatchObject({ pausedBy: null, end: null, lastFire: 0, definition: definitionOf() });
    expect(reply).toMatchObject({ type: 'accepted', acceptance: { watch } });
    expect(w.state.projection.turn).toBeNull();
  });

  it('without a name gets the first number that is free (D-80)', () => {
    const w = createWorld();
    make(w, { name: '' });
    make(w, { name: 'watch-2' });
    make(w, { name: '' });
    change(w, 'watch-1', 'CANCEL');
    make(w, { name: '' });
    expect(names(w)).toEqual(['watch-2', 'watch-3', 'watch-1']);
  });

  it('takes no name that another one has, until that has ended (D-80, D-11)', () => {
    const w = createWorld();
    make(w);
    expect(make(w, { command: 'true' })).toMatchObject({
      entries: [],
      reply: { type: 'refused', refusal: { code: 'WATCH_NAME_TAKEN', name: 'build' } },
    });
    change(w, 'build', 'CANCEL');
    expect(make(w).reply).toMatchObject({ type: 'accepted' });
  });

  it('is one of five at most, paused ones counted; one that has ended makes room (D-80, D-11)', () => {
    const w = five();
    change(w, 'a', 'PAUSE');
    expect(make(w)).toMatchObject({
      entries: [],
      reply: { refusal: { code: 'WATCH_LIMIT', capacity: 5 } },
    });
    change(w, 'a', 'CANCEL');
    expect(make(w).reply).toMatchObject({ type: 'accepted' });
    expect(names(w)).toEqual(['b', 'c', 'd', 'e', 'build']);
  });

  it('is refused where the workstream is closed, or about to be (D-23)', () => {
    const w = createWorld();
    w.door(true);
    expect(make(w)).toMatchObject({ entries: [], reply: { type: 'refused' } });
    w.close();
    expect(make(w)).toMatchObject({ entries: [], reply: { type: 'refused' } });
  });
});

describe('an edit', () => {
  const edit = (w: World, version: number, over = {}, by = bob, watchId = watchIn(w).id) =>
    w.command(by, { type: 'editWatch', watchId, version, definition: definitionOf(over) });

  it('makes another version, on the credentials of who edits, with a cadence begun anew (D-12, D-80)', () => {
    const w = createWorld();
    make(w);
    const { id, createdAt } = watchIn(w);
    edit(w, 1, { command: 'true', name: '' });
    expect(watchIn(w)).toMatchObject({ id, createdAt, version: 2, author: bob, due: 'LATER', depth: 1 });
    expect(watchIn(w).definition).toMatchObject({ name: 'build', command: 'true' });
  });

  it('of a version that is not the last is refused with the one there is, and changes nothing (D-11, D-62)', () => {
    const w = createWorld();
    make(w);
    edit(w, 1, { command: 'true' });
    expect(edit(w, 1, { command: 'false' })).toMatchObject({
      entries: [],
      reply: { refusal: { code: 'STALE_WATCH', version: 2 } },
    });
    expect(watchIn(w).definition.command).toBe('true');
  });

  it('may keep its own name, and take none of another (D-80)', () => {
    const w = createWorld();
    make(w);
    make(w, { name: 'other' });
    expect(edit(w, 1).reply).toMatchObject({ type: 'accepted' });
    expect(edit(w, 2, { name: 'other' })).toMatchObject({
      entries: [],
      reply: { refusal: { code: 'WATCH_NAME_TAKEN', name: 'other' } },
    });
  });

  it('of a paused one leaves it paused, with no poll due', () => {
    const w = createWorld();
    make(w);
    change(w, 'build', 'PAUSE');
    edit(w, 1);
    expect(watchIn(w)).toMatchObject({ status: 'PAUSED', pausedBy: 'PERSON', due: null, version: 2 });
  });

  it('of one that is not there is refused, and says which are (D-11)', () => {
    const w = createWorld();
    make(w);
    const refusal = { code: 'WATCH_NOT_FOUND', watchIds: [watchIn(w).id] };
    expect(edit(w, 1, {}, bob, 'gone')).toMatchObject({ entries: [], reply: { refusal } });
    expect(w.command(bob, { type: 'changeWatch', watchId: 'gone', change: 'CANCEL' })).toMatchObject({
      entries: [],
      reply: { refusal },
    });
  });
});

describe('a change', () => {
  it('pauses, and resumes with one poll at once (D-80)', () => {
    const w = createWorld();
    make(w);
    change(w, 'build', 'PAUSE');
    expect(watchIn(w)).toMatchObject({ status: 'PAUSED', pausedBy: 'PERSON', due: null });
    change(w, 'build', 'RESUME');
    expect(watchIn(w)).toMatchObject({ status: 'ACTIVE', pausedBy: null, due: 'NOW', version: 1 });
  });

  it('to what it is already is calm, and writes nothing', () => {
    const w = createWorld();
    make(w);
    expect(change(w, 'build', 'RESUME')).toMatchObject({ entries: [], reply: { type: 'accepted' } });
    change(w, 'build', 'PAUSE');
    expect(change(w, 'build', 'PAUSE')).toMatchObject({ entries: [], reply: { type: 'accepted' } });
  });

  it('runs it now, also when it was paused, which it then is no more', () => {
    const w = createWorld();
    make(w);
    change(w, 'build', 'RUN_NOW');
    expect(watchIn(w)).toMatchObject({ status: 'ACTIVE', due: 'NOW' });
    change(w, 'build', 'PAUSE');
    change(w, 'build', 'RUN_NOW');
    expect(watchIn(w)).toMatchObject({ status: 'ACTIVE', pausedBy: null, due: 'NOW' });
  });

  it('cancels it for good, and says so in its last entry', () => {
    const w = createWorld();
    make(w);
    change(w, 'build', 'CANCEL');
    expect(last(w, 'WATCH').watch).toMatchObject({ status: 'ENDED', end: 'CANCELED', due: null });
    expect(names(w)).toEqual([]);
  });
});

describe('closing', () => {
  it('pauses exactly the active ones, and opening resumes exactly those, with one poll each (D-23)', () => {
    const w = createWorld();
    make(w, { name: 'runs' });
    make(w, { name: 'rests' });
    change(w, 'rests', 'PAUSE');
    w.store();
    w.close();
    expect(watchIn(w, 'runs')).toMatchObject({ status: 'PAUSED', pausedBy: 'CLOSED', due: null });
    expect(watchIn(w, 'rests')).toMatchObject({ status: 'PAUSED', pausedBy: 'PERSON' });
    expect(kinds(w).slice(-2)).toEqual(['WATCH', 'LIFECYCLE']);
    w.store();
    w.open();
    expect(kinds(w).slice(-2)).toEqual(['LIFECYCLE', 'WATCH']);
    expect(watchIn(w, 'runs')).toMatchObject({ status: 'ACTIVE', pausedBy: null, due: 'NOW' });
    expect(watchIn(w, 'rests')).toMatchObject({ status: 'PAUSED', pausedBy: 'PERSON' });
  });

  it('of an open one once more resumes nothing', () => {
    const w = createWorld();
    make(w);
    expect(w.open().entries).toEqual([]);
  });
});

describe('the tool of the model', () => {
  const create = (
    over: Parameters<typeof definitionOf>[0] = {},
    lasts: number | null = null,
  ): WatchAction => ({ action: 'create', definition: definitionOf(over), lasts });

  /** The model calls it, and it was found to want this. */
  function calls(w: World, ...actions: readonly WatchAction[]): void {
    w.declare(...actions.map(() => 'watch'));
    w.store();
    const [request] = w.preparing.slice(-1);
    w.tell(request!.stamp, {
      type: 'callsPrepared',
      calls: request!.calls.map(({ callId }, i) => ({
        callId,
        prepared: {
          type: 'ready',
          access: actions[i]!.action === 'create' ? 'EXECUTE' : 'READ',
          argumentsHash: `hash-${callId}`,
          preview: { kind: 'TEXT', title: 'watch', body: '' },
          basis: basisOf(actions[i]!),
        },
      })),
    });
    w.store();
  }

  function asking(w = createWorld()): World {
    w.send('go');
    w.store();
    return w;
  }

  const result = (w: World) => last(w, 'TOOL');

  it('makes nothing before a person says yes, and nothing when he says no (D-80)', () => {
    const w = asking();
    calls(w, create());
    expect(names(w)).toEqual([]);
    w.decide('DENIED');
    expect(names(w)).toEqual([]);
    expect(all(w, 'WATCH')).toEqual([]);
  });

  it('makes one for who approved it, whoever’s turn it is, and a performer hears nothing (D-12, D-80, D-85)', () => {
    const w = asking();
    calls(w, create());
    w.decide('APPROVED', { by: bob });
    expect(watchIn(w)).toMatchObject({ author: bob, depth: 1, due: 'LATER' });
    expect(w.running).toEqual([]);
    expect(kinds(w).slice(-4)).toEqual(['TOOL_STARTED', 'WATCH', 'TOOL_SETTLED', 'TOOL']);
    expect(result(w)).toMatchObject({ outcome: 'OK', effect: 'COMMITTED' });
    expect(result(w).content).toBe(
      'The watch "build" is made.\n' +
        'It polls every 30 s, at most 100 times, and ends when it fires. You are told when it does: end your turn meanwhile.\n' +
        'Command: make status\nIt fires when this holds: exit_code == 0',
    );
    w.store();
    expect(w.modelCalls).toHaveLength(1);
  });

  it('makes one whose deadline counts from then, not from when it was asked for (D-80)', () => {
    const w = asking();
    calls(w, create({}, 3_600));
    w.decide('APPROVED');
    const { createdAt, definition } = watchIn(w);
    expect(Date.parse(definition.deadline!) - Date.parse(createdAt)).toBe(3_600_000);
  });

  it('makes one for who trusted it, where the mode answers (D-12, D-64)', () => {
    const w = createWorld();
    w.configure('TRUST_ALL', bob);
    asking(w);
    calls(w, create());
    expect(watchIn(w).author).toEqual(bob);
  });

  it('says of one that repeats that it goes on, and of one without a condition when it fires', () => {
    const w = asking();
    calls(w, create({ repeat: true, condition: null }));
    w.decide('APPROVED');
    expect(result(w).content).toContain('at most 100 times, and goes on after it fired.');
    expect(result(w).content).toContain('It fires when the output changes.');
  });

  it('makes one that is a watch further from a person than its turn, until a person edits it (D-85)', () => {
    const w = createWorld();
    make(w);
    fired(w, fireOf({ ...watchIn(w), depth: 3 }));
    w.store();
    calls(w, create({ name: 'next' }));
    w.decide('APPROVED');
    expect(watchIn(w, 'next').depth).toBe(4);
    const definition = definitionOf({ name: 'next', command: 'true' });
    w.command(bob, { type: 'editWatch', watchId: watchIn(w, 'next').id, version: 1, definition });
    // A person has looked at it.
    expect(watchIn(w, 'next')).toMatchObject({ version: 2, depth: 1 });
  });

  it('makes no sixth, asks nobody about it, and names the five (D-80)', () => {
    const w = asking(five());
    calls(w, create());
    expect(all(w, 'APPROVAL')).toEqual([]);
    expect(result(w)).toMatchObject({ outcome: 'ERROR', effect: 'NONE' });
    expect(result(w).content).toContain('There are 5 watches already');
    expect(result(w).content).toContain('There are: "a", "b", "c", "d", "e".');
    expect(names(w)).toHaveLength(5);
  });

  it('makes no sixth where the fifth was made while a person thought about it (D-80)', () => {
    const w = asking(five());
    w.command(ann, { type: 'changeWatch', watchId: watchIn(w, 'a').id, change: 'CANCEL' });
    calls(w, create());
    make(w, { name: 'f' });
    w.decide('APPROVED');
    expect(result(w)).toMatchObject({ outcome: 'ERROR', effect: 'NONE' });
    expect(names(w)).toEqual(['b', 'c', 'd', 'e', 'f']);
  });

  it('makes one where an earlier call of the same answer cancels one, and not where a later one does (D-34, D-80)', () => {
    const cancel = { action: 'cancel', name: 'c' } as const;
    const w = asking(five());
    calls(w, cancel, create());
    expect(names(w)).toEqual(['a', 'b', 'd', 'e']);
    w.decide('APPROVED');
    expect(names(w)).toEqual(['a', 'b', 'd', 'e', 'build']);
    const other = asking(five());
    calls(other, create(), cancel);
    expect(all(other, 'APPROVAL')).toEqual([]);
    expect(names(other)).toEqual(['a', 'b', 'd', 'e']);
    expect(all(other, 'TOOL').map((e) => e.outcome)).toEqual(['ERROR', 'OK']);
  });

  it('makes one of the name of one that an earlier call of the same answer cancels, by name or id (D-34, D-80)', () => {
    const byName = asking(five());
    calls(byName, { action: 'cancel', name: 'c' }, create({ name: 'c' }));
    byName.decide('APPROVED');
    expect(names(byName)).toEqual(['a', 'b', 'd', 'e', 'c']);
    const byId = asking(five());
    calls(byId, { action: 'cancel', name: watchIn(byId, 'c').id }, create({ name: 'c' }));
    byId.decide('APPROVED');
    expect(names(byId)).toEqual(['a', 'b', 'd', 'e', 'c']);
  });

  it('asks nobody about one whose name another has (D-80)', () => {
    const w = createWorld();
    make(w);
    asking(w);
    calls(w, create());
    expect(all(w, 'APPROVAL')).toEqual([]);
    expect(result(w).content).toContain('There is a watch "build" already.');
  });

  it('makes no second of a name, also when both were approved at once (D-80)', () => {
    const w = asking();
    calls(w, create(), create({ command: 'true' }));
    const [first, second] = callIds(w);
    w.decide('APPROVED', { callId: first! });
    w.decide('APPROVED', { callId: second! });
    expect(all(w, 'TOOL').map((e) => e.outcome)).toEqual(['OK', 'ERROR']);
    expect(result(w).content).toContain('There is a watch "build" already.');
    expect(watchIn(w).definition.command).toBe('make status');
  });

  it('cancels one without a question, and says which there are where there is none of that name (D-80)', () => {
    const w = createWorld();
    make(w);
    make(w, { name: 'other' });
    asking(w);
    calls(w, { action: 'cancel', name: 'build' }, { action: 'cancel', name: 'build' });
    expect(all(w, 'APPROVAL')).toEqual([]);
    const [done, missed] = all(w, 'TOOL');
    expect(done).toMatchObject({ outcome: 'OK', content: 'The watch "build" is cancelled.' });
    expect(missed).toMatchObject({ outcome: 'ERROR', effect: 'NONE' });
    expect(missed!.content).toContain('There are: "other".');
    expect(names(w)).toEqual(['other']);
  });

  it('repeats no more of a name that there is not than says which one was meant', () => {
    const w = asking();
    calls(w, { action: 'cancel', name: 'x'.repeat(100_000) });
    const [missed] = all(w, 'TOOL');
    expect(missed!.content).toMatch(/^There is no watch "x{200}…" that could be cancelled\./);
  });

  it('that was approved and lost with the process before it was durable is asked about again, and made once', () => {
    const w = asking();
    calls(w, create());
    w.decide('APPROVED', { by: bob });
    expect(names(w)).toEqual(['build']);
    w.crash();
    expect(names(w)).toEqual([]);
    w.decide('APPROVED', { by: bob });
    w.store();
    w.crash();
    expect(watchIn(w)).toMatchObject({ author: bob });
    expect(all(w, 'WATCH')).toHaveLength(1);
  });

  it('that was listed runs as any other call that only reads', () => {
    const w = asking();
    w.declare('watch');
    w.store();
    const [request] = w.preparing;
    w.tell(request!.stamp, {
      type: 'callsPrepared',
      calls: request!.calls.map(({ callId }) => ({
        callId,
        prepared: {
          type: 'ready',
          access: 'READ',
          argumentsHash: 'hash',
          preview: { kind: 'TEXT', title: 'watch', body: '' },
          basis: null,
        },
      })),
    });
    w.store();
    expect(w.running).toHaveLength(1);
    expect(all(w, 'WATCH')).toEqual([]);
  });
});

it('a watch is found by its id alone where people command it: a name is no id (D-11)', () => {
  const w = createWorld();
  make(w, {}, ann);
  const refusal = { code: 'WATCH_NOT_FOUND', watchIds: [watchIn(w).id] };
  for (const refused of [
    w.command(ann, { type: 'changeWatch', watchId: 'build', change: 'CANCEL' }),
    w.command(ann, { type: 'editWatch', watchId: 'build', version: 1, definition: definitionOf() }),
  ])
    expect(refused).toMatchObject({ entries: [], reply: { refusal } });
  w.command(ann, { type: 'changeWatch', watchId: watchIn(w).id, change: 'CANCEL' });
  expect(names(w)).toEqual([]);
});
