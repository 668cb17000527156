import { expect, it } from 'vitest';
import { outcomeHead } from './outcome-words.ts';
import { systemWords } from './system-words.ts';

it('D-33 says that a turn ended at its budget, and D-40 that it was only the summary that failed', () => {
  expect(outcomeHead({ type: 'CANCELED', reason: 'BUDGET_DENIED' })).toMatch(/no more tokens were granted/);
  expect(outcomeHead({ type: 'CANCELED', reason: 'STOPPED' })).toBe('Stopped');
  expect(outcomeHead({ type: 'CANCELED', reason: 'SHUTDOWN' })).toBe('Canceled');
  expect(outcomeHead({ type: 'FAILED', reason: 'COMPACTION_ABORTED' })).toBe('No summary was made.');
  expect(outcomeHead({ type: 'FAILED', reason: 'MODEL_CONTEXT_OVERFLOW' })).toBe('This turn failed.');
});

it('D-40 names what the server says to a model as the server’s', () => {
  for (const source of ['COMPACTION_ADVICE', 'COMPACTION_RESUME', 'SOMETHING_NEW'])
    expect(systemWords(source)).toMatch(/^The server /);
});
