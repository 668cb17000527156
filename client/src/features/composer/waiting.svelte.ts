/**
 * Owns: changing what waits in the queue: the edit in hand, what was withdrawn last.
 * Does not own: what waits (the projection), or sending (`outbox.svelte.ts`).
 *
 * Invariant: what a person wrote into an edit stays until it is saved, moved or given up, also when the message goes out
 * meanwhile or the page is loaded anew.
 */
import { editQueuedMessage, sendMessage, withdrawQueuedMessage } from 'schema/client-kit';
import type { QueuedMessage } from 'schema/projection';
import { Action } from '../../lib/action.svelte.ts';
import type { Api } from '../../lib/api.svelte.ts';
import { isRecord, type Kept } from '../../lib/kept.ts';

export interface Edit {
  readonly messageId: string;
  readonly text: string;
}

export class Waiting {
  /** A text that was withdrawn and is nowhere else, newest only. */
  withdrawn = $state.raw<QueuedMessage | null>(null);
  readonly saving: Action<Edit, unknown>;
  readonly withdrawing: Action<{ readonly messageId: string }, unknown>;
  readonly undoing: Action<{ readonly text: string }, unknown>;
  readonly #kept: Kept;
  readonly #name: string;
  #edit = $state.raw<Edit | null>(null);

  constructor(api: Api, workstreamId: string, kept: Kept) {
    const { client } = api;
    this.saving = new Action((edit) => client.intend(editQueuedMessage, { workstreamId, ...edit }), api);
    this.withdrawing = new Action(
      ({ messageId }) => client.intend(withdrawQueuedMessage, { workstreamId, messageId }),
      api,
    );
    this.undoing = new Action(({ text }) => client.intend(sendMessage, { workstreamId, text }), api);
    this.#kept = kept;
    this.#name = `edit.${workstreamId}`;
    this.#edit = kept.read(this.#name, isEdit);
  }

  /** The one edit in hand. */
  get edit(): Edit | null {
    return this.#edit;
  }

  begin({ id, text }: QueuedMessage): void {
    this.saving.forget();
    this.#become({ messageId: id, text });
  }

  change(text: string): void {
    if (this.#edit) this.#become({ ...this.#edit, text });
  }

  /** Gives the edit up, or hands it to whoever asks. */
  end(): void {
    this.#become(null);
  }

  /** True when the message waits with its new text. */
  async save(): Promise<boolean> {
    const edit = this.#edit;
    if (!edit || (await this.saving.run(edit)) === null) return false;
    if (this.#edit?.messageId === edit.messageId) this.end();
    return true;
  }

  #become(edit: Edit | null): void {
    this.#edit = edit;
    this.#kept.keep(this.#name, edit);
  }
}

const isEdit = (value: unknown): value is Edit =>
  isRecord(value) && typeof value['messageId'] === 'string' && typeof value['text'] === 'string';
