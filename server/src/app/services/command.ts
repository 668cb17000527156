/**
 * Owns: the way of every command on a workstream (D-60, D-61): load → look the key up → ask the actor → wait until its
 * answer is durable, 5 s at most. The database is asked only about keys that the actor cannot know, so that commands
 * are accepted while it is away.
 *
 * Invariants: a repeated key answers what was recorded and does nothing; a refusal changes nothing; an acceptance says
 * DURABLE only when its batch is stored, and a refusal that stays is given only when it is recorded.
 */
import type { Viewer } from 'schema/model';
import type { Durability } from 'schema/outcome';
import type { Author } from 'schema/projection';
import type { Command, CommandKey } from '../../core/inputs.ts';
import { receiptKey } from '../../core/journal/receipt.ts';
import { refuse, type Acceptance, type CoreRefusal } from '../../core/refusals.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Journal, Receipt } from '../../ports/journal.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { whenAway } from '../../ports/storage-unavailable.ts';
import type { Actor, Landing } from '../actor/actor.ts';
import type { Loading, Registry } from '../actor/registry.ts';
import type { Refusal, ServerRefusal } from '../refusals.ts';
import { refusalView } from '../views/refusals.ts';
import { within } from '../within.ts';
import { permitOf, type InLineDeps, type Permit } from './in-line.ts';

/** How long a mutation waits for the database before it answers PENDING, milliseconds (D-61). */
const pendingAfterMs = 5_000;
/** How long Stop waits for the database to say whether it was done before, milliseconds. */
const stopWaitMs = 500;

export interface CommandDeps extends InLineDeps {
  readonly registry: Registry;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly secrets: Secrets;
}

export type CommandOutcome =
  | { readonly type: 'accepted'; readonly acceptance: Acceptance; readonly durability: Durability }
  | { readonly type: 'refused'; readonly refusal: Refusal };

/** The outcome as the GraphQL surface shows it. */
export const outcomeView = <Outcome = never>(outcome: CommandOutcome): Outcome =>
  (outcome.type === 'accepted'
    ? { ...outcome.acceptance, durability: outcome.durability }
    : refusalView(outcome.refusal)) as Outcome;

/** Who asks, as it is written down. */
export const authorOf = ({ id, name }: Viewer): Author => ({ id, name });

/** Where the answer of a command is kept, with the fingerprint of its name and input; the key is no part of that. */
export function keyOf(
  secrets: Secrets,
  scope: string,
  name: string,
  { key, ...input }: { readonly key: string },
): CommandKey {
  const parts = Object.entries(input).sort(([a], [b]) => (a < b ? -1 : 1));
  return { scope, key, inputHash: secrets.fingerprint(JSON.stringify([name, parts])) };
}

const scopeOf = (by: Viewer, { workstreamId }: { readonly workstreamId: string }): string =>
  `${by.id}/${workstreamId}`;

export async function runCommand(
  deps: CommandDeps,
  by: Viewer,
  input: { readonly key: string; readonly workstreamId: string },
  command: Command,
): Promise<CommandOutcome> {
  return withActor(
    deps,
    by,
    input.workstreamId,
    (actor, permit) => commandActor(deps, actor, permit, by, input, command),
    command.type === 'stop' || command.type === 'decide',
  );
}

/**
 * Does something with the loaded actor, which cannot be put to rest meanwhile; under a permit for the database when it had
 * to be loaded.
 */
export async function withActor<T>(
  deps: Pick<CommandDeps, 'registry' | 'line'>,
  by: Viewer,
  workstreamId: string,
  work: (actor: Actor, permit: Permit) => Promise<T>,
  urgent = false,
): Promise<T | { readonly type: 'refused'; readonly refusal: Refusal }> {
  const permit = permitOf(deps, by, { urgent });
  const load = (): Promise<Loading> => deps.registry.load(workstreamId);
  try {
    for (;;) {
      const loading = deps.registry.peek(workstreamId)
        ? await load()
        : await withPermit(deps.registry, permit, workstreamId, load);
      if (loading.type === 'Rejected') return { type: 'refused', refusal: loading };
      const release = loading.actor.hold();
      // Put to rest, or ended, in the moment between: the next load has it.
      if (!release) continue;
      try {
        return await work(loading.actor, permit);
      } finally {
        release();
      }
    }
  } finally {
    permit.release();
  }
}

/**
 * Loads under this permit, which is another's while somebody has the workstream alone: who has it may wait for one, too.
 */
export async function withPermit(
  registry: Registry,
  permit: Permit,
  workstreamId: string,
  load: () => Promise<Loading>,
): Promise<Loading> {
  for (;;) {
    const loading = await permit.run(async () => (registry.gate(workstreamId) ? null : load()));
    if (loading) return loading;
    permit.release();
    await registry.gate(workstreamId);
  }
}

/** Asks a loaded actor, and waits until what it says is stored. */
export async function commandActor(
  deps: CommandDeps,
  actor: Actor,
  permit: Permit,
  by: Viewer,
  input: { readonly key: string; readonly workstreamId: string },
  command: Command,
): Promise<CommandOutcome> {
  const found = await lookUp(
    deps,
    permit,
    actor,
    keyOf(deps.secrets, scopeOf(by, input), command.type, input),
    command.type === 'stop',
  );
  if (found.type === 'recorded') return found.outcome;
  if (actor.persistence().status === 'CONFLICT' && command.type !== 'stop')
    return { type: 'refused', refusal: { type: 'Rejected', code: 'UNSAVED_CONFLICT' } };
  if (needsAll[command.type] && !(await readWhatWasSaid(deps, permit, actor)))
    return { type: 'refused', refusal: unavailable };
  permit.release();
  return askActor(deps, actor, by, found.key, command);
}

/** As `commandActor`, under a key that nothing is recorded under (`doneBefore`). */
export const commandUnderNewKey = (
  deps: CommandDeps,
  actor: Actor,
  by: Viewer,
  input: { readonly key: string; readonly workstreamId: string },
  command: Command,
): Promise<CommandOutcome> =>
  askActor(deps, actor, by, keyOf(deps.secrets, scopeOf(by, input), command.type, input), command);

async function askActor(
  deps: CommandDeps,
  actor: Actor,
  by: Viewer,
  key: CommandKey,
  command: Command,
): Promise<CommandOutcome> {
  const asked = actor.ask(authorOf(by), key, command);
  if (asked.type === 'ended') return { type: 'refused', refusal: landingRefusal(asked.landing) };
  const { reply } = asked;
  const landing = await within(deps.clock, pendingAfterMs, asked.landed);
  if (landing !== null && landing !== 'durable') return { type: 'refused', refusal: landingRefusal(landing) };
  if (reply.type === 'accepted')
    return { type: 'accepted', acceptance: reply.acceptance, durability: landing ? 'DURABLE' : 'PENDING' };
  // A refusal that is to stay the answer of its key is none while it is not stored; nor is one that nobody could check.
  const holds = landing === 'durable' && (!key.unchecked || reply.refusal.code === 'KEY_REUSED');
  return { type: 'refused', refusal: holds ? reply.refusal : unavailable };
}

/** Those that are judged by the whole conversation. */
const needsAll: Partial<Readonly<Record<Command['type'], true>>> = {
  rewind: true,
  resend: true,
  retry: true,
  compact: true,
};

/** False when the database does not answer in time. */
async function readWhatWasSaid(deps: CommandDeps, permit: Permit, actor: Actor): Promise<boolean> {
  if (actor.state().conversationFrom === 0) return true;
  return permit.run(async () => {
    const reading = actor
      .readConversation()
      .then(() => true)
      .catch(whenAway(false));
    return (await within(deps.clock, pendingAfterMs, reading)) === true;
  });
}

/** The recorded answer of a command that was given before under this key; null when it was not. */
export async function doneBefore(
  deps: CommandDeps,
  actor: Actor,
  permit: Permit,
  by: Viewer,
  input: { readonly key: string; readonly workstreamId: string },
  name: Command['type'],
): Promise<CommandOutcome | null> {
  const key = keyOf(deps.secrets, scopeOf(by, input), name, input);
  // Of what is refused by the database nothing holds but what it has.
  const here = actor.persistence().status !== 'CONFLICT' && actor.state().receipts.get(receiptKey(key));
  if (here) return outcomeOf(here, key);
  if (actor.knows(key) === 'NEW') return null;
  const found = await permit.run(() => recordedOutcome(deps, key, pendingAfterMs));
  return found === undefined ? { type: 'refused', refusal: unavailable } : found;
}

type Lookup =
  | { readonly type: 'recorded'; readonly outcome: CommandOutcome }
  | { readonly type: 'open'; readonly key: CommandKey };

/** The answer recorded under this key, or the key under which the actor is to be asked. */
async function lookUp(
  deps: CommandDeps,
  permit: Permit,
  actor: Actor,
  key: CommandKey,
  isStop: boolean,
): Promise<Lookup> {
  const known = actor.knows(key);
  if (known === 'NEW' || known === 'HERE') return { type: 'open', key };
  const found = await (isStop
    ? recordedOutcome(deps, key, stopWaitMs)
    : permit.run(() => recordedOutcome(deps, key, pendingAfterMs)));
  if (found) return { type: 'recorded', outcome: found };
  if (found === null) return { type: 'open', key };
  // Stop always gets through, whether or not the database answers (D-1): it begins nothing, and doing it again does no
  // harm.
  return isStop && known === 'UNKNOWN'
    ? { type: 'open', key: { ...key, unchecked: true } }
    : { type: 'recorded', outcome: { type: 'refused', refusal: unavailable } };
}

const unavailable: ServerRefusal = { type: 'Rejected', code: 'STORAGE_UNAVAILABLE' };

/** What the database holds under this key: null when nothing, undefined when it does not answer in time. */
async function recordedOutcome(
  deps: CommandDeps,
  key: CommandKey,
  withinMs: number,
): Promise<CommandOutcome | null | undefined> {
  const looking = deps.journal
    .findReceipt(key.scope, key.key)
    .then((receipt) => ({ receipt }))
    .catch(whenAway(null));
  const answered = await within(deps.clock, withinMs, looking);
  return answered ? answered.receipt && outcomeOf(answered.receipt, key) : undefined;
}

function outcomeOf({ inputHash: hash, outcome }: Receipt, key: CommandKey): CommandOutcome {
  if (hash !== key.inputHash) return { type: 'refused', refusal: refuse({ code: 'KEY_REUSED' }) };
  return outcome['type'] === 'Rejected'
    ? { type: 'refused', refusal: outcome as unknown as CoreRefusal }
    : { type: 'accepted', acceptance: outcome as unknown as Acceptance, durability: 'DURABLE' };
}

/** Why a command that was asked came to nothing. */
export function landingRefusal(landing: Exclude<Landing, 'durable'>): Refusal {
  switch (landing) {
    case 'ownerLost':
    case 'unloaded':
      return { type: 'Rejected', code: 'OWNER_LOST' };
    case 'gone':
      return refuse({ code: 'WORKSTREAM_NOT_FOUND' });
    case 'stopped':
      return { type: 'Rejected', code: 'SHUTTING_DOWN' };
    case 'discarded':
      return { type: 'Rejected', code: 'DISCARDED' };
  }
}
