/** Owns: what the app relies on where a conversation was summarised; part of the contract of `storage.ts`. */
import type { Checkpoint, Entry, Span } from 'schema/projection';
import { describe, expect, it } from 'vitest';
import type { Storage } from '../../src/adapters/storage/index.ts';
import { readQuery } from '../../src/core/journal/search-query.ts';
import { told } from '../../src/core/workstream/state.ts';
import type { Session } from '../../src/ports/ownership.ts';
import {
  ada,
  after,
  batchOf,
  checkpoint,
  message,
  openWorkstream,
  randomId,
  type Made,
} from '../adapters/storage/fixtures.ts';

export function summaryContract(get: () => { readonly storage: Storage; readonly session: Session }): void {
  async function commit(made: Made, bodies: Parameters<typeof batchOf>[1]): Promise<Made> {
    const batch = batchOf(made, bodies);
    expect(await get().storage.journal.commit(batch)).toEqual({ type: 'committed' });
    return after(made, batch);
  }
  const conversation = (
    { id, incarnation }: Made,
    through: number,
    superseded: readonly Span[],
    mark: Checkpoint | null,
  ) => get().storage.journal.conversation(id, { incarnation, through, superseded, checkpoint: mark });
  const revisions = (entries: readonly Entry[] | null) => entries?.map((e) => e.revision);

  /** Two summaries (6 of all up to 4, 9 of all up to 7), the second with 8 before it; then 10 and 11. */
  async function summarised(): Promise<Made> {
    let made = await openWorkstream(get().storage, get().session);
    made = await commit(made, ['3', '4', '5'].map(message));
    made = await commit(made, [checkpoint(4), message('7')]);
    made = await commit(made, [message('8'), checkpoint(7)]);
    return commit(made, [message('10'), message('11')]);
  }

  describe('A summarised conversation', () => {
    it('is its latest summary, then what stands above the watermark, in order (D-40)', async () => {
      const made = await summarised();
      const read = await conversation(made, 11, [], made.projection.checkpoint);
      expect(revisions(read)).toEqual([9, 8, 10, 11]);
      const all = await get().storage.journal.read(made.id, { after: 0, through: 99, limit: 99 });
      expect(read).toEqual(told(made.projection, all));
      const first = all.find((e) => e.revision === 6)!;
      const mark = { id: first.id, revision: 6, watermark: 4 };
      expect(revisions(await conversation(made, 8, [], mark))).toEqual([6, 5, 7, 8]);
      expect(revisions(await conversation(made, 5, [], null))).toEqual([3, 4, 5]);
    });

    it('keeps its summary whatever is taken back above the watermark (D-40, D-59)', async () => {
      let made = await summarised();
      made = await commit(made, [{ kind: 'REWIND', after: 7, reason: 'REWIND', by: ada }, message('13')]);
      const { superseded, checkpoint: mark } = made.projection;
      expect(revisions(await conversation(made, 13, superseded, mark))).toEqual([9, 13]);
    });

    it('is nothing when it is not there any more, rather than all but its summary', async () => {
      const made = await summarised();
      const mark = { ...made.projection.checkpoint!, id: randomId() };
      expect(await conversation(made, 11, [], mark)).toBeNull();
      expect(await conversation({ ...made, id: randomId() }, 11, [], made.projection.checkpoint)).toBeNull();
      expect(await conversation({ ...made, incarnation: randomId() }, 11, [], null)).toBeNull();
    });

    it('has a latest summary at each place, or none (D-20)', async () => {
      const made = await summarised();
      const { journal } = get().storage;
      const at = async (through: number) => (await journal.checkpointAt(made.id, through))?.revision ?? null;
      expect(await Promise.all([0, 5, 6, 8, 9, 99].map(at))).toEqual([null, null, 6, 6, 9, 9]);
      const [entry] = await journal.read(made.id, { after: 8, through: 9, limit: 1 });
      expect(await journal.checkpointAt(made.id, 99)).toEqual(entry);
      expect(await journal.checkpointAt(randomId(), 99)).toBeNull();
    });

    it('is found by what was said, never by the summary of it', async () => {
      const { storage } = get();
      const word = `w${randomId()}`;
      let made = await openWorkstream(storage, get().session);
      made = await commit(made, [message(`said ${word}`), checkpoint(3, { summary: `they said ${word}` })]);
      const { query } = readQuery(word) as Extract<ReturnType<typeof readQuery>, { type: 'query' }>;
      const answer = await storage.search.find(query, { workstreamId: made.id, first: 9, after: null });
      expect(answer.type === 'found' && answer.items.map(({ entry }) => entry.kind)).toEqual(['USER']);
    });
  });
}
