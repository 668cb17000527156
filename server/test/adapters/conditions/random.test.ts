/**
 * Owns: random sound conditions over random outputs (D-83): each is answered, the same way twice, within its bounds.
 *
 * The seed is printed; `CONDITION_SEED=…` runs those again, `CONDITION_RUNS=…` looks longer.
 */
import { randomInt } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { facts, judges } from './support.ts';

const conditions = judges();
const seed = Number(process.env['CONDITION_SEED'] ?? randomInt(2 ** 31));
const numRuns = Number(process.env['CONDITION_RUNS'] ?? 400);

const text = fc.string({ unit: 'binary', maxLength: 12 }).map(quoted);
const joinedBy = (operators: readonly string[], part: fc.Arbitrary<string>) =>
  fc.tuple(part, fc.constantFrom(...operators), part).map(([a, operator, b]) => `(${a} ${operator} ${b})`);

/** As CEL writes it: what is not printable ASCII as an escape. */
function quoted(value: string): string {
  const inner = [...value.replaceAll(/[\ud800-\udfff]/gu, '?')].map((c) =>
    /[ !#-[\]-~]/.test(c) ? c : `\\U${(c.codePointAt(0) ?? 0).toString(16).padStart(8, '0')}`,
  );
  return `"${inner.join('')}"`;
}

type Expressions = Record<'bool' | 'int' | 'double' | 'string' | 'list' | 'dyn', string>;

const expressions = fc.letrec<Expressions>((of) => {
  const call = (name: string, ...given: readonly fc.Arbitrary<string>[]) =>
    fc.tuple(...given).map((parts) => `${name}(${parts.join(', ')})`);
  const method = (on: fc.Arbitrary<string>, name: string, ...given: readonly fc.Arbitrary<string>[]) =>
    fc
      .tuple(on, ...given)
      .map(([receiver, ...parts]) => `(${String(receiver)}).${name}(${parts.join(', ')})`);
  const loop = (name: string, body: fc.Arbitrary<string>) =>
    fc.tuple(of('list'), body).map(([list, inner]) => `(${list}).${name}(x, ${inner})`);
  return {
    bool: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constantFrom('changed', 'true', 'false', '(data == null)', '(prev_output == null)', 'has(data.a)'),
      joinedBy(['&&', '||', '==', '!='], of('bool')),
      joinedBy(['<', '<=', '>', '>=', '==', '!='], of('int')),
      joinedBy(['<', '<=', '>', '>=', '==', '!='], of('double')),
      joinedBy(['in', '==', '<', '>='], of('string')),
      joinedBy(['==', '!='], of('dyn')),
      fc.tuple(of('dyn'), of('list')).map(([item, list]) => `(${item} in ${list})`),
      of('bool').map((inner) => `!${inner}`),
      fc.tuple(of('bool'), of('bool'), of('bool')).map(([a, b, c]) => `(${a} ? ${b} : ${c})`),
      method(of('string'), 'contains', of('string')),
      method(of('string'), 'startsWith', of('string')),
      // Put together: of a broken one that is written out, the check would say so.
      method(of('string'), 'matches', joinedBy(['+'], of('string'))),
      loop('exists', of('bool')),
      loop('all', of('bool')),
      call('any', loop('map', of('bool'))),
      call('bool', of('list')),
    ),
    int: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.integer().map((n) => (n < 0 ? `(${n})` : String(n))),
      fc.constantFrom('exit_code', 'poll', 'elapsed', '9223372036854775807'),
      joinedBy(['+', '-', '*', '/', '%'], of('int')),
      call('len', of('string')),
      call('len', of('list')),
      call('int', of('string')),
      call('int', of('double')),
      call('abs', of('int')),
      method(of('string'), 'indexOf', of('string')),
    ),
    double: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.integer({ min: 0, max: 999 }).map((n) => `${n}.5`),
      joinedBy(['+', '-', '*', '/'], of('double')),
      call('float', of('string')),
      call('float', of('int')),
      fc.tuple(of('int'), of('double')).map(([a, b]) => `(${a} * ${b})`),
    ),
    string: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      text,
      fc.constantFrom('output', '"constructor"', '"^(a+)+$"', '"["'),
      joinedBy(['+'], of('string')),
      call('str', of('dyn')),
      call('str', of('int')),
      method(of('string'), 'strip'),
      method(of('string'), 'lower'),
      method(of('string'), 'upper'),
      method(of('string'), 'substring', of('int')),
      method(method(of('string'), 'splitlines'), 'join', of('string')),
    ),
    // Of any items: those of one type could not be put together with those of another.
    list: fc
      .oneof(
        { depthSize: 'small', withCrossShrink: true },
        fc.constantFrom('[]', '[1, 2, 3]', '[data, output, null]', 'output.splitlines()'),
        fc.array(of('dyn'), { maxLength: 4 }).map((items) => `[${items.join(', ')}]`),
        joinedBy(['+'], of('list')),
        loop('map', of('dyn')),
        loop('filter', of('bool')),
        call('sorted', of('list')),
        method(of('string'), 'split', of('string')),
      )
      .map((list) => `dyn(${list})`),
    dyn: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constantFrom('data', 'data.a', 'data["a"]', 'prev_output', 'null'),
      fc.tuple(of('string')).map(([key]) => `data[${key}]`),
      fc.tuple(of('int')).map(([at]) => `data[${at}]`),
      fc.tuple(of('list'), of('int')).map(([list, at]) => `(${list})[${at}]`),
      fc.tuple(of('string')).map(([key]) => `dyn({"a": 1}).get(${key}, 2)`),
      call('dyn', of('int')),
      call('dyn', of('string')),
      call('dyn', of('list')),
      call('max', of('int'), of('int')),
      call('min', of('list')),
    ),
  };
});

const output = fc.oneof(
  fc.json({ maxDepth: 4 }),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('', 'constructor', '__proto__', '{"a":{"a":1}}', '{"__proto__":1}', `${'a'.repeat(40)}b`),
  fc.string({ maxLength: 20 }).map((line) => `${line}\n`.repeat(200)),
);

describe('The judge of conditions', () => {
  it(`answers to every sound condition over every output, within its bounds (seed ${seed})`, async () => {
    console.info(`CONDITION_SEED=${seed}`);
    const seen = { holds: 0, holdsNot: 0, failed: 0, unjudged: 0 };
    await fc.assert(
      fc.asyncProperty(
        expressions.bool.filter((condition) => condition.length <= 4_000),
        output,
        fc.option(output),
        async (condition, now, prevOutput) => {
          expect(await conditions.check(condition)).toEqual({ type: 'sound' });
          const at = facts(now, { prevOutput });
          const [first, second] = await Promise.all([
            conditions.judge(condition, at),
            conditions.judge(condition, at),
          ]);
          seen[first.type] += 1;
          // One that needs all of its time may get just a little more of it the second time.
          if (!isOfBounds(first) && !isOfBounds(second)) expect(second).toEqual(first);
          if (first.type === 'failed') expect(first.message).toMatch(/^.{5,500}$/);
        },
      ),
      { seed, numRuns },
    );
    console.info(`${JSON.stringify(seen)} of ${numRuns}`);
    // A generator of nothing but failures would prove nothing.
    expect(seen.holds).toBeGreaterThan(numRuns / 20);
    expect(seen.holdsNot).toBeGreaterThan(numRuns / 20);
  }, 120_000);
});

const isOfBounds = (verdict: { readonly type: string; readonly message?: string }): boolean =>
  verdict.type === 'failed' && /longer than 200 ms|more than 64 MB/.test(verdict.message ?? '');
