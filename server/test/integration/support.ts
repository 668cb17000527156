/**
 * Owns: what the integration tests share: real servers on the test PostgreSQL, with the scripted provider. All that is
 * asked of them goes over the public API. Does not own: the server as a process (`e2e/support`).
 */
import { expect } from 'vitest';
import { startWeir, type Weir, type WeirOptions } from '../../../e2e/support/weir.ts';
import { newKey, type Api } from '../../../e2e/support/api.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { startScriptedProvider, type ScriptedProvider } from '../support/scripted-provider.ts';

export interface Bench {
  readonly database: TestDatabase;
  readonly provider: ScriptedProvider;
  /** Another server on the same database: a node of its own, with its own folder. */
  join(options?: WeirOptions): Promise<{ readonly weir: Weir; readonly api: Api }>;
  /** Ends everything that was started through this; for `afterAll`. */
  end(): Promise<void>;
}

/** A database and a provider for one test file. */
export async function setBench(): Promise<Bench> {
  const provider = await startScriptedProvider();
  const database = await createDatabase();
  const started: Weir[] = [];
  return {
    database,
    provider,
    async join(options = {}) {
      const weir = await startWeir({ databaseUrl: database.url, provider, ...options });
      started.push(weir);
      return { weir, api: weir.api(await weir.signIn()) };
    },
    async end() {
      await Promise.all(started.map((weir) => weir.remove()));
      await provider.close();
      await database.drop();
    },
  };
}

/** Everything about a workstream that a refusal must leave as it is (D-11); the record of the refusal is none of it (D-60). */
export async function traceOf(database: TestDatabase, api: Api, id: string): Promise<unknown> {
  const { view } = await api.snapshot(id);
  const receipts = await database.sql(
    `select count(*)::int as n from receipt where outcome ->> 'type' is distinct from 'Rejected'`,
  );
  return { view, history: await api.history(id), receipts };
}

/** Starts a turn that asks about one call, and answers the question. */
export async function askedAbout(
  { provider }: Bench,
  api: Api,
  text: string,
  call: { readonly name: string; readonly arguments: unknown },
) {
  const id = await api.create();
  provider.script([
    { when: (body) => body.messages.at(-1)?.content === text, stream: ['I would. ', { call }] },
  ]);
  expect(await api.send(id, text, newKey())).toMatchObject({ durability: 'DURABLE' });
  const [question] = await api.questions(id);
  return { id, question: question! };
}
