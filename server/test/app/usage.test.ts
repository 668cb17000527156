/**
 * Owns: what is answered about spending: sums with the titles of what they were spent for, calls by pages.
 * Does not own: how it is summed (server/test/contracts and adapters/storage).
 */
import { beforeEach, describe, expect, it } from 'vitest';
import { createUsage } from '../../src/app/services/usage.ts';
import type { ModelCall, UsageStore } from '../../src/ports/usage.ts';
import { StorageUnavailableError } from '../../src/ports/storage-unavailable.ts';
import { ada, createWorld, newKey, until, type World } from './support/world.ts';

let world: World;
let id: string;
beforeEach(async () => {
  world = await createWorld();
  id = await world.open();
});

const call = (n: number, more: Partial<ModelCall> = {}): ModelCall => ({
  id: `call-${n}`,
  purpose: 'TURN',
  turnId: 't1',
  alias: 'test',
  model: 'test-1',
  usage: { inputTokens: 100 * n, outputTokens: n },
  estimated: false,
  outcome: 'ANSWERED',
  cost: null,
  ...more,
});
const record = (workstreamId: string, ...calls: readonly ModelCall[]) =>
  world.storage.usage.record(workstreamId, calls);
const everything = { from: '2000-01-01', through: null, workstreamId: null, first: 50 };

describe('What a turn spent', () => {
  it('is counted for that turn (broke: its calls were kept as those of none)', async () => {
    await world.send(id, 'go');
    (await until(() => world.model.calls[0])).answer({ usage: { inputTokens: 70, outputTokens: 7 } });
    const turn = await until(() => {
      const { turn: last } = world.registry.peek(id)!.state().projection;
      return last?.phase === 'COMPLETED' && last;
    });
    await until(() => world.registry.peek(id)!.state().pending.length === 0);
    expect(await world.services.usage.ofTurn(id, turn.id)).toMatchObject({
      calls: 1,
      inputTokens: 70,
      outputTokens: 7,
    });
  });
});

describe('Sums of what was spent', () => {
  it('name the workstreams by their titles of now, and those that are gone by none', async () => {
    const other = await world.open();
    await record(id, call(1));
    await record(other, call(2, { cost: 0.5 }));
    await world.services.workstreams.delete(ada, { key: newKey(), workstreamId: other });
    expect(await world.services.usage.groups({ ...everything, by: ['WORKSTREAM'] })).toMatchObject([
      { workstreamId: other, title: null, inputTokens: 200, cost: 0.5 },
      { workstreamId: id, title: 'Test', inputTokens: 100, cost: null },
    ]);
  });

  it('are of all when nothing is told apart, and without a title', async () => {
    await record(id, call(1), call(2), call(3, { estimated: true }));
    expect(await world.services.usage.groups({ ...everything, by: [] })).toMatchObject([
      {
        day: null,
        workstreamId: null,
        title: null,
        alias: null,
        calls: 3,
        inputTokens: 600,
        estimatedCalls: 1,
      },
    ]);
  });

  it('end with the last day that was asked for, and without one with now', async () => {
    await record(id, call(1));
    const asked = { ...everything, by: ['DAY'] } as const;
    expect(await world.services.usage.groups(asked)).toHaveLength(1);
    expect(await world.services.usage.groups({ ...asked, through: '2000-01-02' })).toEqual([]);
  });

  it('of a workstream and of one turn', async () => {
    await record(id, call(1), call(2, { turnId: 't2' }), call(3, { turnId: null, purpose: 'TITLE' }));
    expect(await world.services.usage.ofWorkstream(id)).toMatchObject({ calls: 3, inputTokens: 600 });
    expect(await world.services.usage.ofTurn(id, 't2')).toMatchObject({ calls: 1, inputTokens: 200 });
  });

  it('of a text that can be no turn are zeroes, and the database, which does not take every text, is not asked', async () => {
    const usage: UsageStore = {
      ...world.storage.usage,
      totalOfTurn: () => Promise.reject(new Error('invalid byte sequence for encoding "UTF8": 0x00')),
    };
    const { ofTurn } = createUsage({ usage, registry: world.registry, catalog: world.storage.catalog });
    expect(await ofTurn(id, 't2\0')).toMatchObject({ calls: 0, cost: null });
    await expect(ofTurn(id, 't2')).rejects.toThrow('invalid byte');
  });

  it('fail rather than say less when the database is away', async () => {
    world.storage.goAway();
    await expect(world.services.usage.ofWorkstream(id)).rejects.toThrow(StorageUnavailableError);
    await expect(world.services.usage.groups({ ...everything, by: ['DAY'] })).rejects.toThrow(
      StorageUnavailableError,
    );
  });
});

it('reads the calls of a workstream by pages, the newest first, each once', async () => {
  for (let n = 1; n <= 5; n += 1) {
    await record(id, call(n));
    await world.clock.advance(1_000);
  }
  const seen: string[] = [];
  let after: string | null = null;
  for (;;) {
    const page = await world.services.usage.calls(id, { first: 2, after });
    seen.push(...page.items.map((c) => c.id));
    if (!page.hasNext) break;
    after = page.items.at(-1)!.id;
  }
  expect(seen).toEqual([5, 4, 3, 2, 1].map((n) => `call-${n}`));
});
