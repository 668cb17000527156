/** Owns: whom a call goes to when some of those who could answer it do not have the room (D-37, D-39). */
import { emptyProjection } from 'schema/projection';
import { describe, expect, it } from 'vitest';
import { whomToAsk, windowAfter, windowFor } from '../../src/app/actor/room.ts';
import type { ModelInfo } from '../../src/ports/model.ts';
import { modelInfo } from '../support/fake-model.ts';

const of = (alias: string, window: number | null, more: Partial<ModelInfo> = {}): ModelInfo => ({
  ...modelInfo,
  alias,
  window,
  ...more,
});
const large = of('large', 128_000, { fallbacks: ['small', 'middle'] });
const models = [large, of('small', 8_000), of('middle', 64_000)];
const context = { ...emptyProjection.context, told: 20_000 };
const asks = (deed: Partial<Parameters<typeof whomToAsk>[0]> = {}, list = models) =>
  whomToAsk(
    {
      model: { alias: 'large', temperature: null, effort: null },
      lane: null,
      givenUp: [],
      context,
      guarded: true,
      ...deed,
    },
    list,
    1_000,
  );

describe('A call', () => {
  it('goes to the chosen model, and no fallback without room is asked in its place', () => {
    expect(asks()).toEqual({ lane: 'large', givenUp: ['small'], passedOver: true, overflow: null });
  });

  it('goes to the fallback that has the room, whatever was tried before', () => {
    expect(asks({ givenUp: ['large'], guarded: false })).toMatchObject({ lane: 'middle', overflow: null });
  });

  it('goes to the chosen model although that rests, where no fallback has the room', () => {
    const resting = [{ ...large, health: 'DEGRADED', fallbacks: ['small'] } as const, of('small', 8_000)];
    expect(asks({}, resting)).toMatchObject({ lane: 'large', overflow: null });
  });

  it('goes to nobody where only those without room are left, and says so', () => {
    const { lane, overflow } = asks({ givenUp: ['large', 'middle'], guarded: false });
    expect(lane).toBe('small');
    expect(overflow).toMatchObject({ alias: 'small', local: true });
    expect(overflow?.message).toContain('"small" reads 8,000');
  });

  it('goes to none of several without room, each of which is named in the end (broke: the first was)', () => {
    const tight = [large, of('small', 8_000), of('middle', 16_000)];
    expect(asks({ givenUp: ['large'] }, tight).overflow).toMatchObject({ alias: 'small', othersLeft: true });
    expect(asks({ givenUp: ['large', 'small'] }, tight).overflow).toMatchObject({
      alias: 'middle',
      othersLeft: false,
    });
    // Of the chosen one it is no reason to ask another: room is made.
    expect(asks({ context: { ...context, told: 126_000 } }, tight).overflow).toMatchObject({
      alias: 'large',
      othersLeft: false,
    });
  });

  it('goes to a fallback of which nobody knows how much it reads', () => {
    const [, , middle] = models;
    expect(asks({ givenUp: ['large'] }, [large, of('small', null), middle!])).toMatchObject({
      lane: 'small',
    });
  });

  it('of a conversation that is too long for the chosen model is not sent there, unless its endpoint has the word', () => {
    const full = { ...context, told: 126_000 };
    expect(asks({ context: full }).overflow).toMatchObject({ alias: 'large' });
    expect(asks({ context: full, guarded: false }).overflow).toBeNull();
  });
});

describe('The window of a call that became no answer', () => {
  it('is that of the chosen model, and where that is gone of who was asked', () => {
    expect(windowFor('large', 'small', models)).toBe(128_000);
    expect(windowFor('gone', 'small', models)).toBe(8_000);
    expect(windowFor('open', 'small', [of('open', null), of('small', 8_000)])).toBeNull();
  });
});

describe('The window after an answer', () => {
  it('is that of the chosen model where a smaller one answered for it, and that of a larger one that did', () => {
    expect(windowAfter('small', 'large', models)).toBe(128_000);
    expect(windowAfter('large', 'small', models)).toBe(128_000);
  });

  it('is not known where that of the chosen model is not (broke: a small fallback cost it its history)', () => {
    const unknown = [of('large', null), of('small', 8_000)];
    expect(windowAfter('small', 'large', unknown)).toBeNull();
    expect(windowAfter('large', 'large', unknown)).toBeNull();
  });

  it('is that of who answered where the chosen model is gone', () => {
    expect(windowAfter('large', 'gone', models)).toBe(128_000);
  });
});
