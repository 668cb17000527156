import type { WorkstreamSummaryModel } from 'schema/model';
import { beforeEach, describe, expect, it } from 'vitest';
import { withFirstWord, type FirstWordHub } from '../../src/app/feed/first-word.ts';
import { createHub } from '../../src/app/feed/hub.ts';

const summary = (lifecycle: 'OPEN' | 'CLOSED', id = 'w'): WorkstreamSummaryModel => ({
  id,
  title: '',
  state: lifecycle === 'OPEN' ? 'IDLE' : 'CLOSED',
  stopping: false,
  lifecycle,
  model: 'demo',
  revision: 2,
  persistence: 'HEALTHY',
  createdAt: '2026-11-30T10:00:00.000Z',
  updatedAt: '2026-11-30T10:00:00.000Z',
});

let hub: FirstWordHub;
let said: string[];
beforeEach(() => {
  hub = withFirstWord(createHub());
  said = [];
  hub.onAnnounce(({ id, lifecycle }) => said.push(`${id} ${lifecycle}`));
  hub.onDeleted((id) => said.push(`${id} DELETED`));
  hub.expect(summary('OPEN'));
});

describe('The first word on a workstream', () => {
  it('is that it was made, once, when that is known (D-26)', () => {
    expect(said).toEqual([]);
    hub.arrived('w');
    hub.arrived('w');
    expect(said).toEqual(['w OPEN']);
  });

  it('comes before whatever others do to it first (D-26)', () => {
    hub.announce(summary('CLOSED', 'other'));
    hub.announce(summary('CLOSED'));
    hub.announceDeleted('w');
    hub.arrived('w');
    expect(said).toEqual(['other CLOSED', 'w OPEN', 'w CLOSED', 'w DELETED']);
  });

  it('comes before its end, when that is all that came (D-26)', () => {
    hub.announceDeleted('w');
    hub.arrived('w');
    expect(said).toEqual(['w OPEN', 'w DELETED']);
  });

  it('is none when it came to nothing (D-20)', () => {
    hub.dismiss('w');
    hub.arrived('w');
    expect(said).toEqual([]);
  });
});
