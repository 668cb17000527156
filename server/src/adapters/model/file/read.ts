/**
 * Owns: the text of `weir.config.json` → bindings, or everything that is wrong with it.
 * Does not own: what may stand in it (`format.ts`), when it is read (`watch.ts`).
 *
 * Invariants: every fault is listed at once, with its place and what to do. No sentence holds a key, wherever in the file it
 * was written: of what stands there, only names are repeated, and none that may be a key.
 */
import { isAbsolute, join } from 'node:path';
import type * as z from 'zod';
import type { Binding } from '../binding.ts';
import { usualTraits } from '../binding.ts';
import { demoAlias } from '../demo.ts';
import { parseEndpoint } from '../endpoint.ts';
import { isRecord, listOf, parseJson, type Json } from '../wire/json.ts';
import { aliasRule, effortOf, modelFile, partsOfEntry, settingsAt, type ModelEntry } from './format.ts';
import { placeOf, show } from './show.ts';
import { flawOfJson } from './syntax.ts';

export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absolute path of the folder the file is in: where paths in it begin. */
  readonly folder: string;
  /** The text of a file; throws when it cannot be read. */
  readonly readText: (path: string) => string;
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
  if (json === undefined) return faulty(`It is not JSON: ${flawOfJson(written) ?? 'it is nested too deep'}.`);
  const parsed = modelFile.safeParse(json);
  const { keys, problems } = together(json, around);
  const made = Object.entries(parsed.data?.models ?? {}).map(([alias, entry]) =>
    bind(alias, entry, keys.get(alias)),
  );
  const all = [
    ...namedTwice(written).map(
      (path) =>
        `${placeOf(path)} is there twice, and only the last would count: rename one of them, or take it out.`,
    ),
    ...(parsed.error?.issues ?? []).flatMap((issue) => sentencesOf(issue, json)),
    ...problems,
    ...made.flatMap((m) => (typeof m === 'string' ? [m] : [])),
  ];
  if (all.length > 0 || !parsed.success) return faulty(...all);
  const bindings = made.flatMap((m) => (typeof m === 'string' ? [] : [m]));
  return {
    type: 'read',
    bindings,
    default: parsed.data.default ?? bindings[0]?.alias ?? null,
    instructions: parsed.data.instructions ?? null,
  };
}

const faulty = (...problems: readonly string[]): ReadModels => ({ type: 'faulty', problems });

/**
 * What does not hang together, of those parts that are as they must be by themselves, so that this is told beside what is
 * wrong with the others; and the keys by alias.
 */
function together(json: unknown, around: Surroundings) {
  const keys = new Map<string, string>();
  const problems: string[] = [];
  const file = isRecord(json) ? json : {};
  const models = isRecord(file['models']) ? file['models'] : {};
  for (const [alias, entry] of Object.entries(models)) {
    // Zod leaves this one out and says nothing.
    if (alias === '__proto__') problems.push(`${placeOf(['models', alias])} ${aliasRule}.`);
    if (alias === demoAlias)
      problems.push(
        `${placeOf(['models', alias])} has the name of the built-in demo, which is always there: give this model another alias.`,
      );
    if (!isRecord(entry)) continue;
    const place = placeOf(['models', alias]);
    const { effort, capabilities, fallbacks, key } = entry;
    const efforts = isRecord(capabilities) ? (capabilities['efforts'] ?? []) : [];
    if (partsOfEntry.effort.safeParse(effort).success && Array.isArray(efforts) && efforts.length === 0)
      problems.push(
        `${place}.effort would not be sent: list the efforts that the model knows in ${place}.capabilities.efforts, or take the effort out.`,
      );
    for (const other of listOf(fallbacks))
      if (other === alias) problems.push(`${place}.fallbacks names the model itself.`);
      else if (typeof other === 'string' && !Object.hasOwn(models, other))
        problems.push(`${place}.fallbacks names ${show(other)}, which is not among the models.`);
    const parsed = partsOfEntry.key.safeParse(key);
    if (!parsed.success) continue;
    const { text, problem } = keyOf(`${place}.key`, parsed.data, around);
    if (text !== undefined) keys.set(alias, text);
    if (problem !== null) problems.push(problem);
  }
  const named = file['default'];
  if (typeof named === 'string' && isRecord(file['models']) && !Object.hasOwn(models, named))
    problems.push(`default names ${show(named)}, which is not among the models.`);
  return { keys, problems };
}

/** The binding, or what is wrong with it. */
function bind(alias: string, entry: ModelEntry, key: string | undefined): Binding | string {
  const endpoint = parseEndpoint(entry.endpoint, key);
  if (!endpoint) return `${placeOf(['models', alias])}.endpoint is no http or https URL.`;
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
function keyOf(
  place: string,
  key: NonNullable<ModelEntry['key']>,
  { env, folder, readText }: Surroundings,
): { readonly text: string | undefined; readonly problem: string | null } {
  const none = (problem: string) => ({ text: undefined, problem });
  const checked = (text: string, where: string) =>
    isSendable(text)
      ? { text, problem: null }
      : none(
          `${where}, and a character of what it holds is in no key (a long dash, a curved quote or an invisible one, which come with copying): copy the key anew.`,
        );
  if ('env' in key) {
    const text = env[key.env]?.trim();
    return text
      ? checked(text, `${place}.env names a variable`)
      : none(
          `${place}.env names no variable that is set (the key itself does not stand here): set it and start Weir anew, or name a file that holds the key instead, which counts while it runs too, or take this model out.`,
        );
  }
  const file = `${place}.file names`;
  try {
    const text = readText(isAbsolute(key.file) ? key.file : join(folder, key.file)).trim();
    if (text !== '' && !/[\r\n]/.test(text)) return checked(text, `${file} a file`);
    return none(`${file} a file which must hold the key alone, in one line, and does not.`);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return none(
      code === 'ENOENT'
        ? `${file} no file that is there (the key itself does not stand here, and a relative path begins at the folder of this file): put the key into one, alone, in one line.`
        : `${file} a file that cannot be read${code === undefined ? '' : ` (${code})`}.`,
    );
  }
}

/** Whether HTTP can carry it; a request with another key would fail before it is sent, as if nobody were there. */
const isSendable = (key: string): boolean => /^[\x20-\x7e\x80-\xff]+$/.test(key);

/** Place and fault. What was written there is not repeated: it may be a key. */
function sentencesOf(issue: z.core.$ZodIssue, json: unknown): readonly string[] {
  const place = placeOf(issue.path);
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map(
      (name) => `${place} has ${show(name)}, which is no setting${insteadOf(issue.path, name)}.`,
    );
  const there = issue.path.reduce<unknown>(
    (value, name) =>
      typeof value === 'object' && value !== null ? (value as Json)[String(name)] : undefined,
    json,
  );
  if (there === undefined && issue.code !== 'invalid_key')
    return [`${place} is missing: ${wanted[String(issue.path.at(-1))] ?? 'say what it is'}.`];
  if (issue.code === 'invalid_union' && issue.path.at(-1) === 'key')
    return [
      `${place} must be { "env": "NAME_OF_A_VARIABLE" } or { "file": "path" }; the key itself does not stand in this file.`,
    ];
  if (issue.code === 'invalid_key') return issue.issues.map(({ message }) => `${place} ${message}.`);
  return [`${place} ${whatIsWrong(issue)}.`];
}

/** What may be meant by a name that is no setting there. */
function insteadOf(path: readonly PropertyKey[], name: string): string {
  if (path.length === 2 && settingsAt([...path, 'capabilities']).includes(name))
    return ` there: write it in ${placeOf(path)}.capabilities`;
  return `: those there are ${settingsAt(path).join(', ')}`;
}

function whatIsWrong(issue: z.core.$ZodIssue): string {
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
      return /^is /.test(issue.message) ? issue.message : `is not right: ${issue.message}`;
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

/** Where one object has a name twice, of which JSON keeps the last and says nothing. The text is JSON. */
function namedTwice(text: string): readonly (readonly string[])[] {
  const twice = new Map<string, readonly string[]>();
  /** The objects and lists around, with the names they have so far and the last of them. */
  const around: { readonly names: Set<string> | null; name: string }[] = [];
  for (const [token, after] of Array.from(text.matchAll(/("(?:[^"\\]|\\.)*")\s*(:?)|[{}[\]]/g), (m) => [
    m[0],
    m[2],
  ])) {
    if (token === '{') around.push({ names: new Set(), name: '' });
    else if (token === '[') around.push({ names: null, name: '' });
    else if (token === '}' || token === ']') around.pop();
    else if (after === ':') {
      const here = around.at(-1)!;
      here.name = JSON.parse(token!.slice(0, token!.lastIndexOf('"') + 1)) as string;
      if (here.names?.has(here.name)) {
        const path = around.map(({ name }) => name);
        twice.set(path.join('.'), path);
      }
      here.names?.add(here.name);
    }
  }
  return [...twice.values()];
}
