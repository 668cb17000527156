import type { Configuration, Effort } from 'schema/projection';
import { expect, it } from 'vitest';
import { choiceOf, isChosen, temperatureOf, tuningFor, tuningOf, untuned } from './choice.ts';

it.each([
  ['', null],
  ['  ', null],
  ['0', 0],
  ['2', 2],
  ['0.7', 0.7],
  [' 1,25 ', 1.25],
  ['.5', 0.5],
  ['1.', 1],
])('takes %j as a temperature', (text, value) => {
  expect(temperatureOf(text)).toEqual({ ok: true, value });
});

it.each(['2.1', '-1', 'warm', '1e0', '0x1', '1.2.3', '.', 'Infinity'])(
  'takes %j for no temperature, and so for no choice',
  (temperature) => {
    expect(temperatureOf(temperature)).toEqual({ ok: false });
    expect(choiceOf('main', { ...untuned, temperature })).toBeNull();
  },
);

it('makes of empty fields a choice of the model as it is set up', () => {
  expect(choiceOf('main', untuned)).toEqual({ alias: 'main', temperature: null, effort: null });
  expect(choiceOf('main', { effort: 'HIGH', temperature: '0' })).toEqual({
    alias: 'main',
    temperature: 0,
    effort: 'HIGH',
  });
});

it('puts into the fields what is chosen, so that leaving them changes nothing', () => {
  const chosen = { model: 'main', temperature: 0, effort: 'LOW' } as Configuration;
  expect(isChosen(choiceOf('main', tuningOf(chosen))!, chosen)).toBe(true);
  const plain = { model: 'main' } as Configuration;
  expect(isChosen(choiceOf('main', tuningOf(plain))!, plain)).toBe(true);
  expect(isChosen({ alias: 'main', temperature: null, effort: 'LOW' }, chosen)).toBe(false);
  expect(isChosen({ alias: 'main', temperature: 0, effort: null }, chosen)).toBe(false);
  expect(isChosen(choiceOf('other', tuningOf(plain))!, plain)).toBe(false);
});

it('keeps an effort that the other model knows, drops one that it does not, and leaves the temperature', () => {
  const tuning = { effort: 'HIGH', temperature: '0.2' } as const;
  const efforts: readonly Effort[] = ['LOW', 'HIGH'];
  expect(tuningFor(tuning, { efforts: [...efforts] })).toEqual(tuning);
  expect(tuningFor(tuning, { efforts: ['LOW'] })).toEqual({ effort: '', temperature: '0.2' });
  expect(tuningFor(tuning, null).effort).toBe('');
});
