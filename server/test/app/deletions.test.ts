/** Owns: which look at the database settles which deletion (D-25, D-26). The ways into it are in `lifecycle.test.ts`. */
import { expect, it } from 'vitest';
import { createDeletions } from '../../src/app/deletions.ts';
import type { Actor } from '../../src/app/actor/actor.ts';
import type { Registry } from '../../src/app/actor/registry.ts';
import type { Head, Journal } from '../../src/ports/journal.ts';
import { createTestClock } from '../support/clock.ts';
import { settled } from './support/world.ts';

function setUp() {
  const gone: string[] = [];
  const asked: ((head: Head | null) => void)[] = [];
  const clock = createTestClock();
  const deletions = createDeletions({
    registry: { deleted: (id: string) => void gone.push(id) } as unknown as Registry,
    journal: { head: () => new Promise((resolve) => asked.push(resolve)) } as unknown as Journal,
    clock,
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    isStopping: () => false,
  });
  const there: Head = { incarnation: 'i', epoch: 0, revision: 2, lifecycle: 'OPEN' };
  const one = { id: 'w', incarnation: 'i', actor: null };
  return { gone, asked, clock, deletions, there, one };
}

it('a look that began before a deletion was tried again does not settle that: it would never be announced', async () => {
  const { gone, asked, clock, deletions, there, one } = setUp();
  deletions.leaveOpen([one]);
  const early = deletions.resolve('w');
  deletions.leaveOpen([{ ...one }]);
  asked[0]!(there);
  await early;
  expect(deletions.isOpen('w')).toBe(true);
  await clock.advance(1_000);
  asked[1]!(null);
  await settled();
  expect([gone, deletions.isOpen('w')]).toEqual([['w'], false]);
});

it('what two looks find gone is said once', async () => {
  const { gone, asked, deletions, one } = setUp();
  deletions.leaveOpen([one]);
  const both = [deletions.resolve('w'), deletions.resolve('w')];
  for (const answer of asked) answer(null);
  await Promise.all(both);
  expect(gone).toEqual(['w']);
});

it('what is still there is opened again, as the one it was loaded as, and not called deleted', async () => {
  const { gone, asked, deletions, there, one } = setUp();
  const shut: boolean[] = [];
  const actor = { shut: (on: boolean) => void shut.push(on) } as unknown as Actor;
  deletions.leaveOpen([{ ...one, actor }]);
  const looking = deletions.resolve('w');
  expect(shut).toEqual([]);
  asked[0]!(there);
  await looking;
  expect([shut, gone, deletions.isOpen('w')]).toEqual([[false], [], false]);
});

it('what is there under its id and is another one was deleted', async () => {
  const { gone, asked, deletions, there, one } = setUp();
  deletions.leaveOpen([one]);
  const looking = deletions.resolve('w');
  asked[0]!({ ...there, incarnation: 'another' });
  await looking;
  expect(gone).toEqual(['w']);
});
