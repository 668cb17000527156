import type { WatchDefinition } from 'schema/projection';
import { expect, it } from 'vitest';
import {
  conditionProblem,
  draftOf,
  emptyDraft,
  everyText,
  fieldOf,
  newWatch,
  pollsProblem,
  rebased,
  watchChange,
  wrongIn,
} from './draft.ts';

const definition: WatchDefinition = {
  name: 'ci',
  command: 'make check',
  condition: 'exit_code == 0',
  everySeconds: 300,
  maxPolls: 1_000,
  deadline: '2026-12-01T00:00:00.000Z',
  repeat: false,
  instruction: 'Merge it.',
};
const nothing = {
  name: null,
  command: null,
  every: null,
  condition: null,
  maxPolls: null,
  deadline: null,
  repeat: null,
  instruction: null,
};

it('leaves to the server what is left empty (D-80)', () => {
  expect(newWatch({ ...emptyDraft, command: 'date', name: ' ' })).toEqual({
    name: null,
    command: 'date',
    every: '5m',
    condition: null,
    maxPolls: null,
    deadline: null,
    repeat: false,
    instruction: null,
  });
});

it('writes an interval so that it is read as the same one', () => {
  expect([10, 90, 3_600, 5_415, 86_400].map(everyText)).toEqual(['10s', '1m30s', '1h', '1h30m15s', '24h']);
});

it('D-80 takes 1 to 10,000 polls, and says what to write for any other', () => {
  for (const maxPolls of ['', '1', '10,000', "10'000", '500'])
    expect(pollsProblem({ ...emptyDraft, maxPolls })).toBeNull();
  for (const maxPolls of ['0', '10001', '-3', 'many', '1e3'])
    expect(pollsProblem({ ...emptyDraft, maxPolls })?.message).toMatch(/1 to 10,000/);
  expect(newWatch({ ...emptyDraft, maxPolls: '0' })).toBeNull();
  expect(watchChange({ ...draftOf(definition), maxPolls: '0' }, definition)).toBeNull();
});

it('sends of an edit only what was changed, and removes what is emptied', () => {
  const draft = draftOf(definition);
  expect(watchChange(draft, definition)).toBe('nothing');
  expect(watchChange({ ...draft, every: '10m' }, definition)).toEqual({ ...nothing, every: '10m' });
  expect(watchChange({ ...draft, condition: '', instruction: '' }, definition)).toEqual({
    ...nothing,
    condition: '',
    instruction: '',
  });
  expect(watchChange({ ...draft, deadline: '8h' }, definition)).toEqual({ ...nothing, deadline: '8h' });
  expect(watchChange({ ...draft, noDeadline: true }, definition)).toEqual({ ...nothing, deadline: '' });
  expect(watchChange({ ...draft, noDeadline: true }, { ...definition, deadline: null })).toBe('nothing');
});

it('keeps what was typed when somebody else edited it, and shows the rest as it is now', () => {
  const typed = { ...draftOf(definition), command: 'make test' };
  const theirs = { ...definition, command: 'make all', everySeconds: 60, instruction: null };
  expect(rebased(typed, definition, theirs)).toEqual({
    ...draftOf(theirs),
    command: 'make test',
  });
});

it('shows a refusal at the field that it is about', () => {
  const problem = (code: string, field: string | null) => ({ message: 'No.', field, code, unsettled: false });
  expect(fieldOf(problem('INVALID_INPUT', 'every'))).toBe('every');
  expect(fieldOf(problem('WATCH_NAME_TAKEN', null))).toBe('name');
  expect(fieldOf(problem('INVALID_INPUT', 'workstreamId'))).toBeNull();
  expect(fieldOf(problem('WATCH_LIMIT', null))).toBeNull();
  expect(fieldOf(null)).toBeNull();
});

it('D-80 says all that is wrong at once, in the words of the server, each at its field', () => {
  expect(wrongIn({ ...emptyDraft, command: 'make' })).toEqual({});
  const wrong = wrongIn({ ...emptyDraft, every: 'often', maxPolls: 'x', deadline: 'soon', name: 'a\nb' });
  expect(Object.keys(wrong).toSorted()).toEqual(['command', 'deadline', 'every', 'maxPolls', 'name']);
  expect(wrong.command?.message).toBe('Say which command to run.');
  expect(wrong.every?.message).toMatch(/^"often" is no duration\. Write it as 30s/);
  expect(wrong.maxPolls?.message).toMatch(/or leave it empty/);
  expect(wrongIn({ ...draftOf(definition), deadline: 'soon', noDeadline: true })).toEqual({});
});

it('D-83 says where a condition is wrong that was looked at with the rest, and nothing of a sound one', () => {
  const trial = { soundness: 'SOUND', line: null, column: null, verdict: null, message: null } as const;
  expect(conditionProblem(trial)).toBeNull();
  const unsound = { ...trial, soundness: 'UNSOUND', line: 1, column: 3, message: 'Write `&&`.' } as const;
  expect(conditionProblem(unsound)).toMatchObject({ field: 'condition', message: 'Column 3: Write `&&`.' });
  expect(conditionProblem({ ...unsound, line: 2 })?.message).toBe('Line 2, column 3: Write `&&`.');
});
