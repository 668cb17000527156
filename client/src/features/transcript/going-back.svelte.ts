/**
 * Owns: what a person does to what was said: says something else in its place, goes back to before it, asks again.
 * Does not own: what is taken out then (the projection), how it looks (the components).
 *
 * Invariant: what a person wrote here is lost neither by a refusal, nor by what others do meanwhile, nor by a reload:
 * it stays in its editor as long as its message stands, and goes to the composer when that is taken out.
 */
import { resendMessage, retryTurn, rewindWorkstream } from 'schema/client-kit';
import { isBlank, isSuperseded } from 'schema/projection';
import { Action } from '../../lib/action.svelte.ts';
import type { Api } from '../../lib/api.svelte.ts';
import { isRecord, type Kept } from '../../lib/kept.ts';
import type { Workstream } from '../workstream/workstream.svelte.ts';
import {
  cannotGoBack,
  carriedAuthor,
  endOf,
  hasResults,
  isLastSaidSummarised,
  isSummarised,
  lastSaid,
  talkSince,
} from './back.ts';
import type { UserBlock } from './blocks.ts';

interface Around {
  /** Puts a text into the composer, behind what is there, and goes there. */
  bringBack(text: string): void;
  /** A turn runs again: shows its end. */
  started(): void;
}

type From = 'MESSAGE' | 'LAST_RESULT';

/** What is being written in the place of a message. */
interface Edit {
  readonly message: Pick<UserBlock, 'id' | 'revision' | 'text'>;
  readonly draft: string;
}

export class GoingBack {
  /** The message to before which a person is asked whether to go. */
  asking = $state.raw<UserBlock | null>(null);
  /** What became of a text whose message was taken out meanwhile. */
  notice = $state.raw<string | null>(null);

  readonly resending: Action<{ turnId: string | null; messageId: string; text: string }, unknown>;
  readonly rewinding: Action<
    { turnId: string | null; messageId: string },
    { readonly text: string; readonly superseded: number }
  >;
  readonly retrying: Action<{ turnId: string | null; from: From }, unknown>;
  readonly #api: Api;
  readonly #workstream: Workstream;
  readonly #around: Around;
  readonly #kept: Kept;
  readonly #name: string;
  #edit = $state.raw<Edit | null>(null);
  /** From the sending until its answer is dealt with: what the feed brings meanwhile is our own doing. */
  #sending = false;
  #noticedAt = 0;

  constructor(api: Api, workstream: Workstream, around: Around, kept: Kept) {
    const { client } = api;
    const workstreamId = workstream.id;
    this.#api = api;
    this.#workstream = workstream;
    this.#around = around;
    this.#kept = kept;
    this.#name = `anew.${workstreamId}`;
    this.#edit = kept.read(this.#name, isEdit);
    this.resending = new Action((input) => client.intend(resendMessage, { workstreamId, ...input }), api);
    this.rewinding = new Action((input) => client.intend(rewindWorkstream, { workstreamId, ...input }), api);
    this.retrying = new Action((input) => client.intend(retryTurn, { workstreamId, ...input }), api);
  }

  /** The message in whose place something else is being written. */
  get editing(): Edit['message'] | null {
    return this.#edit?.message ?? null;
  }

  get draft(): string {
    return this.#edit?.draft ?? '';
  }

  set draft(draft: string) {
    if (this.#edit) this.#become({ ...this.#edit, draft });
  }

  /** Why nothing can be taken back now; null when it can. */
  readonly unable = $derived.by(() =>
    cannotGoBack({
      busy: this.#workstream.turn !== null,
      closed: this.#workstream.state === 'CLOSED',
      setAside: this.#workstream.known?.quarantine != null,
    }),
  );

  /**
   * How the conversation ends, when it can be asked again: by a turn that is over, or by none that is known here, as in a
   * fork and after going back. Null when there is nothing to ask about, or it is being answered.
   */
  readonly ended = $derived.by(() => {
    const { entries, projection } = this.#workstream;
    if (!projection || (projection.turn && !projection.turn.outcome)) return null;
    const end = endOf(entries, projection);
    // A turn that only made a summary answered nothing.
    const turn = projection.turn?.kind === 'COMPACT' ? null : projection.turn;
    if (end === 'EMPTY' && (!turn || projection.checkpoint)) return null;
    const answered = turn?.outcome ? turn.outcome.type === 'COMPLETED' : end === 'ANSWERED';
    const author = lastSaid(entries, projection)?.author ?? carriedAuthor(entries, projection);
    const mine = author === null || author.id === this.#api.info?.viewer.id;
    const summarised = isLastSaidSummarised(entries, projection);
    // What is left of it is not enough to ask again about.
    if (summarised && (answered || !hasResults(entries, projection))) return null;
    return {
      answered,
      /** Whether something was tried already. */
      again: turn !== null || end !== 'OPEN' || hasResults(entries, projection),
      keeps: !answered && !summarised && hasResults(entries, projection),
      unable: this.unable ?? (mine ? null : `Only ${author.name} may ask again: it would run on that token.`),
    };
  });

  /** How many entries would be taken out from this message on. */
  since({ revision }: UserBlock): number {
    const { entries, projection } = this.#workstream;
    return projection ? talkSince(entries, projection, revision) : 0;
  }

  /** Whether it is summarised: then it can be neither replaced nor gone back to. */
  isSummarised({ revision }: UserBlock): boolean {
    const { projection } = this.#workstream;
    return projection !== null && isSummarised(projection, revision);
  }

  isMine({ author }: UserBlock): boolean {
    return author.id === this.#api.info?.viewer.id;
  }

  edit(message: UserBlock): void {
    this.asking = null;
    this.resending.forget();
    if (this.editing?.id === message.id) return;
    // Another editor's text would be lost; it is kept as an unsent one.
    this.#giveUp();
    this.#become({ message, draft: message.text });
  }

  cancel(): void {
    this.#become(null);
    this.asking = null;
  }

  ask(message: UserBlock): void {
    this.rewinding.forget();
    this.asking = message;
  }

  async resend(): Promise<void> {
    const { editing, draft } = this;
    if (!editing || isBlank(draft) || this.unable !== null) return;
    this.#sending = true;
    const done = await this.resending.run({ turnId: this.#turnId, messageId: editing.id, text: draft });
    if (done) this.#become(null);
    this.#sending = false;
    if (done) this.#around.started();
    else this.rescue();
  }

  async rewind(): Promise<void> {
    const { asking } = this;
    if (!asking || this.unable !== null) return;
    const done = await this.rewinding.run({ turnId: this.#turnId, messageId: asking.id });
    if (!done) return;
    this.asking = null;
    this.#around.bringBack(done.text);
  }

  async retry(from: From): Promise<void> {
    if (this.ended?.unable !== null) return;
    if (await this.retrying.run({ turnId: this.#turnId, from })) this.#around.started();
  }

  /** To be called whenever the projection has changed: brings a text whose message is gone to where it can be sent. */
  rescue(): void {
    const { projection, entries } = this.#workstream;
    if (!projection) return;
    const { editing, asking, draft } = this;
    const said = lastSaid(entries, projection);
    const mine = said !== null && said.author.id === this.#api.info?.viewer.id ? said : null;
    if (mine && mine.revision > this.#noticedAt) this.notice = null;
    const isGone = (revision: number) =>
      isSuperseded(projection, revision) || isSummarised(projection, revision);
    if (asking && isGone(asking.revision)) this.asking = null;
    if (!editing || this.#sending || !isGone(editing.revision)) return;
    // Nobody told us, but it had arrived.
    if (mine && mine.revision > editing.revision && mine.text === draft) {
      this.#become(null);
      return;
    }
    if (!this.#giveUp()) return;
    this.#noticedAt = projection.revision;
    this.notice = isSuperseded(projection, editing.revision)
      ? 'The message was taken out of the conversation meanwhile. What you wrote is in the field below.'
      : 'The message was summarised meanwhile, and cannot be replaced any more. What you wrote is in the field below.';
  }

  get #turnId(): string | null {
    return this.#workstream.projection?.turn?.id ?? null;
  }

  /** Closes the editor; true when there was something to keep. */
  #giveUp(): boolean {
    const { editing, draft } = this;
    this.#become(null);
    if (!editing || draft === editing.text || isBlank(draft)) return false;
    this.#around.bringBack(draft);
    return true;
  }
  #become(edit: Edit | null): void {
    this.#edit = edit;
    this.#kept.keep(this.#name, edit);
  }
}

const isEdit = (value: unknown): value is Edit =>
  isRecord(value) &&
  typeof value['draft'] === 'string' &&
  isRecord(value['message']) &&
  typeof value['message']['id'] === 'string' &&
  typeof value['message']['revision'] === 'number' &&
  typeof value['message']['text'] === 'string';
