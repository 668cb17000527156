/**
 * Owns: what an operator can set, with bounds and defaults, and the text of `--help` made from the same table.
 *
 * Invariants: every problem is listed at once; a value that may be a secret is never repeated in a message.
 */
import { statSync } from 'node:fs';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import * as z from 'zod';

export interface Config {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Names under which a browser may reach the server, besides the loopback ones and `host`. */
  readonly allowedHosts: readonly string[];
  readonly databaseUrl: string | null;
  /** Absolute path of the folder for the embedded database and own workspaces. */
  readonly dataDir: string;
  /** Absolute paths; a workspace must be inside one of them. */
  readonly workspaceRoots: readonly string[];
  /** Workstreams in memory at once, and how long one stays there unused, minutes. */
  readonly maxLoaded: number;
  readonly idleUnloadMinutes: number;
  /** Polls of watches at once. */
  readonly watchConcurrency: number;
  /** Days after which a closed workstream is deleted for good; null: never. */
  readonly retentionDays: number | null;
  /** Stable name of this node; null: kept in the data folder. */
  readonly node: string | null;
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** GraphiQL and long error messages. */
  readonly dev: boolean;
  /** Absolute path of the file of models; there need be none. */
  readonly modelFile: string;
  readonly model: {
    readonly apiKey: string | undefined;
    readonly baseUrl: string | undefined;
    readonly model: string | undefined;
  };
}

export type ConfigOutcome =
  /** `warnings`: what was written in vain, perhaps; sentences. */
  | { readonly type: 'config'; readonly config: Config; readonly warnings: readonly string[] }
  | { readonly type: 'help'; readonly text: string }
  | { readonly type: 'invalid'; readonly problems: readonly string[] };

const text = z.string().trim();

const url = (protocols: readonly string[], example: string) =>
  text.refine((value) => URL.canParse(value) && protocols.includes(new URL(value).protocol), {
    message: `is not a URL like ${example}`,
  });

const list = (separator: string) =>
  text.transform((value) =>
    value
      .split(separator)
      .map((part) => part.trim())
      .filter((part) => part !== ''),
  );

const whole = (least: number, most: number) =>
  text
    .refine((v) => /^\d{1,6}$/.test(v) && Number(v) >= least && Number(v) <= most, {
      message: `is not a whole number from ${least} to ${most}`,
    })
    .transform(Number);

/** One line each: name, what it takes, what it does. The order is that of `--help`. */
const settings = {
  HOST: [text, '127.0.0.1', 'address to listen on'],
  PORT: [
    text.refine((v) => /^\d{1,5}$/.test(v) && Number(v) <= 65_535, {
      message: 'is not a port from 0 to 65535',
    }),
    '4000',
    'port to listen on; 0 takes any free one',
  ],
  WEIR_ALLOWED_HOSTS: [
    list(',').refine((hosts) => hosts.every((h) => /^[a-z0-9.:[\]-]+$/i.test(h)), {
      message: 'is not a list of host names like weir.example.org,10.0.0.5',
    }),
    'loopback only',
    'further names a browser may use for this server, comma-separated',
  ],
  DATABASE_URL: [
    url(['postgres:', 'postgresql:'], 'postgres://user:password@host:5432/weir'),
    'embedded',
    'PostgreSQL 15 or newer; without it one is run in WEIR_DATA',
  ],
  WEIR_DATA: [text, '.data', 'folder for the embedded database and own workspaces'],
  WEIR_WORKSPACES: [
    list(delimiter).refine((paths) => paths.length > 0, { message: 'names no folder' }),
    'the folder the server is started in',
    `folders agents may work in, separated by "${delimiter}"`,
  ],
  OPENAI_API_KEY: [
    // Others HTTP cannot carry: a request would fail before it is sent, as if nobody were there.
    text.refine((v) => /^[\x20-\x7e\x80-\xff]+$/.test(v), {
      message:
        'has a character that is in no key (a long dash, a curved quote or an invisible one, which come with copying): copy the key anew',
    }),
    'none',
    'key of the model endpoint',
  ],
  OPENAI_BASE_URL: [
    url(['http:', 'https:'], 'http://127.0.0.1:11434/v1'),
    'OpenAI if a key is set, else a local server that answers',
    'any endpoint compatible with OpenAI chat completions',
  ],
  WEIR_MODEL: [
    text,
    'the first the endpoint lists, or "default" if it lists none; gpt-5-mini with a key alone',
    'name of the model at the endpoint',
  ],
  WEIR_CONFIG: [
    text,
    'weir.config.json in the folder the server is started in, if there is one',
    'file of models: several endpoints, fallbacks, prices (docs/guide/models.md)',
  ],
  WEIR_NODE: [
    text.refine((v) => /^[\w.-]{1,64}$/.test(v), {
      message: 'may have 1 to 64 letters, digits, ".", "_", "-"',
    }),
    'made once, kept in WEIR_DATA',
    'stable name of this node',
  ],
  WEIR_MAX_LOADED: [
    whole(1, 100_000),
    '500',
    'workstreams at work in memory at once; others wait in the database',
  ],
  WEIR_IDLE_UNLOAD_MINUTES: [
    whole(1, 100_000),
    '30',
    'minutes after which one that nobody needs leaves the memory',
  ],
  WEIR_WATCH_CONCURRENCY: [whole(1, 1_000), '16', 'polls of watches at once'],
  WEIR_RETENTION_DAYS: [
    whole(1, 36_500),
    'kept for ever',
    'days after which a closed workstream is deleted for good',
  ],
  LOG_LEVEL: [
    z.enum(['debug', 'info', 'warn', 'error', 'silent'], {
      error: 'is not one of debug, info, warn, error, silent',
    }),
    'info',
    'how much the log says',
  ],
  NODE_ENV: [text, 'production', '"development" serves GraphiQL at /graphql'],
} as const satisfies Readonly<Record<string, readonly [z.ZodType, string, string]>>;

type Setting = keyof typeof settings;

/** Reads the environment and the command line. `cwd` is where relative paths begin. */
export function readConfig(
  env: Readonly<Record<string, string | undefined>>,
  argv: readonly string[],
  cwd: string,
  checkModelFile: CheckModelFile,
): ConfigOutcome {
  const problems: string[] = [];
  try {
    const { values } = parseArgs({ args: [...argv], options: { help: { type: 'boolean', short: 'h' } } });
    if (values.help) return { type: 'help', text: helpText() };
  } catch {
    // What was written there is not repeated: it may be a key meant for a variable.
    problems.push('The only argument is --help; everything is set by environment variables.');
  }
  const given: Partial<Record<Setting, unknown>> = {};
  for (const [name, [schema]] of Object.entries(settings) as [Setting, (typeof settings)[Setting]][]) {
    const value = env[name];
    // An empty variable is what compose files and shells leave behind for one that is not set.
    if (value === undefined || value.trim() === '') continue;
    const parsed = schema.safeParse(value);
    if (parsed.success) given[name] = parsed.data;
    else problems.push(...parsed.error.issues.map((issue) => `${name} ${issue.message}.`));
  }
  const asked = given as Given;
  const config = toConfig(asked, cwd);
  problems.push(...modelFileProblems(config.modelFile, asked.WEIR_CONFIG !== undefined, checkModelFile));
  const { workspaceRoots } = config;
  for (const [i, root] of workspaceRoots.entries()) {
    if (isFolder(root)) continue;
    const which = isSurelyPath(asked.WEIR_WORKSPACES?.[i])
      ? root
      : `number ${i + 1} of ${workspaceRoots.length}`;
    problems.push(
      `WEIR_WORKSPACES names a folder that does not exist (${which}); make it first, or name another.`,
    );
  }
  if (problems.length > 0) return { type: 'invalid', problems };
  return { type: 'config', config, warnings: warningsOf(env) };
}

/** Variables of the name that others read: tools of a server, and scripts that the guides show. */
const notSettings: ReadonlySet<string> = new Set(['WEIR_TOKEN', 'WEIR_URL', 'WEIR_SESSION', 'WEIR_CALL_ID']);
const environments = ['production', 'development', 'test'];

/** Names only: a value may be a secret. */
function warningsOf(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  const warnings = Object.keys(env)
    .filter((name) => name.startsWith('WEIR_') && !Object.hasOwn(settings, name) && !notSettings.has(name))
    .map((name) => {
      const meant = nearest(name);
      return `There is no setting ${name}, so it changes nothing.${meant === null ? '' : ` Did you mean ${meant}?`}`;
    });
  const environment = env['NODE_ENV']?.trim() ?? '';
  if (environment !== '' && !environments.includes(environment))
    warnings.push('NODE_ENV is none of production, development and test; it counts as production.');
  return warnings;
}

/** The setting that begins like this name for longest; null when none does in more than `WEIR_` and a letter. */
function nearest(name: string): string | null {
  const alike = (other: string): number => {
    const differs = [...name].findIndex((letter, i) => letter !== other[i]);
    return differs === -1 ? name.length : differs;
  };
  const best = Object.keys(settings).reduce((a, b) => (alike(b) > alike(a) ? b : a));
  return alike(best) > 'WEIR_X'.length ? best : null;
}

/**
 * True for what can only be a path, and may be repeated: one that says itself that it is relative, or that begins in a
 * folder which exists. Anything else may be a secret that was meant for another variable.
 */
function isSurelyPath(written: string | undefined): boolean {
  if (written === undefined || /\bsk-|:\/\/|[\0\n]/i.test(written)) return false;
  if (/^\.{1,2}[\\/]/.test(written)) return true;
  const [, first] = /^(\/[^/]+)\/[^/]/.exec(written) ?? [];
  return first !== undefined && isFolder(first);
}

/**
 * Reads the file of models at this absolute path: what is wrong with it, one sentence each; null when there is none.
 */
export type CheckModelFile = (path: string) => readonly string[] | null;

function modelFileProblems(path: string, named: boolean, check: CheckModelFile): readonly string[] {
  // Its name is not repeated: it may have been meant for another variable.
  const problems = check(path);
  if (problems === null)
    return named ? ['WEIR_CONFIG names a file that does not exist; make it first, or name another.'] : [];
  const which = named ? 'The file that WEIR_CONFIG names' : 'weir.config.json';
  return problems.map((problem) => `${which}: ${problem}`);
}

type Given = { readonly [S in Setting]?: z.output<(typeof settings)[S][0]> };

function toConfig(given: Given, cwd: string): Config {
  const absolute = (path: string): string => (isAbsolute(path) ? resolve(path) : join(cwd, path));
  return {
    host: given.HOST ?? '127.0.0.1',
    port: Number(given.PORT ?? 4000),
    allowedHosts: given.WEIR_ALLOWED_HOSTS ?? [],
    databaseUrl: given.DATABASE_URL ?? null,
    dataDir: absolute(given.WEIR_DATA ?? '.data'),
    workspaceRoots: (given.WEIR_WORKSPACES ?? [cwd]).map(absolute),
    maxLoaded: given.WEIR_MAX_LOADED ?? 500,
    idleUnloadMinutes: given.WEIR_IDLE_UNLOAD_MINUTES ?? 30,
    watchConcurrency: given.WEIR_WATCH_CONCURRENCY ?? 16,
    retentionDays: given.WEIR_RETENTION_DAYS ?? null,
    node: given.WEIR_NODE ?? null,
    logLevel: given.LOG_LEVEL ?? 'info',
    dev: given.NODE_ENV === 'development',
    modelFile: absolute(given.WEIR_CONFIG ?? 'weir.config.json'),
    model: {
      apiKey: given.OPENAI_API_KEY,
      baseUrl: given.OPENAI_BASE_URL,
      model: given.WEIR_MODEL,
    },
  };
}

function helpText(): string {
  const width = Math.max(...Object.keys(settings).map((name) => name.length));
  const lines = Object.entries(settings).map(
    ([name, [, byDefault, what]]) => `  ${name.padEnd(width)}  ${what} (default: ${byDefault})`,
  );
  return [
    'Weir: a self-hosted server and web client for running many tool-using agents at once.',
    '',
    'Usage: npx -y pnpm@12.4.2 start',
    '       npx -y pnpm@12.4.2 start -- --help',
    '',
    'Everything is set by environment variables:',
    ...lines,
    '',
    'Exit codes: 0 stopped in order, 1 could not run, 2 bad configuration.',
  ].join('\n');
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
