/**
 * Owns: getting messages out of the field and safe onto the server, one after the other, whatever the person types or
 * looks at meanwhile. Does not own: how what is unsent is written down (`outgoing.ts`), repeating (`client-kit`).
 *
 * Invariants: one message of a workstream is under way at a time; what is not acknowledged is kept over a reload and
 * goes on under its key (D-60), and only under the token it was written under (D-12, `lib/kept.ts`); what the browser
 * has no room to keep is sent all the same, and said not to be kept; what did not get there is back in the field, with
 * all that waited behind it, so that nothing overtakes it.
 */
import { newKey, sendMessage, type Intent, type Progress } from 'schema/client-kit';
import { getContext, setContext } from 'svelte';
import { problemOf, type Problem } from '../../lib/action.svelte.ts';
import type { Api } from '../../lib/api.svelte.ts';
import type { Kept } from '../../lib/kept.ts';
import {
  broughtBack,
  keep,
  keptIn,
  nothing,
  read,
  split,
  taken,
  unsendable,
  type Message,
  type Outgoing,
} from './outgoing.ts';

export interface OutboxDeps {
  readonly kept: Kept;
  intend(message: Message): Intent<unknown>;
  signedOut(reason: string): void;
}

/** What is going out of one workstream's field. It outlives the page of the workstream, not the session. */
export class Outbox {
  progress = $state.raw<Progress | null>(null);
  /** False while some of this would be lost with the page, since the browser has no room for it. */
  kept = $state.raw(true);
  readonly #deps: OutboxDeps;
  readonly #id: string;
  #outgoing = $state.raw<Outgoing>(nothing);
  #refused = $state.raw<Problem | null>(null);
  #busy = false;
  #stopped = false;

  /** Goes on at once with what a former load of the page left under way. */
  constructor(deps: OutboxDeps, workstreamId: string) {
    this.#deps = deps;
    this.#id = workstreamId;
    this.#outgoing = read(deps.kept, workstreamId);
    void this.#work();
  }

  // Getters, since a derived value would end with the component that asked for this outbox first.

  /** Taken from the field and not acknowledged, oldest first. */
  get sending(): readonly Message[] {
    return this.#outgoing.sending;
  }

  /** How many messages stand in the field. */
  get messages(): number {
    const { same, rest } = this.#parts;
    return same.length + (rest === '' ? 0 : 1);
  }

  /** Why what is in the field came back; null once that is changed. */
  get problem(): Problem | null {
    return this.#parts.same.length > 0 ? this.#refused : null;
  }

  /** Why the field cannot be sent, in words; null when it can. */
  get unable(): string | null {
    const { same, rest } = this.#parts;
    return same.length > 0 && rest === '' ? null : unsendable(rest);
  }

  get text(): string {
    return this.#outgoing.text;
  }

  set text(text: string) {
    this.#become({ ...this.#outgoing, text });
  }

  /** Takes what is in the field, at once, and sends it when what was taken before is safe; `steers`: to this turn. */
  send(steers: string | null = null): void {
    if (this.unable !== null) return;
    this.#refused = null;
    this.#become(taken(this.#outgoing, newKey, steers));
    void this.#work();
  }

  /** Sends nothing more, and leaves what is kept to the next session. */
  stop(): void {
    this.#stopped = true;
  }

  get #parts(): ReturnType<typeof split> {
    return split(this.#outgoing.text, this.#outgoing.returned);
  }

  async #work(): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    for (let next = this.sending[0]; next && !this.#stopped; next = this.sending[0]) await this.#carry(next);
    this.#busy = false;
  }

  async #carry(message: Message): Promise<void> {
    const outcome = await this.#deps.intend(message).run((progress) => {
      this.progress = progress;
    });
    this.progress = null;
    if (this.#stopped) return;
    const [first = message, ...behind] = this.#outgoing.sending;
    if (outcome.type === 'Accepted') {
      this.#become({ ...this.#outgoing, sending: behind });
      return;
    }
    // A refusal stays the answer to its key, so the next try needs another one.
    const back = outcome.type === 'Rejected' ? anew(first) : first;
    this.#bringBack([back, ...behind.map(undecided)], problemOf(outcome));
    if (outcome.type === 'Failed' && outcome.failure?.type === 'Unauthenticated')
      this.#deps.signedOut(outcome.message);
  }

  #bringBack(messages: readonly Message[], why: Problem | null): void {
    this.#refused = why;
    this.#become(broughtBack(this.#outgoing, messages));
  }

  #become(outgoing: Outgoing): void {
    this.#outgoing = outgoing;
    if (!this.#stopped) this.kept = keep(this.#deps.kept, this.#id, outgoing);
  }
}

const anew = (message: Message): Message => ({ ...undecided(message), key: newKey() });

/** Never sent under its key, so it can still go out in another way: the turn it should have steered may be over. */
const undecided = ({ key, text }: Message): Message => ({ key, text });

/** The outboxes of one session, one for each workstream. */
export class Outboxes {
  readonly #api: Api;
  readonly #kept: Kept;
  readonly #of: Record<string, Outbox> = {};

  /** `kept`: under the token that `api` sends with. */
  constructor(api: Api, kept: Kept) {
    this.#api = api;
    this.#kept = kept;
  }

  of(workstreamId: string): Outbox {
    return (this.#of[workstreamId] ??= this.#open(workstreamId));
  }

  /** Goes on with what was under way in all workstreams when the page was left. */
  resume(): void {
    for (const id of keptIn(this.#kept)) this.of(id);
  }

  /** False while something would be lost with the page. */
  get kept(): boolean {
    return Object.values(this.#of).every((outbox) => outbox.kept);
  }

  stop(): void {
    for (const outbox of Object.values(this.#of)) outbox.stop();
  }

  #open(workstreamId: string): Outbox {
    return new Outbox(
      {
        kept: this.#kept,
        intend: ({ key, text, steers = null }) =>
          this.#api.client.intend(
            sendMessage,
            // As it always was for what waits, so that a key kept by an older page means the same.
            steers === null
              ? { workstreamId, text }
              : { workstreamId, text, delivery: 'STEER', turnId: steers },
            key,
          ),
        signedOut: (reason) => {
          this.#api.signedOut(reason);
        },
      },
      workstreamId,
    );
  }
}

const key = Symbol('outboxes');
export const setOutboxes = (outboxes: Outboxes): Outboxes => setContext(key, outboxes);
export const getOutboxes = (): Outboxes => getContext<Outboxes>(key);
