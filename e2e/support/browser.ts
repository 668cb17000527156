/**
 * Owns: a real Chromium in front of a real server, for the tests of one spec file, and what every page of every test
 * is held to: no error or warning in the console, no failed request, no dialog, nothing fetched from elsewhere.
 * Does not own: what a person does on a page (`page.ts`), or the server (`weir.ts`).
 *
 *   const world = createBrowserWorld();
 *   it('…', async () => {
 *     world.provider.script([{ stream: ['Hello.'] }]);
 *     const { page } = await world.workstream('A greeting');
 *     …
 *   });
 *
 * Invariants: each test has browser contexts, a workstream, a folder and a script of its own; a problem of a page that
 * the test did not say to expect fails it; nothing that was started outlives the file.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, type TestContext } from 'vitest';
import { stateOf } from 'schema/projection';
import { findBrowser } from '../../scripts/find-browser.ts';
import { startScriptedProvider, type ScriptedProvider } from '../../server/test/support/scripted-provider.ts';
import type { Api } from './api.ts';
import { makePlace, removePlace, startWeir, type Place, type Weir, type WeirOptions } from './weir.ts';

export interface BrowserWorldOptions {
  /** What answers: a provider that follows the script of each test (default), or the demo model. */
  readonly model?: 'scripted' | 'demo';
  /** Whether the link of the first life is used up, for `api` and `open`. Default true. */
  readonly signedIn?: boolean;
  /** Further options of the server. */
  readonly server?: WeirOptions;
  readonly place?: Place;
}

/** A workstream with an empty folder of its own, open in a signed-in browser. */
export interface OpenWorkstream {
  readonly id: string;
  readonly page: Page;
  /** Absolute path of its workspace on the server. */
  readonly folder: string;
  readonly title: string;
}

export interface BrowserWorld {
  /** The present life of the server. All lives have one address. */
  readonly weir: Weir;
  readonly api: Api;
  /** With an empty script, anew for each test; it must be used up when the test ends. */
  readonly provider: ScriptedProvider;
  /** A page in a browser that is signed in; `route` is the fragment without its `#`. */
  open(route?: string): Promise<Page>;
  /** `model`: alias; without it the default one. */
  workstream(title: string, model?: string): Promise<OpenWorkstream>;
  /** An empty folder where workstreams may work. */
  folder(name: string): string;
  /** Another browser, which holds this token; null for one that was never here. */
  browser(token: string | null): Promise<BrowserContext>;
  /** A page in the browser of somebody else, who signed in with a token of this name. */
  person(name: string, route: string): Promise<Page>;
  /** Says that the pages of this test may report what matches. */
  allow(problem: RegExp): void;
  /** SIGKILL. What the browser says about a server that is not there is expected from then on. */
  kill(): Promise<void>;
  /** The next life, on the same data under the same address. */
  start(): Promise<void>;
}

const repository = join(import.meta.dirname, '../..');
export const out = join(repository, 'e2e/out');

/** How long a page may take to show what it will show, on a machine that is busy with other things. */
export const patienceMs = 30_000;

const chromiumFlags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Where the client keeps its token; a browser that holds one is signed in. */
const storedToken = 'weir.token';

/** To be called once in a spec file, outside of its tests: it begins and ends with the file. */
export function createBrowserWorld(options: BrowserWorldOptions = {}): BrowserWorld {
  const { model = 'scripted', signedIn = true, server = {}, place = makePlace() } = options;
  const contexts = new Set<BrowserContext>();
  const made: string[] = [];
  let problems: string[] = [];
  let allowed: RegExp[] = [];
  let browser: Browser;
  let provider: ScriptedProvider | null = null;
  let weir: Weir;
  let token: string | null = null;
  let api: Api;

  async function newContext(token: string | null): Promise<BrowserContext> {
    const localStorage = token === null ? [] : [{ name: storedToken, value: token }];
    const context = await browser.newContext({
      viewport: { width: 1280, height: 800 },
      storageState: { cookies: [], origins: [{ origin: weir.url, localStorage }] },
    });
    context.setDefaultTimeout(patienceMs);
    contexts.add(context);
    watch(context, weir.url, (problem) => problems.push(problem));
    return context;
  }

  async function open(route = '/'): Promise<Page> {
    if (token === null) throw new Error('This world has no token: it was made with signedIn: false.');
    return openWith(token, route);
  }

  async function openWith(secret: string, route: string): Promise<Page> {
    const page = await (await newContext(secret)).newPage();
    await page.goto(`${weir.url}/#${route}`);
    return page;
  }

  async function person(name: string, route: string): Promise<Page> {
    const { data } = await api.query<{ createToken: { secret: string } }>(
      'mutation ($input: CreateTokenInput!) { createToken(input: $input) { ... on CreateTokenPayload { secret } } }',
      { input: { key: crypto.randomUUID(), name } },
    );
    return openWith(data!.createToken.secret, route);
  }

  function folder(name: string): string {
    const path = join(weir.place.workspaces, name);
    mkdirSync(path);
    return path;
  }

  async function start(): Promise<void> {
    weir = await weir.restart({ port: weir.port });
    if (token !== null) api = weir.api(token);
  }

  /** Ends what a failed test left running, so that it asks nothing of the next one's script. */
  async function settle(): Promise<void> {
    if (!weir.isRunning()) await start();
    for (const id of made.splice(0)) {
      const { view } = await api.snapshot(id);
      if (!['IDLE', 'ERROR', 'CLOSED'].includes(stateOf(view.projection))) {
        await api.stop(id);
        await api.waitForState(id, 'IDLE');
      }
    }
  }

  beforeAll(async () => {
    if (model === 'scripted') provider = await startScriptedProvider();
    // Both take seconds, and neither needs the other.
    const starts = await Promise.allSettled([
      findBrowser()
        .then((executablePath) => chromium.launch({ executablePath, args: chromiumFlags }))
        .then((launched) => (browser = launched)),
      startWeir({ ...server, ...(provider && { provider }) }, place).then((started) => (weir = started)),
    ]);
    for (const start of starts) if (start.status === 'rejected') throw start.reason;
    if (!signedIn) return;
    token = await weir.signIn();
    api = weir.api(token);
  });

  afterEach(async (test) => {
    try {
      if (test.task.result?.state === 'fail') await takePictures(contexts, test);
      const unexpected = problems.filter((problem) => !allowed.some((pattern) => pattern.test(problem)));
      expect(unexpected, 'what the pages reported').toEqual([]);
      provider?.assertDone();
    } finally {
      for (const context of contexts) await context.close();
      contexts.clear();
      problems = [];
      allowed = [];
      await settle();
      if (provider) provider = await renew(provider);
    }
  });

  afterAll(async () => {
    await browser?.close();
    await (weir ? weir.remove() : removePlace(place));
    await provider?.close();
  });

  return {
    get weir() {
      return weir;
    },
    get api() {
      return api;
    },
    get provider() {
      if (!provider) throw new Error('This world has the demo model, and no script.');
      return provider;
    },
    open,
    async workstream(title, model) {
      const path = folder(title.replaceAll(/\W+/g, '-').toLowerCase());
      const id = await api.create({ title, workspace: path, ...(model !== undefined && { model }) });
      made.push(id);
      return { id, folder: path, title, page: await open(`/w/${id}`) };
    },
    folder,
    browser: newContext,
    person,
    allow: (problem) => void allowed.push(problem),
    async kill() {
      allowed.push(/ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|ERR_SOCKET_NOT_CONNECTED/);
      await weir.kill('SIGKILL');
    },
    start,
  };
}

/** The same address with an empty script. */
async function renew(provider: ScriptedProvider): Promise<ScriptedProvider> {
  await provider.close();
  return startScriptedProvider({ port: provider.port });
}

/** Tells every problem that pages of this context have, as one line each. */
function watch(context: BrowserContext, origin: string, tell: (problem: string) => void): void {
  context.on('console', (message) => {
    const type = message.type();
    if (type === 'error' || type === 'warning')
      tell(`console ${type}: ${message.text()} (${message.location().url})`);
  });
  context.on('weberror', (error) => {
    tell(`uncaught: ${error.error().stack ?? error.error().message}`);
  });
  context.on('requestfailed', (request) => {
    const why = request.failure()?.errorText;
    // Given up by who asked, for example because the page was left.
    if (why !== 'net::ERR_ABORTED') tell(`request failed: ${request.url()} ${why}`);
  });
  context.on('response', (response) => {
    if (response.status() >= 400) tell(`answered ${response.status()}: ${response.url()}`);
  });
  context.on('request', (request) => {
    const url = new URL(request.url());
    if (url.origin !== origin && !['data:', 'blob:'].includes(url.protocol))
      tell(`asked another origin: ${request.url()}`);
  });
  context.on('dialog', (dialog) => {
    tell(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
}

async function takePictures(contexts: Iterable<BrowserContext>, { task }: TestContext): Promise<void> {
  mkdirSync(out, { recursive: true });
  const name = `failed-${task.name.replaceAll(/\W+/g, '-').slice(0, 80)}`;
  let n = 0;
  for (const context of contexts)
    for (const page of context.pages()) await page.screenshot({ path: join(out, `${name}-${++n}.png`) });
}
