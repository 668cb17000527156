/** Owns: how states, outcomes and times are said to a person. Total over each kind, so a new one must find its words. */
import type {
  ApprovalDecision,
  ApprovalMode,
  Author,
  Entry,
  ToolEffect,
  ToolResult,
  WorkstreamState,
} from 'schema/projection';

export const stateWords: Readonly<Record<WorkstreamState, string>> = {
  CREATING: 'Being made',
  IDLE: 'Idle',
  THINKING: 'Thinking',
  RUNNING: 'Running tools',
  ATTENTION: 'Needs you',
  ERROR: 'Failed',
  CLOSED: 'Closed',
};

export const effectWords: Readonly<Record<ToolEffect, string>> = {
  NONE: 'changed nothing',
  COMMITTED: 'took effect',
  PARTIAL: 'took effect in part',
  ROLLED_BACK: 'was undone again',
  UNKNOWN: 'not known what it did',
};

export const outcomeWords: Readonly<Record<ToolResult['outcome'], string>> = {
  OK: 'Finished',
  ERROR: 'Failed',
  DENIED: 'Denied',
  CANCELED: 'Canceled',
};

/** `mark`: beside a title; `name`: to choose it by; `means`: one sentence. */
export const modeWords: Readonly<
  Record<ApprovalMode, { readonly mark: string; readonly name: string; readonly means: string }>
> = {
  ASK: {
    mark: 'Asks first',
    name: 'Ask',
    means: 'You are asked before every command and every change of a file.',
  },
  TRUST_WORKSPACE: {
    mark: 'Trusts edits',
    name: 'Trust edits in the workspace',
    means: 'Files of the workspace are changed without asking. You are asked before every command.',
  },
  TRUST_ALL: {
    mark: 'Trusts everything',
    name: 'Trust everything',
    means: 'Commands and changes run without asking.',
  },
};

/** `viewerId`: whom the page belongs to. */
export const personWords = (person: Author, viewerId: string | undefined): string =>
  person.id === viewerId ? 'you' : person.name;

/** Who decided about a call, or on whose word nobody was asked (D-64). */
export function decisionWords(
  { verdict, source, by }: ApprovalDecision,
  viewerId: string | undefined,
): string {
  const who = personWords(by, viewerId);
  if (source === 'PERSON') return `${verdict === 'APPROVED' ? 'Approved' : 'Denied'} by ${who}`;
  return `Not asked: “${modeWords[source].name}” was set by ${who}`;
}

/** How many questions wait for a person, and where a button leads that shows them. */
export const questionWords = (count: number): { readonly waits: string; readonly go: string } =>
  count === 1
    ? { waits: 'One question waits for your answer.', go: 'Go to the question' }
    : { waits: `${count} questions wait for your answers.`, go: 'Go to the first question' };

/**
 * A text that counts in bytes, as the tools' do because they are written for models, with round counts as a person says
 * them: `262144 bytes` is `256 KiB`.
 */
export const roundBytes = (text: string): string =>
  text.replace(/\b([1-9]\d{3,8}) bytes\b/g, (said, digits: string) => {
    const bytes = Number(digits);
    if (bytes % 2 ** 20 === 0) return `${bytes / 2 ** 20} MiB`;
    return bytes % 2 ** 10 === 0 ? `${bytes / 2 ** 10} KiB` : said;
  });

/** What a model is, to stand beside its name without saying that again. */
export const aboutModel = ({
  alias,
  description,
}: {
  readonly alias: string;
  readonly description: string;
}): string => (description.startsWith(`${alias}, `) ? description.slice(alias.length + 2) : description);

type Finish = Extract<Entry, { readonly kind: 'ASSISTANT' }>['finish'];

/** Null when there is nothing to remark. */
export const finishWords: Readonly<Record<Finish, string | null>> = {
  STOP: null,
  TOOL_CALLS: null,
  LENGTH: 'Cut off: the answer reached the length limit.',
  CONTENT_FILTER: 'Cut off by the filter of the provider.',
  OTHER: null,
};

// One way for all of them, whatever the browser is set to: the words around them are English, too.
const day = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium' });
const dayInUtc = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' });
const clock = new Intl.DateTimeFormat('en-GB', { timeStyle: 'short' });
const minute = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' });
const second = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

/** What is no date is said as nothing: a page would not be drawn for it. */
const said = (format: Intl.DateTimeFormat, at: Date): string =>
  Number.isNaN(at.getTime()) ? '' : format.format(at);

/** `3 min ago` and the like; the date, as `1 Dec 2026`, when it is longer ago than a day. */
export function ago(iso: string, now: number): string {
  const at = new Date(iso);
  const seconds = Math.round((now - at.getTime()) / 1_000);
  if (seconds < 60) return 'just now';
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h ago`;
  return said(day, at);
}

/** `03:24`, and the date before it when it is not of today: `1 Dec 2026, 03:24`. */
export function shortTime(iso: string, now: number): string {
  const at = new Date(iso);
  return said(at.toDateString() === new Date(now).toDateString() ? clock : minute, at);
}

/** `1 Dec 2026, 03:24`; `at`: milliseconds since 1970. */
export const minuteTime = (at: number): string => said(minute, new Date(at));

/** `1 Dec 2026, 03:24:58` */
export const exactTime = (iso: string): string => said(second, new Date(iso));

/** `1 Dec 2026`, of a day as an ISO date, which is one in UTC. */
export const dayWords = (date: string): string => said(dayInUtc, new Date(`${date}T00:00:00Z`));
