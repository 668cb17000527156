/** What a client asks about the context and about spending, and what of it reaches it. */
import { describe, expect, it } from 'vitest';
import { createFakeServices } from '../../server/test/support/fake-services.ts';
import {
  modelCallsQuery,
  systemPromptQuery,
  turnUsageQuery,
  usageQuery,
  workstreamUsageQuery,
} from '../src/client-kit/index.ts';
import type { Entry } from '../src/projection/index.ts';
import { workstreamGlobalId } from '../src/types/global-id.ts';
import { createInProcess } from './client-kit/support/in-process.ts';
import { configured, entryAt, markOf, said, summarised } from './projection/journals.ts';
import { parse } from 'graphql';

const id = workstreamGlobalId('w1');

function begin(entries: readonly Entry[] = []) {
  const fake = createFakeServices();
  fake.workstreams.set('w1', { id: 'w1', entries, durableThrough: entries.length });
  return { ...fake, transport: createInProcess(fake.services) };
}

const asked = async (source: string, entries: readonly Entry[]) => {
  const { transport } = begin(entries);
  const answer = await transport.request<{ readonly workstream: unknown }, object>(
    parse(`query ($id: ID!) { workstream(id: $id) { ${source} } }`),
    { id },
  );
  return answer.ok ? answer.data.workstream : answer.failure;
};

describe('How full the context is', () => {
  const shown = 'context { used window estimated warning told overhead checkpoint { watermark revision } }';
  const counted = { tokens: 3_000_000_000, told: 60 };

  it('is what the provider counted with an estimate of what came after (D-39)', async () => {
    const answered = { ...said(), context: markOf(60, { counted, scale: 2, window: 4_000_000_000 }) };
    const entries = [entryAt(1, answered, {}), entryAt(2, said(), { tokens: 5 })];
    expect(await asked(shown, entries.slice(0, 1))).toEqual({
      context: {
        used: 3_000_000_000,
        window: 4_000_000_000,
        estimated: false,
        warning: false,
        told: 60,
        overhead: 10,
        checkpoint: null,
      },
    });
    expect(await asked('context { used estimated }', entries)).toEqual({
      context: { used: 3_000_000_010, estimated: true },
    });
  });

  it('warns above 80 % of the window, and names the summary that is told first (D-40)', async () => {
    expect(await asked(shown, [entryAt(1, summarised(0, markOf(791)))])).toMatchObject({
      context: { used: 801, warning: true, estimated: true, checkpoint: { watermark: 0, revision: 1 } },
    });
  });

  it('says nothing of a window that is not known', async () => {
    expect(await asked(shown, [])).toMatchObject({ context: { used: 0, window: null, warning: false } });
  });
});

it('shows the system prompt that a workstream that is set so is told', async () => {
  const { transport } = begin([entryAt(1, configured({ instructions: 'Be brief.' }))]);
  expect(await transport.request(systemPromptQuery, { id })).toMatchObject({
    data: { workstream: { systemPrompt: 'You work in /w. Be brief.' } },
  });
});

describe('What was spent', () => {
  it('is told of a workstream and of a turn, in more tokens than an Int holds', async () => {
    const { transport } = begin();
    expect(await transport.request(workstreamUsageQuery, { id })).toMatchObject({
      data: {
        workstream: { usage: { calls: 3, inputTokens: 3_000_000_000, cost: 0.25, estimatedCalls: 1 } },
      },
    });
    expect(await transport.request(turnUsageQuery, { workstreamId: id, turnId: 't1' })).toMatchObject({
      data: { turnUsage: { calls: 2 } },
    });
  });

  it('is asked for by days, and groups say whose they are, also of what is gone', async () => {
    const { transport, calls } = begin();
    const variables = { from: '2026-11-01', workstreamId: id, by: ['DAY', 'MODEL'] as const };
    expect(await transport.request(usageQuery, { ...variables, by: [...variables.by] })).toMatchObject({
      data: {
        usage: [
          { day: '2026-11-30', workstreamId: id, title: 'Fix it', alias: 'demo', total: { calls: 3 } },
          { day: null, workstreamId: workstreamGlobalId('gone'), title: null, total: { cost: null } },
        ],
      },
    });
    expect(calls.at(-1)?.input).toEqual({
      from: '2026-11-01',
      through: null,
      workstreamId: 'w1',
      by: ['DAY', 'MODEL'],
      first: 50,
    });
  });

  it('of a text that is the id of nothing is asked of nothing, never of all', async () => {
    const { transport, calls } = begin();
    await transport.request(usageQuery, { from: '2026-11-01', workstreamId: 'nothing', by: [] });
    expect(calls.at(-1)?.input).toMatchObject({ workstreamId: '' });
  });

  it.each([
    ['a day that there is not', { from: '2026-11-31', by: [] }],
    ['a day with a time', { from: '2026-11-30T00:00:00Z', by: [] }],
    ['a year that no database has', { from: '0000-01-01', by: [] }],
    ['an end before the beginning', { from: '2026-11-30', through: '2026-11-29', by: [] }],
    ['the same twice', { from: '2026-11-30', by: ['DAY', 'DAY'] }],
    ['too many groups', { from: '2026-11-30', by: [], first: 201 }],
    ['no group', { from: '2026-11-30', by: [], first: 0 }],
  ])('is not told for %s', async (_, variables) => {
    const { transport, calls } = begin();
    const answer = await transport.request(usageQuery, variables as never);
    expect(answer).toMatchObject({ ok: false, failure: { type: 'Server', code: 'BAD_USER_INPUT' } });
    expect(calls).toEqual([]);
  });

  it('is told call by call, by pages, each once, the newest first', async () => {
    const { transport } = begin();
    const pageAfter = async (after: string | null) => {
      const answer = await transport.request(modelCallsQuery, { id, first: 2, after });
      if (!answer.ok) throw new Error(answer.failure.message);
      return answer.data.workstream!.modelCalls;
    };
    const first = await pageAfter(null);
    expect(first.edges.map(({ node }) => node.id)).toEqual(['m3', 'm2']);
    expect(first.pageInfo.hasNextPage).toBe(true);
    expect(first.edges[0]!.node).toMatchObject({
      purpose: 'TURN',
      outcome: 'ANSWERED',
      usage: { inputTokens: 10, cachedInputTokens: 6, reasoningTokens: null },
      cost: null,
    });
    const last = await pageAfter(first.pageInfo.endCursor);
    expect(last.edges.map(({ node }) => node.id)).toEqual(['m1']);
    expect(last.pageInfo.hasNextPage).toBe(false);
  });

  it('takes no cursor that it did not give out', async () => {
    const { transport } = begin();
    const answer = await transport.request(modelCallsQuery, { id, first: 2, after: 'x' });
    expect(answer).toMatchObject({ ok: false, failure: { code: 'BAD_USER_INPUT' } });
  });
});
