/**
 * Owns: the `Services` the GraphQL surface asks, put together. Order and rules are in the files beside this one.
 */
import type { ServerModel, ToolModel } from 'schema/model';
import type { Services } from 'schema/services';
import { rule } from '../../core/approvals/policy.ts';
import type { Search } from '../../ports/search.ts';
import type { Tools } from '../../ports/tools.ts';
import type { Prompt } from '../actor/prompt.ts';
import { follow, type FeedDeps } from '../feed/follow.ts';
import { freely } from '../feed/reading.ts';
import { current, states } from '../feed/states.ts';
import { tokens as tokenChunks } from '../feed/tokens.ts';
import { loadedModel, storedModel } from '../views/workstream.ts';
import {
  compactWorkstream,
  configureWorkstream,
  decideApproval,
  editQueuedMessage,
  resendMessage,
  resumeQueue,
  retryTurn,
  rewindWorkstream,
  sendMessage,
  stopTurn,
  withdrawQueuedMessage,
} from './commands.ts';
import { createBirths, type BirthDeps } from './birth.ts';
import { createWorkstream } from './create.ts';
import { createDiscard } from './discard.ts';
import { forkWorkstream, type ForkDeps } from './fork.ts';
import { createLifecycle, type LifecycleDeps } from './lifecycle.ts';
import { historyPage } from './history.ts';
import { findEntries } from './search.ts';
import type { Tokens } from './tokens.ts';
import type { WatchRound } from '../rounds/watches.ts';
import { createUsage, type UsageDeps } from './usage.ts';
import { createWatches, type WatchesDeps } from './watches.ts';

export interface ServicesDeps
  extends
    Omit<FeedDeps, 'reading' | 'hub'>,
    Omit<ForkDeps, 'bringIntoBeing'>,
    BirthDeps,
    LifecycleDeps,
    UsageDeps,
    WatchesDeps {
  readonly watchRound: Pick<WatchRound, 'figures' | 'tell'>;
  readonly tools: Tools;
  readonly tokens: Tokens;
  readonly search: Search;
  readonly prompt: Prompt;
  serverInfo(): Promise<ServerModel>;
  /** Resolves once what other servers change from now on is told here. */
  readonly awake: () => Promise<void>;
}

export function createServices(deps: ServicesDeps): Services {
  const { registry, catalog, tokens } = deps;
  const lifecycle = createLifecycle(deps);
  const births = { ...deps, bringIntoBeing: createBirths(deps) };
  const windowOf = (alias: string): number | null =>
    deps.model.list().find((model) => model.alias === alias)?.window ?? null;
  return {
    workstreams: {
      async get(id) {
        const row = await catalog.get(id);
        if (!row) return null;
        const actor = registry.peek(id);
        return actor
          ? loadedModel(actor.state(), row, actor.persistence(), windowOf)
          : storedModel(row, windowOf);
      },
      async list(range, { lifecycle }) {
        const page = await catalog.list(range, lifecycle);
        return { ...page, items: page.items.map((row) => current(registry, row)) };
      },
      states: (signal, reading = freely) => states({ ...deps, reading }, signal),
      create: (by, input, caller) => createWorkstream(births, by, input, caller),
      configure: (by, input) => configureWorkstream(deps, by, input),
      compact: (by, input) => compactWorkstream(deps, by, input),
      systemPrompt: ({ workspace, instructions }) => deps.prompt(workspace, instructions ?? null),
      discardUnsaved: createDiscard(deps),
      close: (by, input) => lifecycle.close(by, input),
      open: (by, input) => lifecycle.open(by, input),
      delete: (by, input) => lifecycle.delete(by, input),
      fork: (by, input, caller) => forkWorkstream(births, by, input, caller),
    },
    history: { page: (id, range) => historyPage(deps, id, range) },
    search: { find: (asked) => findEntries(deps, asked) },
    feed: {
      follow: (id, after, signal, reading = freely) => follow({ ...deps, reading }, id, after, signal),
      tokens: (id, signal, reading = freely) => tokenChunks({ ...deps, reading }, id, signal),
    },
    messages: {
      send: (by, input) => sendMessage(deps, by, input),
      editQueued: (by, input) => editQueuedMessage(deps, by, input),
      withdrawQueued: (by, input) => withdrawQueuedMessage(deps, by, input),
      rewind: (by, input) => rewindWorkstream(deps, by, input),
      resend: (by, input) => resendMessage(deps, by, input),
      resumeQueue: (by, input) => resumeQueue(deps, by, input),
    },
    turns: {
      stop: (by, input) => stopTurn(deps, by, input),
      retry: (by, input) => retryTurn(deps, by, input),
    },
    approvals: {
      decide: (by, input) => decideApproval(deps, by, input),
      list: (range) => catalog.openCycles(range),
    },
    tokens: {
      list: () => tokens.list(),
      create: (by, input) => tokens.create(by, input),
      revoke: (by, input) => tokens.revoke(by, input),
    },
    usage: createUsage(deps),
    watches: createWatches(deps),
    models: { list: () => deps.model.list() },
    tools: { list: () => deps.tools.definitions.map(toolModel) },
    server: { info: () => deps.serverInfo() },
  };
}

const toolModel = (tool: Tools['definitions'][number]): ToolModel => ({
  name: tool.name,
  description: tool.description,
  asks: rule(tool.access, 'ASK') === 'ASK',
});
