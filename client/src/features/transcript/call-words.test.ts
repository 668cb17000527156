import { expect, it } from 'vitest';
import type { CallBlock } from './blocks.ts';
import { callTone, callWords, resultText } from './call-words.ts';

const call: CallBlock = {
  type: 'call',
  revision: 1,
  id: 'c1',
  name: 'shell',
  arguments: '{}',
  state: 'SETTLED',
  cycleId: null,
  item: null,
  result: null,
  noteSaid: false,
};

it('D-9 says unknown when nobody saw what a call did, and warns of it', () => {
  const lost: CallBlock = { ...call, result: { outcome: 'CANCELED', effect: 'UNKNOWN', content: '' } };
  expect(callWords(lost)).toBe('Canceled, not known what it did');
  expect(callTone(lost)).toBe('warning');
});

it('says what a call did in words', () => {
  expect(callWords({ ...call, result: { outcome: 'OK', effect: 'COMMITTED', content: '' } })).toBe(
    'Finished, took effect',
  );
  expect(callWords({ ...call, result: { outcome: 'DENIED', effect: 'NONE', content: '' } })).toBe('Denied');
  expect(callWords({ ...call, result: { outcome: 'ERROR', effect: 'COMMITTED', content: '' } })).toBe(
    'Ran, and ended with an error',
  );
  expect(callWords({ ...call, result: { outcome: 'ERROR', effect: 'NONE', content: '' } })).toBe(
    'Failed, changed nothing',
  );
  expect(callWords({ ...call, state: 'ASKING' })).toBe('Waits for your decision');
});

it('does not show a person what only tells the model of a Stop', () => {
  const canceled = (content: string): CallBlock => ({
    ...call,
    result: { outcome: 'CANCELED', effect: 'UNKNOWN', content },
  });
  expect(resultText(canceled('Stopped while running. Effect on the world: UNKNOWN.'))).toBe('');
  expect(resultText(canceled('Not run: the turn was stopped first.'))).not.toBe('');
  const printed = 'Stopped while running. Effect on the world: NONE.';
  expect(resultText({ ...call, result: { outcome: 'OK', effect: 'NONE', content: printed } })).toBe(printed);
  expect(resultText(call)).toBe('');
});
