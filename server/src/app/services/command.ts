/**
 * Owns: the way of every command on a workstream (D-60, D-61): load → look the key up → ask the actor → wait until it
 * is durable, 5 s at most.
 *
 * Invariants: a repeated key answers what was recorded and does nothing; a refusal changes nothing; an acceptance says
 * DURABLE only when its batch is stored.
 */
import type { Viewer } from 'schema/model';
import type { Durability } from 'schema/outcome';
import type { Command, CommandKey } from '../../core/inputs.ts';
import { refuse, type Acceptance, type CoreRefusal } from '../../core/refusals.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Journal, Receipt } from '../../ports/journal.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { StorageUnavailableError } from '../../ports/storage-unavailable.ts';
import type { Actor, Landing } from '../actor/actor.ts';
import type { LoadRefusal, Registry } from '../actor/registry.ts';

/** How long a mutation waits for the database before it answers PENDING, milliseconds (D-61). */
const pendingAfterMs = 5_000;
/** How long Stop waits for the database to say whether it was done before, milliseconds. */
const stopWaitMs = 500;

export interface CommandDeps {
  readonly registry: Registry;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly secrets: Secrets;
}

export type CommandOutcome =
  | { readonly type: 'accepted'; readonly acceptance: Acceptance; readonly durability: Durability }
  | { readonly type: 'refused'; readonly refusal: CoreRefusal | LoadRefusal };

/** Fingerprint of a command's name and input; the key is not part of it. */
export function inputHash(secrets: Secrets, name: string, input: Readonly<Record<string, unknown>>): string {
  const parts = Object.entries(input)
    .filter(([field]) => field !== 'key')
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return secrets.fingerprint(JSON.stringify([name, parts]));
}

export async function runCommand(
  deps: CommandDeps,
  by: Viewer,
  input: { readonly key: string; readonly workstreamId: string },
  command: Command,
): Promise<CommandOutcome> {
  const loading = await deps.registry.load(input.workstreamId);
  if (loading.type === 'Rejected') return { type: 'refused', refusal: loading };
  const { actor } = loading;
  const key = {
    scope: `${by.id}/${input.workstreamId}`,
    key: input.key,
    inputHash: inputHash(deps.secrets, command.type, { ...input }),
  };
  const place = await placeOf(deps, actor, key, command);
  if (place.type === 'recorded') return place.outcome;
  const asked = actor.ask({ id: by.id, name: by.name }, place.key, command);
  if (asked.type === 'ended') return { type: 'refused', refusal: landingRefusal(asked.landing) };
  if (asked.type === 'refused') return { type: 'refused', refusal: refusalAt(place, asked.reply.refusal) };
  const landing = await within(deps.clock, pendingAfterMs, asked.landed);
  const { acceptance } = asked.reply;
  if (landing === 'durable') return { type: 'accepted', acceptance, durability: 'DURABLE' };
  if (landing === null) return { type: 'accepted', acceptance, durability: 'PENDING' };
  return { type: 'refused', refusal: landingRefusal(landing) };
}

type Place =
  | { readonly type: 'recorded'; readonly outcome: CommandOutcome }
  | { readonly type: 'open'; readonly key: CommandKey };

/** The answer recorded under this key, or the key under which the actor is to be asked. */
async function placeOf(deps: CommandDeps, actor: Actor, key: CommandKey, command: Command): Promise<Place> {
  const blind: CommandKey = { ...key, key: `${key.key}.unseen`, blind: true };
  // What this epoch took is in the actor's state: a second copy joins the first, with or without a database.
  if (knows(actor, key)) return { type: 'open', key };
  if (knows(actor, blind)) return { type: 'open', key: blind };
  const isStop = command.type === 'stop';
  const found = await lookUp(deps, key.scope, [key.key, blind.key], isStop ? stopWaitMs : pendingAfterMs);
  if (found === 'unanswered') {
    // Stop always gets through, whether or not the database answers (D-1): it begins nothing, and doing it again does
    // no harm. Its own place in the receipts cannot meet one recorded under the key by an earlier epoch.
    return isStop ? { type: 'open', key: blind } : recorded({ type: 'refused', refusal: unavailable });
  }
  if (!found) return { type: 'open', key };
  return recorded(
    found.inputHash === key.inputHash
      ? { type: 'accepted', acceptance: found.outcome as unknown as Acceptance, durability: 'DURABLE' }
      : { type: 'refused', refusal: refuse({ code: 'KEY_REUSED' }) },
  );
}

const unavailable: LoadRefusal = { type: 'Rejected', code: 'STORAGE_UNAVAILABLE' };

/** Who could not look whether it was done before cannot refuse it for good (D-60). */
const refusalAt = ({ key }: { readonly key: CommandKey }, refusal: CoreRefusal): CoreRefusal | LoadRefusal =>
  key.blind && refusal.code !== 'KEY_REUSED' ? unavailable : refusal;

const recorded = (outcome: CommandOutcome): Place => ({ type: 'recorded', outcome });

const knows = (actor: Actor, { scope, key }: CommandKey): boolean =>
  [...actor.state().receipts.values()].some((receipt) => receipt.key === key && receipt.scope === scope);

async function lookUp(
  deps: CommandDeps,
  scope: string,
  keys: readonly string[],
  withinMs: number,
): Promise<Receipt | null | 'unanswered'> {
  const looking = deps.journal
    .findReceipt(scope, ...keys)
    .then((receipt) => ({ receipt }))
    .catch((error: unknown) => {
      if (error instanceof StorageUnavailableError) return null;
      throw error;
    });
  const answered = await within(deps.clock, withinMs, looking);
  return answered ? answered.receipt : 'unanswered';
}

function landingRefusal(landing: Exclude<Landing, 'durable'>): CoreRefusal | LoadRefusal {
  switch (landing) {
    case 'ownerLost':
      return { type: 'Rejected', code: 'OWNER_LOST' };
    case 'gone':
      return refuse({ code: 'WORKSTREAM_NOT_FOUND' });
    case 'stopped':
      return { type: 'Rejected', code: 'SHUTTING_DOWN' };
  }
}

/** What the promise gives, or null when it takes longer. */
async function within<T>(clock: Clock, ms: number, promise: Promise<T>): Promise<T | null> {
  let cancel = (): void => undefined;
  const late = new Promise<null>((resolve) => {
    cancel = clock.after(ms, () => resolve(null));
  });
  const first = await Promise.race([promise, late]);
  cancel();
  return first;
}
