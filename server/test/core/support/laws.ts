/**
 * Owns: what must hold after every step of any life. Each law watches a life with its own eyes: what it needs to
 * know it keeps itself, from inputs, entries and effects, so that it does not believe the state under test.
 */
import {
  applyEntries,
  emptyProjection,
  isConversation,
  isSettled,
  openCycles,
  openItems,
  type ApprovalCycle,
  type Author,
  type Compaction,
  type CompactionTrigger,
  type Entry,
  type EntryOf,
  type Projection,
  type Turn,
} from 'schema/projection';
import assert from 'node:assert/strict';
import { lower } from '../../../src/core/conversation/lower.ts';
import type { Effect } from '../../../src/core/effects.ts';
import type { Input, World as Event } from '../../../src/core/inputs.ts';
import { spentBy, type ModelCall } from '../../../src/core/models/spending.ts';
import { step, type Reply, type Step } from '../../../src/core/step.ts';
import { isSpent } from '../../../src/core/turn/budget.ts';
import type { State } from '../../../src/core/workstream/state.ts';
import { canUnload } from '../../../src/core/workstream/lifecycle.ts';
import { contextOf, type Watcher, type World } from './world.ts';

/** A sentence, and how to watch one life for it. */
export type Laws = Readonly<Record<string, () => Watcher>>;

export const laws: Laws = {
  'revisions are 1, 2, 3 … without gaps, across crashes (I1)': () => {
    const check = (world: World): void => {
      world.journal.forEach((entry, i) => assert.equal(entry.revision, i + 1));
      assert.equal(world.state.projection.revision, world.journal.length);
    };
    return { onStep: ({ world }) => check(world), onCrash: check };
  },

  'the fold of the entries equals the projection after every step (I5, D-58)': () => {
    let known: { readonly of: readonly Entry[]; readonly fold: Projection } | null = null;
    const check = (world: World): void => {
      const journal = world.journal;
      const more =
        known && journal.length >= known.of.length && journal[known.of.length - 1] === known.of.at(-1)
          ? applyEntries(known.fold, journal.slice(known.of.length))
          : applyEntries(emptyProjection, journal);
      known = { of: journal, fold: more };
      assert.deepEqual(world.state.projection, more);
    };
    return {
      onStep: ({ world }) => check(world),
      onCrash: check,
      onEnd: (world) =>
        assert.deepEqual(world.state.projection, applyEntries(emptyProjection, world.journal)),
    };
  },

  'a follower of the feed knows what the actor knows, overlay included (D-50, I13)': () => ({
    onStep: ({ world }) => {
      assert.deepEqual(world.follower.projection, world.state.projection);
      assert.deepEqual(world.follower.overlay, world.state.overlay);
      assert.deepEqual(world.follower.pending, world.state.pending);
    },
  }),

  'pending are exactly the entries above the durable mark, and the mark never runs ahead (D-50, D-53)':
    () => ({
      onStep: ({ world, step: { state } }) => {
        const through = state.durable.revision;
        assert.deepEqual(
          state.pending,
          world.journal.filter((e) => e.revision > through),
        );
        assert.ok(through <= world.durable.length, 'the mark runs ahead of the database');
        assert.deepEqual(world.follower.base, state.durable);
      },
    }),

  'a turn has one terminal entry, and nothing of the turn comes after it (I26, I34)': () => {
    const check = (entries: readonly Entry[]): void => {
      const ended = new Set<string>();
      for (const entry of entries) {
        if (entry.turnId !== null)
          assert.ok(!ended.has(entry.turnId), `${entry.kind} after the end of its turn`);
        if (entry.kind === 'TURN' && isSettled(entry.turn)) ended.add(entry.turn.id);
      }
    };
    return { onCrash: (world) => check(world.journal), onEnd: (world) => check(world.journal) };
  },

  'settled is the same as having an outcome and a time, and the phase says which (I27, D-30)': () => ({
    onStep: ({ step: { entries } }) => {
      for (const { turn } of turnEntries(entries)) {
        assert.equal(turn.outcome !== null, turn.settledAt !== null);
        assert.equal(turn.outcome?.type ?? null, terminal.has(turn.phase) ? turn.phase : null);
      }
    },
  }),

  'one turn lives at a time, and the generation only grows (D-32)': () => {
    let latest: Turn | null = null;
    let highest = 0;
    const isLive = (turn: Turn | null): boolean => turn !== null && !isSettled(turn);
    return {
      onStep: ({ step: { entries } }) => {
        for (const entry of entries) {
          assert.ok(entry.generation >= highest, 'an entry of an old generation');
          highest = entry.generation;
          if (entry.kind !== 'TURN') continue;
          const { turn } = entry;
          if (turn.id === latest?.id) assert.ok(turn.generation >= latest.generation);
          else {
            assert.ok(!isLive(latest), 'a second turn began beside the first');
            assert.ok(turn.generation > (latest?.generation ?? 0), 'a turn without a claim of its own');
          }
          latest = turn;
        }
      },
      onCrash: (world) => {
        latest = turnEntries(world.journal).at(-1)?.turn ?? null;
        highest = world.journal.at(-1)?.generation ?? 0;
      },
    };
  },

  'an outcome of an old claim changes nothing (D-5, I28)': () => ({
    onStep: ({ before, timed: { input }, step: taken }) => {
      if (input.type !== 'world') return;
      const { turn } = before.projection;
      const current = turn && !isSettled(turn) ? turn.generation : null;
      const { epoch, generation } = input.stamp;
      if (epoch === before.epoch && (generation === null || generation === current)) return;
      // Only that something is not an orphan any more, for it has ended, and only to its own owner.
      const { orphans, spent, batches } = taken.state;
      assert.ok(orphans.every((orphan) => before.orphans.includes(orphan)));
      if (epoch !== before.epoch) assert.deepEqual(orphans, before.orphans);
      // And what it cost was paid all the same.
      const paid = input.calls?.length ? { spent, batches } : {};
      nothingHappened(
        { ...before, orphans, ...paid },
        { ...taken, batch: paid.batches ? null : taken.batch },
      );
    },
  }),

  'an outcome told twice is taken once (D-35)': () => {
    const told = new Set<unknown>();
    return {
      onStep: ({ before, timed: { input }, step: taken }) => {
        if (input.type !== 'world') return;
        const { event } = input;
        // A name is welcome as long as there is none, also one that came while it was CLOSED.
        if (event.type === 'titleSuggested') return;
        if (told.has(event)) nothingHappened(before, taken);
        told.add(event);
      },
    };
  },

  'a refusal changes nothing but what is recorded under its key (D-11, D-60)': () => ({
    onStep: ({ before, step: taken }) => {
      if (taken.reply?.type !== 'refused') return;
      const { batches, receipts } = taken.state;
      assert.deepEqual(taken.state, { ...before, batches, receipts });
      assert.deepEqual([taken.entries, taken.items, taken.effects], [[], [], []]);
      assert.ok(taken.receipts.length === 0 || taken.reply.batch === batches);
      assert.equal(batches - before.batches, taken.receipts.length);
    },
  }),

  'a key tried again gives the same answer and does nothing; with another input it is refused (I18, I19, D-60)':
    () => {
      const answers = new Map<string, { readonly hash: string; readonly reply: Reply }>();
      return {
        onStep: ({ before, timed: { input }, step: taken }) => {
          if (input.type !== 'command' || !taken.reply) return;
          const key = `${input.key.scope}\n${input.key.key}`;
          const known = answers.get(key);
          if (known) {
            nothingHappened(before, taken);
            if (known.hash === input.key.inputHash) assert.deepEqual(taken.reply, known.reply);
            else assert.deepEqual(codeOf(taken.reply), 'KEY_REUSED');
          } else if (taken.batch !== null) {
            answers.set(key, { hash: input.key.inputHash, reply: taken.reply });
            assert.equal(taken.receipts.length, 1);
          }
        },
        // From here on the database answers for what was durable, and the rest was never accepted.
        onCrash: () => answers.clear(),
      };
    },

  'each declared call has exactly one TOOL entry before the model is asked again and before its turn settles (I38, D-35)':
    () => {
      const check = (entries: readonly Entry[]): void => {
        const open = new Map<string, boolean>();
        for (const entry of entries) {
          if (entry.kind === 'ASSISTANT') {
            assert.equal(open.size, 0, 'the model answered before its last calls were');
            for (const call of entry.calls) {
              assert.ok(!open.has(call.callId), 'two calls have one id');
              open.set(call.callId, true);
            }
          }
          if (entry.kind === 'TOOL') assert.ok(open.delete(entry.callId), 'a result nobody waits for');
          if (entry.kind === 'TURN' && isSettled(entry.turn))
            assert.equal(open.size, 0, 'a turn settled with calls unanswered');
        }
      };
      return {
        onStep: ({ world, step: { effects } }) => {
          for (const effect of effects) {
            if (effect.type !== 'callModel') continue;
            check(world.journal);
            assert.ok(allAnswered(contextOf(world, effect)), 'the model was asked with a call unanswered');
          }
        },
        onEnd: (world) => check(world.journal),
      };
    },

  'the model sees each call followed by its one result before anything else (D-34, D-35)': () => ({
    onStep: ({ world, step: { effects } }) => {
      for (const effect of effects) if (effect.type === 'callModel') wellPaired(contextOf(world, effect));
    },
    // Also what is not told any more was well paired, and is still there (I47).
    onEnd: (world) =>
      wellPaired(world.journal.filter((e) => isConversation(e.kind) && e.kind !== 'CHECKPOINT')),
  }),

  'the model is told what stands and nothing that was taken back, whoever loads it (D-59)': () => {
    const check = (world: World): void => {
      const told = toldOf(world.journal);
      assert.deepEqual(contextOf(world), told);
      wellPairedOrOpen(told);
    };
    return {
      onStep: ({ world, step: { entries, effects } }) => {
        if (entries.length > 0) check(world);
        for (const effect of effects)
          if (effect.type === 'callModel') {
            const gone = new Set(world.journal.map((e) => e.id));
            for (const { id } of toldOf(world.journal)) gone.delete(id);
            assert.ok(contextOf(world, effect).every((e) => !gone.has(e.id)));
          }
      },
      onCrash: check,
    };
  },

  'nothing is taken back while a turn lives (D-59)': () => ({
    onStep: ({ before, step: { entries } }) => {
      let live = before.projection.turn !== null && !isSettled(before.projection.turn);
      for (const entry of entries) {
        if (entry.kind === 'TURN') live = !isSettled(entry.turn);
        if (entry.kind === 'REWIND') assert.ok(!live, 'taken back from under a live turn');
      }
    },
  }),

  'what ends without being waited for ends under a new claim (D-66, I28)': () => {
    let begun = new Map<string, number>();
    return {
      onStep: ({ before, timed: { input }, step: { entries, effects } }) => {
        const event = heard(before, input);
        if (event?.type === 'toolEnded') begun.delete(event.callId);
        if (event?.type === 'modelEnded') begun.delete(event.messageId);
        if (event?.type === 'summaryEnded') begun.delete(event.compactionId);
        for (const { turn, generation } of turnEntries(entries)) {
          if (!isSettled(turn)) continue;
          for (const claim of begun.values()) assert.ok(generation > claim, 'the old claim may still write');
          begun = new Map();
        }
        for (const effect of effects) {
          if (effect.type === 'callModel') begun.set(effect.messageId, effect.stamp.generation ?? 0);
          if (effect.type === 'summarise') begun.set(effect.compactionId, effect.stamp.generation ?? 0);
          if (effect.type === 'runTool') begun.set(effect.call.callId, effect.stamp.generation ?? 0);
        }
      },
      onCrash: () => begun.clear(),
    };
  },

  'no deed begins before the entries that explain it are durable (D-2, I36)': () => ({
    onStep: ({ world, step: { effects } }) => {
      for (const effect of effects) {
        if (effect.type === 'callModel') {
          const told = contextOf(world, effect);
          const last = Math.max(0, ...told.map((e) => e.revision));
          assert.deepEqual(
            told,
            toldOf(world.durable).filter((e) => e.revision <= last),
          );
        }
        if (effect.type === 'summarise') {
          const told = toldOf(world.durable);
          assert.deepEqual(effect.entries, told.slice(0, effect.entries.length));
          assert.equal(latestTurn(world.durable)?.compaction?.id, effect.compactionId);
        }
        if (effect.type === 'runTool') {
          const { callId } = effect.call;
          assert.ok(
            world.durable.some((e) => e.kind === 'ASSISTANT' && e.calls.some((c) => c.callId === callId)),
            'its declaration is not durable',
          );
          assert.ok(
            world.durable.some(
              (e) =>
                e.kind === 'TOOL_STARTED' &&
                e.callId === callId &&
                e.generation === effect.stamp.generation &&
                e.epoch === effect.stamp.epoch,
            ),
            'its start is not durable under this claim',
          );
        }
      }
    },
  }),

  'a deed belongs to the live turn, and after the stop latch nothing begins (D-65, I31)': () => {
    let latched: string | null = null;
    return {
      onStep: ({ step: { entries, effects, state } }) => {
        for (const entry of entries) {
          if (latched !== null && entry.turnId === latched)
            assert.ok(!begins(entry), `${entry.kind} begins something after the latch`);
          if (entry.kind === 'TURN') latched = entry.turn.phase === 'INTERRUPTING' ? entry.turn.id : null;
        }
        for (const effect of effects.filter(isDeed)) {
          const { turn } = state.projection;
          assert.ok(turn && !isSettled(turn), `${effect.type} without a live turn`);
          assert.equal(turn.phase, effect.type === 'summarise' ? 'COMPACTING' : 'RUNNING', effect.type);
          assert.deepEqual(effect.stamp, { epoch: state.epoch, generation: turn.generation });
        }
      },
      onCrash: (world) => {
        const { turn } = world.state.projection;
        latched = turn?.phase === 'INTERRUPTING' ? turn.id : null;
      },
    };
  },

  'an open approval belongs to the live turn, which is not stopping (I42)': () => ({
    onStep: ({ world, step: { entries, state } }) => {
      const { turn } = state.projection;
      for (const cycle of openCycles(state.projection)) {
        assert.equal(cycle.turnId, turn?.id);
        assert.equal(turn?.phase, 'RUNNING');
      }
      // The fold forgets the cycles of a settled turn; in the journal each of them was closed before.
      for (const { turn: ended } of turnEntries(entries).filter((e) => isSettled(e.turn)))
        assert.deepEqual(
          [...latestCycles(world.journal)].filter((c) => c.turnId === ended.id && c.status === 'OPEN'),
          [],
        );
    },
  }),

  'the first decision on a call stays (I39)': () => {
    const decisions = new Map<string, unknown>();
    return {
      onStep: ({ step: { entries } }) => {
        for (const entry of entries) {
          if (entry.kind !== 'APPROVAL') continue;
          for (const { callId, decision } of entry.cycle.items) {
            if (decisions.has(callId)) assert.deepEqual(decision, decisions.get(callId));
            if (decision) decisions.set(callId, decision);
          }
        }
      },
      onCrash: (world) => {
        decisions.clear();
        for (const entry of world.journal)
          if (entry.kind === 'APPROVAL')
            for (const { callId, decision } of entry.cycle.items)
              if (decision) decisions.set(callId, decision);
      },
    };
  },

  'only a decision decides: what a person is said to have decided he decided then, and no mode answers what was asked (I41)':
    () => ({
      onStep: ({ before, timed: { input }, step: { entries } }) => {
        const asked = new Set(openItems(before.projection).map((item) => item.callId));
        for (const entry of entries) {
          if (entry.kind !== 'APPROVAL') continue;
          for (const { callId, decision } of entry.cycle.items) {
            const known = before.projection.cycles.flatMap((c) => c.items).find((i) => i.callId === callId);
            if (!decision || known?.decision) continue;
            assert.equal(decision.source === 'PERSON', asked.has(callId));
            if (decision.source !== 'PERSON') continue;
            assert.ok(input.type === 'command' && input.command.type === 'decide');
            assert.deepEqual(
              [callId, decision.verdict, decision.by],
              [input.command.callId, input.command.verdict, input.by],
            );
          }
        }
      },
    }),

  'what changes anything runs only after these very arguments were approved: by a person, or by the mode of that time (I40, I45)':
    () => {
      const answered = new Set<string>();
      const hashes = new Map<string, string>();
      const executes = new Set<string>();
      return {
        onStep: ({ before, world, timed: { input }, step: { effects } }) => {
          const event = heard(before, input);
          if (event?.type === 'callsPrepared') {
            for (const { callId, prepared } of event.calls) {
              // The first answer under a claim is the one that counts.
              const once = `${before.epoch} ${before.projection.generation} ${callId}`;
              if (answered.has(once)) continue;
              answered.add(once);
              if (prepared.type === 'ready' && prepared.access !== 'READ')
                hashes.set(callId, prepared.argumentsHash);
              else hashes.delete(callId);
              if (prepared.type === 'ready' && prepared.access === 'EXECUTE') executes.add(callId);
              else executes.delete(callId);
            }
          }
          for (const effect of effects) {
            if (effect.type !== 'runTool' || !hashes.has(effect.call.callId)) continue;
            const rows = world.durable.flatMap((e) =>
              e.kind === 'APPROVAL' ? e.cycle.items.map((row) => ({ ...row, revision: e.revision })) : [],
            );
            const item = rows.findLast((i) => i.callId === effect.call.callId);
            assert.ok(item?.decision?.verdict === 'APPROVED');
            if (item.decision.source !== 'PERSON') {
              const first = rows.find((i) => i.callId === item.callId && i.decision !== null);
              const mode = world.durable.findLast(
                (e): e is EntryOf<'CONFIGURATION'> =>
                  e.kind === 'CONFIGURATION' && e.revision < (first?.revision ?? 0),
              )?.configuration;
              assert.equal(item.decision.source, mode?.approvalMode);
              assert.deepEqual(item.decision.by, mode?.approvalModeBy);
              if (executes.has(item.callId)) assert.equal(item.decision.source, 'TRUST_ALL');
            }
            assert.equal(item.argumentsHash, hashes.get(effect.call.callId));
            assert.equal(effect.basis, item.basis);
          }
        },
      };
    },

  'no call is run twice, across crashes too (I37)': () => {
    const run = new Set<string>();
    return {
      onStep: ({ step: { effects } }) => {
        for (const effect of effects) {
          if (effect.type !== 'runTool') continue;
          assert.ok(!run.has(effect.call.callId), 'run again');
          run.add(effect.call.callId);
        }
      },
    };
  },

  'at most four calls of a turn run at once (D-34)': () => ({
    onStep: ({ world, step: { state } }) => {
      const { turn } = state.projection;
      const now = world.running.filter(
        ({ stamp }) => stamp.epoch === state.epoch && stamp.generation === turn?.generation,
      );
      assert.ok(now.length <= 4, `${now.length} run`);
    },
  }),

  'every accepted message is in exactly one place: queued, said, withdrawn or taken back; a crash loses none that was durable (I21, D-63)':
    () => {
      const accepted = new Map<string, number>();
      const withdrawn = new Map<string, number>();
      const check = (world: World): void => {
        const said = standing(world.journal).flatMap((e) => (isMessage(e) ? marksIn(e.text) : []));
        const ever = world.journal.flatMap((e) => (isMessage(e) ? marksIn(e.text) : []));
        const takenBack = ever.filter((mark) => !said.includes(mark));
        const queued = world.state.projection.queue.items.flatMap((i) => marksIn(i.text));
        const places = [...said, ...takenBack, ...queued, ...withdrawn.keys()];
        assert.deepEqual(places.sort(), [...accepted.keys()].sort());
      };
      return {
        onStep: ({ before, world, timed: { input }, step: taken }) => {
          if (input.type === 'command' && taken.reply?.type === 'accepted' && taken.batch !== null) {
            const { command } = input;
            const { revision } = taken.state.projection;
            if ('text' in command) for (const mark of marksIn(command.text)) accepted.set(mark, revision);
            // What an edit takes the place of is withdrawn.
            if (command.type === 'withdrawQueued' || command.type === 'editQueued')
              for (const { id, text } of before.projection.queue.items)
                if (id === command.messageId) for (const mark of marksIn(text)) withdrawn.set(mark, revision);
          }
          if (taken.entries.length > 0) check(world);
        },
        onCrash: (world) => {
          for (const places of [accepted, withdrawn])
            for (const [mark, revision] of places) if (revision > world.durable.length) places.delete(mark);
          check(world);
        },
      };
    },

  'a message runs in a turn of its own author, and so does what is said with a decision (D-12)': () => {
    const authors = new Map<string, string>();
    return {
      onStep: ({ world, timed: { input }, step: { effects, state } }) => {
        if (input.type === 'command' && 'text' in input.command)
          for (const m of marksIn(input.command.text)) authors.set(m, input.by.id);
        // A retry says nothing of its own: whom the model answers is who wrote last.
        for (const effect of effects)
          if (effect.type === 'callModel')
            assert.equal(requestIn(contextOf(world, effect))?.author.id, state.projection.turn?.principal.id);
      },
      onEnd: (world) => {
        const principals = new Map<string, string>();
        for (const entry of world.journal) {
          if (entry.kind === 'TURN') principals.set(entry.turn.id, entry.turn.principal.id);
          if (entry.kind !== 'USER') continue;
          const principal = principals.get(entry.turnId ?? '');
          assert.equal(entry.author.id, principal);
          // Also when several were joined into one.
          if (isMessage(entry)) for (const m of marksIn(entry.text)) assert.equal(authors.get(m), principal);
        }
      },
    };
  },

  'messages are said in the order they were accepted, but for steers and what takes the place of another (I22)':
    () => ({
      onEnd: (world) => {
        /** Messages by id, in the order they were accepted. */
        const accepted: string[] = [];
        const idOf = new Map<string, string>();
        const said: string[] = [];
        const know = (id: string, text: string): void => {
          for (const mark of marksIn(text)) idOf.set(mark, idOf.get(mark) ?? id);
          if (!accepted.includes(id)) accepted.push(id);
        };
        let edited = false;
        for (const entry of world.journal) {
          if (entry.kind === 'REWIND') edited = entry.reason === 'EDIT';
          if (entry.kind === 'QUEUE') for (const { id, text } of entry.queue.items) know(id, text);
          if (!isMessage(entry)) continue;
          if (marksIn(entry.text).every((mark) => !idOf.has(mark))) know(entry.id, entry.text);
          const overtakes = entry.source === 'STEER' || edited;
          edited = false;
          for (const mark of marksIn(entry.text)) {
            const id = idOf.get(mark)!;
            if (overtakes) accepted.splice(accepted.indexOf(id), 1);
            else said.push(id);
          }
        }
        const order = [...said, ...world.state.projection.queue.items.map((item) => item.id)];
        assert.deepEqual(
          order,
          accepted.filter((id) => order.includes(id)),
        );
      },
    }),

  'NONE is said of a call only if it never began or its tool said so; what never started is never UNKNOWN (D-9)':
    () => {
      const begun = new Set<string>();
      const saidNone = new Set<string>();
      return {
        onStep: ({ before, world, timed: { input }, step: { entries, effects } }) => {
          const event = heard(before, input);
          if (event?.type === 'toolEnded' && event.result.effect === 'NONE') saidNone.add(event.callId);
          for (const entry of entries) {
            const result =
              entry.kind === 'TOOL' ? entry : entry.kind === 'TOOL_SETTLED' ? entry.result : null;
            if (!result || (entry.kind !== 'TOOL' && entry.kind !== 'TOOL_SETTLED')) continue;
            const { callId } = entry;
            if (result.effect === 'NONE')
              assert.ok(!begun.has(callId) || saidNone.has(callId), 'NONE of a call that began');
            if (!world.journal.some((e) => e.kind === 'TOOL_STARTED' && e.callId === callId))
              assert.equal(result.effect, 'NONE', 'a call that never started');
          }
          for (const effect of effects) if (effect.type === 'runTool') begun.add(effect.call.callId);
        },
      };
    },

  'a stopped turn is settled when all it began is seen to end, or names the calls that are not (D-65, I33)':
    () => {
      const tools = new Map<string, string>();
      /** Of an answer or of a summary. */
      let model: string | null = null;
      return {
        onStep: ({ before, timed: { input }, step: { entries, effects, state } }) => {
          const event = heard(before, input);
          if (event?.type === 'toolEnded') tools.delete(event.callId);
          if (event?.type === 'modelEnded' && event.messageId === model) model = null;
          if (event?.type === 'summaryEnded' && event.compactionId === model) model = null;
          for (const { turn } of turnEntries(entries)) {
            if (!turn.outcome) continue;
            if (turn.outcome.type === 'CANCELED') {
              const unseen = [...tools].filter(([, of]) => of === turn.id).map(([id]) => id);
              assert.deepEqual([...turn.outcome.unconfirmed].sort(), unseen.sort());
              const forced =
                input.type === 'world'
                  ? input.event.type === 'stopOverdue'
                  : input.type === 'command' && input.command.type === 'stop' && input.command.force;
              if (!forced) assert.equal(model, null, 'settled with the model still asked');
            }
            model = null;
          }
          for (const effect of effects) {
            if (effect.type === 'callModel') model = effect.messageId;
            if (effect.type === 'summarise') model = effect.compactionId;
            if (effect.type === 'runTool') tools.set(effect.call.callId, state.projection.turn?.id ?? '');
          }
        },
        onCrash: () => {
          tools.clear();
          model = null;
        },
      };
    },

  'the queue holds at most 20; after a stop or a failure it is held unless something was sent after the latch (D-63)':
    () => ({
      onStep: ({ before, step: { entries, state } }) => {
        const { queue } = state.projection;
        assert.ok(queue.items.length <= 20);
        const ended = turnEntries(entries).find(({ turn }) => isSettled(turn))?.turn;
        if (!ended || before.projection.queue.items.length === 0) return;
        const completed = ended.phase === 'COMPLETED' && !before.projection.queue.held;
        // Behind a shut door nothing goes on.
        const goesOn =
          !state.closing && (completed || before.projection.queue.items.some((i) => i.afterStop));
        const { turn } = state.projection;
        assert.equal(goesOn, turn !== null && !isSettled(turn));
        assert.equal(queue.held, !goesOn);
        // Whatever was meant for that turn is meant for none.
        assert.ok(queue.items.every((i) => i.delivery === 'QUEUE' && i.turnId === null));
      },
    }),

  'CLOSED has no live turn and nothing that waits to go on; it takes nothing but to be opened (D-23, I56)':
    () => ({
      onStep: ({ before, timed: { input }, step: { entries, effects, state } }) => {
        const { lifecycle, turn, queue } = state.projection;
        if (lifecycle === 'CLOSED') {
          assert.ok(!turn || isSettled(turn), 'a turn lives in what is CLOSED');
          assert.ok(queue.items.length === 0 || queue.held);
        }
        if (before.projection.lifecycle !== 'CLOSED') return;
        assert.ok(effects.every((effect) => !isDeed(effect)));
        if (entries.length === 0) return;
        assert.ok(input.type === 'command' && input.command.type === 'open');
        assert.deepEqual(
          entries.map((e) => (e.kind === 'LIFECYCLE' ? [e.lifecycle, e.by] : e.kind)),
          [['OPEN', input.by]],
        );
      },
    }),

  'behind a shut door nothing begins, and its turn is stopping or over (D-23, D-25)': () => ({
    onStep: ({ step: { entries, effects, state } }) => {
      if (!state.closing) return;
      const { turn } = state.projection;
      assert.ok(!turn || isSettled(turn) || turn.phase === 'INTERRUPTING');
      assert.ok(effects.every((effect) => !isDeed(effect)));
      assert.ok(entries.every((e) => !begins(e) && e.kind !== 'USER'));
    },
  }),

  'what may leave memory has nothing under way, and comes back as it was (D-24)': () => {
    let left: Projection | null = null;
    return {
      onStep: ({ world, timed: { input }, step: { state, entries } }) => {
        if (input.type === 'recover' && left !== null) {
          // A question is asked anew, under a new claim; nothing else happens to what comes back.
          assert.ok(entries.every((e) => e.kind === 'TURN' || e.kind === 'RECOVERY'));
          assert.deepEqual(openItems(state.projection), openItems(left));
          assert.equal(state.projection.turn?.recoveries, left.turn?.recoveries);
        }
        left = canUnload(state) ? state.projection : null;
        if (!left) return;
        assert.deepEqual([state.pending, world.uncommitted, world.unacknowledged], [[], [], []]);
        assert.deepEqual([world.modelCalls, world.summaries, world.running], [[], [], []]);
      },
    };
  },

  'the model is told the same whether history was read at once or when it was needed (D-22)': () => ({
    onStep: ({ world, step: { state, effects } }) => {
      const whole = toldOf(world.journal);
      assert.deepEqual(contextOf(world), whole);
      // In memory is what lies above, and nothing twice.
      assert.ok(state.conversation.every((e) => e.revision > state.conversationFrom));
      for (const effect of effects)
        if (effect.type === 'callModel') assert.deepEqual(contextOf(world, effect), whole);
    },
  }),

  'a name is asked for once, when an exchange is complete, and never takes the place of one there is': () => {
    let asked = 0;
    return {
      onStep: ({ before, world, timed: { input }, step: { entries, effects, state } }) => {
        const source = before.projection.configuration.titleSource;
        for (const effect of effects) {
          if (effect.type !== 'suggestTitle') continue;
          asked += 1;
          assert.equal(asked, 1, 'asked again');
          assert.ok(turnEntries(world.durable).some(({ turn }) => turn.phase === 'COMPLETED'));
        }
        for (const e of entries)
          if (
            e.kind === 'CONFIGURATION' &&
            e.configuration.titleSource === 'GENERATED' &&
            source !== 'GENERATED'
          ) {
            assert.equal(source, 'DEFAULT');
            const isSuggested = input.type === 'world' && input.event.type === 'titleSuggested';
            assert.ok(isSuggested || isSpent(state));
          }
      },
      onCrash: () => {
        asked = 0;
      },
    };
  },

  'the model is told a summary once and first, and no result without its call (D-40, I47)': () => ({
    onStep: ({ world, step: { effects } }) => {
      for (const effect of effects) {
        if (effect.type !== 'callModel') continue;
        const told = contextOf(world, effect);
        assert.ok(told.every((e, i) => e.kind !== 'CHECKPOINT' || i === 0));
        wellPaired(told);
      }
    },
  }),

  'a compaction that comes to nothing leaves what the model is told as it was, byte for byte (D-40, I48)':
    () => {
      let before: { readonly id: string; readonly told: string; readonly entries: number } | null = null;
      const check = (world: World, added: readonly Entry[]): void => {
        const live = latestTurn(world.journal);
        const compaction = live && !isSettled(live) ? live.compaction : undefined;
        if (before && compaction?.id !== before.id) {
          const told = toldOf(world.journal).filter((e) => !added.includes(e));
          const came = added.some((e) => e.kind === 'CHECKPOINT');
          // What was taken back since is not about the compaction.
          if (!came) assert.equal(JSON.stringify(lower('', told)), before.told);
          before = null;
        }
        if (!compaction) return;
        const told = JSON.stringify(lower('', toldOf(world.journal)));
        if (before) assert.equal(told, before.told);
        before = { id: compaction.id, told, entries: world.journal.length };
      };
      return {
        onStep: ({ world, step: { entries } }) => check(world, entries),
        onCrash: (world) => {
          // What was lost before it was durable never began.
          if (before && world.journal.length < before.entries) before = null;
          check(world, []);
        },
      };
    },

  'no compaction makes what the model is told longer (G3)': () => ({
    onStep: ({ before, world, step: { entries } }) => {
      const at = entries.findIndex((e) => e.kind === 'CHECKPOINT');
      if (at === -1) return;
      const upTo = world.journal.filter((e) => e.revision <= entries[at]!.revision);
      const old = world.journal.filter((e) => e.revision <= before.projection.revision);
      assert.ok(sizeOf(toldOf(upTo)) < sizeOf(toldOf(old)));
    },
  }),

  'a turn begins one compaction at most between two answers, and one more because what is asked does not fit (D-39, I49)':
    () => ({
      onEnd: (world) => {
        let known: string | undefined;
        let begun: CompactionTrigger[] = [];
        let model = '';
        for (const e of world.journal) {
          if (e.kind === 'ASSISTANT' || isGrant(e)) begun = [];
          // For another model nothing was tried yet.
          if (e.kind === 'CONFIGURATION' && e.configuration.model !== model) begun = [];
          if (e.kind === 'CONFIGURATION') ({ model } = e.configuration);
          if (e.kind !== 'TURN') continue;
          if (isSettled(e.turn)) begun = [];
          const { id, trigger } = e.turn.compaction ?? {};
          if (id === undefined || trigger === undefined || id === known) continue;
          known = id;
          begun.push(trigger);
          assert.ok(begun.length <= 1 || trigger === 'OVERFLOW', 'a second one');
          assert.ok(begun.filter((t) => t === 'OVERFLOW').length <= 1, 'a second one for what does not fit');
        }
      },
    }),

  'an answer with open calls and an input nobody has answered are never summarised, and what is worked on crosses word for word (D-40, G2)':
    () => {
      let compaction: Compaction | null = null;
      return {
        onStep: ({ before, world, step: { entries } }) => {
          compaction = before.projection.turn?.compaction ?? null;
          for (const checkpoint of entries) {
            if (checkpoint.kind !== 'CHECKPOINT') continue;
            const told = toldOf(world.journal.filter((e) => e.revision < checkpoint.revision));
            const kept = told.filter((e) => e.kind !== 'CHECKPOINT' && e.revision > checkpoint.watermark);
            const answered = new Set(told.flatMap((e) => (e.kind === 'TOOL' ? [e.callId] : [])));
            const open = told.filter(
              (e) => e.kind === 'ASSISTANT' && e.calls.some((c) => !answered.has(c.callId)),
            );
            const heard = told.findLastIndex((e) => e.kind !== 'USER');
            const unheard = told.slice(heard + 1);
            for (const e of [...open, ...unheard]) assert.ok(kept.includes(e), `${e.kind} is summarised`);
            const goesOn = checkpoint.trigger !== 'MANUAL' && checkpoint.trigger !== 'END_OF_TURN';
            if (!goesOn && !compaction?.resume) continue;
            const asked = requestIn(told);
            assert.ok(asked, 'nothing is worked on');
            if (kept.some((e) => e.kind === 'USER' && e.text === asked.text)) continue;
            // Too long for the window it is cut in the middle.
            assert.ok(checkpoint.request?.text.endsWith(asked.text.slice(-50)), 'the request is lost');
            assert.deepEqual(checkpoint.request?.author, asked.author);
          }
        },
      };
    },

  'once the budget is spent no model is asked for anything until more is granted (D-33)': () => {
    const known = new Set<string>();
    return {
      onStep: ({ world, step: { effects, state } }) => {
        const deeds = [...state.held.map(({ deed }) => deed), ...effects];
        for (const deed of deeds) {
          if (deed.type !== 'callModel' && deed.type !== 'summarise' && deed.type !== 'suggestTitle')
            continue;
          const id = 'messageId' in deed ? deed.messageId : 'compactionId' in deed ? deed.compactionId : '';
          const which = `${state.epoch} ${deed.stamp.generation} ${deed.type} ${id}`;
          // What was asked for before stays asked for.
          if (known.has(which)) continue;
          known.add(which);
          const limit = limitIn(world.journal);
          assert.ok(limit === null || state.spent < limit, `${deed.type} with ${state.spent} of ${limit}`);
        }
      },
    };
  },

  'what is spent only grows, by what each call cost, whether its outcome is stale or not (D-5)': () => {
    let paid = 0;
    const sum = (calls: readonly ModelCall[]): number => calls.reduce((all, c) => all + spentBy(c), 0);
    return {
      onStep: ({ timed: { input }, step: { calls, state, batch } }) => {
        const handedIn = input.type === 'world' ? (input.calls ?? []) : [];
        assert.deepEqual(calls, handedIn);
        if (calls.length > 0) assert.ok(batch !== null, 'not stored');
        paid += sum(handedIn);
        assert.equal(state.spent, paid);
      },
      onCrash: (world) => {
        paid = world.durablySpent;
        assert.equal(world.state.spent, paid);
      },
    };
  },

  'the sum of what is told is the sum of its parts (D-39)': () => {
    const check = (world: World): void =>
      assert.equal(world.state.projection.context.told, sizeOf(toldOf(world.journal)));
    return { onStep: ({ world }) => check(world), onCrash: check };
  },

  'the same input on the same state gives the same step, and changes nothing it was given (D-1)': () => ({
    // The world freezes every state and input it hands over: a step that changed one would throw.
    onStep: ({ before, timed, step: taken }) => assert.deepEqual(step(before, timed), taken),
  }),

  'in a world that answers, every turn comes to its end and nothing is left waiting (D-31)': () => ({
    onEnd: (world) => {
      const { projection, held, attempt, summary, overflow, progress, overlay } = world.state;
      assert.ok(!projection.turn || isSettled(projection.turn), 'a turn is left');
      assert.equal(projection.batch, null);
      assert.deepEqual(
        { held, attempt, summary, overflow, progress },
        { held: [], attempt: null, summary: null, overflow: null, progress: {} },
      );
      assert.deepEqual(overlay, { message: null, tools: {} });
      assert.ok(projection.queue.items.length === 0 || projection.queue.held, 'a message waits for nothing');
    },
  }),
};

const terminal: ReadonlySet<string> = new Set(['COMPLETED', 'FAILED', 'CANCELED']);

const turnEntries = (entries: readonly Entry[]): readonly Extract<Entry, { kind: 'TURN' }>[] =>
  entries.filter((e) => e.kind === 'TURN');

const latestCycles = (entries: readonly Entry[]): readonly ApprovalCycle[] => [
  ...new Map(entries.flatMap((e) => (e.kind === 'APPROVAL' ? [[e.cycle.id, e.cycle]] : []))).values(),
];

/** The entries that no later rewind took back. */
const standing = (entries: readonly Entry[]): readonly Entry[] =>
  entries.reduce<readonly Entry[]>(
    (left, entry) =>
      entry.kind === 'REWIND' ? left.filter((e) => e.revision <= entry.after) : [...left, entry],
    [],
  );

/** What a model is told of a journal: the latest summary, and what stands after all that it is of. */
function toldOf(entries: readonly Entry[]): readonly Entry[] {
  const checkpoint = entries.findLast((e): e is EntryOf<'CHECKPOINT'> => e.kind === 'CHECKPOINT');
  const said = standing(entries).filter(
    (e) => isConversation(e.kind) && e.kind !== 'CHECKPOINT' && e.revision > (checkpoint?.watermark ?? 0),
  );
  return checkpoint ? [checkpoint, ...said] : said;
}

/** What is being worked on: what was said last, or what a summary carries of it. */
function requestIn(told: readonly Entry[]): { readonly text: string; readonly author: Author } | null {
  const said = told.findLast((e) => e.kind === 'USER' && e.source !== 'COMPACTION_RESUME');
  if (said?.kind === 'USER') return said;
  const [first] = told;
  return first?.kind === 'CHECKPOINT' ? first.request : null;
}

const latestTurn = (entries: readonly Entry[]): Turn | null => turnEntries(entries).at(-1)?.turn ?? null;

const sizeOf = (told: readonly Entry[]): number => told.reduce((sum, e) => sum + (e.tokens ?? 0), 0);

/** Of these entries, how many tokens may be spent before a person is asked; null: any number. */
function limitIn(entries: readonly Entry[]): number | null {
  let budget: number | undefined;
  let limit: number | null = null;
  for (const e of entries) {
    if (e.kind === 'CONFIGURATION' && e.configuration.tokenBudget !== budget) {
      budget = e.configuration.tokenBudget;
      limit = budget ?? null;
    }
    if (e.kind !== 'APPROVAL' || !e.cycle.budget || limit === null) continue;
    const { spent, grant } = e.cycle.budget;
    if (e.cycle.items[0]?.decision?.verdict === 'APPROVED') limit = Math.max(limit, spent + grant);
  }
  return limit;
}

/** What a person wrote, as against what came with a decision or from the server. */
const isMessage = (entry: Entry): entry is EntryOf<'USER'> =>
  entry.kind === 'USER' && (entry.source === 'MESSAGE' || entry.source === 'STEER');

const marksIn = (text: string): readonly string[] => text.match(/m\d+;/g) ?? [];

const codeOf = (reply: Reply): string | null => (reply.type === 'refused' ? reply.refusal.code : null);

const isDeed = (
  effect: Effect,
): effect is Extract<Effect, { type: 'callModel' | 'summarise' | 'runTool' | 'prepareCalls' }> =>
  effect.type === 'callModel' ||
  effect.type === 'summarise' ||
  effect.type === 'runTool' ||
  effect.type === 'prepareCalls';

/** More budget is granted: what came to nothing for want of it may be tried again. */
const isGrant = (entry: Entry): boolean =>
  entry.kind === 'APPROVAL' &&
  entry.cycle.kind === 'BUDGET' &&
  entry.cycle.items.some((item) => item.decision?.verdict === 'APPROVED');

/** Entries that begin something in a turn. */
const begins = (entry: Entry): boolean =>
  entry.kind === 'TOOL_STARTED' ||
  entry.kind === 'ASSISTANT' ||
  entry.kind === 'CHECKPOINT' ||
  (entry.kind === 'APPROVAL' && entry.cycle.status === 'OPEN');

/** The event, if it was told under the claim of the live turn: what anybody else says is not believed. */
function heard(before: State, input: Input): Event | null {
  if (input.type !== 'world') return null;
  const { epoch, generation } = input.stamp;
  const { turn } = before.projection;
  return epoch === before.epoch && turn && !isSettled(turn) && generation === turn.generation
    ? input.event
    : null;
}

function nothingHappened(before: State, taken: Step): void {
  assert.deepEqual(taken.state, before);
  const { batch, entries, receipts, items, effects } = taken;
  assert.deepEqual(
    { batch, entries, receipts, items, effects },
    { batch: null, entries: [], receipts: [], items: [], effects: [] },
  );
}

function allAnswered(conversation: readonly Entry[]): boolean {
  const answered = new Set(conversation.flatMap((e) => (e.kind === 'TOOL' ? [e.callId] : [])));
  return conversation.every((e) => e.kind !== 'ASSISTANT' || e.calls.every((c) => answered.has(c.callId)));
}

/** Only what was declared last may be unanswered. */
function wellPairedOrOpen(conversation: readonly Entry[]): void {
  const last = conversation.at(-1);
  wellPaired(last?.kind === 'ASSISTANT' ? conversation.slice(0, -1) : conversation);
}

/** After an assistant message with calls come exactly their results, in order of the calls, and nothing between. */
function wellPaired(conversation: readonly Entry[]): void {
  let waiting: string[] = [];
  for (const message of lower('system', conversation)) {
    if (message.role === 'tool') {
      assert.equal(message.callId, waiting.shift(), 'a result out of place');
      continue;
    }
    assert.deepEqual(waiting, [], `${message.role} between a call and its result`);
    if (message.role === 'assistant') waiting = message.calls.map((c) => c.callId);
  }
  assert.deepEqual(waiting, [], 'a call without a result');
}
