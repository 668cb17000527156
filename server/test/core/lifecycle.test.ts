/**
 * Owns: what becomes of a workstream as a whole, in the core: closing and opening (D-23), leaving memory (D-24), history
 * that is read when it is needed (D-22), and its name.
 */
import fc from 'fast-check';
import { applyEntries, emptyProjection, type Entry } from 'schema/projection';
import { describe, expect, it } from 'vitest';
import { step } from '../../src/core/step.ts';
import { admit, openDraft } from '../../src/core/step-draft.ts';
import { canUnload } from '../../src/core/workstream/lifecycle.ts';
import { loadedState, told, type State } from '../../src/core/workstream/state.ts';
import { life, live } from './support/moves.ts';
import { all, kinds, last, outcome, queued, said, shows } from './support/telling.ts';
import { ann, bob, contextOf, createWorld, place, type World } from './support/world.ts';

function asking(): World {
  const w = createWorld();
  w.send('go');
  w.store();
  return w;
}

/** One exchange is complete, and durable. */
function answered(text = 'hello'): World {
  const w = createWorld();
  w.send(text);
  w.store();
  w.answer({ text: 'hi' });
  w.store();
  return w;
}

/** A turn waits for a person. */
function waiting(): World {
  const w = asking();
  w.declare('write_file');
  w.store();
  w.prepare('write');
  w.store();
  return w;
}

const code = (taken: { readonly reply: unknown }): unknown =>
  (taken.reply as { refusal?: { code: string } } | null)?.refusal?.code ?? null;

describe('closing', () => {
  it('shuts the door and stops the turn in one step (D-23)', () => {
    const w = asking();
    w.door(true);
    expect(w.state.projection.turn?.phase).toBe('INTERRUPTING');
    expect(w.effects.at(-2)).toMatchObject({ type: 'abortModel' });
    w.endModel({ type: 'aborted' });
    expect(outcome(w)).toMatchObject({ type: 'CANCELED', reason: 'STOPPED' });
  });

  it('ends what outlived an earlier turn once more (D-66)', () => {
    const w = asking();
    w.force();
    const { id } = w.state.orphans[0]!;
    expect(w.door(true).effects).toContainEqual({ type: 'abortModel', messageId: id });
  });

  it('does not wait for ever: after 10 s the turn is forced to end (D-23, D-66)', () => {
    const w = asking();
    w.door(true);
    w.stopOverdue();
    expect(outcome(w)?.type).toBe('CANCELED');
    expect(w.close().reply).toMatchObject({ acceptance: { lifecycle: 'CLOSED' } });
  });

  it('has no last word while a turn lives (D-23)', () => {
    const w = asking();
    w.door(true);
    expect(code(w.close())).toBe('BUSY');
    expect(shows(w)).toBe('THINKING');
  });

  it('is written once, by who closed it, and said again changes nothing (D-23, D-26)', () => {
    const w = answered();
    w.door(true);
    expect(w.close(bob).entries).toMatchObject([{ kind: 'LIFECYCLE', lifecycle: 'CLOSED', by: bob }]);
    const again = w.close();
    expect(again.entries).toEqual([]);
    expect(again.reply).toMatchObject({ type: 'accepted', acceptance: { lifecycle: 'CLOSED' } });
    expect(shows(w)).toBe('CLOSED');
  });

  it('holds what waits, also what was sent after an earlier Stop, and starts none of it (D-63)', () => {
    const w = asking();
    w.stop();
    w.send('next');
    w.door(true);
    w.endModel({ type: 'aborted' });
    w.close();
    w.store();
    expect(queued(w)).toEqual(['next']);
    expect(w.state.projection.queue).toMatchObject({ held: true, items: [{ afterStop: false }] });
    expect(said(w)).toEqual(['go']);
    expect(w.modelCalls).toEqual([]);
  });

  it('holds before the word CLOSED what nothing had held (D-63)', () => {
    // A journal as it can be loaded: messages wait for a turn, and none lives.
    const { state } = answered();
    const message = {
      id: 'q',
      text: 'x',
      author: ann,
      delivery: 'QUEUE',
      turnId: null,
      afterStop: false,
      at: '',
    };
    const projection = { ...state.projection, queue: { items: [message], held: false } };
    const open = loadedState({ ...loaded, projection: projection as State['projection'], conversation: [] });
    const { entries } = step(open, { input: command({ type: 'close' }), at: '', seed: 's' });
    expect(entries.map((e) => (e.kind === 'QUEUE' ? e.queue.held : e.kind))).toEqual([true, 'LIFECYCLE']);
  });

  it.each(['send', 'rewind', 'rename', 'decide', 'resumeQueue', 'retry', 'edit'] as const)(
    'refuses to %s for now, and the key may be used again (D-23, D-60)',
    (what) => {
      const w = answered();
      w.door(true);
      const taken = {
        send: () => w.send('more'),
        rewind: () => w.rewind(last(w, 'USER').id),
        rename: () => w.rename('A name'),
        decide: () =>
          w.command(ann, {
            type: 'decide',
            cycleId: 'c',
            callId: 'c',
            argumentsHash: 'h',
            verdict: 'APPROVED',
            feedback: null,
          }),
        resumeQueue: () => w.resumeQueue(),
        retry: () => w.retry(),
        edit: () => w.edit('none', 'text'),
      }[what]();
      expect(code(taken)).toBe('CLOSING');
      expect(taken).toMatchObject({ batch: null, entries: [], receipts: [] });
    },
  );

  it('takes what ends something: Stop, and what is withdrawn (D-23)', () => {
    const w = asking();
    w.send('later');
    w.door(true);
    expect(w.stop().reply?.type).toBe('accepted');
    expect(w.withdraw(w.state.projection.queue.items[0]!.id).reply?.type).toBe('accepted');
    expect(queued(w)).toEqual([]);
  });

  it('that is given up leaves it usable, its turn CANCELED (D-23)', () => {
    const w = asking();
    w.door(true);
    w.endModel({ type: 'aborted' });
    w.store();
    w.door(false);
    expect(shows(w)).toBe('IDLE');
    expect(w.send('more').reply).toMatchObject({ acceptance: { disposition: 'STARTED' } });
    w.store();
    w.answer({ text: 'yes' });
    expect(outcome(w)?.type).toBe('COMPLETED');
  });

  it('is forgotten with its process: what was not CLOSED is open', () => {
    const w = answered();
    w.door(true);
    w.crash();
    expect(w.send('more').reply?.type).toBe('accepted');
  });
});

describe('CLOSED', () => {
  it('is overwritten by nothing that comes late: no end of a call, no name, no recovery (I56)', () => {
    const w = asking();
    const call = w.modelCalls[0]!;
    w.piece('half');
    w.force();
    w.close();
    w.store();
    const { journal } = w;
    w.endModel({ type: 'aborted' });
    w.tell({ epoch: 1, generation: null }, { type: 'titleSuggested', title: 'Late', question: 'go' });
    w.tell(call.stamp, { type: 'modelDelta', messageId: call.messageId, text: 'late', reasoning: '' });
    w.door(true);
    w.door(false);
    w.crash();
    expect(w.journal).toEqual(journal);
    expect(shows(w)).toBe('CLOSED');
  });

  it.each(['send', 'stop', 'rename', 'resumeQueue'] as const)('refuses to %s (D-22)', (what) => {
    const w = answered();
    w.close();
    const taken = {
      send: () => w.send('more'),
      stop: () => w.stop(),
      rename: () => w.rename('A name'),
      resumeQueue: () => w.resumeQueue(),
    }[what]();
    expect(code(taken)).toBe('WORKSTREAM_CLOSED');
  });

  it('is opened by a person once, and shows what it showed before (D-23)', () => {
    const w = asking();
    w.fail({ kind: 'BAD_REQUEST' });
    w.door(true);
    w.close();
    expect(w.open(bob).entries).toMatchObject([{ kind: 'LIFECYCLE', lifecycle: 'OPEN', by: bob }]);
    expect(w.open().entries).toEqual([]);
    expect(shows(w)).toBe('ERROR');
  });

  it('is not opened while it is deleted (D-25)', () => {
    const w = answered();
    w.close();
    w.door(true);
    expect(code(w.open())).toBe('CLOSING');
  });

  it('that is opened starts nothing that waits; it goes on when it is told to (D-63)', () => {
    const w = asking();
    w.send('next');
    w.door(true);
    w.endModel({ type: 'aborted' });
    w.close();
    w.open();
    w.store();
    expect(w.modelCalls).toEqual([]);
    expect(queued(w)).toEqual(['next']);
    w.resumeQueue();
    expect(said(w)).toEqual(['go', 'next']);
  });
});

describe('a workstream can leave memory (D-24)', () => {
  it('when it rests, and not before all of it is durable', () => {
    const w = asking();
    w.answer({ text: 'hi' });
    expect(canUnload(w.state)).toBe(false);
    w.commit();
    expect(canUnload(w.state)).toBe(false);
    w.acknowledge();
    expect(canUnload(w.state)).toBe(true);
  });

  it('not while a recorded answer is on its way to the database', () => {
    const w = answered();
    w.resumeQueue();
    expect(w.state.pending).toEqual([]);
    expect(canUnload(w.state)).toBe(false);
    w.store();
    expect(canUnload(w.state)).toBe(true);
  });

  it('while its turn only waits for a person, whose decision loads it', () => {
    const w = waiting();
    expect(canUnload(w.state)).toBe(true);
    w.reload(true);
    w.store();
    w.decide('APPROVED');
    w.store();
    expect(w.running).toHaveLength(1);
  });

  it('not when another call of that batch has work to do', () => {
    const w = asking();
    w.declare('write_file', 'read_file');
    w.store();
    w.prepare('write', 'read');
    w.store();
    expect(shows(w)).toBe('ATTENTION');
    expect(canUnload(w.state)).toBe(false);
    w.end(w.running[0]!.call.callId);
    w.store();
    expect(canUnload(w.state)).toBe(true);
  });

  it('not while something outlives a turn that was forced to end', () => {
    const w = asking();
    w.force();
    w.store();
    expect(canUnload(w.state)).toBe(false);
    w.endModel({ type: 'aborted' });
    expect(canUnload(w.state)).toBe(true);
  });

  it('not while it is being closed or deleted, but when it is CLOSED', () => {
    const w = answered();
    w.door(true);
    expect(canUnload(w.state)).toBe(false);
    w.close();
    w.store();
    expect(canUnload(w.state)).toBe(true);
  });

  it('not while the wait before another attempt runs', () => {
    const w = asking();
    w.fail();
    w.store();
    expect(canUnload(w.state)).toBe(false);
  });
});

describe('history that was not read (D-22)', () => {
  /** Two exchanges, loaded again without them. */
  function unread(): World {
    const w = answered('first');
    w.reload(true);
    return w;
  }

  it('is asked for with the question to the model, which goes on from where it was loaded', () => {
    const w = unread();
    const from = w.state.projection.revision;
    w.send('second');
    w.store();
    const [call] = w.modelCalls;
    expect(call?.conversationFrom).toBe(from);
    expect(call?.conversation).toMatchObject([{ kind: 'USER', text: 'second' }]);
    expect(contextOf(w, call)).toMatchObject([{ text: 'first' }, { text: 'hi' }, { text: 'second' }]);
  });

  it('is in memory from then on', () => {
    const w = unread();
    w.send('second');
    w.store();
    w.read(w.modelCalls[0]?.stamp);
    w.answer({ text: 'ho' });
    w.send('third');
    w.store();
    expect(w.modelCalls[0]).toMatchObject({
      conversationFrom: 0,
      conversation: [
        { text: 'first' },
        { text: 'hi' },
        { text: 'second' },
        { text: 'ho' },
        { text: 'third' },
      ],
    });
  });

  it('must be read before anybody goes back in it; until then nothing can be told (D-59)', () => {
    const w = unread();
    const { id } = last(w, 'USER');
    expect(w.rewind(id)).toMatchObject({
      batch: null,
      reply: { refusal: { code: 'BUSY', currentTurnId: null } },
    });
    w.read();
    expect(w.rewind(id).reply).toMatchObject({ acceptance: { text: 'first', superseded: 2 } });
  });

  it('read for an owner that is none any more is not taken (D-5)', () => {
    const w = unread();
    w.read({ epoch: w.state.epoch - 1, generation: null });
    expect(w.state.conversationFrom).toBeGreaterThan(0);
  });

  it('is merged exactly once, wherever it was parted and whatever came before it was read', () => {
    fc.assert(
      fc.property(life, fc.nat(), fc.nat(), fc.nat(), (moves, cut, when, again) => {
        const { journal } = live(moves);
        const k = 2 + (cut % (journal.length - 1));
        const read = journal.slice(0, k);
        const more = journal.slice(k);
        let state = loadedState({
          ...loaded,
          projection: applyEntries(emptyProjection, read),
          conversation: null,
        });
        const first = when % (more.length + 1);
        const second = first + (again % (more.length + 1 - first));
        for (let i = 0; i <= more.length; i += 1) {
          if (i === first || i === second) state = conversationRead(state, read);
          if (more[i]) state = admitAgain(state, more[i]!);
        }
        const whole = told(applyEntries(emptyProjection, journal), journal);
        expect(state.conversation.map((e) => e.id)).toEqual(whole.map((e) => e.id));
        expect(state.conversationFrom).toBe(0);
      }),
      { numRuns: Number(process.env['LAW_RUNS'] ?? 100) },
    );
  });

  const conversationRead = (state: State, entries: readonly Entry[]): State =>
    step(state, {
      input: {
        type: 'world',
        stamp: { epoch: state.epoch, generation: null },
        event: { type: 'conversationRead', entries },
      },
      at: '',
      seed: 's',
    }).state;

  const admitAgain = (state: State, entry: Entry): State =>
    admit(openDraft(state, entry.at, 's'), entry, entry.id).state;
});

describe('a name', () => {
  it('is asked for when the first exchange is complete and durable, of what was said in it', () => {
    const w = asking();
    w.answer({ text: 'hi' });
    expect(w.titles).toEqual([]);
    w.store();
    expect(w.titles).toMatchObject([
      { model: { alias: 'test', effort: 'NONE' }, question: 'go', answer: 'hi' },
    ]);
    w.suggest('Greetings');
    expect(w.state.projection.configuration).toMatchObject({ title: 'Greetings', titleSource: 'GENERATED' });
  });

  it('is not asked for after a turn that was stopped or failed, but after the first that was not', () => {
    const w = asking();
    w.fail({ kind: 'BAD_REQUEST' });
    w.send('again');
    w.store();
    w.stop();
    w.endModel({ type: 'aborted' });
    w.store();
    expect(w.titles).toEqual([]);
    w.send('once more');
    w.store();
    w.answer({ text: 'yes' });
    w.store();
    expect(w.titles).toMatchObject([{ question: 'go', answer: 'yes' }]);
  });

  it('is asked for once, also when the next exchange is complete before it comes', () => {
    const w = answered();
    w.send('more');
    w.store();
    w.answer({ text: 'yes' });
    w.store();
    expect(w.titles).toHaveLength(1);
  });

  it('is asked of the model that answered first, which is known to do so, and not of the one it stood in for', () => {
    const w = asking();
    w.answer({ text: 'hi', alias: 'spare' });
    w.store();
    expect(w.titles).toMatchObject([{ model: { alias: 'test' }, lane: 'spare' }]);
  });

  it('is asked for, though the next turn is stopped before the first is durable (broke: Stop dropped the question)', () => {
    const w = asking();
    w.answer({ text: 'hi' });
    w.send('next');
    w.stop();
    expect(outcome(w)?.type).toBe('CANCELED');
    w.store();
    expect(w.titles).toHaveLength(1);
  });

  it('is the question’s own words where the model wrote its thoughts instead of a name (A47)', () => {
    const w = asking();
    w.answer({ text: 'hi' });
    w.store();
    w.suggest('Thinking Process:\n1. The person says go.');
    expect(w.state.projection.configuration).toMatchObject({ title: 'go', titleSource: 'GENERATED' });
  });

  it('never overtakes a person, even one who keeps the name it has', () => {
    const w = answered();
    w.rename('Test');
    w.suggest('Greetings');
    expect(w.state.projection.configuration).toMatchObject({ title: 'Test', titleSource: 'PERSON' });
  });

  it('is not asked for when a person gave one', () => {
    const w = createWorld();
    w.rename('Mine');
    w.send('go');
    w.store();
    w.answer({ text: 'hi' });
    w.store();
    expect(w.titles).toEqual([]);
  });

  it('is never made for a fork, whose first exchange was another’s', () => {
    const { state } = answered();
    const origin = { workstreamId: 'w0', title: 'Source', revision: 9 };
    const fork = applyEntries(state.projection, [
      place(state.projection.revision + 1, { kind: 'FORK', origin }),
    ]);
    let now = loadedState({ ...loaded, projection: fork, conversation: [] });
    const take = (input: Parameters<typeof step>[1]['input'], seed: string) => {
      const taken = step(now, { input, at: '', seed });
      now = taken.state;
      return taken;
    };
    const store = () =>
      take({ type: 'acknowledged', epoch: 1, batch: now.batches, through: now.projection.revision }, 'a');
    take(command({ type: 'send', text: 'go', delivery: 'QUEUE', turnId: null }), 's1');
    const call = store().effects.find((e) => e.type === 'callModel')!;
    const { messageId, stamp } = call;
    const outcome = {
      type: 'answered',
      text: 'hi',
      reasoning: '',
      calls: [],
      finish: 'STOP',
      usage: null,
      alias: 'm',
      model: 'm',
    } as const;
    take({ type: 'world', stamp, event: { type: 'modelEnded', messageId, outcome } }, 's2');
    expect(now.projection.turn?.phase).toBe('COMPLETED');
    expect(store().effects).toEqual([]);
  });

  it('is given once: a second one changes nothing', () => {
    const w = answered();
    const [{ stamp, question }] = w.titles as [World['titles'][0]];
    w.suggest('Greetings');
    w.tell(stamp, { type: 'titleSuggested', title: 'Other', question });
    expect(all(w, 'CONFIGURATION').map((e) => e.configuration.title)).toEqual(['Test', 'Greetings']);
  });

  it('is lost with its process, and asked for again after the next exchange', () => {
    const w = answered();
    w.reload(true);
    w.send('more');
    w.store();
    w.read(w.modelCalls[0]?.stamp);
    w.answer({ text: 'yes' });
    w.store();
    expect(w.titles).toMatchObject([{ question: 'hello', answer: 'yes' }]);
  });

  it('is looked for in the beginning of what came, in one way through it (broke: 80,000 spaces took 10 s)', () => {
    const w = answered('\n  first words\nand the rest');
    w.suggest(`${' '.repeat(2_000_000)}x${' '.repeat(2_000_000)}y`);
    expect(w.state.projection.configuration.title).toBe('first words');
  });

  it('changes nothing but the name: a turn that runs goes on', () => {
    const w = answered();
    w.send('more');
    w.store();
    w.suggest('Greetings');
    w.store();
    w.answer({ text: 'yes' });
    expect(kinds(w).slice(-3)).toEqual(['CONFIGURATION', 'ASSISTANT', 'TURN']);
    expect(outcome(w)?.type).toBe('COMPLETED');
  });

  it.each<readonly [string | null, string]>([
    ['Greetings', 'Greetings'],
    ['  "Greetings."\nand why', 'Greetings'],
    ['## **Greetings**', 'Greetings'],
    ['# **Title** here', 'Title here'],
    ['The *second* __part__ of `it`', 'The second part of `it`'],
    ['`foo` is **_not_** found', '`foo` is not found'],
    ['“Nice” words of "them"', '“Nice” words of "them"'],
    ['2 * 3 * 4 of my_own_name', '2 * 3 * 4 of my_own_name'],
    [`**${'a '.repeat(1_900)}`, `${'a '.repeat(40).trim()}…`],
    [null, 'first words'],
    [' "" \n ', 'first words'],
    ['x'.repeat(200), `${'x'.repeat(80)}…`],
    [`${'word '.repeat(30)}`, `${'word '.repeat(16).trim()}…`],
    [`${'x'.repeat(79)}😀`, `${'x'.repeat(79)}…`],
    ['思考\uFF1A', 'first words'],
    ...['\u200b\u2060', '\u202e\u2066', '\u00ad', '\u3164', '\u034f', '\u2800', '\0'].map(
      (unseen) => [unseen, 'first words'] as const,
    ),
    ['\u200b\n\u2800\nGreetings', 'Greetings'],
    [`${'\u200b'.repeat(100)} Unseen\nGreetings`, 'Greetings'],
    [`${'\u00ad'.repeat(50)} ${'x'.repeat(90)}\nGreetings`, 'Greetings'],
    ['\u2067Model\u202e name\u2069\0', 'Model name'],
    ['Family 👨‍👩‍👧', 'Family 👨‍👩‍👧'],
  ])('that comes as %j is %j', (suggested, title) => {
    const w = answered('\n  first words\nand the rest');
    w.suggest(suggested);
    expect(w.state.projection.configuration.title).toBe(title);
  });

  it('is not made of nothing: it keeps the one it has', () => {
    const w = answered(' -- ');
    w.suggest(null);
    expect(w.state.projection.configuration).toMatchObject({ title: 'Test', titleSource: 'DEFAULT' });
  });
});

const loaded = { id: 'w1', incarnation: 'incarnation', epoch: 1 };

const command = (what: Parameters<World['command']>[1]): Parameters<typeof step>[1]['input'] => ({
  type: 'command',
  by: ann,
  key: { scope: 'ann/w1', key: JSON.stringify(what), inputHash: 'hash' },
  command: what,
});
