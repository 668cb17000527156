/**
 * Owns: that the state table is what `step` does (D-27), cell by cell, and that the printed page shows that table.
 */
import { readFileSync } from 'node:fs';
import { isStopping, stateOf, type WorkstreamState } from 'schema/projection';
import { describe, expect, it } from 'vitest';
import { statesPage } from '../../../scripts/print-states.ts';
import { canUnload } from '../../src/core/workstream/lifecycle.ts';
import {
  shown,
  told,
  type CommandEvent,
  type Situation,
  type TableEvent,
} from '../../src/core/workstream/situations.ts';
import { behindTheDoor, table } from '../../src/core/workstream/table.ts';
import { canonical, happen, prior, situationOf, stateIn } from './support/situations.ts';

const situations = Object.keys(shown) as Situation[];
const events = Object.keys(told) as TableEvent[];
const commands = Object.keys(behindTheDoor) as CommandEvent[];

describe.each(situations)('a workstream in %s', (situation) => {
  it('shows it', () => {
    const { projection } = stateIn(situation, canonical[situation]());
    expect(situationOf(stateIn(situation, canonical[situation]()))).toBe(situation);
    expect({ state: stateOf(projection), stopping: isStopping(projection) }).toEqual({
      state: shown[situation].state,
      stopping: shown[situation].stopping,
    });
  });

  it('can leave memory, or not, as the table says (D-24)', () => {
    const w = canonical[situation]();
    expect(canUnload(stateIn(situation, w))).toBe(shown[situation].unloads);
  });

  it.each(commands)('behind a shut door: %s (D-23, D-25)', (command) => {
    const w = canonical[situation]();
    const shut = happen('doorShut', stateIn(situation, w), w).state;
    const taken = happen(command, shut, w);
    const refusal = taken.reply?.type === 'refused' ? taken.reply.refusal.code : null;
    const hidden = situation === 'CREATING' || (situation === 'CLOSED' && command !== 'open');
    if (behindTheDoor[command] === 'CLOSING' && !hidden) {
      expect(refusal).toBe('CLOSING');
      expect(taken).toMatchObject({ entries: [], receipts: [], items: [], effects: [] });
    } else {
      const cell = table[situationOf(shut)][command];
      expect(refusal).toBe(cell.type === 'refused' ? cell.code : null);
      if (cell.type === 'taken') expect(situationOf(taken.state)).toBe(cell.to);
    }
  });

  it.each(events)('%s', (event) => {
    const w = canonical[situation]();
    const state = stateIn(situation, w);
    const taken = happen(event, state, w);
    const cell = table[situation][event];
    switch (cell.type) {
      case 'taken':
        expect(taken.state).not.toEqual(prior(event, state));
        expect(taken.reply?.type ?? 'accepted').toBe('accepted');
        expect(situationOf(taken.state)).toBe(cell.to);
        expect({
          state: stateOf(taken.state.projection),
          stopping: isStopping(taken.state.projection),
        }).toEqual({ state: shown[cell.to].state, stopping: shown[cell.to].stopping });
        break;
      case 'refused':
        expect(taken.reply).toMatchObject({ type: 'refused', refusal: { code: cell.code } });
        // That it was refused may be recorded under the key (D-60), and is all that changes.
        expect(taken).toMatchObject({ entries: [], items: [], effects: [] });
        expect({ ...taken.state, batches: 0, receipts: null }).toEqual({
          ...prior(event, state),
          batches: 0,
          receipts: null,
        });
        break;
      case 'ignored':
        expect(taken).toEqual({
          state: prior(event, state),
          batch: null,
          entries: [],
          receipts: [],
          calls: [],
          items: [],
          effects: [],
          reply: null,
        });
        break;
    }
  });
});

describe('the state table', () => {
  it('has every state a workstream can show', () => {
    const states: Readonly<Record<WorkstreamState, true>> = {
      CREATING: true,
      CLOSED: true,
      ATTENTION: true,
      RUNNING: true,
      THINKING: true,
      ERROR: true,
      IDLE: true,
    };
    expect(new Set(situations.map((s) => shown[s].state))).toEqual(new Set(Object.keys(states)));
  });

  it('has no situation that cannot be reached, but the one that publishing leaves', () => {
    const reached = new Set(
      situations.flatMap((s) =>
        Object.values(table[s]).flatMap((cell) => (cell.type === 'taken' && cell.to !== s ? [cell.to] : [])),
      ),
    );
    expect(situations.filter((s) => !reached.has(s))).toEqual(['CREATING']);
  });

  it('is what the guide prints', { timeout: 60_000 }, async () => {
    const printed = readFileSync(new URL('../../../docs/guide/states.md', import.meta.url), 'utf8');
    expect(printed).toBe(await statesPage());
  });
});
