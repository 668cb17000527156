/**
 * Owns: that the first word on a workstream is that it was made (D-26). From the moment it is published others may find
 * it and act on it, and be heard of before whoever made it is answered.
 */
import type { WorkstreamSummaryModel } from 'schema/model';
import type { Hub } from './hub.ts';

export interface FirstWordHub extends Hub {
  /** It is being published: this is announced of it before anything else is, and once. */
  expect(summary: WorkstreamSummaryModel): void;
  /** It was published: announces what was expected, unless that was done. */
  arrived(workstreamId: string): void;
  /** It was not. */
  dismiss(workstreamId: string): void;
}

export function withFirstWord(hub: Hub): FirstWordHub {
  const expected = new Map<string, WorkstreamSummaryModel>();

  function arrived(id: string): void {
    const summary = expected.get(id);
    expected.delete(id);
    if (summary) hub.announce(summary);
  }

  return {
    ...hub,
    announce(...word) {
      arrived(word[0].id);
      hub.announce(...word);
    },
    announceDeleted(id) {
      arrived(id);
      hub.announceDeleted(id);
    },
    expect: (summary) => void expected.set(summary.id, summary),
    arrived,
    dismiss: (id) => void expected.delete(id),
  };
}
