/**
 * Owns: choosing the real thing for every port, and the order in which parts start and stop. Nothing else constructs
 * adapters.
 *
 * Start: is the port free → data folder → database → node's lock and session → registry → services → HTTP → live turns
 * carry on, watches are polled. Stop: refuse new work → end polls → let what was accepted be stored → close sockets with a
 * hint to reconnect → end the session → close the database. Live turns carry on at the next start.
 */
import { realpathSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { systemClock } from './adapters/clock/index.ts';
import { celConditions } from './adapters/conditions/cel/index.ts';
import {
  chooseModel,
  createModels,
  readModelFile,
  readSmallFile,
  type DiscoveredEndpoint,
} from './adapters/model/index.ts';
import { createProcesses } from './adapters/process/index.ts';
import { systemIds, systemSecrets as secrets } from './adapters/random/index.ts';
import { makeFolder, openStorage } from './adapters/storage/index.ts';
import { createLog } from './adapters/telemetry/index.ts';
import { createTools } from './adapters/tools/index.ts';
import { createWorkspaces, readAgents } from './adapters/workspaces/index.ts';
import { createPrompt } from './app/actor/prompt.ts';
import { createRegistry } from './app/actor/registry.ts';
import { withFirstWord } from './app/feed/first-word.ts';
import { createDeletions } from './app/deletions.ts';
import { whereFoldersAre } from './app/moved-folders.ts';
import { createHub } from './app/feed/hub.ts';
import { withLimits } from './app/limits.ts';
import { serverPersistence } from './app/feed/states.ts';
import { createHeartbeat } from './app/rounds/heartbeat.ts';
import { createHeldTokens } from './app/rounds/held-tokens.ts';
import { createLookout, noLookout } from './app/rounds/lookout.ts';
import { createRecovery } from './app/rounds/recovery.ts';
import { createSweeps } from './app/rounds/sweeps.ts';
import { createWatchRound } from './app/rounds/watches.ts';
import { createServices } from './app/services/index.ts';
import { createTokens } from './app/services/tokens.ts';
import { createTeller } from './app/watches/tell.ts';
import type { Config } from './config.ts';
import { claimFolder, faultOfFolder, nodeIdOf } from './data-folder.ts';
import { StorageUnavailableError } from './ports/storage-unavailable.ts';
import { cannotListen, startHttp } from './transport/http.ts';
import { lineOf, unlessRevoked } from './transport/line.ts';

export interface RunningServer {
  /** Where the client is, for example http://127.0.0.1:4000. */
  readonly url: string;
  /** A new link that signs in once; the code is in the fragment, which browsers never send. */
  issueLink(): Promise<string>;
  /** Things an operator should know. */
  readonly warnings: readonly string[];
  /** More of them, once the model endpoints were asked; nobody waits for it. Never rejects. */
  readonly laterWarnings: Promise<readonly string[]>;
  /** What serves the default model, for people. */
  readonly model: string;
  /** Stops in order, within 10 s; again does no harm. */
  stop(): Promise<void>;
  /** Resolves when this process may not go on, with a sentence for a person: why, and what to do. */
  readonly lost: Promise<string>;
}

export type StartOutcome =
  | { readonly type: 'running'; readonly server: RunningServer }
  /** One sentence: why, and what to do. */
  | { readonly type: 'refused'; readonly message: string };

const version = '0.0.0';
const clientDir = fileURLToPath(new URL('../../client/dist/', import.meta.url));
/** How long accepted entries may take to be stored at stop, milliseconds. */
const settleMs = 4_000;
/** How long polls under way may take to end at stop, milliseconds. */
const pollsEndMs = 2_000;
/** Most of what watches have said that is read with a workstream; the rest is told by the round of watches. */
const firesAtLoad = 100;

const modelFileAt = (path: string) => ({
  path,
  env: process.env,
  readText: readSmallFile,
});

/** What is wrong with the file of models, before anything is started; null when there is none. */
export function checkModelFile(path: string): readonly string[] | null {
  const models = readModelFile(modelFileAt(path));
  return models && (models.type === 'faulty' ? models.problems : []);
}

export async function start(config: Config, tell: (line: string) => void): Promise<StartOutcome> {
  let lose = (_why: string): void => undefined;
  const lost = new Promise<string>((resolve) => (lose = resolve));
  try {
    return await assemble(config, tell, { lost, lose });
  } catch (error) {
    if (!(error instanceof StorageUnavailableError)) throw error;
    // Files that are gone have a sentence of their own, and are looked for once a second.
    const why = await Promise.race([lost, delay(2_000).then(() => null)]);
    return {
      type: 'refused',
      message:
        why ??
        `${error.message} It did when the server began to start. See what became of it, and start again.`,
    };
  }
}

/** Rejects with StorageUnavailableError when the database goes away meanwhile. */
async function assemble(
  config: Config,
  tell: (line: string) => void,
  { lost, lose }: { readonly lost: Promise<string>; readonly lose: (why: string) => void },
): Promise<StartOutcome> {
  const log = createLog(config.logLevel);
  const clock = systemClock;
  const ids = systemIds;
  const deaf = await cannotListen(config);
  if (deaf) return { type: 'refused', message: deaf.message };
  try {
    makeFolder(config.dataDir);
    const message = faultOfFolder(config.dataDir, config.databaseUrl === null);
    if (message !== null) return { type: 'refused', message };
  } catch (error) {
    return unusable(config.dataDir, error);
  }

  const opened = await openStorage({
    ...(config.databaseUrl === null ? { dataDir: config.dataDir } : { databaseUrl: config.databaseUrl }),
    progress: tell,
    onGone: lose,
  });
  if (opened.type === 'refused') return opened;
  const { storage } = opened;

  const host = hostname();
  let nodeId: string;
  try {
    const message = claimFolder(config.dataDir, storage.identity);
    if (message !== null) {
      await storage.close();
      return { type: 'refused', message };
    }
    nodeId = config.node ?? nodeIdOf(config.dataDir, () => ids.random128());
  } catch (error) {
    await storage.close();
    return unusable(config.dataDir, error);
  }
  const begun = await storage.sessions.begin(nodeId, host).catch(async (error: unknown) => {
    await storage.close();
    throw error;
  });
  if (begun.type === 'busy') {
    await storage.close();
    return {
      type: 'refused',
      message: `Another Weir server with the node name "${nodeId}" is running on this database. Stop it, or set WEIR_NODE to another name.`,
    };
  }
  const { session } = begun;

  const file = modelFileAt(config.modelFile);
  // Nobody looks for a local server where models are named.
  const chosen = await chooseModel({ clock }, config.model, { search: readModelFile(file) === null });
  const { discovered } = chosen;
  const { checked } = chosen;
  const model = withLimits(
    createModels({ clock, log, config: chosen.config, discovered, checked, file }),
    clock,
  );
  const hub = withFirstWord(createHub());
  const ownRoot = join(config.dataDir, 'workspaces');
  const workspaces = await createWorkspaces({
    roots: config.workspaceRoots,
    dataDir: config.dataDir,
    moves: storage.exclusive,
  });
  const placed = whereFoldersAre(workspaces);
  const processes = placed.processes(createProcesses({ sessionId: session.id, clock }));
  const kept = [config.dataDir, join(config.dataDir, 'postgres'), ownRoot];
  const conditions = celConditions();
  const tools = placed.tools(
    createTools({
      processes,
      limits: { closedFolders: kept.map(realOrAsIs) },
      watches: { store: storage.watches, conditions },
    }),
  );
  const prompt = placed.prompt(
    createPrompt({ guidance: { ofWorkspace: readAgents, ofServer: model.instructions }, clock }),
  );
  const registry = createRegistry({
    clock,
    ids,
    log,
    hub,
    model,
    tools,
    prompt,
    processes,
    host,
    journal: storage.journal,
    ownership: storage.ownership,
    usage: storage.usage,
    sessionId: session.id,
    random: Math.random,
    limits: { maxLoaded: config.maxLoaded, idleUnloadMs: config.idleUnloadMinutes * 60_000 },
    fires: (workstreamId) => storage.watches.deliveries({ workstreamId, limit: firesAtLoad }),
  });
  const watchRound = createWatchRound({
    store: storage.watches,
    teller: createTeller({ store: storage.watches, registry, sessionId: session.id, host, log }),
    processes,
    conditions,
    clock,
    log,
    sessionId: session.id,
    host,
    concurrency: config.watchConcurrency,
  });
  const lookout = storage.exclusive
    ? noLookout
    : createLookout({ elsewhere: storage.elsewhere, registry, hub, clock, log });
  const reserving = new Set<string>();
  const line = unlessRevoked(lineOf('commands'), (id, callback) => tokens.onRevoked(id, callback));
  const tokens = createTokens({ store: storage.tokens, journal: storage.journal, ids, secrets, clock, line });
  const warnings = [...warningsOf(config), ...(chosen.warning === null ? [] : [chosen.warning])];
  const database = await storage.describe();
  let stopping = false;
  const deletions = createDeletions({
    registry,
    journal: storage.journal,
    clock,
    log,
    isStopping: () => stopping,
  });
  const services = createServices({
    clock,
    ids,
    secrets,
    log,
    hub,
    model,
    tools,
    registry,
    tokens,
    workspaces,
    journal: storage.journal,
    catalog: storage.catalog,
    reservations: storage.reservations,
    removal: storage.removal,
    deletions,
    reserving,
    search: storage.search,
    usage: storage.usage,
    watches: storage.watches,
    conditions,
    watchRound,
    prompt,
    sessionId: session.id,
    host,
    isStopping: () => stopping,
    line,
    awake: lookout.awake,
    serverInfo: () =>
      Promise.resolve({
        version,
        node: nodeId,
        database,
        workspaceRoots: workspaces.roots,
        warnings: [...warnings, ...model.warnings()],
        persistence: serverPersistence(registry),
      }),
  });

  void lost.then(() => {
    watchRound.stop();
    registry.deposeAll();
  });
  const heartbeat = createHeartbeat({
    session,
    clock,
    log,
    canBeTakenOver: !storage.exclusive,
    onLost() {
      watchRound.stop();
      registry.deposeAll();
      lose(
        'This server lost its session: another one took over, or the database was away too long. Start it again.',
      );
    },
  });

  const recovery = createRecovery({
    ownership: storage.ownership,
    registry,
    processes,
    sessionId: session.id,
    clock,
    log,
  });

  const sweeps = createSweeps({
    removal: storage.removal,
    registry,
    deletions,
    reserving,
    workspaces,
    clock,
    log,
    sessionId: session.id,
    retentionDays: config.retentionDays,
  });

  const heldTokens = createHeldTokens({ tokens, clock, log });

  const http = await startHttp({
    host: config.host,
    port: config.port,
    allowedHosts: ['127.0.0.1', 'localhost', '::1', config.host, ...config.allowedHosts],
    services,
    access: tokens,
    log,
    clientDir,
    dev: config.dev,
  });
  if (http.type !== 'listening') {
    await session.end();
    await storage.close();
    return { type: 'refused', message: http.message };
  }
  heartbeat.run();
  recovery.run();
  sweeps.run();
  // Nobody else can revoke a token in a database that is this process's alone.
  if (!storage.exclusive) heldTokens.run();
  lookout.run();
  watchRound.run();

  let stopped: Promise<void> | null = null;
  return {
    type: 'running',
    server: {
      url: http.url,
      issueLink: async () => `${http.url}/#code=${await tokens.issueCode()}`,
      warnings,
      laterWarnings: model.checked,
      model: describeModel(model.list(), discovered),
      lost,
      stop: () =>
        (stopped ??= (async () => {
          stopping = true;
          heartbeat.stop();
          recovery.stop();
          sweeps.stop();
          model.stop();
          heldTokens.stop();
          lookout.stop();
          // Before the workstreams, which are to store what was said until then.
          await watchRound.end(pollsEndMs);
          await registry.stop(settleMs);
          await http.close({ reconnect: true });
          await conditions.stop();
          await session.end();
          await storage.close();
        })()),
    },
  };
}

/** The default one, under its alias, and how many others there are. */
function describeModel(
  models: ReturnType<ReturnType<typeof createModels>['list']>,
  discovered: DiscoveredEndpoint | null,
): string {
  const model = models.find((m) => m.isDefault);
  if (!model || model.demo)
    return 'demo, not a language model (set OPENAI_BASE_URL and WEIR_MODEL, or OPENAI_API_KEY, for a real one)';
  const { alias, description } = model;
  const name = description.startsWith(`${alias} at `) ? description : `${alias} (${description})`;
  const others = models.filter((m) => !m.demo && !m.isDefault).length;
  const more =
    others === 0 ? '' : `, the default; ${others} more ${others === 1 ? 'model is' : 'models are'} set up`;
  return `${name}${discovered ? `, found at ${discovered.baseUrl}` : ''}${more}`;
}

/** Without links, which tools follow before they compare; a folder that is not there is reached by no link. */
function realOrAsIs(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function warningsOf(config: Config): readonly string[] {
  const warnings: string[] = [];
  if (process.getuid?.() === 0)
    warnings.push('The server runs as root, so tools and approved commands run as root too.');
  if (!['127.0.0.1', '::1', 'localhost'].includes(config.host))
    warnings.push(
      `The server listens on ${config.host}: put TLS in front of it, since tokens would cross the network in the clear.`,
    );
  return warnings;
}

const unusable = (dataDir: string, error: unknown): StartOutcome => ({
  type: 'refused',
  message: `The data folder ${dataDir} cannot be used (${(error as NodeJS.ErrnoException).code ?? String(error)}). Set WEIR_DATA to a folder that this user may write.`,
});
