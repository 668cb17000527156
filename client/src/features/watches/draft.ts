/**
 * Owns: a watch as it stands in the fields of its form, and as the server takes it. Pure.
 * Does not own: what a watch may be (`schema/projection`; of what only the server knows, it answers a refusal that names
 * the field).
 *
 * Invariant: an edit sends only what was changed, so that it undoes nothing that somebody else did.
 */
import { mostPolls, watchProblems, type AskedWatch, type WatchDefinition } from 'schema/projection';
import type { Problem } from '../../lib/action.svelte.ts';
import { tokensInFull } from '../models/model-words.ts';
import type { Trial } from './trial-words.ts';

export interface Draft {
  readonly name: string;
  readonly command: string;
  readonly every: string;
  readonly condition: string;
  /** Empty: as many as is usual. */
  readonly maxPolls: string;
  /** How long from now; empty: as it is, or none. */
  readonly deadline: string;
  /** The deadline that is set is to go. */
  readonly noDeadline: boolean;
  readonly repeat: boolean;
  readonly instruction: string;
}

export const emptyDraft: Draft = {
  name: '',
  command: '',
  every: '5m',
  condition: '',
  maxPolls: '',
  deadline: '',
  noDeadline: false,
  repeat: false,
  instruction: '',
};

export const draftOf = (definition: WatchDefinition): Draft => ({
  name: definition.name,
  command: definition.command,
  every: everyText(definition.everySeconds),
  condition: definition.condition ?? '',
  maxPolls: String(definition.maxPolls),
  deadline: '',
  noDeadline: false,
  repeat: definition.repeat,
  instruction: definition.instruction ?? '',
});

/** `1h30m`, as the field takes it. */
export function everyText(seconds: number): string {
  const parts = [
    [Math.floor(seconds / 3_600), 'h'],
    [Math.floor((seconds % 3_600) / 60), 'm'],
    [seconds % 60, 's'],
  ] as const;
  return parts.flatMap(([count, unit]) => (count > 0 ? [`${count}${unit}`] : [])).join('');
}

/** Null: nothing is said of it. */
function pollsOf(
  text: string,
): { readonly ok: true; readonly value: number | null } | { readonly ok: false } {
  const digits = text.replace(/[\s,.'’]/g, '');
  if (digits === '') return { ok: true, value: null };
  const value = /^\d{1,6}$/.test(digits) ? Number(digits) : 0;
  return value >= 1 && value <= mostPolls ? { ok: true, value } : { ok: false };
}

/** What is wrong with what stands there, as far as that is known without the server. */
export const pollsProblem = ({ maxPolls }: Pick<Draft, 'maxPolls'>): Problem | null =>
  pollsOf(maxPolls).ok
    ? null
    : wrong('maxPolls', `Write a whole number from 1 to ${tokensInFull(mostPolls)}, or leave it empty.`);

/** Said under fields, by the names of these. */
export type Wrong = Readonly<Partial<Record<keyof Draft, Problem>>>;

const wrong = (field: string, message: string): Problem => ({ message, field, unsettled: false, code: null });

/** All that is wrong with what stands there, as far as that is known without the server; empty: nothing is. */
export function wrongIn(draft: Draft): Wrong {
  const polls = pollsOf(draft.maxPolls);
  const asked: AskedWatch = {
    ...draft,
    maxPolls: polls.ok ? polls.value : null,
    deadline: draft.noDeadline ? null : filled(draft.deadline),
  };
  const problems = watchProblems(asked).map(({ field, problem }) => [field, wrong(field, problem)] as const);
  const miscounted = pollsProblem(draft);
  return { ...Object.fromEntries(problems), ...(miscounted && { maxPolls: miscounted }) };
}

/** What is wrong with a condition that was tried; null: nothing is. */
export function conditionProblem({ soundness, line, column, message }: Trial): Problem | null {
  if (soundness !== 'UNSOUND') return null;
  const place =
    line === null || column === null ? '' : `${line === 1 ? 'C' : `Line ${line}, c`}olumn ${column}: `;
  return wrong('condition', `${place}${message ?? 'It is not CEL.'}`);
}

/** For a new one; null: blank, the server chooses or there is none. */
export interface NewWatch {
  readonly name: string | null;
  readonly command: string;
  readonly every: string;
  readonly condition: string | null;
  readonly maxPolls: number | null;
  readonly deadline: string | null;
  readonly repeat: boolean;
  readonly instruction: string | null;
}

/** For one that is there; null: as it is, blank: none. */
export type WatchChange = { readonly [Field in keyof NewWatch]: NewWatch[Field] | null };

const filled = (text: string): string | null => (text.trim() === '' ? null : text);

/** Null: what stands in the fields cannot be. */
export function newWatch(draft: Draft): NewWatch | null {
  const polls = pollsOf(draft.maxPolls);
  if (!polls.ok) return null;
  const { command, every, repeat } = draft;
  return {
    name: filled(draft.name),
    command,
    every,
    condition: filled(draft.condition),
    maxPolls: polls.value,
    deadline: filled(draft.deadline),
    repeat,
    instruction: filled(draft.instruction),
  };
}

/** What of it is to change; `nothing` where it is so already, null where it cannot be. */
export function watchChange(draft: Draft, seen: WatchDefinition): WatchChange | 'nothing' | null {
  const polls = pollsOf(draft.maxPolls);
  if (!polls.ok) return null;
  const was = draftOf(seen);
  const text = (field: 'command' | 'every' | 'condition' | 'instruction') =>
    draft[field] === was[field] ? null : draft[field];
  const change: WatchChange = {
    name: draft.name === was.name ? null : filled(draft.name),
    command: text('command'),
    every: text('every'),
    condition: text('condition'),
    maxPolls: polls.value === seen.maxPolls ? null : polls.value,
    deadline: draft.noDeadline && seen.deadline !== null ? '' : filled(draft.deadline),
    repeat: draft.repeat === was.repeat ? null : draft.repeat,
    instruction: text('instruction'),
  };
  return Object.values(change).every((value) => value === null) ? 'nothing' : change;
}

/** The fields after somebody else edited it: what was typed stays, what was not shows what it is now. */
export function rebased(draft: Draft, seen: WatchDefinition, now: WatchDefinition): Draft {
  const was = draftOf(seen);
  const is = draftOf(now);
  const take = <Field extends keyof Draft>(field: Field): Draft[Field] =>
    draft[field] === was[field] ? is[field] : draft[field];
  return {
    name: take('name'),
    command: take('command'),
    every: take('every'),
    condition: take('condition'),
    maxPolls: take('maxPolls'),
    deadline: take('deadline'),
    noDeadline: take('noDeadline'),
    repeat: take('repeat'),
    instruction: take('instruction'),
  };
}

const fields: readonly string[] = Object.keys(emptyDraft);

/** The field a refusal is about; null: none. */
export function fieldOf(problem: Problem | null): string | null {
  if (problem?.code === 'WATCH_NAME_TAKEN') return 'name';
  return fields.find((field) => field === problem?.field) ?? null;
}
