/**
 * Owns: a small window, a budget and what was spent, over the product as it ships: filled, summarised, stopped, killed.
 * Does not own: every way in which that goes wrong (`server/test/integration/context*.test.ts`).
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  startScriptedProvider,
  type ChatBody,
  type ScriptedProvider,
  type Step,
} from '../../server/test/support/scripted-provider.ts';
import { asksForSummary, strictly, type Seen } from '../../server/test/support/context-endpoint.ts';
import { newKey, type Api, type Result } from '../support/api.ts';
import { brokenLaws, ofKind } from '../support/journal-laws.ts';
import { makePlace, startWeir, type Weir } from '../support/weir.ts';

const window = 8_000;
const account = 'They spoke of the harbour; its gate is number 17.';
const prose = (tokens: number): string =>
  'The tide comes and the tide goes as it always did. '.repeat(tokens / 12);

let provider: ScriptedProvider;
let weir: Weir;
let token: string;
let api: Api;
/** What the endpoint made of each request, in order. */
const seen: Seen[] = [];
/** What it says instead, for a while. */
let instead: ((body: ChatBody) => Step | null) | null = null;

beforeAll(async () => {
  provider = await startScriptedProvider();
  const answer = strictly(window, seen, (body) => ({
    text: asksForSummary(body) ? account : `So it is. ${prose(300)}`,
  }));
  provider.respond((body) => instead?.(body) ?? answer(body));
  const place = makePlace();
  const config = join(place.root, 'weir.config.json');
  const model = { endpoint: provider.url, model: 'scripted', window, price: { input: 2, output: 8 } };
  writeFileSync(config, JSON.stringify({ models: { small: model } }));
  weir = await startWeir({ env: { WEIR_CONFIG: config } }, place);
  token = await weir.signIn();
  api = weir.api(token);
});
afterAll(async () => {
  await weir?.remove();
  await provider?.close();
});

async function ask<T>(document: string, variables: Readonly<Record<string, unknown>>): Promise<T> {
  const { data, errors } = await api.query<T>(document, variables);
  expect(errors).toEqual([]);
  return data!;
}

/** Says it and waits until the turn is over and stored. */
async function said(id: string, text: string): Promise<string> {
  const { turnId } = await api.send(id, text);
  return endOf(id, turnId!);
}

async function endOf(id: string, turnId: string): Promise<string> {
  const { view } = await api.waitFor(
    id,
    ({ base }) => base.turn?.id === turnId && base.turn.outcome !== null,
    `the end of turn ${turnId}`,
  );
  return view.base.turn!.outcome!.type;
}

const compact = async (id: string): Promise<Result & { readonly turnId?: string }> =>
  (
    await ask<{ readonly result: Result & { readonly turnId?: string } }>(
      `mutation ($input: CompactWorkstreamInput!) { result: compactWorkstream(input: $input) {
        __typename ... on CompactWorkstreamPayload { turnId } ... on Rejection { code message }
      } }`,
      { input: { key: newKey(), workstreamId: id } },
    )
  ).result;

const textOf = (body: ChatBody): string => body.messages.map((m) => String(m.content)).join('\n');

describe('a window of 8,000 tokens', () => {
  it('is filled, summarised in place and gone on with, and what was spent is what the provider said (D-33, D-39, D-40)', async () => {
    const id = await api.create();
    const from = seen.length;
    for (let n = 1; n <= 12; n += 1) expect(await said(id, `Question ${n}. ${prose(400)}`)).toBe('COMPLETED');
    const entries = await api.history(id);
    expect(brokenLaws(entries, { settled: true })).toEqual([]);
    const checkpoints = ofKind(entries, 'CHECKPOINT');
    expect(checkpoints.length).toBeGreaterThan(0);
    expect(checkpoints.length).toBeLessThan(6);
    // Nothing is deleted.
    expect(ofKind(entries, 'USER')).toHaveLength(12);
    const own = seen.slice(from);
    expect(own.filter(({ refused }) => refused !== null)).toEqual([]);
    const last = textOf(provider.requests.at(-1)!);
    expect(last).toContain('number 17');
    expect(last).toContain('Question 12.');
    expect(last).not.toContain('Question 1.');

    const { workstream } = await ask<{
      readonly workstream: { readonly usage: object; readonly context: { readonly used: number } };
    }>(
      `query ($id: ID!) { workstream(id: $id) {
        usage { calls estimatedCalls inputTokens outputTokens cost }
        context { used window checkpoint { watermark } }
      } }`,
      { id },
    );
    const input = own.reduce((sum, { usage }) => sum + usage!.prompt_tokens, 0);
    const output = own.reduce((sum, { usage }) => sum + usage!.completion_tokens, 0);
    expect(workstream.usage).toEqual({
      calls: own.length,
      estimatedCalls: 0,
      inputTokens: input,
      outputTokens: output,
      cost: expect.closeTo((input * 2 + output * 8) / 1e6, 8) as number,
    });
    expect(workstream.context).toMatchObject({ window });
    expect(workstream.context.used).toBeLessThan(window * 0.8);
    const { usage } = await ask<{ readonly usage: readonly object[] }>(
      `query ($id: ID!) { usage(by: [MODEL], from: "2020-01-01", workstreamId: $id) {
        alias total { calls inputTokens outputTokens }
      } }`,
      { id },
    );
    expect(usage).toMatchObject([
      { alias: 'small', total: { calls: own.length, inputTokens: input, outputTokens: output } },
    ]);
  });

  it('is summarised when a person wants it, and not when they stop it (D-40, D-65)', async () => {
    const id = await api.create();
    for (let n = 1; n <= 3; n += 1) await said(id, `Question ${n}. ${prose(300)}`);
    const before = await api.history(id);
    instead = (body) => (asksForSummary(body) ? { stream: ['They ', { gate: 'stopped' }] } : null);
    const stopped = await compact(id);
    await provider.waitForGate('stopped');
    expect(await api.stop(id)).toMatchObject({ durability: 'DURABLE' });
    expect(await endOf(id, stopped.turnId!)).toBe('CANCELED');
    await provider.waitForAbort(provider.requests.length);
    instead = null;
    const after = await api.history(id);
    expect(after.slice(0, before.length)).toEqual(before);
    expect(ofKind(after, 'CHECKPOINT')).toEqual([]);

    const made = await compact(id);
    expect(await endOf(id, made.turnId!)).toBe('COMPLETED');
    expect(ofKind(await api.history(id), 'CHECKPOINT')).toMatchObject([
      { summary: account, trigger: 'MANUAL' },
    ]);
    expect(await compact(id)).toMatchObject({ code: 'NOTHING_TO_COMPACT' });
    expect(await said(id, 'And now?')).toBe('COMPLETED');
    expect(textOf(provider.requests.at(-1)!)).toContain('number 17');
  });

  it('goes on with the turn when the server is killed in the middle of a summary (D-40, D-70)', async () => {
    const id = await api.create();
    for (let n = 1; n <= 4; n += 1) await said(id, `Question ${n}. ${prose(300)}`);
    let refused = false;
    instead = (body) => {
      if (asksForSummary(body)) return { stream: ['They ', { gate: 'killed' }] };
      if (refused) return null;
      refused = true;
      return { status: 400, body: { error: { message: 'prompt is too long' } } };
    };
    const { turnId } = await api.send(id, 'What is the number of the gate?');
    await provider.waitForGate('killed');
    await weir.kill('SIGKILL');
    instead = null;
    weir = await weir.restart();
    api = weir.api(token);
    expect(await endOf(id, turnId!)).toBe('COMPLETED');
    const entries = await api.history(id);
    expect(brokenLaws(entries, { settled: true })).toEqual([]);
    expect(ofKind(entries, 'CHECKPOINT')).toMatchObject([{ summary: account, trigger: 'OVERFLOW' }]);
    const asked = provider.requests.filter((body) =>
      textOf(body).includes('What is the number of the gate?'),
    );
    expect(textOf(asked.at(-1)!)).toContain('number 17');
    expect(asked.filter(asksForSummary)).toEqual([]);
  });
});

describe('a budget', () => {
  it('asks before the next call, goes on when more is granted, and ends the turn when it is denied (D-33)', async () => {
    const { createWorkstream } = await ask<{ readonly createWorkstream: { readonly workstreamId: string } }>(
      `mutation ($input: CreateWorkstreamInput!) { createWorkstream(input: $input) {
        ... on CreateWorkstreamPayload { workstreamId } ... on Rejection { message }
      } }`,
      { input: { key: newKey(), title: 'Made by a test', tokenBudget: 1_000 } },
    );
    const id = createWorkstream.workstreamId;
    expect(await said(id, 'One.')).toBe('COMPLETED');
    const spent = seen.at(-1)!.usage!;
    expect(spent.prompt_tokens + spent.completion_tokens).toBeGreaterThan(1_000);

    const asked = provider.requests.length;
    const second = await api.send(id, 'Two.');
    const [question] = await api.questions(id);
    expect(question).toMatchObject({ name: 'budget' });
    const { view } = await api.snapshot(id);
    expect(view.base.cycles.at(-1)).toMatchObject({
      kind: 'BUDGET',
      budget: { spent: spent.prompt_tokens + spent.completion_tokens, limit: 1_000, grant: 1_000 },
    });
    expect(provider.requests).toHaveLength(asked);
    expect(await api.decide(id, question!, 'APPROVED')).toMatchObject({ durability: 'DURABLE' });
    expect(await endOf(id, second.turnId!)).toBe('COMPLETED');
    expect(provider.requests).toHaveLength(asked + 1);

    const third = await api.send(id, 'Three.');
    const [again] = await api.questions(id);
    expect(await api.decide(id, again!, 'DENIED')).toMatchObject({ durability: 'DURABLE' });
    expect(await endOf(id, third.turnId!)).not.toBe('COMPLETED');
    expect(provider.requests).toHaveLength(asked + 1);
    const entries = await api.history(id);
    expect(ofKind(entries, 'USER').map((e) => e.text)).toEqual(['One.', 'Two.', 'Three.']);
    expect(brokenLaws(entries, { settled: true })).toEqual([]);
  });
});
