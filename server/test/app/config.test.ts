import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkModelFile } from '../../src/compose.ts';
import { readConfig } from '../../src/config.ts';

let folder: string;
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'weir-config-')));
  writeFileSync(join(folder, 'file'), '');
  writeFileSync(join(folder, 'models.json'), '{"models":{}}');
  writeFileSync(join(folder, 'faulty.json'), '{"models":{"a":{"model":"m"},"b":1}}');
});
afterAll(() => rmSync(folder, { recursive: true }));

const read = (env: Record<string, string>, argv: string[] = []) =>
  readConfig(env, argv, folder, checkModelFile);
function config(env: Record<string, string>) {
  const outcome = read(env);
  if (outcome.type !== 'config') throw new Error(JSON.stringify(outcome));
  return outcome.config;
}
function problems(env: Record<string, string>, argv: string[] = []): readonly string[] {
  const outcome = read(env, argv);
  return outcome.type === 'invalid' ? outcome.problems : [];
}
const names = [
  'HOST',
  'PORT',
  'WEIR_ALLOWED_HOSTS',
  'DATABASE_URL',
  'WEIR_DATA',
  'WEIR_WORKSPACES',
  'OPENAI_API_KEY',
  'OPENAI_BASE_URL',
  'WEIR_MODEL',
  'WEIR_CONFIG',
  'WEIR_NODE',
  'WEIR_MAX_LOADED',
  'WEIR_IDLE_UNLOAD_MINUTES',
  'WEIR_WATCH_CONCURRENCY',
  'WEIR_RETENTION_DAYS',
  'LOG_LEVEL',
  'NODE_ENV',
];

describe('The configuration', () => {
  it('has a default for everything', () => {
    expect(config({})).toEqual({
      host: '127.0.0.1',
      port: 4000,
      allowedHosts: [],
      databaseUrl: null,
      dataDir: join(folder, '.data'),
      workspaceRoots: [folder],
      maxLoaded: 500,
      idleUnloadMinutes: 30,
      watchConcurrency: 16,
      retentionDays: null,
      node: null,
      logLevel: 'info',
      dev: false,
      modelFile: join(folder, 'weir.config.json'),
      model: { apiKey: undefined, baseUrl: undefined, model: undefined },
    });
  });

  it('takes everything that can be set; relative paths begin where the command was given', () => {
    expect(
      config({
        HOST: '0.0.0.0',
        PORT: '0',
        WEIR_ALLOWED_HOSTS: ' weir.example.org, 10.0.0.5 ,[::1]',
        DATABASE_URL: 'postgres://u:p@db:5432/weir',
        WEIR_DATA: 'elsewhere',
        WEIR_WORKSPACES: ['.', folder].join(delimiter),
        OPENAI_API_KEY: 'sk-1',
        OPENAI_BASE_URL: 'http://127.0.0.1:11434/v1',
        WEIR_MODEL: 'qwen3:8b',
        WEIR_CONFIG: 'models.json',
        WEIR_NODE: 'node-1',
        WEIR_MAX_LOADED: '20',
        WEIR_IDLE_UNLOAD_MINUTES: '5',
        WEIR_WATCH_CONCURRENCY: '4',
        WEIR_RETENTION_DAYS: '90',
        LOG_LEVEL: 'debug',
        NODE_ENV: 'development',
      }),
    ).toEqual({
      host: '0.0.0.0',
      port: 0,
      allowedHosts: ['weir.example.org', '10.0.0.5', '[::1]'],
      databaseUrl: 'postgres://u:p@db:5432/weir',
      dataDir: join(folder, 'elsewhere'),
      workspaceRoots: [folder, folder],
      maxLoaded: 20,
      idleUnloadMinutes: 5,
      watchConcurrency: 4,
      retentionDays: 90,
      node: 'node-1',
      logLevel: 'debug',
      dev: true,
      modelFile: join(folder, 'models.json'),
      model: { apiKey: 'sk-1', baseUrl: 'http://127.0.0.1:11434/v1', model: 'qwen3:8b' },
    });
  });

  it.each(['sk–1', 'sk-\u200b1', '“sk-1”'])('takes %j for no key, and does not repeat it', (key) => {
    expect(problems({ OPENAI_API_KEY: key })).toEqual([
      expect.stringMatching(/^OPENAI_API_KEY has a character that is in no key .*: copy the key anew\.$/),
    ]);
    expect(problems({ OPENAI_API_KEY: key }).join()).not.toContain('sk');
  });

  it('does not mind what is not its own', () => {
    expect(read({ PATH: '/bin', HOME: '/root', WEIR: 'x' }).type).toBe('config');
  });

  it('lists every problem at once, one line each, naming the setting', () => {
    const found = problems(
      {
        PORT: '65536',
        WEIR_ALLOWED_HOSTS: 'a b',
        DATABASE_URL: 'mysql://x',
        WEIR_WORKSPACES: '/does/not/exist',
        OPENAI_BASE_URL: 'localhost:1234',
        WEIR_NODE: 'a/b',
        LOG_LEVEL: 'loud',
      },
      ['--wat'],
    );
    expect(found.map((line) => line.split(' ')[0])).toEqual([
      'The',
      'PORT',
      'WEIR_ALLOWED_HOSTS',
      'DATABASE_URL',
      'OPENAI_BASE_URL',
      'WEIR_NODE',
      'LOG_LEVEL',
      'WEIR_WORKSPACES',
    ]);
    for (const line of found) expect(line).toMatch(/^[^\n]+\.$/);
  });

  it('lists the faults of the file of models among them, and wants one that is named to be there', () => {
    expect(problems({ WEIR_CONFIG: 'faulty.json', PORT: 'x' })).toEqual([
      'PORT is not a port from 0 to 65535.',
      expect.stringMatching(
        /^The file that WEIR_CONFIG names: In line 1, column 12, models\.…\.endpoint .+\.$/,
      ) as string,
      expect.stringMatching(
        /^The file that WEIR_CONFIG names: In line 1, column 30, models\.… .+\.$/,
      ) as string,
    ]);
    expect(problems({ WEIR_CONFIG: 'missing.json' })).toEqual([
      'WEIR_CONFIG names a file that does not exist; make it first, or name another.',
    ]);
  });

  it('takes an empty variable for one that is not set, as compose files leave them behind', () => {
    expect(config(Object.fromEntries(names.map((name) => [name, ' '])))).toEqual(config({}));
  });

  it.each([
    ['PORT', ['-1', '80x', '1e3', '65536', '0x50', '99999']],
    ['OPENAI_BASE_URL', ['ftp://x', 'example.org/v1', 'javascript:alert(1)']],
    ['DATABASE_URL', ['http://db', 'db', 'postgres//db']],
    ['WEIR_NODE', ['x'.repeat(65), 'ü', 'a b', '../x']],
    ['WEIR_ALLOWED_HOSTS', ['http://x', 'x/y', 'x,y z']],
    [
      'WEIR_WORKSPACES',
      [
        '/does/not/exist',
        'file',
        'file/x',
        'x'.repeat(5_000),
        'a\0b',
        delimiter,
        ['.', '/does/not/exist'].join(delimiter),
      ],
    ],
    ['LOG_LEVEL', ['INFO', 'trace']],
  ])('refuses bad values of %s', (name, values) => {
    for (const value of values) expect(problems({ [name]: value }), JSON.stringify(value)).toHaveLength(1);
  });

  it('never repeats a value that may be a secret, wherever it was put', () => {
    const secret = 'sk-very-secret-hunter2';
    const outcomes = [
      ...names.map((name) => read({ [name]: `\n${secret}: \0/` })),
      read({ DATABASE_URL: `mysql://user:${secret}@db/x` }),
      read({ OPENAI_BASE_URL: `ftp://user:${secret}@host` }),
      read({}, [secret]),
      read({}, [`OPENAI_API_KEY=${secret}`]),
      read({}, [`--openai-api-key=${secret}`]),
      read({}, ['--openai-api-key', secret]),
      read({}, [`--help=${secret}`]),
      read({}, [`-${secret}`]),
      read({}, [`--${secret}`]),
    ];
    for (const outcome of outcomes)
      if (outcome.type === 'invalid') {
        expect(JSON.stringify(outcome.problems)).not.toContain('hunter2');
        expect(outcome.problems.length).toBeGreaterThan(0);
      }
    expect(outcomes.slice(-7).map((o) => o.type)).toEqual(Array.from({ length: 7 }, () => 'invalid'));
  });

  it('names a folder that does not exist only when what was written can be nothing but a path', () => {
    const missing = join(folder, 'not-there');
    expect(problems({ WEIR_WORKSPACES: missing })).toEqual([
      `WEIR_WORKSPACES names a folder that does not exist (${missing}); make it first, or name another.`,
    ]);
    expect(problems({ WEIR_WORKSPACES: './not-there' })[0]).toContain(`(${missing})`);
    for (const secret of ['hunter2', '/hunter2', '/wJalr/hunter2', `${folder}/sk-hunter2`, './x\nhunter2'])
      expect(problems({ WEIR_WORKSPACES: [folder, secret].join(delimiter) })[0]).toMatch(/\(number 2 of 2\)/);
  });

  it('warns of a variable that is none of its own, with the setting that may be meant, and never of its value', () => {
    const warnings = (env: Record<string, string>) => {
      const outcome = read(env);
      return outcome.type === 'config' ? outcome.warnings : [];
    };
    expect(warnings({ WEIR_MODL: 'hunter2', WEIR_WORKSPACE: '.', WEIR_FOO: '' })).toEqual([
      'There is no setting WEIR_MODL, so it changes nothing. Did you mean WEIR_MODEL?',
      'There is no setting WEIR_WORKSPACE, so it changes nothing. Did you mean WEIR_WORKSPACES?',
      'There is no setting WEIR_FOO, so it changes nothing.',
    ]);
    expect(warnings({ NODE_ENV: 'prod' })).toEqual([
      'NODE_ENV is none of production, development and test; it counts as production.',
    ]);
    const fine = { WEIR_TOKEN: 'x', WEIR_URL: 'x', WEIR_MODEL: 'x', NODE_ENV: 'development', PATH: '/bin' };
    expect(warnings(fine)).toEqual([]);
  });

  it('says in its help what can be set, with defaults, and the exit codes', () => {
    for (const argv of [['--help'], ['-h']]) {
      const outcome = read({ PORT: 'broken' }, argv);
      expect(outcome.type).toBe('help');
      const text = outcome.type === 'help' ? outcome.text : '';
      for (const name of names) expect(text).toMatch(new RegExp(`^ +${name} .*\\(default: .+\\)$`, 'm'));
      expect(text).toMatch(/Exit codes: 0 .*1 .*2 /);
      expect(text).toContain('127.0.0.1');
    }
  });
});
