/**
 * Owns: that the state table is what `step` does (D-27), cell by cell, and that the printed page shows that table.
 */
import { readFileSync } from 'node:fs';
import { isStopping, stateOf, type WorkstreamState } from 'schema/projection';
import { describe, expect, it } from 'vitest';
import { statesPage } from '../../../scripts/print-states.ts';
import { shown, table, told, type Situation, type TableEvent } from '../../src/core/workstream/table.ts';
import { canonical, happen, prior, situationOf, stateIn } from './support/situations.ts';

const situations = Object.keys(shown) as Situation[];
const events = Object.keys(told) as TableEvent[];

describe.each(situations)('a workstream in %s', (situation) => {
  it('shows it', () => {
    const { projection } = stateIn(situation, canonical[situation]());
    expect(situationOf(stateIn(situation, canonical[situation]()))).toBe(situation);
    expect({ state: stateOf(projection), stopping: isStopping(projection) }).toEqual({
      state: shown[situation].state,
      stopping: shown[situation].stopping,
    });
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
          ...state,
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

  it('has no situation that cannot be left but by another service, and none that cannot be reached', () => {
    const reached = new Set(
      situations.flatMap((s) =>
        Object.values(table[s]).flatMap((cell) => (cell.type === 'taken' && cell.to !== s ? [cell.to] : [])),
      ),
    );
    expect(situations.filter((s) => !reached.has(s))).toEqual(['CREATING', 'CLOSED']);
  });

  it('is what the guide prints', { timeout: 60_000 }, async () => {
    const printed = readFileSync(new URL('../../../docs/guide/states.md', import.meta.url), 'utf8');
    expect(printed).toBe(await statesPage());
  });
});
