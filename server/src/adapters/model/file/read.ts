/**
 * Owns: the text of `weir.config.json` → bindings, or everything that is wrong with it.
 * Does not own: what may stand in it (`format.ts`), when it is read (`watch.ts`).
 *
 * Invariants: every fault is listed at once, with its place and what to do, up to a number that somebody reads. No sentence
 * holds a key, wherever in the file it was written: of what stands there, nothing is repeated but what `show.ts` knows.
 */
import { isAbsolute, join } from 'node:path';
import type * as z from 'zod';
import type { Binding } from '../binding.ts';
import { usualTraits } from '../binding.ts';
import { demoAlias } from '../demo.ts';
import { parseEndpoint } from '../endpoint.ts';
import { isRecord, listOf, parseJson, type Json } from '../wire/json.ts';
import { aliasRule, effortOf, modelFile, partsOfEntry, settingsAt, type ModelEntry } from './format.ts';
import { inWords, placesIn, type Place } from './places.ts';
import { createVoice, nearestOf } from './show.ts';
import { flawOfJson } from './syntax.ts';

export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absolute path of the folder the file is in: where paths in it begin. */
  readonly folder: string;
  /** The text of a file; throws when it cannot be read. */
  readonly readText: (path: string) => string;
  /** Those that serve now, and may be repeated. */
  readonly aliases?: readonly string[];
  /** Texts that must never be shown, beside those that the file itself leads to. */
  readonly secrets?: readonly string[];
}

export type ReadModels =
  | {
      readonly type: 'read';
      readonly bindings: readonly Binding[];
      readonly default: string | null;
      /** Null: none. */
      readonly instructions: string | null;
    }
  /** One sentence each. */
  | { readonly type: 'faulty'; readonly problems: readonly string[] };

export function readModels(text: string, around: Surroundings): ReadModels {
  const written = text.replace(/^\uFEFF/, '');
  const json = parseJson(written);
  if (json === undefined)
    return faulty([() => `It is not JSON: ${flawOfJson(written) ?? 'it is nested too deep'}.`]);
  const parsed = modelFile.safeParse(json);
  const keys = keysIn(json, around);
  const teller = createTeller(written, json, around, keys);
  const made = Object.entries(parsed.data?.models ?? {}).map(
    ([alias, entry]) =>
      bind(alias, entry, keys.get(alias)?.text) ??
      (() => teller.tell(['models', alias, 'endpoint'], 'is no http or https URL')),
  );
  const all: readonly Fault[] = [
    ...teller.twice(),
    ...(parsed.error?.issues ?? []).flatMap((issue) => faultsOf(issue, json, teller)),
    ...together(json, keys, teller),
    ...made.flatMap((m) => (typeof m === 'function' ? [m] : [])),
  ];
  if (all.length > 0 || !parsed.success) return faulty(all);
  const bindings = made.flatMap((m) => (typeof m === 'function' ? [] : [m]));
  return {
    type: 'read',
    bindings,
    default: parsed.data.default ?? bindings[0]?.alias ?? null,
    instructions: parsed.data.instructions ?? null,
  };
}

/** Its sentence, for when it is told: a file may have more than anybody is told of. */
type Fault = () => string;

/** Most that are told: who has more to mend reads them again afterwards. */
const maxTold = 50;

function faulty(all: readonly Fault[]): ReadModels {
  const problems = all.slice(0, maxTold).map((tell) => tell());
  const more = all.length - problems.length;
  if (more > 0)
    problems.push(`There ${more === 1 ? 'is one more' : `are ${more.toLocaleString('en')} more`}.`);
  return { type: 'faulty', problems };
}

const modelsIn = (json: unknown): Json => {
  const models = isRecord(json) ? json['models'] : null;
  return isRecord(models) ? models : {};
};

interface Key {
  readonly text: string | undefined;
  /** What is said of its place. */
  readonly problem: readonly [setting: 'env' | 'file', what: string] | null;
}

/** The key of each alias whose entry says in the right way where it is. */
function keysIn(json: unknown, around: Surroundings): ReadonlyMap<string, Key> {
  const keys = new Map<string, Key>();
  for (const [alias, entry] of Object.entries(modelsIn(json))) {
    const parsed = partsOfEntry.key.safeParse(isRecord(entry) ? entry['key'] : undefined);
    if (parsed.success) keys.set(alias, keyOf(parsed.data, around));
  }
  return keys;
}

type Path = readonly PropertyKey[];

interface Teller {
  /** The sentence about what is at a path: where, and what of it. */
  tell(path: Path, what: string): string;
  /** The same about what has a name in it, at that name. */
  tellOf(path: Path, name: string, what: string): string;
  /** A place, in names. */
  placeOf(path: Path): string;
  /** The models of the file: by alias where that may be repeated, else by their lines. */
  those(): string;
  /** Each name that is there already. */
  twice(): readonly Fault[];
}

/** Most models that are listed in a sentence. */
const maxListed = 20;

function createTeller(
  text: string,
  json: unknown,
  { aliases = [], secrets = [] }: Surroundings,
  keys: ReadonlyMap<string, Key>,
): Teller {
  const models = modelsIn(json);
  const own = Object.entries(models).flatMap(([alias, entry]) => {
    const key = keys.get(alias)?.text;
    const endpoint = isRecord(entry) ? entry['endpoint'] : null;
    const known = typeof endpoint === 'string' ? parseEndpoint(endpoint, key)?.secrets : undefined;
    return known ?? (key === undefined ? [] : [key]);
  });
  const voice = createVoice(aliases, [...secrets, ...own]);
  const places = placesIn(text);
  const say = (place: Place, what: string): string => {
    const where = inWords(place);
    return voice.checked(`I${where.slice(1)}, ${what}.`);
  };
  return {
    placeOf: voice.placeOf,
    tell: (path, what) => say(places.of(path), `${voice.placeOf(path)} ${what}`),
    tellOf: (path, name, what) => say(places.of([...path, name]), `${voice.placeOf(path)} ${what}`),
    those() {
      const all = Object.keys(models);
      if (all.length === 0) return 'there are none';
      const listed = all.slice(0, maxListed);
      const named = listed.filter(voice.isNamed).map((alias) => `"${alias}"`);
      const lines = listed
        .filter((alias) => !voice.isNamed(alias))
        .map((alias) => `that in line ${places.of(['models', alias]).line}`);
      const more = all.length > maxListed ? [`${all.length - maxListed} more`] : [];
      return `those there are ${[...named, ...lines, ...more].join(', ')}`;
    },
    twice: () =>
      places.twice.map(
        ({ first, again }) =>
          () =>
            say(
              again,
              `a name is there that is ${inWords(first)} already, and only the last would count: rename one of them, or take it out`,
            ),
      ),
  };
}

/**
 * What does not hang together, of those parts that are as they must be by themselves, so that this is told beside what is
 * wrong with the others.
 */
function together(json: unknown, keys: ReadonlyMap<string, Key>, teller: Teller): readonly Fault[] {
  const faults: Fault[] = [];
  const file = isRecord(json) ? json : {};
  const models = modelsIn(json);
  for (const [alias, entry] of Object.entries(models)) {
    const path = ['models', alias];
    // Zod leaves this one out and says nothing.
    if (alias === '__proto__') faults.push(() => teller.tell(path, aliasRule));
    if (alias === demoAlias)
      faults.push(() =>
        teller.tell(
          path,
          'has the name of the built-in demo, which is always there: give this model another alias',
        ),
      );
    if (!isRecord(entry)) continue;
    const { effort, capabilities, fallbacks } = entry;
    const efforts = isRecord(capabilities) ? (capabilities['efforts'] ?? []) : [];
    if (partsOfEntry.effort.safeParse(effort).success && Array.isArray(efforts) && efforts.length === 0)
      faults.push(() =>
        teller.tell(
          [...path, 'effort'],
          `would not be sent: list the efforts that the model knows in ${teller.placeOf([...path, 'capabilities', 'efforts'])}, or take the effort out`,
        ),
      );
    for (const [i, other] of listOf(fallbacks).entries())
      if (other === alias)
        faults.push(() => teller.tell([...path, 'fallbacks', i], 'names the model itself'));
      else if (typeof other === 'string' && !Object.hasOwn(models, other))
        faults.push(() =>
          teller.tell([...path, 'fallbacks', i], `names none of the models: ${teller.those()}`),
        );
    const problem = keys.get(alias)?.problem;
    if (problem) faults.push(() => teller.tell([...path, 'key', problem[0]], problem[1]));
  }
  const named = file['default'];
  if (typeof named === 'string' && isRecord(file['models']) && !Object.hasOwn(models, named))
    faults.push(() => teller.tell(['default'], `names none of the models: ${teller.those()}`));
  return faults;
}

/** Null: its endpoint is none. */
function bind(alias: string, entry: ModelEntry, key: string | undefined): Binding | null {
  const endpoint = parseEndpoint(entry.endpoint, key);
  if (!endpoint) return null;
  const { capabilities = {}, price } = entry;
  const { efforts, emptyText, ...flags } = capabilities;
  return {
    alias,
    source: 'FILE',
    endpoint,
    model: entry.model,
    dialect: entry.dialect === 'responses' ? 'RESPONSES' : 'CHAT',
    fallbacks: [...new Set(entry.fallbacks)],
    window: entry.window ?? null,
    maxOutput: entry.maxOutput ?? null,
    temperature: entry.temperature ?? null,
    effort: entry.effort === undefined ? null : effortOf(entry.effort),
    concurrency: entry.concurrency ?? null,
    price: price ? { ...price, cachedInput: price.cachedInput ?? null } : null,
    traits: {
      ...usualTraits,
      ...Object.fromEntries(Object.entries(flags).filter(([, value]) => value !== undefined)),
      ...(efforts && { efforts: efforts.map(effortOf) }),
      ...(emptyText && { emptyText: emptyText.toUpperCase() as Uppercase<typeof emptyText> }),
    },
  };
}

/** The key, or what is wrong. What was written there is not repeated: it may be the key itself. */
function keyOf(key: NonNullable<ModelEntry['key']>, { env, folder, readText }: Surroundings): Key {
  const setting = 'env' in key ? 'env' : 'file';
  const none = (what: string): Key => ({ text: undefined, problem: [setting, what] });
  const checked = (text: string, where: string): Key =>
    isSendable(text)
      ? { text, problem: null }
      : none(
          `${where}, and a character of what it holds is in no key (a long dash, a curved quote or an invisible one, which come with copying): copy the key anew`,
        );
  if ('env' in key) {
    const text = env[key.env]?.trim();
    return text
      ? checked(text, 'names a variable')
      : none(
          'names no variable that is set (the key itself does not stand here): set it and start Weir anew, or name a file that holds the key instead, which counts while it runs too, or take this model out',
        );
  }
  try {
    const text = readText(isAbsolute(key.file) ? key.file : join(folder, key.file)).trim();
    if (text !== '' && !/[\r\n]/.test(text)) return checked(text, 'names a file');
    return none('names a file which must hold the key alone, in one line, and does not');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return none(
      code === 'ENOENT'
        ? 'names no file that is there (the key itself does not stand here, and a relative path begins at the folder of this file): put the key into one, alone, in one line'
        : `names a file that cannot be read${code === undefined ? '' : ` (${code})`}`,
    );
  }
}

/** Whether HTTP can carry it; a request with another key would fail before it is sent, as if nobody were there. */
const isSendable = (key: string): boolean => /^[\x20-\x7e\x80-\xff]+$/.test(key);

/** Place and fault. What was written there is not repeated: it may be a key. */
function faultsOf(issue: z.core.$ZodIssue, json: unknown, teller: Teller): readonly Fault[] {
  const { path } = issue;
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((name) => () => teller.tellOf(path, name, whatIsMeant(path, name, teller)));
  if (issue.code === 'invalid_key')
    return issue.issues.map(
      ({ message }) =>
        () =>
          teller.tell(path, message),
    );
  return [() => teller.tell(path, isThere(path, json) ? whatIsWrong(issue) : whatIsMissing(path))];
}

const isThere = (path: Path, json: unknown): boolean =>
  path.reduce<unknown>(
    (value, name) =>
      typeof value === 'object' && value !== null ? (value as Json)[String(name)] : undefined,
    json,
  ) !== undefined;

const whatIsMissing = (path: Path): string =>
  `is missing: ${wanted[String(path.at(-1))] ?? 'say what it is'}`;

/** What may be meant by a name that is no setting there. It is repeated where it is one elsewhere. */
function whatIsMeant(path: Path, name: string, { placeOf }: Teller): string {
  const capabilities = [...path, 'capabilities'];
  if (path.length === 2 && settingsAt(capabilities).includes(name))
    return `has "${name}", which is no setting there: write it in ${placeOf(capabilities)}`;
  const known = settingsAt(path);
  const nearest = nearestOf(name, known);
  const meant = nearest === null ? '' : `"${nearest}" may be meant; `;
  return `has a setting that there is not: ${meant}those there are ${known.join(', ')}`;
}

function whatIsWrong(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_union' && issue.path.at(-1) === 'key')
    return 'must be { "env": "NAME_OF_A_VARIABLE" } or { "file": "path" }; the key itself does not stand in this file';
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${kinds[issue.expected] ?? `a ${issue.expected}`}`;
    case 'invalid_value':
      return `must be one of ${issue.values.map((value) => JSON.stringify(value)).join(', ')}`;
    case 'too_small':
      return issue.origin === 'string' ? 'must not be empty' : `must be ${issue.minimum} or more`;
    case 'too_big':
      return issue.origin === 'string'
        ? `must have at most ${issue.maximum} letters`
        : `must be ${issue.maximum} or less`;
    default:
      // Of `format.ts`; those of Zod are not known to repeat nothing.
      return /^is /.test(issue.message) ? issue.message : 'is not right';
  }
}

/** How each kind of value is written. */
const kinds: Readonly<Record<string, string>> = {
  string: 'a text in quotes',
  number: 'a number without quotes',
  int: 'a whole number without quotes',
  boolean: 'true or false, without quotes',
  array: 'a list in [ ]',
  object: 'an object in { }',
  record: 'an object in { }',
};

/** What nothing goes without. */
const wanted: Readonly<Record<string, string>> = {
  models: 'name the models there, by alias, { "models": { "my-model": { "endpoint": …, "model": … } } }',
  endpoint: 'say where the API begins, for example "http://127.0.0.1:11434/v1"',
  model: 'say what the model is called at its endpoint',
  input: 'say what a million tokens read cost, in US dollars',
  output: 'say what a million tokens written cost, in US dollars',
};
