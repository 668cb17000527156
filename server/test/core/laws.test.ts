/**
 * Owns: the laws of the core over random lives (`support/moves.ts`), one test a law (`support/laws.ts`).
 *
 * A failure prints fast-check's seed and path and the shortest life that breaks the law. `LAW_RUNS=5000` looks longer.
 */
import fc from 'fast-check';
import { liveTurn } from 'schema/projection';
import { describe, expect, it } from 'vitest';
import type { Input } from '../../src/core/inputs.ts';
import { laws } from './support/laws.ts';
import { life, live } from './support/moves.ts';

const numRuns = Number(process.env['LAW_RUNS'] ?? 75);

describe('in any life of a workstream', { timeout: 120_000 }, () => {
  it.each(Object.entries(laws))('%s', (_, watch) => {
    fc.assert(
      fc.property(life, (moves) => {
        live(moves, watch());
      }),
      { numRuns },
    );
  });
});

describe('the random lives', () => {
  it('reach what the laws are about', { timeout: 120_000 }, () => {
    const seen = new Map<string, number>();
    const note = (what: string): unknown => seen.set(what, (seen.get(what) ?? 0) + 1);
    for (const moves of fc.sample(life, { numRuns: 1_600, seed: 7 })) {
      live(moves, {
        onStep: ({ before, timed: { input }, step: { entries, effects, reply } }) => {
          if (reply?.type === 'refused') note(`refused ${reply.refusal.code}`);
          for (const e of entries) {
            note(e.kind);
            if (e.kind === 'TURN' && e.turn.outcome) note(e.turn.outcome.reason);
            if (e.kind === 'TURN' && e.turn.outcome?.unconfirmed.length) note('forced');
            if (e.kind === 'TURN' && e.turn.compaction) note(`summarised for ${e.turn.compaction.trigger}`);
            if (e.kind === 'CHECKPOINT') note(`summary for ${e.trigger}`);
            if (e.kind === 'CHECKPOINT' && e.request) note('request carried');
            if (e.kind === 'CHECKPOINT' && before.projection.checkpoint) note('summary of a summary');
            if (e.kind === 'CHECKPOINT' && before.projection.batch) note('summary before results');
            if (e.kind === 'SYSTEM') note(e.source);
            if (e.kind === 'USER') note(e.source);
            if (e.kind === 'TOOL' && e.content.includes('left out here')) note('cut in the middle');
            if (e.kind === 'TOOL' && e.content.includes('is not shown')) note('not shown');
            if (e.kind === 'APPROVAL' && e.cycle.kind === 'BUDGET')
              note(`budget ${e.cycle.status} ${e.cycle.items[0]?.decision?.verdict ?? ''}`);
            if (e.kind === 'RECOVERY') note(`recovery ${e.reason}`);
            if (e.kind === 'USER' && e.source === 'FEEDBACK') note('feedback');
            if (e.kind === 'USER' && e.source === 'STEER') note('steered');
            if (e.kind === 'REWIND') note(`taken back by ${e.reason}`);
            if (e.kind === 'APPROVAL')
              for (const { decision } of e.cycle.items) note(`decided by ${decision?.source ?? 'nobody'}`);
          }
          for (const e of effects) note(e.type);
          if (effects.some((e) => e.type === 'callModel' && e.conversationFrom > 0)) note('asked unread');
          if (input.type === 'world' && input.event.type === 'conversationRead') {
            if (before.conversationFrom > 0) note(liveTurn(before.projection) ? 'read for a turn' : 'read');
            else note('read again');
          }
          if (before.closing && input.type === 'closing' && !input.on) note('door opened again');
          for (const e of entries) if (e.kind === 'LIFECYCLE') note(e.lifecycle);
          for (const e of entries)
            if (e.kind === 'CONFIGURATION') note(`named by ${e.configuration.titleSource}`);
          const { checkpoint, turn } = before.projection;
          if (checkpoint && entries.some((e) => e.kind === 'REWIND')) note('taken back after a summary');
          if (turn?.phase === 'COMPACTING' && entries.some((e) => e.kind === 'TURN' && e.turn.outcome))
            note(`ended ${stopsBy(input)} while it summarised`);
          if (input.type === 'world' && input.calls?.length && entries.length + effects.length === 0)
            note('paid for nothing');
          if (input.type === 'world' && entries.length + effects.length === 0) note('without effect');
        },
      });
    }
    const rarely = wanted.filter((what) => (seen.get(what) ?? 0) < 5);
    expect(rarely).toEqual([]);
  });
});

/** Each of these happens at least five times in 1,600 lives. */
const wanted: readonly string[] = [
  ...['USER', 'ASSISTANT', 'TOOL', 'TOOL_STARTED', 'TOOL_SETTLED', 'APPROVAL', 'QUEUE', 'CANCELLATION'],
  ...['DONE', 'STOPPED', 'MODEL_REFUSAL', 'MODEL_ABORTED', 'RECOVERY_EXHAUSTED', 'forced', 'feedback'],
  ...['recovery STOP', 'recovery APPROVAL', 'recovery TOOLS', 'recovery MODEL'],
  ...['callModel', 'runTool', 'prepareCalls', 'abortModel', 'abortTool', 'backoff', 'watchStop'],
  ...['KEY_REUSED', 'QUEUE_FULL', 'STALE_TURN', 'APPROVAL_GONE', 'ALREADY_DECIDED', 'ARGUMENTS_CHANGED'].map(
    (code) => `refused ${code}`,
  ),
  ...['BUSY', 'NOT_YOURS', 'MESSAGE_NOT_FOUND'].map((code) => `refused ${code}`),
  ...['REWIND', 'RETRY', 'EDIT'].map((reason) => `taken back by ${reason}`),
  ...['TRUST_WORKSPACE', 'TRUST_ALL', 'PERSON', 'nobody'].map((source) => `decided by ${source}`),
  ...['OPEN', 'CLOSED', 'door opened again', 'named by GENERATED', 'named by PERSON', 'suggestTitle'],
  ...['asked unread', 'read', 'read for a turn', 'read again'],
  ...['CLOSING', 'WORKSTREAM_CLOSED'].map((code) => `refused ${code}`),
  ...['TOOLS', 'END_OF_TURN', 'OVERFLOW', 'MANUAL'].flatMap((why) => [
    `summarised for ${why}`,
    `summary for ${why}`,
  ]),
  ...['request carried', 'summary of a summary', 'summary before results', 'recovery COMPACTION'],
  ...['ended by force while it summarised', 'ended of itself while it summarised', 'readConversation'],
  ...['taken back after a summary', 'COMPACTED', 'COMPACTION_ABORTED', 'COMPACTION_EMPTY_SUMMARY'],
  ...['COMPACTION_ADVICE', 'COMPACTION_RESUME', 'cut in the middle', 'not shown', 'MODEL_CONTEXT_OVERFLOW'],
  ...['budget OPEN ', 'budget SETTLED APPROVED', 'budget SETTLED DENIED', 'budget SUPERSEDED '],
  ...['BUDGET_DENIED', 'paid for nothing', 'refused NOTHING_TO_COMPACT'],
  'steered',
  'without effect',
];

const stopsBy = (input: Input): string =>
  input.type === 'command' && input.command.type === 'stop' ? 'by force' : 'of itself';
