/**
 * Owns: the one guarded transition of a turn (D-30), alone: the families above it ask only where it may say yes.
 */
import { describe, expect, it } from 'vitest';
import type { Turn, TurnOutcome } from 'schema/projection';
import { newTurn, transition, type TurnEvent } from '../../src/core/turn/transitions.ts';
import { ann } from './support/world.ts';

const ended = (type: TurnOutcome['type']): TurnEvent => ({
  type: 'settle',
  outcome: { type, reason: 'X', message: '', unconfirmed: [] },
});
const events: readonly TurnEvent[] = [
  { type: 'stop' },
  ended('COMPLETED'),
  ended('FAILED'),
  ended('CANCELED'),
  { type: 'compact', compaction: { id: 'c1', trigger: 'TOOLS', resume: false } },
  { type: 'compacted' },
  { type: 'reclaim', generation: 9, recoveries: 1 },
];

const running = newTurn('t1', 'CHAT', 3, ann, 'then');
const go = (turn: Turn, event: TurnEvent): Turn | null => transition(turn, 't1', event, 'now');
const stopping = go(running, { type: 'stop' })!;

describe('a turn', () => {
  it.each(['COMPLETED', 'FAILED', 'CANCELED'] as const)('that is %s never changes again (I26)', (type) => {
    const settled = go(running, ended(type))!;
    expect(settled).toMatchObject({ phase: type, settledAt: 'now', outcome: { type } });
    expect(events.map((event) => go(settled, event))).toEqual(events.map(() => null));
  });

  it('is not moved by what is meant for another', () => {
    expect(events.map((event) => transition(running, 't2', event, 'now'))).toEqual(events.map(() => null));
  });

  it('that is stopping is latched: it cannot be stopped again, and only CANCELED is left', () => {
    expect(stopping.phase).toBe('INTERRUPTING');
    expect(go(stopping, { type: 'stop' })).toBeNull();
    expect(go(stopping, ended('COMPLETED'))).toBeNull();
    expect(go(stopping, ended('FAILED'))).toBeNull();
    expect(go(stopping, ended('CANCELED'))?.phase).toBe('CANCELED');
  });

  it('is summarised for from RUNNING only, and back, and says why as long as it is', () => {
    const compaction = { id: 'c1', trigger: 'OVERFLOW', resume: false } as const;
    const compacting = go(running, { type: 'compact', compaction })!;
    expect(compacting).toMatchObject({ phase: 'COMPACTING', compaction });
    expect(go(compacting, { type: 'compact', compaction })).toBeNull();
    expect(go(compacting, { type: 'compacted' })).toEqual(running);
    expect(go(running, { type: 'compacted' })).toBeNull();
    expect(go(compacting, { type: 'stop' })).toEqual(stopping);
    expect([go(stopping, { type: 'compact', compaction }), go(stopping, { type: 'compacted' })]).toEqual([
      null,
      null,
    ]);
    expect(go(compacting, ended('FAILED'))).not.toHaveProperty('compaction');
    const reclaimed = go(compacting, { type: 'reclaim', generation: 4, recoveries: 1 });
    expect(reclaimed).toMatchObject({ phase: 'COMPACTING', compaction });
  });

  it('is reclaimed by a greater generation only, and stays in its phase', () => {
    const reclaim = (generation: number) => go(stopping, { type: 'reclaim', generation, recoveries: 2 });
    expect(reclaim(3)).toBeNull();
    expect(reclaim(2)).toBeNull();
    expect(reclaim(4)).toMatchObject({ phase: 'INTERRUPTING', generation: 4, recoveries: 2 });
  });
});
