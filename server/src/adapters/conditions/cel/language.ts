/**
 * Owns: the names and functions of a condition (D-83), beside what CEL has itself.
 *
 * Invariants: a function answers with a new value or refuses with what to write instead; none reaches beyond what it was
 * given. Bytes are left out: they grow outside the heap, where nothing bounds them.
 */
import { Environment } from '@marcbachmann/cel-js';
import { patternOf } from './patterns.ts';

/** In the order a person is told them. */
export const names = ['output', 'data', 'exit_code', 'prev_output', 'changed', 'poll', 'elapsed'] as const;

type Handler = (...given: never[]) => unknown;

const int = (value: number): bigint => BigInt(value);
const sizeOf = (value: string | readonly unknown[] | ReadonlyMap<unknown, unknown> | object): bigint => {
  if (typeof value === 'string') return int([...value].length);
  if (Array.isArray(value)) return int(value.length);
  return int(value instanceof Map ? value.size : Object.keys(value).length);
};

/** A map of JSON, or one that is written in the condition. */
const entriesOf = (map: object): [unknown, unknown][] =>
  map instanceof Map ? [...map.entries()] : Object.entries(map);

function own(map: object, key: unknown): unknown {
  if (map instanceof Map) return map.get(key);
  const name = String(key);
  return Object.hasOwn(map, name) ? (map as Record<string, unknown>)[name] : undefined;
}

/** As Python reads it: blanks around it do not count. */
function intOf(text: string): bigint {
  const trimmed = text.trim();
  if (!/^[-+]?\d{1,19}$/.test(trimmed)) throw new Error(`int() needs a whole number, not ${shown(text)}.`);
  const value = BigInt(trimmed.replace('+', ''));
  if (BigInt.asIntN(64, value) !== value) throw new Error(`${trimmed} is too large for an int.`);
  return value;
}

function doubleOf(text: string): number {
  const trimmed = text.trim();
  if (!/^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/i.test(trimmed))
    throw new Error(`float() needs a number, not ${shown(text)}.`);
  return Number(trimmed);
}

const shown = (text: string): string => JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);

/** Numbers with numbers, text with text; -1, 0 or 1. */
function compare(a: unknown, b: unknown): number {
  const numbers = isNumber(a) && isNumber(b);
  if (!numbers && !(typeof a === 'string' && typeof b === 'string'))
    throw new Error(`Numbers can be ordered, and texts, but not ${typeName(a)} with ${typeName(b)}.`);
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

const isNumber = (value: unknown): value is number | bigint =>
  typeof value === 'number' || typeof value === 'bigint';

/** As CEL names it. */
export function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value === 'bigint') return 'int';
  if (typeof value === 'number') return 'double';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'string') return 'string';
  if (Array.isArray(value)) return 'list';
  return value instanceof Map || Object.getPrototypeOf(value) === Object.prototype ? 'map' : 'value';
}

function extreme(sign: 1 | -1, given: readonly unknown[]): unknown {
  if (given.length === 0) throw new Error('The least and the greatest of an empty list are not known.');
  return given.reduce((best, value) => (compare(value, best) * sign > 0 ? value : best));
}

const most =
  (sign: 1 | -1) =>
  (...given: readonly unknown[]) =>
    extreme(sign, given);

/** Every item says yes or no itself. */
function yes(item: unknown): boolean {
  if (typeof item !== 'boolean')
    throw new Error(
      `any() and all() need a list of true and false, not of ${typeName(item)}: write \`.exists(x, …)\` or \`.all(x, …)\`.`,
    );
  return item;
}

/** Since V8 11.4; the types do not know it yet. */
const raw = JSON as unknown as { rawJSON(json: string): unknown };

/** As JSON, but for a text, which stays as it is. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  const json = JSON.stringify(value, (_key, inner: unknown) => {
    if (typeof inner === 'bigint') return raw.rawJSON(String(inner));
    return inner instanceof Map ? Object.fromEntries(inner as Map<string, unknown>) : inner;
  }) as string | undefined;
  return json ?? String(value);
}

/** One line each, without an empty one after the last line end. */
function linesOf(text: string): string[] {
  const lines = text.split(/\r\n|[\n\r\v\f\x85\u2028\u2029]/);
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}

function joined(list: readonly unknown[], separator: string): string {
  let length = 0;
  for (const item of list) {
    if (typeof item !== 'string') throw new Error(`join() needs a list of texts, not of ${typeName(item)}.`);
    length += item.length + separator.length;
    if (length > mostCharacters) throw new RangeError(tooLong);
  }
  return list.join(separator);
}

/** Most characters of a text and items of a list that any step of a condition may make: V8 bounds no single large one. */
const mostCharacters = 2_097_152;
const mostItems = 262_144;

/** What a step has made. Throws where that is too long. */
export function sized<T>(value: T): T {
  if (typeof value === 'string' && value.length > mostCharacters) throw new RangeError(tooLong);
  if (Array.isArray(value) && value.length > mostItems) throw new RangeError(tooLong);
  return value;
}

const tooLong = 'A text or a list in it grows too long.';

/** Where it begins in the text, in code points as `len` counts; that of UTF-16 in the engine is another one. */
const pointsTo = (text: string, unit: number): bigint => (unit < 0 ? -1n : sizeOf(text.slice(0, unit)));

const isUnitsOnly = (text: string): boolean => !/[\ud800-\udfff]/.test(text);

/** Null: the text has no such place. */
function unitOf(text: string, point: bigint): number | null {
  if (point < 0n || point > BigInt(text.length)) return null;
  if (isUnitsOnly(text)) return Number(point);
  let unit = 0;
  for (let left = Number(point); left > 0; left -= 1) {
    if (unit >= text.length) return null;
    unit += (text.codePointAt(unit) ?? 0) > 0xffff ? 2 : 1;
  }
  return unit;
}

function placeIn(text: string, point: bigint): number {
  const unit = unitOf(text, point);
  if (unit !== null) return unit;
  throw new Error(
    point < 0n
      ? `There is no place ${point} in a text: they are counted from 0. Write \`.endsWith("…")\` to ask how it ends.`
      : `The text has ${sizeOf(text)} characters, and no place ${point}: write \`.startsWith("…")\` to ask how it begins, or ask \`len(text) >= ${point}\` first.`,
  );
}

function partOf(text: string, from: bigint, to?: bigint): string {
  const start = placeIn(text, from);
  if (to === undefined) return text.slice(start);
  if (to < from)
    throw new Error(`substring() begins at ${from} and ends before that, at ${to}: write the lesser first.`);
  return text.slice(start, placeIn(text, to));
}

const item = (list: readonly unknown[], at: bigint, otherwise: unknown): unknown =>
  list.at(Number(at)) ?? otherwise;

/**
 * CEL's own of this name is replaced: `int("7\n")` is what a command prints, a joined text has to be measured before it
 * is made, places in a text are counted in code points, and patterns are those of RE2. CEL cannot be told so, hence its calls are renamed when a condition is read (`judge.ts`).
 */
export const replaced: ReadonlyMap<string, string> = new Map([
  ['int', 'int_'],
  ['double', 'float'],
  ['join', 'join_'],
  ['matches', 'matches_'],
  ['substring', 'substring_'],
  ['indexOf', 'indexOf_'],
  ['lastIndexOf', 'lastIndexOf_'],
]);

const functions: readonly (readonly [signature: string, handler: Handler])[] = [
  ['len(string): int', sizeOf],
  ['len(list): int', sizeOf],
  ['len(map): int', sizeOf],
  ['str(dyn): string', textOf],
  ['int_(int): int', (v: bigint) => v],
  [
    'int_(double): int',
    (v: number) => {
      if (!(Math.abs(v) < 2 ** 63)) throw new Error(`${v} is too large for an int.`);
      return BigInt(Math.trunc(v));
    },
  ],
  ['int_(bool): int', (v: boolean) => (v ? 1n : 0n)],
  ['int_(string): int', intOf],
  ['float(int): double', Number],
  ['float(double): double', (v: number) => v],
  ['float(bool): double', Number],
  ['float(string): double', doubleOf],
  ['bool(int): bool', (v: bigint) => v !== 0n],
  ['bool(double): bool', (v: number) => v !== 0],
  ['bool(null): bool', () => false],
  ['bool(list): bool', (v: readonly unknown[]) => v.length > 0],
  ['bool(map): bool', (v: object) => sizeOf(v) > 0n],
  ['abs(int): int', (v: bigint) => (v < 0n ? -v : v)],
  ['abs(double): double', Math.abs],
  ['min(list): dyn', (v: readonly unknown[]) => extreme(-1, v)],
  ['min(dyn, dyn): dyn', most(-1)],
  ['min(dyn, dyn, dyn): dyn', most(-1)],
  ['min(dyn, dyn, dyn, dyn): dyn', most(-1)],
  ['max(list): dyn', (v: readonly unknown[]) => extreme(1, v)],
  ['max(dyn, dyn): dyn', most(1)],
  ['max(dyn, dyn, dyn): dyn', most(1)],
  ['max(dyn, dyn, dyn, dyn): dyn', most(1)],
  ['any(list): bool', (v: readonly unknown[]) => v.some(yes)],
  ['all(list): bool', (v: readonly unknown[]) => v.every(yes)],
  ['sorted(list<V>): list<V>', (v: readonly unknown[]) => v.toSorted(compare)],
  ['string.strip(): string', (v: string) => v.trim()],
  ['string.lower(): string', (v: string) => v.toLowerCase()],
  ['string.upper(): string', (v: string) => v.toUpperCase()],
  ['string.splitlines(): list<string>', linesOf],
  ['string.matches_(string): bool', (v: string, pattern: string) => patternOf(pattern).test(v)],
  ['string.substring_(int): string', partOf],
  ['string.substring_(int, int): string', partOf],
  ['string.indexOf_(string): int', (v: string, part: string) => pointsTo(v, v.indexOf(part))],
  [
    'string.indexOf_(string, int): int',
    (v: string, part: string, from: bigint) => pointsTo(v, v.indexOf(part, placeIn(v, from))),
  ],
  ['string.lastIndexOf_(string): int', (v: string, part: string) => pointsTo(v, v.lastIndexOf(part))],
  [
    'string.lastIndexOf_(string, int): int',
    (v: string, part: string, from: bigint) => pointsTo(v, v.lastIndexOf(part, placeIn(v, from))),
  ],
  ['list.join_(): string', (v: readonly unknown[]) => joined(v, '')],
  ['list.join_(string): string', joined],
  ['list.get(int): dyn', (v: readonly unknown[], at: bigint) => item(v, at, null)],
  ['list.get(int, dyn): dyn', item],
  ['map.get(dyn): dyn', (v: object, key: unknown) => own(v, key) ?? null],
  ['map.get(dyn, dyn): dyn', (v: object, key: unknown, otherwise: unknown) => own(v, key) ?? otherwise],
  ['map.keys(): list', (v: object) => entriesOf(v).map(([key]) => key)],
  ['map.values(): list', (v: object) => entriesOf(v).map(([, value]) => value)],
];

type AnyNumber = number | bigint | { valueOf(): bigint };

/** As CEL compares numbers of two types: by value, and without rounding. */
const isSame = (a: AnyNumber, b: AnyNumber): boolean =>
  // eslint-disable-next-line eqeqeq -- Strictly, 1n is not 1.
  a.valueOf() == b.valueOf();

/**
 * JSON does not say whether 2 is a whole number or a fraction: arithmetic takes them together, and so does comparing, where
 * their types are known when the condition is read. Of `data` CEL does so itself.
 */
const operators: readonly (readonly [signature: string, handler: Handler])[] = [
  ...(['int == double', 'int == uint', 'uint == double'] as const).map(
    (of) => [`${of}: bool`, isSame] as const,
  ),
  ['string in string: bool', (part: string, whole: string) => whole.includes(part)],
  ...(['int + double', 'double + int'] as const).map(
    (of) => [`${of}: double`, (a: number | bigint, b: number | bigint) => Number(a) + Number(b)] as const,
  ),
  ...(['int - double', 'double - int'] as const).map(
    (of) => [`${of}: double`, (a: number | bigint, b: number | bigint) => Number(a) - Number(b)] as const,
  ),
  ...(['int * double', 'double * int'] as const).map(
    (of) => [`${of}: double`, (a: number | bigint, b: number | bigint) => Number(a) * Number(b)] as const,
  ),
  ...(['int / double', 'double / int'] as const).map(
    (of) => [`${of}: double`, (a: number | bigint, b: number | bigint) => Number(a) / Number(b)] as const,
  ),
];

/** Functions and methods that a person can be told of. */
export const functionNames = 'len, str, int, float, bool, abs, min, max, any, all, sorted';

export function conditionLanguage(): Environment {
  const environment = new Environment({
    homogeneousAggregateLiterals: false,
    limits: { maxAstNodes: 2_000, maxDepth: 100 },
  });
  environment
    .registerVariable('output', 'string')
    .registerVariable('data', 'dyn')
    .registerVariable('exit_code', 'int')
    .registerVariable('prev_output', 'dyn')
    .registerVariable('changed', 'bool')
    .registerVariable('poll', 'int')
    .registerVariable('elapsed', 'int');
  for (const [signature, handler] of functions)
    environment.registerFunction(signature, handler as (...given: unknown[]) => unknown, { async: false });
  for (const [signature, handler] of operators)
    environment.registerOperator(signature, handler as (...given: unknown[]) => unknown);
  return environment;
}
