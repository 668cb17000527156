/**
 * Owns: what the tests of the context share: a server with a model for each case, each of whose requests is answered by
 * what its case says at that moment.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { modelsQuery } from 'schema/client-kit';
import type { Entry, TurnOutcome } from 'schema/projection';
import { newKey, type Api, type Result } from '../../../e2e/support/api.ts';
import { brokenLaws } from '../../../e2e/support/journal-laws.ts';
import { makePlace, removePlace } from '../../../e2e/support/weir.ts';
import type { ChatBody, Step } from '../support/scripted-provider.ts';
import { asksForSummary, tokensOfBody, tooLongFor, wrongOrder } from '../support/context-endpoint.ts';
import { setBench, type Bench } from './support.ts';

export interface Talk {
  readonly id: string;
  readonly workspace: string;
  /** Requests of its model that have come, in order. */
  readonly requests: readonly ChatBody[];
  /** The number of its n-th request among all that the provider has had, from 1; for `waitForAbort`. */
  numberOf(n: number): number;
  /** From now on: the answer to each request of its model. */
  answer(say: (body: ChatBody) => Step | Promise<Step>): void;
  /** Resolves with the n-th request, from 1. */
  request(n: number): Promise<ChatBody>;
  /** Says something and waits until the turn is over and stored. */
  say(text: string): Promise<TurnOutcome>;
  /** Several exchanges, so that there is something to summarise; each is about `tokens` long. */
  fill(exchanges: number, tokens?: number): Promise<void>;
  /** What `compactWorkstream` answers. */
  compact(): Promise<Result & { readonly turnId?: string }>;
  ended(turnId: string): Promise<TurnOutcome>;
  history(): Promise<readonly Entry[]>;
  context(): Promise<{
    readonly used: number;
    readonly estimated: boolean;
    readonly warning: boolean;
    readonly window: number;
  }>;
  usage(): Promise<{
    readonly calls: number;
    readonly estimatedCalls: number;
    readonly inputTokens: number;
    readonly outputTokens: number;
  }>;
  writeFile(name: string, text: string): void;
}

export interface ContextWorld {
  readonly bench: Bench;
  readonly api: Api;
  /** A workstream of the model of this name. */
  talk(model: string): Promise<Talk>;
  /** From now on: the answer to each request of this model, by the name its endpoint knows. */
  answer(model: string, say: (body: ChatBody) => Step | Promise<Step>): void;
  /** Sets this model up otherwise, or takes it away; resolves when the server has it so. */
  setUp(name: string, settings: { readonly model: string; readonly window: number } | null): Promise<void>;
  end(): Promise<void>;
}

/** `models`: their settings beside the endpoint, by name. */
export async function createContextWorld(models: Readonly<Record<string, object>>): Promise<ContextWorld> {
  const place = makePlace();
  const bench = await setBench();
  const config = join(place.root, 'weir.config.json');
  const endpoint = bench.provider.url;
  const all: Record<string, object> = {};
  for (const [name, settings] of Object.entries(models)) all[name] = { endpoint, model: name, ...settings };
  const write = (): void => writeFileSync(config, JSON.stringify({ models: all }));
  write();
  const { api } = await bench.join({ env: { WEIR_CONFIG: config, WEIR_WORKSPACES: place.workspaces } });
  const answers = new Map<string, (body: ChatBody) => Step | Promise<Step>>();
  const numbers = new Map<string, number[]>();
  const watchers = new Set<() => void>();
  bench.provider.respond((body, n) => {
    numbers.set(body.model, [...(numbers.get(body.model) ?? []), n]);
    for (const look of watchers) look();
    const wrong = wrongOrder(body);
    if (wrong !== null) return { status: 400, body: { error: { message: wrong } } };
    return answers.get(body.model)!(body);
  });

  async function talk(model: string): Promise<Talk> {
    const workspace = join(place.workspaces, model);
    mkdirSync(workspace);
    const id = await api.create({ model, workspace });
    const numberOf = (n: number): number => numbers.get(model)![n - 1]!;
    const ended = async (turnId: string): Promise<TurnOutcome> => {
      const { view } = await api.waitFor(
        id,
        ({ base }) => base.turn?.id === turnId && base.turn.outcome !== null,
        `the end of turn ${turnId}`,
      );
      return view.base.turn!.outcome!;
    };
    const self: Talk = {
      id,
      workspace,
      get requests() {
        return (numbers.get(model) ?? []).map((n) => bench.provider.requests[n - 1]!);
      },
      numberOf,
      answer: (say) => void answers.set(model, say),
      request: (n) =>
        new Promise((resolve) => {
          const look = (): void => {
            if ((numbers.get(model)?.length ?? 0) < n) return;
            watchers.delete(look);
            resolve(bench.provider.requests[numberOf(n) - 1]!);
          };
          watchers.add(look);
          look();
        }),
      async say(text) {
        const { turnId } = await api.send(id, text);
        return ended(turnId!);
      },
      async fill(exchanges, tokens = 800) {
        answers.set(model, (body) => plainly('It is so, and so it stays. '.repeat(tokens / 12))(body));
        for (let n = 1; n <= exchanges; n += 1)
          expect(
            await self.say(`Question ${n}. ${'What of this, and of that? '.repeat(tokens / 12)}`),
          ).toMatchObject({
            type: 'COMPLETED',
          });
      },
      async compact() {
        const { data } = await api.query<{ result: Result & { turnId?: string } }>(
          `mutation ($input: CompactWorkstreamInput!) { result: compactWorkstream(input: $input) {
            __typename ... on CompactWorkstreamPayload { turnId } ... on Rejection { code message }
          } }`,
          { input: { key: newKey(), workstreamId: id } },
        );
        return data!.result;
      },
      ended,
      async history() {
        const entries = await api.history(id);
        expect(brokenLaws(entries, { settled: false })).toEqual([]);
        return entries;
      },
      async context() {
        const { data } = await api.query<{ workstream: { context: Awaited<ReturnType<Talk['context']>> } }>(
          'query ($id: ID!) { workstream(id: $id) { context { used estimated warning window } } }',
          { id },
        );
        return data!.workstream.context;
      },
      async usage() {
        const { data } = await api.query<{ workstream: { usage: Awaited<ReturnType<Talk['usage']>> } }>(
          'query ($id: ID!) { workstream(id: $id) { usage { calls estimatedCalls inputTokens outputTokens } } }',
          { id },
        );
        return data!.workstream.usage;
      },
      writeFile: (name, text) => writeFileSync(join(workspace, name), text),
    };
    return self;
  }

  return {
    bench,
    api,
    talk,
    answer: (model, say) => void answers.set(model, say),
    async setUp(name, settings) {
      if (settings === null) delete all[name];
      else all[name] = { endpoint, ...settings };
      write();
      await vi.waitFor(
        async () => {
          const answer = await api.transport.request(modelsQuery, {});
          if (!answer.ok) throw new Error('the models are not told');
          const is = answer.data.models.find(({ alias }) => alias === name)?.description ?? null;
          expect(is).toEqual(settings && expect.stringContaining(settings.model));
        },
        { timeout: 30_000, interval: 50 },
      );
    },
    async end() {
      await bench.end();
      await removePlace(place);
    },
  };
}

/** An answer of this text, counted as the endpoint counts. */
export const plainly =
  (text: string) =>
  (body: ChatBody): Step => ({
    stream: [text],
    usage: { prompt_tokens: tokensOfBody(body), completion_tokens: Math.ceil(text.length / 4) },
  });

/** To a summary this, to all else that. */
export const either =
  (summary: (body: ChatBody) => Step | Promise<Step>, turn: (body: ChatBody) => Step | Promise<Step>) =>
  (body: ChatBody): Step | Promise<Step> =>
    asksForSummary(body) ? summary(body) : turn(body);

const tooLongError = { error: { message: tooLongFor(8_000, 9_999), type: 'invalid_request_error' } };
/** The ways in which an endpoint says that it is too long. */
export const tooLong = {
  'HTTP 400': { status: 400, body: tooLongError },
  // A proxy before it, which says nothing of a model.
  'HTTP 413': { status: 413, body: '<html><title>413 Request Entity Too Large</title></html>' },
  'HTTP 500': {
    status: 500,
    body: { error: { ...tooLongError.error, type: 'InternalServerError', code: 500 } },
  },
  'a stream': { stream: [{ chunk: tooLongError }], finish: null, usage: null, done: false },
} as const satisfies Readonly<Record<string, Step>>;

export const textsOf = (body: ChatBody): readonly string[] => body.messages.map((m) => String(m.content));
