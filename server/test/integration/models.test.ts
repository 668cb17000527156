/**
 * Owns: several models over a running server: what `models` says of one that failed, and whom a name is asked of.
 * Does not own: the plane itself (`adapters/model/plane.test.ts`), or one model's faults (`provider-errors.test.ts`).
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { modelsQuery } from 'schema/client-kit';
import type { Api } from '../../../e2e/support/api.ts';
import { makePlace, removePlace } from '../../../e2e/support/weir.ts';
import { startScriptedProvider, type ChatBody, type ScriptedProvider } from '../support/scripted-provider.ts';
import { setBench, type Bench } from './support.ts';

const place = makePlace();
let bench: Bench;
let here: ScriptedProvider;
let there: ScriptedProvider;
let api: Api;

beforeAll(async () => {
  bench = await setBench();
  here = bench.provider;
  there = await startScriptedProvider();
  const file = join(place.root, 'weir.config.json');
  const models = {
    refused: { endpoint: here.url, model: 'refused', fallbacks: ['spare'] },
    neighbour: { endpoint: here.url, model: 'neighbour' },
    spare: { endpoint: there.url, model: 'spare' },
    twin: { endpoint: there.url, model: 'twin', fallbacks: ['spare'] },
    narrow: { endpoint: here.url, model: 'narrow', concurrency: 1 },
    strait: { endpoint: here.url, model: 'strait', concurrency: 1 },
  };
  writeFileSync(file, JSON.stringify({ models }));
  ({ api } = await bench.join({ env: { WEIR_CONFIG: file } }));
});
afterAll(async () => {
  await bench.end();
  await there.close();
  await removePlace(place);
});

const of = (model: string) => (body: ChatBody) => body.model === model;

/** Of a workstream that is to be named, with the answer it got. */
async function answeredBy(model: string): Promise<string> {
  const { workstreamId } = await api.tryCreate({ model });
  await api.send(workstreamId!, 'Who is there?');
  await completed(workstreamId!);
  return workstreamId!;
}

const completed = (id: string) =>
  api.waitFor(id, ({ base }) => base.turn?.outcome?.type === 'COMPLETED', 'the end of the turn');

async function named(id: string): Promise<string> {
  const { view } = await api.waitFor(
    id,
    ({ base }) => base.configuration.titleSource === 'GENERATED',
    'the name',
  );
  return view.base.configuration.title;
}

async function healthOf(alias: string) {
  const answer = await api.transport.request(modelsQuery, {});
  return answer.ok ? answer.data.models.find((m) => m.alias === alias) : answer;
}

it.each([
  ['refused', 'another endpoint', () => here],
  ['twin', 'the same endpoint', () => there],
])(
  'a model whose key is refused (%s) says so after its fallback at %s has answered and named (broke: it was asked for the name, and was well)',
  async (alias, _where, provider) => {
    provider().script([{ when: of(alias), status: 401 }]);
    there.script([{ when: of('spare'), stream: ['The spare one.'] }]);
    there.name(({ model }) => ({ stream: [`Named by ${model}`] }));
    const id = await answeredBy(alias);
    expect(await named(id)).toBe('Named by spare');
    expect(await healthOf(alias)).toMatchObject({
      health: 'FAILING',
      problem: expect.stringMatching(/^The last call failed\. .*HTTP 401.*"key"/) as string,
    });
    expect(await healthOf('spare')).toMatchObject({ health: 'HEALTHY', problem: null });
  },
);

it('a name whose first call fails comes with the second (D-37)', async () => {
  const answers = [{ status: 503 }, { stream: ['Named late'] }];
  here.name(() => answers.shift()!);
  here.script([{ when: of('neighbour'), stream: ['Me.'] }]);
  expect(await named(await answeredBy('neighbour'))).toBe('Named late');
  expect(answers).toEqual([]);
});

it('a name that stalls gives its slot to a turn that waits for it, and comes later (D-36; broke: the turn waited 30 s)', async () => {
  let tell = (): void => undefined;
  const stalls = new Promise<void>((resolve) => (tell = resolve));
  const names: (() => object)[] = [() => (tell(), { stream: [{ gate: 'never' }, 'Too late'] })];
  here.name(() => (names.shift() ?? (() => ({ stream: ['Named after all'] })))());
  here.script([{ when: of('strait'), stream: ['One.'] }]);
  const id = await answeredBy('strait');
  await stalls;
  here.script([{ when: of('strait'), stream: ['Two.'] }]);
  await api.send(id, 'And now?');
  const { view } = await completed(id);
  expect(view.base.configuration.titleSource).toBe('DEFAULT');
  expect(await named(id)).toBe('Named after all');
  expect(await healthOf('strait')).toMatchObject({ health: 'HEALTHY', inUse: 0, waiting: 0 });
});

it('a name that waits to be asked for again holds no slot, so that a turn goes on meanwhile (D-36)', async () => {
  let tell = (): void => undefined;
  const asked = new Promise<void>((resolve) => (tell = resolve));
  here.name(() => {
    tell();
    return { status: 429, headers: { 'retry-after': '60' } };
  });
  here.script([{ when: of('narrow'), stream: ['One.'] }]);
  const id = await answeredBy('narrow');
  await asked;
  here.script([{ when: of('narrow'), stream: ['Two.'] }]);
  await api.send(id, 'And now?');
  const { view } = await completed(id);
  expect(view.base.configuration.titleSource).toBe('DEFAULT');
  expect(await healthOf('narrow')).toMatchObject({ inUse: 0, waiting: 0 });
});
