/**
 * Owns: what becomes of a turn when its provider misbehaves, seen from outside: the outcome, and that it says what to
 * do. Does not own: telling faults apart (`adapters/model`), or the ladder's times (`core`).
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Api } from '../../../e2e/support/api.ts';
import { brokenLaws, ofKind } from '../../../e2e/support/journal-laws.ts';
import type { ChatBody, Step } from '../support/scripted-provider.ts';
import { setBench, type Bench } from './support.ts';

let bench: Bench;
let api: Api;

beforeAll(async () => {
  bench = await setBench();
  ({ api } = await bench.join());
});
afterAll(() => bench.end());

const asks = (text: string) => (body: ChatBody) => body.messages.at(-1)?.content === text;

/** Runs one turn whose requests are answered by these steps, in order. */
async function turnOf(
  text: string,
  steps: readonly Step[],
  meanwhile: (id: string) => Promise<void> = () => Promise.resolve(),
) {
  bench.provider.script(steps.map((step) => ({ when: asks(text), ...step })));
  const id = await api.create();
  const { cursor } = await api.snapshot(id);
  const feed = api.follow(id, cursor);
  expect(await api.send(id, text)).toMatchObject({ durability: 'DURABLE' });
  await meanwhile(id);
  const known = await api.waitFor(
    id,
    (view) => view.base.turn?.outcome != null,
    `the end of the turn about "${text}"`,
  );
  await feed.until(
    (came) =>
      came.some(
        ({ item }) => item.type === 'EntriesDurable' && item.durableThrough === known.view.base.revision,
      ),
    'the feed to say so',
  );
  feed.stop();
  const history = await api.history(id);
  expect(brokenLaws(history, { settled: true })).toEqual([]);
  return {
    id,
    outcome: known.view.base.turn!.outcome!,
    history,
    items: feed.events.map((e) => e.item),
    requests: bench.provider.requests.filter(asks(text)).length,
  };
}

async function stateOf(id: string) {
  const { data } = await api.query<{ workstream: { state: string; lastError: { message: string } | null } }>(
    'query ($id: ID!) { workstream(id: $id) { state lastError { reason message } } }',
    { id },
  );
  return data!.workstream;
}

describe.concurrent('a provider that', () => {
  it('refuses the key fails the turn at once, and the message says which setting to look at', async () => {
    const { id, outcome, requests } = await turnOf('Is my key good?', [
      {
        status: 401,
        body: { error: { message: 'Incorrect API key provided: sk-test', type: 'invalid_request_error' } },
      },
    ]);
    expect(outcome).toMatchObject({ type: 'FAILED', reason: 'MODEL_AUTHENTICATION' });
    expect(outcome.message).toMatch(/OPENAI_API_KEY/);
    expect(outcome.message).not.toContain('sk-test');
    expect(requests).toBe(1);
    expect(await stateOf(id)).toMatchObject({ state: 'ERROR', lastError: { message: outcome.message } });
  });

  it('asks to wait is asked again after as long as it said, and the turn completes (D-37)', async () => {
    const { outcome, requests, items, history } = await turnOf('Am I too fast?', [
      { status: 429, headers: { 'retry-after': '2' } },
      { stream: ['Slow is smooth.'] },
    ]);
    expect(outcome).toMatchObject({ type: 'COMPLETED' });
    expect(requests).toBe(2);
    const notices = items.filter((item) => item.type === 'Notice');
    expect(notices).toMatchObject([{ level: 'WARNING', code: 'MODEL_RETRY' }]);
    expect(notices[0]!.message).toMatch(/in 2 s/);
    expect(ofKind(history, 'ASSISTANT').map((e) => e.text)).toEqual(['Slow is smooth.']);
  });

  it('fails on its side four times fails the turn, with what it said (D-37)', async () => {
    const { id, outcome, requests, items } = await turnOf(
      'Are you there?',
      Array.from({ length: 4 }, (_, i) => ({
        status: 500,
        body: { error: { message: `the machine room burns, ${i}`, type: 'server_error' } },
      })),
    );
    expect(outcome).toMatchObject({ type: 'FAILED', reason: 'MODEL_OVERLOADED' });
    expect(outcome.message).toMatch(/HTTP 500.*the machine room burns.*try again/);
    expect(requests).toBe(4);
    expect(items.filter((item) => item.type === 'Notice')).toHaveLength(3);
    expect(await stateOf(id)).toMatchObject({ state: 'ERROR' });
    // A new message begins anew.
    bench.provider.script([{ when: asks('And now?'), stream: ['Here.'] }]);
    await api.send(id, 'And now?');
    const { view } = await api.waitForState(id, 'IDLE');
    expect(view.projection.turn?.outcome).toMatchObject({ type: 'COMPLETED' });
  });

  it('drops the connection in mid-answer is asked again, and only the second answer is kept (D-37)', async () => {
    const { outcome, history, items, requests } = await turnOf(
      'Say it all.',
      [{ stream: ['Half of ', { gate: 'half seen' }, { drop: true }] }, { stream: ['All of it.'] }],
      async (id) => {
        await api.waitFor(id, (view) => view.overlay.message?.text === 'Half of ', 'the first half');
        bench.provider.release('half seen');
      },
    );
    expect(outcome).toMatchObject({ type: 'COMPLETED' });
    expect(requests).toBe(2);
    expect(ofKind(history, 'ASSISTANT').map((e) => e.text)).toEqual(['All of it.']);
    expect(ofKind(history, 'CANCELLATION')).toEqual([]);
    const shown = items.find((item) => item.type === 'StreamChunk');
    expect(shown).toMatchObject({ text: 'Half of ' });
    expect(items.filter((item) => item.type === 'StreamReset')).toMatchObject([
      { messageId: shown!.messageId },
    ]);
    expect(ofKind(history, 'ASSISTANT')[0]!.id).not.toBe(shown!.messageId);
  });

  it('is a web page fails the turn, and the message says to look at the address', async () => {
    const page = '<!doctype html><html><body><h1>Welcome to the proxy</h1></body></html>';
    const { outcome } = await turnOf(
      'Are you a model?',
      Array.from({ length: 4 }, () => ({
        status: 200,
        headers: { 'content-type': 'text/html' },
        body: page,
      })),
    );
    expect(outcome).toMatchObject({ type: 'FAILED', reason: 'MODEL_WEB_PAGE' });
    expect(outcome.message).toMatch(/OPENAI_BASE_URL/);
    expect(outcome.message).not.toMatch(/<html/);
  });
});
