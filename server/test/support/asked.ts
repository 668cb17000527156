/** Owns: what is asked of a database while something is done. */
import { vi } from 'vitest';
import type { Orm } from '../../src/adapters/storage/orm.ts';

export interface Asked {
  readonly query: string;
  readonly params: readonly unknown[];
}

/** The queries that go through `orm` while `work` runs, in order. */
export async function askedOf(orm: Orm, work: () => Promise<unknown>): Promise<readonly Asked[]> {
  const queries: Asked[] = [];
  const spy = vi.spyOn(orm.config.getLogger(), 'logQuery').mockImplementation(({ query = '', params }) => {
    queries.push({ query, params: params ?? [] });
  });
  try {
    await work();
  } finally {
    spy.mockRestore();
  }
  return queries;
}
