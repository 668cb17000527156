import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { checkModels, warningOf } from '../../../src/adapters/model/choose.ts';
import { chooseModel, createModels } from '../../../src/adapters/model/index.ts';
import { createTestClock } from '../../support/clock.ts';
import { startScriptedProvider, type Step } from '../../support/scripted-provider.ts';
import { askedOf, bindingFor } from './harness.ts';

/** A model server that answers its list like this; `asked` has what it was asked. */
async function serve(status: number, models: readonly string[]) {
  const asked: IncomingMessage[] = [];
  let held: PromiseWithResolvers<void> | null = null;
  const server = createServer((request, response) => {
    asked.push(request);
    const answer = (): void =>
      void response
        .writeHead(status, { 'content-type': 'application/json' })
        .end(JSON.stringify({ data: models.map((id) => ({ id })) }));
    if (held) void held.promise.then(answer);
    else answer();
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  onTestFinished(close);
  const { port } = server.address() as AddressInfo;
  const hold = (): void => void (held = Promise.withResolvers());
  const letGo = (): void => held?.resolve();
  return {
    asked,
    hold,
    letGo,
    port,
    host: `127.0.0.1:${port}`,
    baseUrl: `http://127.0.0.1:${port}/v1`,
    close,
  };
}

const choose = (
  config: Parameters<typeof chooseModel>[1],
  ports: readonly { name: string; port: number }[] = [],
) => chooseModel({ clock: createTestClock() }, config, { ports });

describe('with WEIR_MODEL and no endpoint', () => {
  test('the local server that lists it is used, also when another one comes before it', async () => {
    const [first, second] = [await serve(200, ['a']), await serve(200, ['b', 'wanted:latest'])];
    const ports = [
      { name: 'Ollama', port: first.port },
      { name: 'vLLM', port: second.port },
    ];
    expect(await choose({ model: 'wanted' }, ports)).toMatchObject({
      discovered: { name: 'vLLM', model: 'wanted' },
      warning: null,
    });
  });

  test('one sentence says what was asked for, what is used instead and what to do when no local server lists it', async () => {
    const local = await serve(200, ['nomic-embed-text', 'qwen3:8b']);
    const chosen = await choose({ model: 'gpt-5' }, [{ name: 'Ollama', port: local.port }]);
    expect(chosen.discovered?.model).toBe('qwen3:8b');
    expect(chosen.warning).toBe(
      `WEIR_MODEL asks for "gpt-5", which Ollama at ${local.host} does not list, so "qwen3:8b" is used: set WEIR_MODEL to one that it lists (nomic-embed-text, qwen3:8b), or OPENAI_BASE_URL to the endpoint that has "gpt-5".`,
    );
  });

  test('one sentence says that the demo is used when no local server answers, unless the demo is what was asked for', async () => {
    expect((await choose({ model: 'gpt-5' })).warning).toMatch(
      /^WEIR_MODEL asks for "gpt-5", but no endpoint is set .* so the demo is used, .* set OPENAI_BASE_URL/,
    );
    expect((await choose({ model: 'demo' })).warning).toBeNull();
    expect((await choose({})).warning).toBeNull();
  });

  test('what a local server calls its models cannot forge a line', async () => {
    const local = await serve(200, ['a\nWarning: \u001b[31mforged', 'x'.repeat(500)]);
    const { warning } = await choose({ model: 'm' }, [{ name: 'Ollama', port: local.port }]);
    expect(warning).not.toMatch(/\p{Cc}/u);
    expect(warning!.length).toBeLessThan(600);
  });
});

describe('with an endpoint', () => {
  test('one without WEIR_MODEL is asked, with its key, what it has, and only once', async () => {
    const server = await serve(200, ['nomic-embed-text', 'qwen3']);
    const chosen = await choose({ baseUrl: `${server.baseUrl}/`, apiKey: 'sk-1' });
    expect(chosen.config.model).toBe('qwen3');
    expect(await chosen.checked).toBeNull();
    expect(server.asked.map(({ url, headers }) => [url, headers.authorization])).toEqual([
      ['/v1/models', 'Bearer sk-1'],
    ]);
  });

  test('user name and password of its address are sent as basic authentication and not shown', async () => {
    const server = await serve(401, []);
    const baseUrl = server.baseUrl.replace('//', '//me:hunter2@');
    const warning = await (await choose({ baseUrl, model: 'm1' })).checked;
    expect(server.asked[0]?.headers.authorization).toBe(`Basic ${btoa('me:hunter2')}`);
    expect(warning).toContain(server.host);
    expect(warning).not.toContain('hunter2');
  });

  test('a warning says that a proxy on the way wants credentials, and not that nobody is there', async () => {
    const server = await serve(407, []);
    const { checked } = await choose({ baseUrl: server.baseUrl, apiKey: 'sk-secretsecret', model: 'm1' });
    expect(await checked).toMatch(
      /because a proxy on the way wants credentials \(HTTP 407\); give Weir the proxy/,
    );
  });

  test.each([401, 403])(
    'a warning says so when it refuses the key with %i, without the key',
    async (status) => {
      const server = await serve(status, []);
      const { checked } = await choose({ baseUrl: server.baseUrl, apiKey: 'sk-secretsecret', model: 'm1' });
      expect(await checked).toBe(
        `Model "m1" at ${server.host} refused the credentials (HTTP ${status}); check OPENAI_API_KEY and what that key may use.`,
      );
    },
  );

  test('a warning says so when it cannot be reached', async () => {
    const server = await serve(200, []);
    await server.close();
    expect(await (await choose({ baseUrl: server.baseUrl, model: 'm1' })).checked).toBe(
      `Model "m1" at ${server.host} could not be reached or broke the connection (ECONNREFUSED); check that it is running and that OPENAI_BASE_URL is right.`,
    );
  });

  test('a warning says so when it lists models and not this one', async () => {
    const server = await serve(200, ['a', 'b']);
    expect(await (await choose({ baseUrl: server.baseUrl, model: 'm1' })).checked).toBe(
      `Model "m1" at ${server.host} is not among the models that are listed there (a, b); set WEIR_MODEL to one that is, if calls fail.`,
    );
    expect(await (await choose({ baseUrl: server.baseUrl, model: 'b' })).checked).toBeNull();
  });

  test('nothing is said when it has no list of models, which many have not', async () => {
    const server = await serve(404, []);
    expect(await (await choose({ baseUrl: server.baseUrl, model: 'm1' })).checked).toBeNull();
  });

  test('the start does not wait for one that does not answer, and it is given 10 s', async () => {
    const asked = Promise.withResolvers<void>();
    const server = createServer(() => asked.resolve()).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const clock = createTestClock();
    const { port } = server.address() as AddressInfo;
    const { checked } = await chooseModel({ clock }, { baseUrl: `http://127.0.0.1:${port}/v1`, model: 'm1' });
    await asked.promise;
    await clock.advance(10_000);
    expect(await checked).toContain('could not be reached or broke the connection (no answer in 10 s)');
  });
});

describe('the models of the file', () => {
  const ofFile = (baseUrl: string, alias: string, more: Parameters<typeof bindingFor>[1] = {}) =>
    bindingFor(baseUrl, { alias, source: 'FILE', ...more });
  const warningsOf = async (...bindings: readonly ReturnType<typeof bindingFor>[]) =>
    (await checkModels({ clock: createTestClock() }, bindings)).map(warningOf);

  test('are looked for at their endpoints, each of which is asked once for each key', async () => {
    const server = await serve(200, ['m1', 'm2']);
    expect(
      await warningsOf(
        ofFile(server.baseUrl, 'one', { model: 'm1' }),
        ofFile(server.baseUrl, 'two', { model: 'gone' }),
        ofFile(server.baseUrl, 'three', { model: 'm2', apiKey: 'sk-another' }),
      ),
    ).toEqual([
      `Model "two" (gone at ${server.host}) is not among the models that are listed there (m1, m2); set its "model" in weir.config.json to one that is, if calls fail.`,
    ]);
    expect(server.asked.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer sk-not-to-be-shown',
      'Bearer sk-another',
    ]);
  });

  test('of one endpoint that refuses their key or is away have one sentence, without the key', async () => {
    const [refuses, away] = [await serve(401, []), await serve(200, [])];
    await away.close();
    const warnings = await warningsOf(
      ofFile(refuses.baseUrl, 'one'),
      ofFile(away.baseUrl, 'far'),
      ofFile(refuses.baseUrl, 'two'),
    );
    expect(warnings).toEqual([
      `Model "one" (m1 at ${refuses.host}) refused the credentials (HTTP 401); check its "key" in weir.config.json and what that key may use. The same holds for "two".`,
      expect.stringMatching(/^Model "far" .* could not be reached .*\(ECONNREFUSED\)/),
    ]);
    expect(warnings.join()).not.toContain('sk-not');
  });

  /** Models of a file, whose aliases are their names at an endpoint that lists others. */
  async function setUp(...aliases: readonly string[]) {
    const clock = createTestClock();
    const warned: unknown[] = [];
    const log = {
      info: () => undefined,
      warn: (details: object) => void warned.push(details),
      error: () => undefined,
    };
    const provider = await startScriptedProvider();
    onTestFinished(() => provider.close());
    let url = provider.url;
    const write = (names: readonly string[]): string =>
      JSON.stringify({
        models: Object.fromEntries(names.map((alias) => [alias, { endpoint: url, model: alias, window: 1 }])),
      });
    let text = write(aliases);
    const file = { path: '/weir.config.json', env: {}, readText: () => text };
    const made = createModels({ clock, log, config: {}, file });
    onTestFinished(() => made.stop());
    return {
      made,
      provider,
      warned,
      problemOf: (alias: string) => made.list().find((m) => m.alias === alias)?.problem ?? null,
      async change(names: readonly string[], to: string = url): Promise<void> {
        url = to;
        text = write(names);
        await clock.advance(2_000);
      },
      async ask(alias: string, step: Step): Promise<void> {
        provider.script([step]);
        await made.call(askedOf(alias), new AbortController().signal, () => undefined);
      },
    };
  }

  test('are warned of among the others, until a call is accepted or they are set up anew', async () => {
    const { made, change, ask } = await setUp('one', 'two');
    const [one, two] = await made.checked;
    expect(made.warnings()).toEqual([one, two]);
    expect(one).toContain('is not among the models');
    await change(['two']);
    expect(made.warnings()).toEqual([two]);
    await ask('two', { stream: ['I am here.'] });
    expect(made.warnings()).toEqual([]);
  });

  test('have what was found against each of them, until it answers itself or fails (broke: "not asked yet", and nothing wrong)', async () => {
    const { made, problemOf, ask } = await setUp('one', 'two');
    expect([problemOf('one'), problemOf('demo')]).toEqual([null, null]);
    const [one, two] = await made.checked;
    const look = 'Its endpoint was asked for its list of models.';
    expect([problemOf('one'), problemOf('two')]).toEqual([`${look} ${one}`, `${look} ${two}`]);
    expect(problemOf('demo')).toBeNull();
    await ask('one', { stream: ['I am here.'] });
    // That the endpoint answers for another makes no model known to it.
    expect([problemOf('one'), problemOf('two')]).toEqual([null, `${look} ${two}`]);
    expect(made.warnings()).toEqual([two]);
    await ask('two', { status: 404, body: { error: { message: 'no such model' } } });
    expect(problemOf('two')).toMatch(/^The last call failed\. .*no such model/);
  });

  test('that left, or were set up anew, are not named any more, and the others of that endpoint still are (broke: they were)', async () => {
    const clock = createTestClock();
    const refuses = await serve(401, []);
    const write = (keys: Readonly<Record<string, string>>): string =>
      JSON.stringify({
        models: Object.fromEntries(
          Object.entries(keys).map(([alias, env]) => [
            alias,
            { endpoint: refuses.baseUrl, model: 'm', window: 1, key: { env } },
          ]),
        ),
      });
    let text = write({ one: 'KEY', two: 'KEY', three: 'KEY' });
    const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
    const made = createModels({
      clock,
      log,
      config: {},
      file: { path: '/weir.config.json', env: { KEY: 'sk-old', NEW: 'sk-new' }, readText: () => text },
    });
    onTestFinished(() => made.stop());
    await made.checked;
    expect(made.warnings()).toEqual([
      expect.stringMatching(/^Model "one" .* The same holds for "two", "three"\.$/),
    ]);
    text = write({ two: 'KEY', three: 'KEY' });
    await clock.advance(2_000);
    expect(made.warnings()).toEqual([expect.stringMatching(/^Model "two" .* holds for "three"\.$/)]);
    expect(made.list().find(({ alias }) => alias === 'two')?.problem).toContain('Model "two"');
    // The endpoint answers the new key only when it is let.
    refuses.hold();
    text = write({ two: 'NEW', three: 'KEY' });
    await clock.advance(2_000);
    expect(made.warnings()).toEqual([expect.stringMatching(/^Model "three" [^"]*"key" in [^"]*$/)]);
    expect(made.list().find(({ alias }) => alias === 'two')?.problem).toBeNull();
    text = write({});
    await clock.advance(2_000);
    expect(made.warnings()).toEqual([]);
    refuses.letGo();
  });

  test('that left while their endpoint was asked are not warned of (broke: the log named them)', async () => {
    const refuses = await serve(401, []);
    const { made, change, warned } = await setUp();
    expect(await made.checked).toEqual([]);
    refuses.hold();
    await change(['gone', 'there'], refuses.baseUrl);
    await vi.waitFor(() => expect(refuses.asked).toHaveLength(1));
    await change(['there'], refuses.baseUrl);
    refuses.letGo();
    await vi.waitFor(() => expect(warned).toHaveLength(1));
    expect(warned).toEqual([
      { sentence: expect.stringMatching(/^Model "there" [^"]*"key" in [^"]*$/) as string },
    ]);
  });

  test('that are set up anew during a call are not cleared by the answer of what they were (broke: they were)', async () => {
    const { made, provider, change, problemOf } = await setUp('one');
    await made.checked;
    provider.script([{ stream: [{ gate: 'change' }, 'I was here.'] }]);
    const call = made.call(askedOf('one'), new AbortController().signal, () => undefined);
    await provider.waitForGate('change');
    const away = await serve(200, ['another']);
    await change(['one'], away.baseUrl);
    await vi.waitFor(() => expect(problemOf('one')).toContain(away.host));
    provider.release('change');
    expect(await call).toMatchObject({ type: 'answered' });
    expect(problemOf('one')).toContain(away.host);
  });

  test('that are away stand so each by its name, also when a change of the file has added them', async () => {
    const { made, problemOf, change, warned } = await setUp();
    expect(await made.checked).toEqual([]);
    const away = await serve(200, []);
    await away.close();
    await change(['far', 'farther'], away.baseUrl);
    await vi.waitFor(() => expect(problemOf('farther')).not.toBeNull());
    expect(problemOf('far')).toContain('Model "far" at');
    expect(problemOf('farther')).toMatch(/Model "farther" at .* could not be reached/);
    expect(made.warnings()).toEqual([
      expect.stringMatching(/could not be reached .* The same holds for "farther"\.$/),
    ]);
    expect(warned).toEqual([{ sentence: made.warnings()[0] }]);
  });
});
