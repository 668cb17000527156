/** Owns: how much a model can read at once, as its endpoint says, over real HTTP. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { Binding } from '../../../src/adapters/model/binding.ts';
import { listModels } from '../../../src/adapters/model/discover.ts';
import { createWindows } from '../../../src/adapters/model/windows.ts';
import { createTestClock } from '../../support/clock.ts';
import { bindingFor, createAsker } from './harness.ts';

let server: Server | null = null;
afterEach(() => server?.close());

/** An endpoint that answers these paths with JSON, the rest with this status; `asked` are the paths it was asked, in order. */
async function endpoint(answers: Readonly<Record<string, unknown>>, status = 404, base = '/v1') {
  const asked: string[] = [];
  const keys: (string | undefined)[] = [];
  server = createServer((request, response) => {
    asked.push(request.url!);
    keys.push(request.headers.authorization);
    const answer = answers[request.url!];
    response.writeHead(answer === undefined ? status : 200, { 'content-type': 'application/json' });
    response.end(typeof answer === 'string' ? answer : JSON.stringify(answer ?? {}));
  });
  await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { asked, keys, binding: bindingFor(`http://127.0.0.1:${port}${base}`, { model: 'm1' }) };
}

async function windowOf(binding: Binding): Promise<number | null> {
  const windows = createWindows({ clock: createTestClock() });
  await windows.learn([binding]);
  return windows.of(binding);
}

const listing = (entry: object, id = 'm1') => ({
  '/v1/models': { data: [{ id: 'other' }, { id, ...entry }] },
});

describe('The window of a model', () => {
  it.each([
    ['vLLM', { max_model_len: 32_768 }, 32_768],
    ['OpenRouter', { context_length: 131_072 }, 131_072],
    ['Groq', { context_window: 8_192 }, 8_192],
    ['LM Studio, as it was loaded', { max_context_length: 131_072, loaded_context_length: 4_096 }, 4_096],
    ['llama.cpp, where it says', { meta: { n_ctx: 4_096, n_ctx_train: 131_072 } }, 4_096],
    ['nobody', {}, null],
    ['one that says nonsense', { max_model_len: -1, context_length: '8k' }, null],
  ])('is what its endpoint lists: %s', async (_, entry, window) => {
    const { binding, keys } = await endpoint(listing(entry));
    expect(await windowOf(binding)).toBe(window);
    expect(keys[0]).toBe('Bearer sk-not-to-be-shown');
  });

  it('is not what it was trained for: llama.cpp is asked with how much it runs', async () => {
    const { binding, asked } = await endpoint({
      ...listing({ meta: { n_ctx_train: 131_072 } }),
      '/props': { default_generation_settings: { n_ctx: 16_384 } },
    });
    expect(await windowOf(binding)).toBe(16_384);
    expect(asked).toEqual(['/v1/models', '/props']);
  });

  it('is asked for where the calls go, with the parameters of that address behind the path', async () => {
    const { binding, asked } = await endpoint(
      {
        '/v1/models?key=k1': { data: [{ id: 'm1', meta: { n_ctx_train: 131_072 } }] },
        '/props?key=k1': { default_generation_settings: { n_ctx: 16_384 } },
      },
      404,
      '/v1?key=k1',
    );
    expect(await windowOf(binding)).toBe(16_384);
    expect(asked).toEqual(['/v1/models?key=k1', '/props?key=k1']);
    await listModels(createTestClock(), binding.endpoint, 10_000);
    await createAsker(binding)();
    expect(asked.slice(2)).toEqual(['/v1/models?key=k1', '/v1/chat/completions?key=k1']);
  });

  it.each([1, 100, 2_047, 2 ** 31, 4_096.5])('is not %d tokens, whatever is said', async (said) => {
    const { binding } = await endpoint(listing({ max_model_len: said }));
    expect(await windowOf(binding)).toBeNull();
  });

  it('is that of the model of this name, also where the list has a longer one', async () => {
    const { binding } = await endpoint(listing({ max_model_len: 8_000 }, 'm1:latest'));
    expect(await windowOf(binding)).toBe(8_000);
  });

  it.each([
    ['has no list', {}],
    ['lists something else', { '/v1/models': ['m1'] }],
    ['sends no JSON', { '/v1/models': '<html>' }],
    [
      'lists what no text can be made of',
      { '/v1/models': { data: [{ id: { toString: 1, valueOf: 1 } }, null, 3] } },
    ],
  ])('of an endpoint that %s is not known', async (_, answers) => {
    const { binding } = await endpoint(answers);
    expect(await windowOf(binding)).toBeNull();
  });

  it('of an endpoint that is not there is not known', async () => {
    const { binding } = await endpoint({});
    server!.close();
    expect(await windowOf(binding)).toBeNull();
  });

  it('is asked for once for each binding, and not at all where it is configured', async () => {
    const { binding, asked } = await endpoint(listing({ max_model_len: 7_000 }));
    const windows = createWindows({ clock: createTestClock() });
    expect(windows.of(binding)).toBeNull();
    await windows.learn([binding, { ...binding, window: 5 }]);
    await windows.learn([binding]);
    expect([windows.of(binding), asked.length]).toEqual([7_000, 1]);
  });

  it('is asked for once more where the endpoint was away and the model has answered since', async () => {
    const answers: Record<string, unknown> = {};
    const { binding, asked } = await endpoint(answers, 503);
    const windows = createWindows({ clock: createTestClock() });
    const away = { ...binding };
    await windows.learn([binding, away]);
    expect([windows.of(binding), asked.length]).toEqual([null, 2]);
    await windows.answered(away);
    await windows.answered(away);
    expect(asked).toHaveLength(3);
    Object.assign(answers, listing({ max_model_len: 7_000 }));
    await windows.learn([binding]);
    expect(asked).toHaveLength(3);
    await windows.answered(binding);
    await windows.answered(binding);
    expect([windows.of(binding), asked.length]).toEqual([7_000, 4]);
  });

  it('is not asked for again where the endpoint did not say', async () => {
    const { binding, asked } = await endpoint(listing({}));
    const windows = createWindows({ clock: createTestClock() });
    await windows.learn([binding]);
    await windows.answered(binding);
    expect(asked).toHaveLength(1);
  });
});
