/** Owns: `weir.config.json`: what it may say, what is said of its faults, and how a change is taken over. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { parseEndpoint } from '../../../src/adapters/model/endpoint.ts';
import { readModels, type ReadModels } from '../../../src/adapters/model/file/read.ts';
import { flawOfJson } from '../../../src/adapters/model/file/syntax.ts';
import { watchModelFile } from '../../../src/adapters/model/file/watch.ts';
import { usualTraits, type Binding } from '../../../src/adapters/model/binding.ts';
import { createTestClock } from '../../support/clock.ts';
import { page, printed } from '../../../../scripts/print-model-schema.ts';

const silentLog = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** A disk of a test: text by path. */
function disk(files: Record<string, string>) {
  return {
    files,
    readText(path: string): string {
      const text = files[path];
      if (text === undefined) throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
      return text;
    },
  };
}

const read = (
  json: unknown,
  files: Record<string, string> = {},
  env: Record<string, string> = {},
  /** Those that serve, and are named. */
  aliases: readonly string[] = ['a', 'b', 'c'],
  secrets: readonly string[] = [],
): ReadModels =>
  readModels(typeof json === 'string' ? json : JSON.stringify(json), {
    env,
    aliases,
    secrets,
    folder: '/etc/weir',
    readText: disk(files).readText,
  });

const plain = { endpoint: 'http://localhost:11434/v1', model: 'qwen3' };

const bindingsOf = (outcome: ReadModels): readonly Binding[] => {
  if (outcome.type === 'faulty') throw new Error(outcome.problems.join(' '));
  return outcome.bindings;
};
const problemsOf = (outcome: ReadModels): readonly string[] =>
  outcome.type === 'faulty' ? outcome.problems : [];
/** Without the place in the text, which each has. */
const unplaced = (outcome: ReadModels): readonly string[] =>
  problemsOf(outcome).map((problem) => {
    const [place] = /^In line \d+, column \d+, /.exec(problem) ?? [];
    if (place === undefined) throw new Error(`no place: ${problem}`);
    return problem.slice(place.length);
  });

describe('The model file', () => {
  it('needs of a model its endpoint and its name there, and assumes what is usual', () => {
    expect(read({ models: { fast: plain } })).toEqual({
      type: 'read',
      default: 'fast',
      instructions: null,
      bindings: [
        {
          alias: 'fast',
          source: 'FILE',
          endpoint: parseEndpoint(plain.endpoint, undefined),
          model: 'qwen3',
          dialect: 'CHAT',
          fallbacks: [],
          window: null,
          maxOutput: null,
          temperature: null,
          effort: null,
          concurrency: null,
          price: null,
          traits: usualTraits,
        },
      ],
    });
  });

  it('takes everything that can be said of a model', () => {
    const file = {
      $schema: './docs/weir.config.schema.json',
      default: 'big',
      models: {
        fast: plain,
        big: {
          ...plain,
          key: { env: 'KEY' },
          dialect: 'responses',
          fallbacks: ['fast', 'fast'],
          window: 1_000,
          maxOutput: 100,
          temperature: 0,
          effort: 'xhigh',
          concurrency: 3,
          price: { input: 1, output: 2.5 },
          capabilities: {
            vision: true,
            reasoning: true,
            efforts: ['low', 'xhigh'],
            parallelTools: false,
            streamOptions: false,
            finishOptional: true,
            reasoningStartsOpen: true,
            replayReasoning: true,
            emptyText: 'absent',
            outputField: 'max_tokens',
          },
        },
      },
    };
    const outcome = read(file, {}, { KEY: ' sk-1 ' });
    expect(outcome).toMatchObject({ default: 'big' });
    expect(bindingsOf(outcome)[1]).toEqual({
      alias: 'big',
      source: 'FILE',
      endpoint: parseEndpoint(plain.endpoint, 'sk-1'),
      model: 'qwen3',
      dialect: 'RESPONSES',
      fallbacks: ['fast'],
      window: 1_000,
      maxOutput: 100,
      temperature: 0,
      effort: 'XHIGH',
      concurrency: 3,
      price: { input: 1, output: 2.5, cachedInput: null },
      traits: {
        vision: true,
        reasoning: true,
        efforts: ['LOW', 'XHIGH'],
        parallelTools: false,
        streamOptions: false,
        finishOptional: true,
        reasoningStartsOpen: true,
        replayReasoning: true,
        emptyText: 'ABSENT',
        outputField: 'max_tokens',
      },
    });
  });

  it('takes a key from a file, whose path begins at its own folder', () => {
    const [binding] = bindingsOf(
      read({ models: { a: { ...plain, key: { file: 'key.txt' } } } }, { '/etc/weir/key.txt': 'sk-2\n' }),
    );
    expect(binding!.endpoint.authorization).toBe('Bearer sk-2');
  });

  it('tells of fifty faults at most, and how many more there are, however many (broke: some 150,000 ended the server)', () => {
    const fallbacks = Array.from({ length: 200_000 }, () => 'nobody');
    const models = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`m${i}`, plain]));
    const problems = problemsOf(read({ models: { ...models, a: { ...plain, fallbacks } } }));
    expect(problems).toHaveLength(51);
    expect(problems.at(-1)).toBe('There are 199,950 more.');
    expect(problems.join('').length).toBeLessThan(50_000);
    expect(problemsOf(read({ models: { a: { ...plain, fallbacks: fallbacks.slice(0, 50) } } }))).toHaveLength(
      50,
    );
  });

  it('lists every fault at once, each with its place', () => {
    const problems = problemsOf(
      read({
        defaults: 'a',
        models: {
          a: { endpoint: 'ftp://x', model: '', windw: 3, key: 'sk-secret', temperature: 3, concurrency: 0 },
          '\u0000b': plain,
          c: { ...plain, price: { input: -1, output: 0 }, effort: 'much', window: 'NaN' },
        },
      }),
    );
    for (const place of [
      'models.a.endpoint is no http or https URL: write it with its beginning, as in "http://127.0.0.1:11434/v1".',
      'models.a.model ',
      'models.a has a setting that there is not: "window" may be meant; those there are endpoint, model, key, dialect,',
      'models.a.key must be { "env"',
      'models.a.temperature ',
      'models.a.concurrency ',
      'is no alias',
      'models.c.price.input ',
      'models.c.effort ',
      'models.c.window ',
      'the file has a setting that there is not: "default" may be meant; those there are $schema, default, models, instr',
    ])
      expect(
        problems.filter((problem) => problem.includes(place)),
        place,
      ).toHaveLength(1);
    expect(problems).toHaveLength(11);
    expect(problems.join()).not.toContain('sk-secret');
  });

  it('lists what does not hang together', () => {
    expect(
      unplaced(
        read({
          default: 'z',
          models: {
            a: { ...plain, fallbacks: ['a', 'y'] },
            b: { ...plain, key: { env: 'NOT_SET' } },
            c: { ...plain, key: { file: '/nowhere' } },
          },
        }),
      ),
    ).toEqual([
      'models.a.fallbacks.0 names the model itself.',
      'models.a.fallbacks.1 names none of the models: those there are "a", "b", "c".',
      'models.b.key.env names no variable that is set (the key itself does not stand here): set it and start Weir anew, or name a file that holds the key instead, which counts while it runs too, or take this model out.',
      'models.c.key.file names no file that is there (the key itself does not stand here, and a relative path begins at the folder of this file): put the key into one, alone, in one line.',
      'default names none of the models: those there are "a", "b", "c".',
    ]);
  });

  it('says where in the text each fault is, and names models by their lines while they serve nothing', () => {
    const text = JSON.stringify(
      { default: 'z', models: { one: { ...plain, windo: 1 }, two: { endpoint: 'http://x/v1' } }, more: {} },
      null,
      2,
    );
    const found = problemsOf(read(text, {}, {}, ['two']));
    expect(found).toEqual([
      expect.stringMatching(
        /^In line 7, column 7, models\.… has a setting that there is not: "window" may be meant; those there are endpoint, /,
      ),
      'In line 9, column 5, models.two.model is missing: say what the model is called at its endpoint.',
      'In line 13, column 3, the file has a setting that there is not: those there are $schema, default, models, instructions.',
      'In line 2, column 3, default names none of the models: those there are "two", that in line 4.',
    ]);
    expect(problemsOf(read({ default: 'z', models: {} }))).toEqual([
      'In line 1, column 2, default names none of the models: there are none.',
    ]);
  });

  it('lists what does not hang together beside what is wrong by itself (broke: only the latter was told)', () => {
    const problems = unplaced(
      read({
        default: 'z',
        models: {
          a: { ...plain, endpoint: '127.0.0.1:11434', effort: 'high', fallbacks: ['y', 7], window: '8k' },
          b: { model: 'm', key: { env: 'NOT_SET' }, capabilities: { vison: true } },
          demo: { ...plain, vision: true },
          c: 7,
        },
      }),
    );
    for (const place of [
      'models.a.endpoint is no',
      'models.a.effort would not be sent',
      'models.a.fallbacks.0 names none of the models: those there are "a", "b", "demo", "c".',
      'models.a.fallbacks.1 must be',
      'models.a.window must be',
      'models.b.endpoint is missing',
      'models.b.key.env names no variable that is set',
      'models.b.capabilities has a setting that there is not: "vision" may be meant; those there are vision, reasoning,',
      'models.demo has the name',
      'models.demo has "vision", which is no setting there: write it in models.demo.capabilities.',
      'models.c must be',
      'default names none of the models',
    ])
      expect(
        problems.filter((problem) => problem.startsWith(place)),
        place,
      ).toHaveLength(1);
    expect(problems).toHaveLength(12);
  });

  it.each(['sk–1', 'sk-\u200b1', '“sk-1”', 'sk-\u00071'])(
    'takes %j for no key, wherever it is, and does not repeat it (broke: nobody seemed to be there)',
    (key) => {
      const models = { a: { ...plain, key: { env: 'KEY' } }, b: { ...plain, key: { file: '/key' } } };
      const found = unplaced(read({ models }, { '/key': key }, { KEY: key }));
      expect(found).toEqual([
        expect.stringMatching(/^models\.a\.key\.env names a variable, .* copy the key anew\.$/),
        expect.stringMatching(/^models\.b\.key\.file names a file, .* copy the key anew\.$/),
      ]);
      expect(found.join()).not.toContain('sk');
    },
  );

  it.each([
    ['', 'It is not JSON: in line 1, column 1, where it ends, there should be a value'],
    ['{"models":', 'It is not JSON: in line 1, column 11, where it ends, there should be a value'],
    ['[]', 'In line 1, column 1, the file must be an object in { }.'],
  ])('%j is refused with a sentence', (text, sentence) => {
    expect(problemsOf(read(text)).join()).toContain(sentence);
  });

  const keys = [
    'sk-live-1234567890abcdef',
    'gsk_1234567890abcdef',
    'AIzaSyA1234567890abcdefghijklmnopqrstuv',
    '3f2b8c1e-9d4a-4b7c-8e6f-0123456789ab',
    'Bearer abcdefgh12345678',
    // What no pattern tells from a name.
    'token-abc123',
    'hunter2-secret-pw',
    'AIzaSyA-b1c2d3_e4f5g6h-7i8j9k0l_mNoPqRsT',
    'correct horse battery staple',
  ];
  /** Each way in which a key may get to where something else is meant: as the text of a file. */
  const misplaced: readonly (readonly [string, (key: string) => unknown])[] = [
    ['in place of the name of a variable', (key) => ({ models: { a: { ...plain, key: { env: key } } } })],
    ['in place of a path', (key) => ({ models: { a: { ...plain, key: { file: key } } } })],
    [
      'in place of a path that begins at the root',
      (key) => ({ models: { a: { ...plain, key: { file: `/${key}` } } } }),
    ],
    ['in place of env', (key) => ({ models: { a: { ...plain, key: { [key]: 'KEY' } } } })],
    ['as the key', (key) => ({ models: { a: { ...plain, key } } })],
    ['as a list', (key) => ({ models: { a: { ...plain, key: [key] } } })],
    ['as a header', (key) => ({ models: { a: { ...plain, headers: { Authorization: key } } } })],
    ['as the name of a setting', (key) => ({ models: { a: { ...plain, [key]: '' } } })],
    ['as the name of a setting of the file', (key) => ({ models: {}, [key]: '' })],
    ['as a capability', (key) => ({ models: { a: { ...plain, capabilities: { [key]: true } } } })],
    [
      'as the name of a price',
      (key) => ({ models: { a: { ...plain, price: { input: 1, output: 1, [key]: 1 } } } }),
    ],
    ['as an alias among others', (key) => ({ models: { a: { ...plain, fallbacks: ['z'] }, [key]: plain } })],
    ['as an alias that is none', (key) => ({ models: { [`/${key}`]: plain } })],
    ['as an alias, which is there twice', (key) => `{"models":{"${key}":{},"${key}":{}}}`],
    [
      'as an alias',
      (key) => ({ models: { [key]: { model: 7, effort: 'high', key: { env: 'X' }, fallbacks: [key] } } }),
    ],
    ['as a fallback', (key) => ({ models: { a: { ...plain, fallbacks: [key] } } })],
    ['as the default', (key) => ({ models: { a: plain }, default: key })],
    ['as the endpoint', (key) => ({ models: { a: { ...plain, endpoint: key } } })],
    [
      'in an endpoint that is none',
      (key) => ({ models: { a: { ...plain, endpoint: `ftp://${key}@x?key=${key}` } } }),
    ],
    [
      'as an effort, a dialect, a number',
      (key) => ({ models: { a: { ...plain, effort: key, dialect: key, window: key } } }),
    ],
    ['as the models', (key) => ({ models: key })],
    ['as the file', (key) => key],
    ['without quotes', (key) => `{"models":{"a":{"endpoint":"http://x/v1","model":"m","key":${key}}}}`],
    ['without quotes, at the beginning', (key) => `{"key":${key}}`],
    ['as all of the text', (key) => `${key}\n`],
    ['without its closing quotes', (key) => `{"models":{"a":{"key":"${key}\n}}}`],
    ['after an escape that is none', (key) => `{"key":"\\x${key}"}`],
    ['after the end', (key) => `{"models":{}} ${key}`],
    ['twice as a name', (key) => `{"models":{"a":{"${key}":1,"${key}":2}}}`],
  ];

  it.each(misplaced)('repeats nothing of a key that is written %s (broke: it stood in the log)', (_, put) => {
    for (const key of keys) {
      const written = put(key);
      // Once as what it is there, and once as the text itself where that is no JSON.
      const problems = problemsOf(read(written)).join(' ');
      expect(problems).not.toBe('');
      for (let at = 0; at + 8 <= key.length; at += 1)
        expect(problems, problems).not.toContain(key.slice(at, at + 8));
    }
  });

  it('names of what people have named what serves, and no alias that is a key', () => {
    const aliases = ['gpt-4o-2024-08-06', 'Qwen3-235B-A22B-Instruct-2507-FP8', 'sk-small', 'swordfish'];
    const models = Object.fromEntries(aliases.map((alias) => [alias, { ...plain, window: '1' }]));
    expect(
      unplaced(read({ models }, {}, {}, aliases, ['swordfish'])).map((one) => one.split(' ')[0]),
    ).toEqual([
      'models.gpt-4o-2024-08-06.window',
      'models.Qwen3-235B-A22B-Instruct-2507-FP8.window',
      'models.sk-small.window',
      'models.….window',
    ]);
    const keyed = { swordfish: { ...plain, key: { env: 'KEY' }, window: '1' } };
    expect(unplaced(read({ models: keyed }, {}, { KEY: 'swordfish' }, ['swordfish']))[0]).toMatch(
      /^models\.…\./,
    );
  });

  it('hides a secret that it knows in whatever it says, as a second net', () => {
    const [problem] = problemsOf(read({ models: 7 }, {}, {}, [], ['an object in { }']));
    expect(problem).toBe('In line 1, column 2, models must be [hidden].');
  });

  it.each([
    [
      '{"a": 1,\n "b": 2,\n}',
      'in line 3, column 1, there should be a name in quotes, or the comma before is one too many',
    ],
    [
      '{"a": [1,]}',
      'in line 1, column 10, there should be a value: a text in quotes, a number, true, false, null, { or [, or the comma before is one too many',
    ],
    [
      '{"a":}',
      'in line 1, column 6, there should be a value: a text in quotes, a number, true, false, null, { or [',
    ],
    [
      '{"a":]',
      'in line 1, column 6, there should be a value: a text in quotes, a number, true, false, null, { or [',
    ],
    ['{"a" 1}', 'in line 1, column 6, there should be a colon'],
    ['{\r\n  "a": 1\r\n  "b": 2 }', 'in line 3, column 3, there should be a comma or }'],
    ['\uFEFF{a: 1}', 'in line 1, column 2, there should be a name in quotes or }'],
    ["{'a': 1}", 'in line 1, column 2, there should be a name in quotes or }, and quotes are double ones'],
    ['{} // models', 'in line 1, column 4, there should be nothing more; JSON has no comments'],
    [
      '{"a": "C:\\models"}',
      'in line 1, column 10, a \\ in a text begins no escape: for the character itself write it twice',
    ],
    ['{"a": "b\n"}', 'in line 1, column 7, a text begins whose closing quotes are not in its line'],
    [
      '{"a": "b\tc"}',
      'in line 1, column 9, a character in a text must be written as an escape, a tab as \\t',
    ],
    ['{"a": 01}', 'in line 1, column 8, there should be a comma or }'],
    ['[1', 'in line 1, column 3, where it ends, there should be a comma or ]'],
  ])('says of %j where it stops being JSON, and what should stand there', (text, flaw) => {
    expect(problemsOf(read(text))).toEqual([`It is not JSON: ${flaw}.`]);
  });

  it('takes for JSON what is JSON, and nothing else, as JavaScript does', () => {
    const pieces = [
      ...'{}[]:,"\\/-.01eE+ \n\t\u0001',
      'true',
      'null',
      '"a"',
      '"a":',
      '{"a":1}',
      '\\u00e9',
      '\\n',
      '1.5',
      'nul',
    ];
    const isJson = (text: string): boolean => {
      try {
        JSON.parse(text);
        return true;
      } catch {
        return false;
      }
    };
    const texts = fc.oneof(
      fc.array(fc.constantFrom(...pieces), { maxLength: 12 }).map((some) => some.join('')),
      // Something that is, with a piece more or less.
      fc
        .tuple(fc.json(), fc.nat(), fc.nat(2), fc.constantFrom('', ...pieces))
        .map(([json, n, less, more]) => {
          const at = n % (json.length + 1);
          return json.slice(0, at) + more + json.slice(at + less);
        }),
    );
    fc.assert(
      fc.property(texts, (text) => {
        expect(flawOfJson(text) === null, text).toBe(isJson(text));
      }),
      { numRuns: 2_000, seed: 7 },
    );
  });

  it('that is nested without end is refused at once', () => {
    expect(problemsOf(read('['.repeat(400_000)))).toEqual([
      expect.stringContaining('in line 1, column 400001'),
    ]);
    expect(problemsOf(read(`{"models":{"a":${'['.repeat(400_000)}${']'.repeat(400_000)}}}`))).toHaveLength(1);
  });

  it.each([
    [`{"models":{"__proto__":${JSON.stringify(plain)}}}`, 'models.… is no alias: 1 to 100 letters, digits,'],
    [
      `{"models":{"a":{"endpoint":"http://x","model":"m","__proto__":{"window":1}}}}`,
      'In line 1, column 51, models.a has a setting that there is not',
    ],
    [`{"models":{},"__pro\\u0074o__":7}`, 'In line 1, column 14, the file has a setting that there is not'],
    [
      `{"models":{"a":{"endpoint":"http://x","model":"m","fallbacks":["__proto__"]}}}`,
      'models.a.fallbacks.0 names none of the models: those there are "a".',
    ],
  ])('takes no name that would be left out in silence: %s (broke: it was)', (text, sentence) => {
    expect(problemsOf(read(text))).toEqual([expect.stringContaining(sentence)]);
  });

  it('takes names that every object has as those of models', () => {
    const models = {
      constructor: { ...plain, fallbacks: ['toString'] },
      toString: plain,
      hasOwnProperty: plain,
    };
    expect(bindingsOf(read({ models, default: 'toString' })).map(({ alias }) => alias)).toEqual(
      Object.keys(models),
    );
  });

  it('gives no model the name of the demo, which has it (broke: it was listed twice)', () => {
    expect(unplaced(read({ models: { a: plain, demo: plain } }))).toEqual([
      'models.demo has the name of the built-in demo, which is always there: give this model another alias.',
    ]);
  });

  it('with a name twice is refused, at whatever depth: JSON would drop the first and say nothing', () => {
    const one = JSON.stringify(plain);
    const say = (again: string, first: string) =>
      `In ${again}, a name is there that is in ${first} already, and only the last would count: rename one of them, or take it out.`;
    expect(problemsOf(read(`{"models":{"a":${one},\n"b":${one},\n "\\u0061":${one}}}`))).toEqual([
      say('line 3, column 2', 'line 1, column 12'),
    ]);
    expect(
      problemsOf(
        read(`{"models":{"a":{"endpoint":"http://x","model":"{\\":[","model":"m","fallbacks":[]}}}`),
      ),
    ).toEqual([say('line 1, column 55', 'line 1, column 39')]);
    expect(problemsOf(read(`{"models":{"a":${one},"b":${one}},"default":"a"}`))).toEqual([]);
  });

  it('refuses an effort that would never be sent, and says what to add', () => {
    expect(unplaced(read({ models: { a: { ...plain, effort: 'high' } } }))).toEqual([
      'models.a.effort would not be sent: list the efforts that the model knows in models.a.capabilities.efforts, or take the effort out.',
    ]);
  });

  it.each([
    [{}, 'models is missing: name the models there'],
    [{ models: { a: { model: 'm' } } }, 'models.a.endpoint is missing: say where the API begins'],
    [{ models: { a: { endpoint: 'http://x' } } }, 'models.a.model is missing: say what the model is called'],
    [{ models: { a: { ...plain, window: '8' } } }, 'models.a.window must be a number without quotes.'],
    [{ models: { a: { ...plain, window: 1.5 } } }, 'models.a.window must be a whole number without quotes.'],
    [{ models: { a: { ...plain, concurrency: 0 } } }, 'models.a.concurrency must be 1 or more.'],
    [{ models: { a: { ...plain, temperature: 3 } } }, 'models.a.temperature must be 2 or less.'],
    [{ models: { a: { ...plain, dialect: 'x' } } }, 'models.a.dialect must be one of "chat", "responses".'],
    [{ models: { a: { ...plain, fallbacks: 'b' } } }, 'models.a.fallbacks must be a list in [ ].'],
    [{ models: { a: { ...plain, model: '' } } }, 'models.a.model must not be empty.'],
    [{ models: { a: { ...plain, key: { env: 'a-b' } } } }, 'models.a.key.env is no name of a variable'],
    [{ models: { a: { ...plain, key: 'sk' } } }, 'models.a.key must be { "env": "NAME_OF_A_VARIABLE" }'],
    [{ models: [] }, 'models must be an object in { }.'],
  ])('says of %j in plain words what to write', (json, sentence) => {
    const problems = problemsOf(read(json));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(sentence);
    expect(problems[0]).not.toMatch(/expected|received|regex|pattern/i);
  });

  it('is described to editors as it is read (docs/weir.config.schema.json)', () => {
    expect(readFileSync(page, 'utf8'), 'run "pnpm schema:print"').toBe(printed());
  });

  it('may name no model at all', () => {
    expect(read({ models: {} })).toEqual({
      type: 'read',
      bindings: [],
      default: null,
      instructions: null,
    });
  });

  it('may say what every model is told, up to a bound', () => {
    expect(read({ models: {}, instructions: 'Write no poems.' })).toMatchObject({
      instructions: 'Write no poems.',
    });
    expect(problemsOf(read({ models: {}, instructions: 'x'.repeat(20_001) }))).toHaveLength(1);
  });
});

describe('A change of the model file', () => {
  const path = '/etc/weir/weir.config.json';
  const models = (...aliases: readonly string[]): string =>
    JSON.stringify({
      models: Object.fromEntries(aliases.map((alias) => [alias, { ...plain, model: alias }])),
    });

  function watching(text: string | null, others: readonly Binding[] = []) {
    const clock = createTestClock();
    const { files, readText } = disk(text === null ? {} : { [path]: text });
    const watched = watchModelFile({ clock, log: silentLog, path, env: {}, readText, others });
    return {
      watched,
      aliases: () => watched.current().all.map(({ alias }) => alias),
      async write(next: string | null): Promise<void> {
        if (next === null) delete files[path];
        else files[path] = next;
        await clock.advance(2_000);
      },
    };
  }

  it('is taken over whole, and what has not changed stays the same value', async () => {
    const w = watching(models('a', 'b'));
    const before = w.watched.current();
    let changes = 0;
    w.watched.onChange(() => (changes += 1));
    await w.write(models('b', 'c'));
    expect(w.aliases()).toEqual(['b', 'c']);
    expect(w.watched.current().all[0]).toBe(before.all[1]);
    expect(changes).toBe(1);
    await w.write(models('b', 'c'));
    expect(changes).toBe(1);
  });

  it.each([
    ['has faults', '{"models":{"a":{}}}'],
    ['is half written', '{"models":{"a"'],
    ['is gone', null],
  ])('that %s leaves what serves, and says so until it is mended', async (_, text) => {
    const w = watching(models('a'));
    const before = w.watched.current().all;
    await w.write(text);
    expect(w.watched.current().all).toEqual(before);
    expect(w.watched.problem()).toContain('so the settings from before are in use');
    await w.write(models('a', 'b'));
    expect(w.watched.problem()).toBeNull();
    expect(w.aliases()).toEqual(['a', 'b']);
  });

  it('by which it comes into being counts too', async () => {
    const w = watching(null);
    expect([w.aliases(), w.watched.problem(), w.watched.current().default]).toEqual([[], null, null]);
    await w.write(models('a'));
    expect([w.aliases(), w.watched.current().default]).toEqual([['a'], 'a']);
  });

  it('that was faulty and never served is missed by nobody when it goes', async () => {
    const w = watching(null);
    await w.write('{');
    expect(w.watched.problem()).toContain('has faults');
    await w.write(null);
    expect(w.watched.problem()).toBeNull();
  });

  it('of what every model is told counts from the next look on, and a faulty one leaves it', async () => {
    const w = watching(models('a'));
    expect(w.watched.instructions()).toBeNull();
    await w.write(JSON.stringify({ models: { a: plain }, instructions: 'Write no poems.' }));
    expect(w.watched.instructions()).toBe('Write no poems.');
    await w.write(JSON.stringify({ models: { a: plain }, instructions: 7 }));
    expect(w.watched.instructions()).toBe('Write no poems.');
  });

  it('of a key in a file of its own counts too', async () => {
    const clock = createTestClock();
    const { files, readText } = disk({
      [path]: JSON.stringify({ models: { a: { ...plain, key: { file: 'key' } } } }),
      '/etc/weir/key': 'sk-1',
    });
    const watched = watchModelFile({ clock, log: silentLog, path, env: {}, readText, others: [] });
    files['/etc/weir/key'] = 'sk-2';
    await clock.advance(2_000);
    expect(watched.current().all[0]!.endpoint.authorization).toBe('Bearer sk-2');
  });

  it('names in its faults what serves, and repeats no secret of it (broke: it stood in the warnings and the log)', async () => {
    const clock = createTestClock();
    const served = { ...plain, endpoint: 'http://someone:hunter2-secret-pw@h/v1' };
    const { files, readText } = disk({ [path]: JSON.stringify({ models: { a: served } }) });
    const logged: unknown[] = [];
    const log = { ...silentLog, warn: (...said: readonly unknown[]) => void logged.push(said) };
    const watched = watchModelFile({ clock, log, path, env: {}, readText, others: [] });
    const faulty = { ...served, 'hunter2-secret-pw': 1, fallbacks: ['hunter2-secret-pw'] };
    files[path] = JSON.stringify({ default: 'hunter2-secret-pw', models: { a: faulty } });
    await clock.advance(2_000);
    expect(watched.problem()).toContain('models.a has a setting that there is not');
    expect(watched.problem()).toContain('default names none of the models: those there are "a".');
    expect(JSON.stringify([watched.problem(), logged])).not.toContain('hunter2');
  });

  it('leaves the model of the environment, unless it takes its alias', async () => {
    const [own] = bindingsOf(read({ models: { own: plain } }));
    const w = watching(models('a'), [own!]);
    expect(w.aliases()).toEqual(['a', 'own']);
    await w.write(models('own'));
    expect(w.watched.current().all).toMatchObject([{ alias: 'own', model: 'own' }]);
  });

  it('is not looked for any more once nobody wants to know', async () => {
    const w = watching(models('a'));
    w.watched.stop();
    await w.write(models('b'));
    expect(w.aliases()).toEqual(['a']);
  });
});
