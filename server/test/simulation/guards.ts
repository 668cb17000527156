/**
 * Owns: the guards of the product, each with the broken variant that goes without it. A variant is a change to a
 * file's text, made while it is loaded (`without.ts`): the product has no switches for it.
 *
 * Some guards stand behind another one, or against a mistake that nothing makes. `hazard` brings that danger about;
 * with the hazard alone the guard holds, and without both a law fails that tells of damage (`beyond` names those that
 * only tell of the hazard).
 */
import type { LawId } from './laws.ts';

export interface Change {
  /** Below `server/`. */
  readonly file: string;
  /** Is there exactly once. */
  readonly find: string;
  readonly replace: string;
}

export interface Guard {
  readonly name: string;
  readonly without: readonly Change[];
  readonly hazard?: readonly Change[];
  /** Laws that the hazard breaks although the guard holds. */
  readonly beyond?: readonly LawId[];
}

const disk = 'test/support/memory-storage.ts';
const change = (file: string, find: string, replace: string): Change => ({ file, find, replace });

const withoutHeadFence = change(disk, '      row.revision !== batch.expectedHead ||\n', '');
const withoutCommitKeys = change(
  disk,
  'if (keys.has(commitKey(entry)))',
  'if (keys.has(commitKey(entry)) && keys.size === 0)',
);
const withoutReceiptKeys = change(
  disk,
  'if (taken.length > 0 && !(batch.entries.length === 0 && same))',
  'if (taken.length < 0 && same)',
);
const withoutOneLiveTurn = change(
  disk,
  'if (live !== null && live !== entry.turn.id)',
  `if (live === '' && live !== entry.turn.id)`,
);
const withoutLookingUp = change(
  'src/app/services/command.ts',
  `if (known === 'NEW' || known === 'HERE') return`,
  `if (known) return`,
);

const withoutGenerations = change(
  'src/core/fence.ts',
  'return stamp.generation === null || liveTurnOf(state)?.generation === stamp.generation;',
  'return stamp.generation !== undefined || liveTurnOf(state) === null;',
);

const withoutMessageIds = change(
  'src/core/turn/answer.ts',
  `if (attempt?.messageId !== messageId || attempt.phase !== 'calling') return before;`,
  `if (attempt?.phase !== 'calling') return before;`,
);

export const guards: readonly Guard[] = [
  {
    name: 'the fence on the epoch, in SQL (D-4)',
    without: [change(disk, '      row.epoch !== batch.epoch ||\n', '')],
  },
  {
    name: 'the fence on the head, in SQL (D-4)',
    without: [withoutHeadFence],
    hazard: [withoutCommitKeys, withoutReceiptKeys],
  },
  {
    name: 'the fence on the incarnation, in SQL (D-4)',
    without: [
      change(disk, 'row?.incarnation !== batch.incarnation ||\n      row.epoch', '!row ||\n      row.epoch'),
    ],
  },
  {
    name: 'an entry has one commit key, in SQL, behind the fence on the head (I26, I38)',
    without: [withoutCommitKeys],
    hazard: [withoutHeadFence],
    beyond: ['D-51'],
  },
  {
    name: 'a receipt has one key, in SQL, behind the look-up (D-60)',
    without: [withoutReceiptKeys],
    hazard: [withoutLookingUp],
    beyond: ['D-51', 'D-5', 'D-31', 'I18', 'I19', 'I20', 'I24', 'D-22'],
  },
  {
    name: 'only what no live session owns is claimed (D-100)',
    without: [
      change(
        disk,
        '!isLive(sessionId) || (row.owner !== sessionId && isLive(row.owner))',
        '!isLive(sessionId)',
      ),
    ],
  },
  {
    name: 'the stamp fence, by epoch (D-5), where outcomes of an earlier load reach the next',
    without: [change('src/core/fence.ts', 'if (stamp.epoch !== state.epoch) return false;', '')],
    hazard: [
      change(
        'src/app/actor/actor.ts',
        `      post({ type: 'world', stamp, event, calls }),`,
        `      (hub.latest?.get(loaded.id) ?? post)({ type: 'world', stamp, event, calls }),`,
      ),
      change(
        'src/app/actor/actor.ts',
        `  post({ type: 'recover' });\n`,
        `  (hub.latest ??= new Map()).set(loaded.id, post);\n  post({ type: 'recover' });\n`,
      ),
      withoutMessageIds,
      // So that the generation does not tell one load from the next.
      change('src/core/turn/recovery.ts', 'projection.generation + 1', 'projection.generation'),
      change('src/core/turn/transitions.ts', 'event.generation > turn.generation', 'event.generation > 0'),
    ],
  },
  {
    name: 'the stamp fence, by generation (D-5), where outcomes are not told apart by their ids',
    without: [withoutGenerations],
    hazard: [withoutMessageIds],
  },
  {
    name: 'a deed waits until what explains it is durable (D-2)',
    without: [
      change('src/core/step.ts', 'const wait = batches > draft.state.durableBatches;', 'const wait = false;'),
    ],
  },
  {
    name: 'no deed is released after the stop latch (D-65), where Stop left it waiting',
    without: [change('src/core/step.ts', ' && !(isOfTurn(deed) && isLatched(turn))', '')],
    hazard: [change('src/core/turn/stop.ts', 'patch(settled, { held, ', 'patch(settled, { ')],
  },
  {
    name: 'a key is looked up in the database (D-60)',
    without: [withoutLookingUp],
    hazard: [withoutReceiptKeys],
  },
  {
    name: 'a second copy of a command joins the first (D-60)',
    without: [
      change(
        'src/core/step.ts',
        'const known = draft.state.receipts.get(receiptKey(input.key));',
        'const known = undefined;',
      ),
    ],
    hazard: [withoutReceiptKeys],
  },
  {
    name: 'an unknown outcome is not taken for stored (D-52)',
    without: [
      change(
        'src/app/actor/store-lane.ts',
        `if (outcome.type === 'committed') return true;`,
        `if (outcome.type === 'committed' || outcome.type === 'unavailable') return true;`,
      ),
    ],
  },
  {
    name: 'a refused fence is read back before giving up (D-50, D-52)',
    without: [change('src/app/actor/store-lane.ts', `if (await isStored(batch)) return 'stored';`, '')],
  },
  {
    name: 'an answer says DURABLE only when its batch is stored (D-61)',
    without: [change('src/app/actor/actor.ts', 'batch <= state.durableBatches\n', 'batch > 0\n')],
  },
  {
    name: 'what was running when its process died is UNKNOWN, not run again (D-9, I37)',
    without: [change('src/core/turn/recovery.ts', 'resumeBatch(markLost(claimed))', 'resumeBatch(claimed)')],
    hazard: [withoutCommitKeys],
  },
  {
    name: 'one flight loads a workstream (D-22)',
    without: [change('src/app/actor/registry.ts', 'if (flight) return flight;', '')],
  },
  {
    name: 'a follower gets no entry twice (I9)',
    without: [change('src/app/feed/follow.ts', 'if (item.entry.revision <= at.revision) return false;', '')],
  },
  {
    name: 'a follower behind another process is sent back to the database (D-55)',
    without: [
      change('src/app/feed/follow.ts', 'if (missed) yield event(', 'if (missed && false) yield event('),
      change('src/app/feed/follow.ts', '      return missed;', '      return false;'),
    ],
  },
  {
    name: 'a cursor of an epoch that lost entries goes back to where both agree (D-55)',
    without: [
      change('src/app/feed/backlog.ts', 'return stored !== null && stored <= cursor.epoch;', 'return true;'),
    ],
  },
  {
    name: 'an entry in prefix and suffix is shown once (D-53), where the prefix is read to the head',
    without: [change('src/core/journal/history.ts', 'suffix.filter((e) => e.revision > last)', 'suffix')],
    hazard: [
      change(
        'src/app/services/history.ts',
        'Math.min(high, head.durableThrough)',
        'Math.min(high, head.revision)',
      ),
    ],
  },
  {
    name: 'the first decision stays (D-64)',
    without: [change('src/core/approvals/decide.ts', 'if (item?.decision)', 'if (item?.decision && !item)')],
  },
  {
    name: 'what is approved is what was seen (D-64)',
    without: [
      change(
        'src/core/approvals/decide.ts',
        'item.argumentsHash !== command.argumentsHash',
        'item.argumentsHash === ""',
      ),
    ],
  },
  {
    name: 'Stop takes back the open questions of its turn (D-65)',
    without: [
      change(
        'src/core/turn/stop.ts',
        `supersedeCycles(admit(draft, { kind: 'TURN', turn: stopping }))`,
        `admit(draft, { kind: 'TURN', turn: stopping })`,
      ),
    ],
  },
  {
    name: 'Stop names the turn it means (D-62)',
    without: [
      change(
        'src/core/workstream/commands.ts',
        'if (live && turnId !== null && turnId !== live.id)',
        'if (live && turnId === "")',
      ),
    ],
  },
  {
    name: 'what is queued is said in a turn of its author (D-12)',
    without: [
      change(
        'src/core/turn/answer.ts',
        '!drained || drained.author.id !== turn?.principal.id',
        '!drained || !turn',
      ),
    ],
  },
  {
    name: 'a steer names the turn it is meant for (D-62)',
    without: [change('src/core/workstream/commands.ts', 'if (!live || live.id !== turnId)', 'if (!live)')],
  },
  {
    name: 'a steer runs on the credentials of who wrote it (D-12)',
    without: [
      change(
        'src/core/workstream/commands.ts',
        'if (live.principal.id !== author.id)',
        'if (live.id === "")',
      ),
    ],
  },
  {
    name: 'what waits is edited by its author only (D-12)',
    without: [
      change('src/core/workstream/commands.ts', 'if (message.author.id !== by.id)', 'if (message.id === "")'),
    ],
  },
  {
    name: 'feedback runs on the credentials of who gave it (D-12)',
    without: [
      change(
        'src/core/approvals/decide.ts',
        'if (feedback !== null && principal && principal.id !== by.id)',
        'if (feedback !== null && principal && principal.id === "")',
      ),
    ],
  },
  {
    name: 'a message is tried again by its author only (D-12)',
    without: [change('src/core/turn/rewind.ts', 'if (author.id !== by.id)', 'if (author.id === "")')],
  },
  {
    name: 'nothing is taken back while a turn lives (D-59)',
    without: [
      change(
        'src/core/turn/rewind.ts',
        `if (live) return refuse({ code: 'BUSY', currentTurnId: live.id });`,
        '',
      ),
    ],
    hazard: [withoutOneLiveTurn],
  },
  {
    name: 'who takes something back has seen the last turn (D-62)',
    without: [
      change('src/core/turn/rewind.ts', 'return last === turnId ? null', 'return last !== "" ? null'),
    ],
  },
  {
    name: 'what was taken back is told to no model (D-59)',
    without: [
      change(
        'src/core/step-draft.ts',
        `if (entry.kind === 'REWIND')\n    return`,
        `if (entry.kind === 'REWIND' && entry.after < 0)\n    return`,
      ),
    ],
  },
  {
    name: 'what was taken back is told to no model, after a load (D-59)',
    without: [
      change(
        'src/core/workstream/state.ts',
        '!isSuperseded(projection, e.revision)',
        '!isSuperseded(projection, -e.revision)',
      ),
      change(
        'src/app/actor/actor.ts',
        'through: revision, superseded, checkpoint }',
        'through: revision, superseded: [], checkpoint }',
      ),
    ],
  },
  {
    name: 'a turn that is forced to end ends under a new claim (D-66)',
    without: [
      change(
        'src/core/turn/stop.ts',
        `const claimed = admit(draft, { kind: 'TURN', turn: reclaimed });`,
        'const claimed = draft;',
      ),
    ],
  },
  {
    name: 'a steer waits for the results of the calls under way (I38)',
    without: [
      change(
        'src/core/turn/calls.ts',
        '    draft,\n  );\n  // The advice',
        '    landSteers(draft),\n  );\n  // The advice',
      ),
    ],
  },
  {
    name: 'a steer is no steer of the next turn (D-63)',
    without: [
      change(
        'src/core/turn/queue.ts',
        `item.delivery === 'STEER' && item.turnId === turnId`,
        `item.delivery === 'STEER' && item.turnId !== ''`,
      ),
      change(
        'src/core/turn/queue.ts',
        `delivery: 'QUEUE', turnId: null, afterStop: false`,
        'afterStop: false',
      ),
    ],
  },
  {
    name: 'trust in edits is no trust in commands (D-64)',
    without: [
      change(
        'src/core/approvals/policy.ts',
        `EXECUTE: { ASK: 'ASK', TRUST_WORKSPACE: 'ASK'`,
        `EXECUTE: { ASK: 'ASK', TRUST_WORKSPACE: 'TRUSTED'`,
      ),
    ],
  },
  {
    name: 'what waits is left out only when somebody withdraws it (I21)',
    without: [
      change(
        'src/core/turn/queue.ts',
        'queue.items.filter((item) => !ids.includes(item.id))',
        'queue.items.slice(messages.length)',
      ),
    ],
  },
  {
    name: 'a refusal that stays is recorded before it is told (D-60)',
    without: [
      change('src/app/services/command.ts', `const holds = landing === 'durable' && `, `const holds = `),
    ],
  },
  {
    name: 'a summary is taken by the compaction that asked for it (D-40), where no stamp tells claims apart',
    without: [
      change(
        'src/core/turn/compacted.ts',
        `  if (summary?.id !== compactionId) return draft;\n  const over`,
        `  if (!summary || compactionId === '') return draft;\n  const over`,
      ),
    ],
    hazard: [withoutGenerations],
  },
  {
    name: 'an answer whose calls are open is not summarised (D-40)',
    without: [
      change('src/core/context/watermark.ts', 'if (open !== -1) return open;', 'if (open < -1) return open;'),
    ],
  },
  {
    name: 'what nobody has answered is not summarised (D-40)',
    without: [
      change(
        'src/core/context/watermark.ts',
        'while (from > 0 && isInput(entries[from - 1]!)) from -= 1;',
        '',
      ),
    ],
  },
  {
    name: 'what is worked on crosses word for word (D-40)',
    without: [
      change(
        'src/core/context/watermark.ts',
        `return text === '' ? null :`,
        `return text.length < 1_000_000 ? null :`,
      ),
    ],
  },
  {
    name: 'room is tried for once between two answers (D-39)',
    without: [
      change(
        'src/core/turn/answer.ts',
        "if (draft.state.projection.context.tried === 'OVERFLOW') return null;",
        'if (draft.state.projection.context.told < 0) return null;',
      ),
    ],
  },
  {
    name: 'what does not fit is not sent (D-39)',
    without: [
      change(
        'src/app/actor/room.ts',
        'overflow: guarded ? overflowOf(asked) : null',
        'overflow: guarded && overhead < 0 ? overflowOf(asked) : null',
      ),
    ],
  },
  {
    name: 'a summary makes a conversation shorter (D-40)',
    without: [
      change(
        'src/core/turn/compacted.ts',
        'if (told >= weightOfAll(draft.state.conversation) || usedOf(mark) >= usedOf(context))',
        'if (told < 0 && weightOfAll(draft.state.conversation) > 0)',
      ),
    ],
  },
  {
    name: 'a summary stays when what follows it is taken back (D-40, D-59)',
    without: [
      change(
        'src/core/step-draft.ts',
        `conversation.filter((said) => said.kind === 'CHECKPOINT' || said.revision <= entry.after)`,
        `conversation.filter((said) => said.revision <= entry.after)`,
      ),
    ],
  },
  {
    name: 'a summary stands before all else after a load (D-40)',
    without: [
      change(
        'src/core/workstream/state.ts',
        'return summary ? [summary, ...said] : said;',
        'return summary ? [...said, summary] : said;',
      ),
    ],
  },
  {
    name: 'a spent budget is asked about before an answer (D-33)',
    without: [
      change(
        'src/core/turn/model-call.ts',
        'if (isSpent(draft.state)) return askForBudget(',
        'if (isSpent(draft.state) && draft.minted < 0) return askForBudget(',
      ),
    ],
  },
  {
    name: 'a spent budget is asked about before a summary (D-33)',
    without: [
      change('src/core/turn/calls.ts', 'if (isSpent(draft.state)) return askForBudget(draft);', ''),
      change('src/core/turn/compaction.ts', 'mayTry(state) && !isSpent(state);', 'mayTry(state);'),
      change('src/core/turn/compaction.ts', "import { isSpent } from './budget.ts';", ''),
    ],
    // Who carries a summary out looks at what is left of the budget as well.
    hazard: [change('src/app/actor/perform.ts', '< deps.allowance(),', '< deps.allowance() + 1e9,')],
  },
  {
    name: 'a model call is counted once, in SQL (D-5)',
    without: [change(disk, 'if (modelCalls.has(call.id)) continue;', '')],
  },
  {
    name: 'a model call counts whatever becomes of what it was for (D-5)',
    without: [
      change(
        'src/core/step.ts',
        ': orphanEnded(counted, input.stamp, input.event)',
        ': orphanEnded(draft, input.stamp, input.event)',
      ),
    ],
  },
  {
    name: 'who is not the owner any more still counts what its calls cost (D-5)',
    without: [
      change(
        'src/app/actor/actor.ts',
        `if (input.type === 'world') late.keep(input.calls ?? []);`,
        `if (input.type === 'world') late.keep([]);`,
      ),
    ],
  },
  {
    name: 'what was spent and not stored is counted when an owner is deposed (D-5)',
    without: [
      change(
        'src/app/actor/actor.ts',
        'late.keep([...uncounted.values()].flat());',
        'late.keep([...uncounted.values()].flat().slice(0, 0));',
      ),
    ],
  },
];
