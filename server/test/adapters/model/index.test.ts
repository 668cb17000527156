import { expect, test, vi } from 'vitest';
import { findLocalEndpoint } from '../../../src/adapters/model/discover.ts';
import { createModels, type ModelConfig } from '../../../src/adapters/model/index.ts';
import type { Log } from '../../../src/ports/log.ts';
import type { ModelInfo } from '../../../src/ports/model.ts';
import { createTestClock } from '../../support/clock.ts';
import { startScriptedProvider } from '../../support/scripted-provider.ts';
import { askedOf } from './harness.ts';

function build(config: ModelConfig, discovered?: Parameters<typeof createModels>[0]['discovered']) {
  const lines: string[] = [];
  const write = (fields: object, message: string): void => void lines.push(JSON.stringify([fields, message]));
  const log: Log = { info: write, warn: write, error: write };
  const model = createModels({ clock: createTestClock(), log, config, ...(discovered && { discovered }) });
  const call = (alias: string) => model.call(askedOf(alias), new AbortController().signal, () => undefined);
  return { model, call, lines };
}

const found = { name: 'Ollama', baseUrl: 'http://127.0.0.1:11434/v1', model: 'qwen', models: ['qwen'] };
const demo = { alias: 'demo', description: 'demo, not a language model', demo: true };
/** What is shown of a model besides what it can do. */
const named = (models: readonly ModelInfo[]) =>
  models.map(({ alias, description, demo, isDefault }) => ({ alias, description, demo, isDefault }));

test('with nothing configured and nothing found the demo is the default, and says what it is', () => {
  expect(named(build({}).model.list())).toEqual([{ ...demo, isDefault: true }]);
  // A name alone does not say where.
  expect(build({ model: 'm' }).model.list()).toHaveLength(1);
});

test('a discovered endpoint comes before the demo, and a configured one before a discovered one', () => {
  expect(named(build({}, found).model.list())).toEqual([
    { alias: 'qwen', description: 'qwen at 127.0.0.1:11434', demo: false, isDefault: true },
    { ...demo, isDefault: false },
  ]);
  const configured = build({ baseUrl: 'https://me:secret@models.test/v1', model: 'm1' }, found);
  expect(named(configured.model.list())).toEqual([
    { alias: 'm1', description: 'm1 at models.test', demo: false, isDefault: true },
    { ...demo, isDefault: false },
  ]);
});

test('a key alone means OpenAI', () => {
  expect(build({ apiKey: 'sk-1', model: 'gpt' }).model.list()[0]?.description).toBe('gpt at api.openai.com');
});

test('a model that is called demo is not taken for the demo', () => {
  const aliases = build({ baseUrl: 'http://models.test/v1', model: 'demo' })
    .model.list()
    .map((m) => m.alias);
  expect(aliases).toEqual(['demo@models.test', 'demo']);
});

test('the window of a model whose server is started later is known once it has answered (broke: it never was)', async () => {
  const gone = await startScriptedProvider();
  await gone.close();
  const { model, call } = build({ baseUrl: gone.url, model: 'm1' });
  expect(await call('m1')).toMatchObject({ kind: 'CONNECTION' });
  const provider = await startScriptedProvider({
    port: gone.port,
    models: [{ id: 'm1', max_model_len: 4_096 }],
  });
  provider.script([{ stream: ['Here.'] }]);
  expect(model.list()[0]).toMatchObject({ alias: 'm1', window: null });
  expect(await call('m1')).toMatchObject({ type: 'answered' });
  await vi.waitFor(() => expect(model.list()[0]).toMatchObject({ window: 4_096 }));
  await provider.close();
});

test('an unknown alias is a fault that names those there are', async () => {
  const { call } = build({}, found);
  expect(await call('gone')).toEqual({
    type: 'failed',
    kind: 'NOT_FOUND',
    alias: 'gone',
    accepted: false,
    othersLeft: false,
    message:
      'The model "gone" of this workstream is not set up on this server any more: choose another one for it ("qwen", "demo"), or set it up again.',
    retryAfterMs: null,
  });
});

test('a failure is logged with the workstream, the endpoint, the status and the sentence, and without the key', async () => {
  const provider = await startScriptedProvider();
  provider.script([{ status: 401, body: { error: { message: 'bad key sk-secretsecret' } } }]);
  const { call, lines } = build({ baseUrl: provider.url, apiKey: 'sk-secretsecret', model: 'm1' });
  const outcome = await call('m1');
  expect(outcome).toMatchObject({ kind: 'AUTHENTICATION' });
  expect(JSON.stringify(outcome)).not.toContain('secret');
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    [
      {
        workstream: 'w1',
        alias: 'm1',
        kind: 'AUTHENTICATION',
        status: 401,
        accepted: false,
        retryAfterMs: null,
        sentence: `Model "m1" at 127.0.0.1:${provider.port} refused the credentials (HTTP 401, bad key [hidden]); check OPENAI_API_KEY and what that key may use.`,
      },
      'model call failed',
    ],
  ]);
  await provider.close();
});

test('the first usual server in order that lists models is chosen, with the wanted model if it has it', async () => {
  const [first, second] = await Promise.all([
    startScriptedProvider({ models: ['nomic-embed-text', 'a', 'b'] }),
    startScriptedProvider({ models: ['c'] }),
  ]);
  const ports = [
    { name: 'one', port: first.port },
    { name: 'two', port: second.port },
  ];
  const clock = createTestClock();
  const found = await findLocalEndpoint({ clock }, { ports });
  expect(found).toEqual({
    name: 'one',
    baseUrl: `http://127.0.0.1:${first.port}/v1`,
    model: 'a',
    models: ['nomic-embed-text', 'a', 'b'],
  });
  expect(await findLocalEndpoint({ clock }, { ports, preferredModel: 'b' })).toMatchObject({ model: 'b' });
  await first.close();
  expect(await findLocalEndpoint({ clock }, { ports, preferredModel: 'b' })).toMatchObject({
    name: 'two',
    model: 'c',
  });
  await second.close();
  expect(await findLocalEndpoint({ clock }, { ports })).toBeNull();
  expect(clock.pending).toBe(0);
});
