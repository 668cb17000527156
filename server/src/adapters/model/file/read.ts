/**
 * Owns: the text of `weir.config.json` → bindings, or everything that is wrong with it.
 * Does not own: what may stand in it (`format.ts`), when it is read (`watch.ts`).
 *
 * Invariants: every fault is listed at once, with its place and what to do; no sentence holds a key.
 */
import { isAbsolute, join } from 'node:path';
import type * as z from 'zod';
import type { Binding } from '../binding.ts';
import { usualTraits } from '../binding.ts';
import { parseEndpoint } from '../endpoint.ts';
import { effortOf, modelFile, type ModelEntry, type ModelFile } from './format.ts';

export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absolute path of the folder the file is in: where paths in it begin. */
  readonly folder: string;
  /** The text of a file; throws when it cannot be read. */
  readonly readText: (path: string) => string;
}

export type ReadModels =
  | { readonly type: 'read'; readonly bindings: readonly Binding[]; readonly default: string | null }
  /** One sentence each. */
  | { readonly type: 'faulty'; readonly problems: readonly string[] };

export function readModels(text: string, around: Surroundings): ReadModels {
  let json: unknown;
  try {
    json = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    return faulty(`It is not JSON: ${error instanceof Error ? error.message : String(error)}.`);
  }
  const parsed = modelFile.safeParse(json);
  if (!parsed.success) return faulty(...parsed.error.issues.flatMap((issue) => sentencesOf(issue)));
  const { models, default: named } = parsed.data;
  const made = Object.entries(models).map(([alias, entry]) => bind(alias, entry, parsed.data, around));
  const problems = made.flatMap((m) => m.problems);
  if (named !== undefined && !Object.hasOwn(models, named))
    problems.push(`default names ${show(named)}, which is not among the models.`);
  if (problems.length > 0) return faulty(...problems);
  const bindings = made.flatMap((m) => (m.binding ? [m.binding] : []));
  return { type: 'read', bindings, default: named ?? bindings[0]?.alias ?? null };
}

const faulty = (...problems: readonly string[]): ReadModels => ({ type: 'faulty', problems });

function bind(
  alias: string,
  entry: ModelEntry,
  file: ModelFile,
  around: Surroundings,
): { readonly binding: Binding | null; readonly problems: readonly string[] } {
  const problems: string[] = [];
  const fallbacks = entry.fallbacks ?? [];
  for (const other of fallbacks)
    if (other === alias) problems.push(`models.${alias}.fallbacks names the model itself.`);
    else if (!Object.hasOwn(file.models, other))
      problems.push(`models.${alias}.fallbacks names ${show(other)}, which is not among the models.`);
  const key = keyOf(alias, entry.key, around);
  if (key.problem !== null) problems.push(key.problem);
  const endpoint = parseEndpoint(entry.endpoint, key.text);
  if (!endpoint) problems.push(`models.${alias}.endpoint is no http or https URL.`);
  if (problems.length > 0 || !endpoint) return { binding: null, problems };
  const { capabilities = {}, price } = entry;
  const { efforts, emptyText, ...flags } = capabilities;
  return {
    problems,
    binding: {
      alias,
      source: 'FILE',
      endpoint,
      model: entry.model,
      dialect: entry.dialect === 'responses' ? 'RESPONSES' : 'CHAT',
      fallbacks: [...new Set(fallbacks)],
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
    },
  };
}

function keyOf(
  alias: string,
  key: ModelEntry['key'],
  { env, folder, readText }: Surroundings,
): { readonly text: string | undefined; readonly problem: string | null } {
  const place = `models.${alias}.key`;
  const none = (problem: string | null) => ({ text: undefined, problem });
  if (key === undefined) return none(null);
  if ('env' in key) {
    const text = env[key.env]?.trim();
    return text
      ? { text, problem: null }
      : none(`${place} names the variable ${key.env}, which is not set: set it before the start.`);
  }
  const path = isAbsolute(key.file) ? key.file : join(folder, key.file);
  try {
    const text = readText(path).trim();
    if (text !== '' && !/[\r\n]/.test(text)) return { text, problem: null };
    return none(`${place} names the file ${show(key.file)}, which must hold the key alone, in one line.`);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    return none(`${place} names the file ${show(key.file)}, which cannot be read (${code}).`);
  }
}

/** Place and fault. What was written there is not repeated: it may be a key. */
function sentencesOf(issue: z.core.$ZodIssue): readonly string[] {
  const place = issue.path.map(String).join('.') || 'The file';
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map(
      (name) => `${place} has ${show(name)}, which is no setting: look for a slip of the pen.`,
    );
  if (issue.code === 'invalid_union' && issue.path.at(-1) === 'key')
    return [
      `${place} must be { "env": "NAME_OF_A_VARIABLE" } or { "file": "path" }; the key itself does not stand in this file.`,
    ];
  if (issue.code === 'invalid_key') return issue.issues.map(({ message }) => `${place} ${message}.`);
  const said = issue.message.replace(/^(Invalid|Too)/, (word) => word.toLowerCase());
  return [`${place} ${/^is /.test(said) ? said : `is not right: ${said}`}.`];
}

const show = (name: string): string => JSON.stringify(name.length > 100 ? `${name.slice(0, 100)}…` : name);
