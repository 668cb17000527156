import { expect, test } from 'vitest';
import { readCallPieces } from '../../../src/adapters/model/wire/chat-reader.ts';
import { createToolCallAssembly, maxCalls } from '../../../src/adapters/model/wire/tool-calls.ts';

const tools = new Set(['shell', 'read_file', 'list', 'edit_existing_file']);

/** Each element is the `tool_calls` of one chunk. */
function assemble(chunks: readonly (readonly unknown[])[]) {
  const assembly = createToolCallAssembly(tools);
  for (const items of chunks) assembly.add(readCallPieces(items));
  return assembly.finish().map((c) => [c.providerId, c.name, c.arguments]);
}

const f = (name?: string, input?: unknown) => ({
  function: { ...(name !== undefined && { name }), ...(input !== undefined && { arguments: input }) },
});

test.each<[string, readonly (readonly unknown[])[], readonly (readonly string[])[]]>([
  ['no index', [[{ id: 'a', ...f('shell', '{"x":1}') }]], [['a', 'shell', '{"x":1}']]],
  [
    'no index, two ids in one chunk',
    [
      [
        { id: 'a', ...f('read_file', '{"p":1}') },
        { id: 'b', ...f('read_file', '{"p":2}') },
      ],
    ],
    [
      ['a', 'read_file', '{"p":1}'],
      ['b', 'read_file', '{"p":2}'],
    ],
  ],
  [
    'no index, fragments go on with the last call',
    [[{ id: 'a', ...f('shell', '{"x"') }], [f(undefined, ':1}')], [{ id: 'b', ...f('list', '') }]],
    [
      ['a', 'shell', '{"x":1}'],
      ['b', 'list', '{}'],
    ],
  ],
  [
    'one index for all calls',
    [
      [{ index: 0, id: 'a', ...f('shell', '{"x":1}') }],
      [{ index: 0, id: 'b', ...f('shell', '{"x":') }],
      [{ index: 0, ...f(undefined, '2}') }],
    ],
    [
      ['a', 'shell', '{"x":1}'],
      ['b', 'shell', '{"x":2}'],
    ],
  ],
  [
    'one index and blank ids',
    [[{ index: 0, id: '', ...f('shell', '{"x":1}') }], [{ index: 0, id: ' ', ...f('shell', '{"x":2}') }]],
    [
      ['', 'shell', '{"x":1}'],
      ['', 'shell', '{"x":2}'],
    ],
  ],
  [
    'neither index nor id, and no arguments',
    [[f('list', '')], [f('shell', '{}')]],
    [
      ['', 'list', '{}'],
      ['', 'shell', '{}'],
    ],
  ],
  [
    'neither index nor id, twice alike in one chunk',
    [[f('list', '{}'), f('list', '{}')]],
    [
      ['', 'list', '{}'],
      ['', 'list', '{}'],
    ],
  ],
  [
    'the same id at two indexes',
    [[{ index: 0, id: 'x', ...f('shell', '{"n":1}') }], [{ index: 1, id: 'x', ...f('shell', '{"n":2}') }]],
    [
      ['x', 'shell', '{"n":1}'],
      ['x', 'shell', '{"n":2}'],
    ],
  ],
  [
    'the same id without index, with other arguments',
    [[{ id: 'x', ...f('shell', '{"n":1}') }], [{ id: 'x', ...f('shell', '{"n":2}') }]],
    [
      ['x', 'shell', '{"n":1}'],
      ['x', 'shell', '{"n":2}'],
    ],
  ],
  [
    'id and name repeated in each chunk',
    ['', '{"a"', ':1', '}'].map((part) => [{ index: 0, id: 'c', name: null, ...f('read_file', part) }]),
    [['c', 'read_file', '{"a":1}']],
  ],
  [
    'a name in fragments',
    [
      [{ index: 0, id: 'c', ...f('edit_ex', '') }],
      [{ index: 0, ...f('isting_file') }],
      [{ index: 0, ...f(undefined, '{}') }],
    ],
    [['c', 'edit_existing_file', '{}']],
  ],
  [
    'arguments before the name',
    [
      [{ id: 'c', ...f(undefined, '{"a"') }],
      [{ id: 'c', ...f(undefined, ':1}') }],
      [{ id: 'c', ...f('list') }],
    ],
    [['c', 'list', '{"a":1}']],
  ],
  [
    'id, name and arguments one after the other, and the name once more',
    [[{ id: 'c' }], [f('list')], [f(undefined, '{"a":1}')], [f('list')]],
    [['c', 'list', '{"a":1}']],
  ],
  [
    'a late id',
    [[{ index: 0, ...f('list', '{"a"') }], [{ index: 0, id: 'late', ...f(undefined, ':1}') }]],
    [['late', 'list', '{"a":1}']],
  ],
  [
    'an id that changes with each chunk',
    [
      [{ index: 0, id: 'r1', ...f('list', '') }],
      [{ index: 0, id: 'r2', ...f(undefined, '{"a"') }],
      [{ index: 0, id: 'r3', ...f(undefined, ':1}') }],
    ],
    [['r1', 'list', '{"a":1}']],
  ],
  ['arguments as an object', [[{ index: 0, id: 'c', ...f('list', { a: 1 }) }]], [['c', 'list', '{"a":1}']]],
  ['arguments that are null', [[{ index: 0, id: 'c', ...f('list', null) }]], [['c', 'list', '{}']]],
  [
    'a name and an id emptied later',
    [[{ index: 0, id: 'c', ...f('list', '{') }], [{ index: 0, id: '', ...f('', '}') }]],
    [['c', 'list', '{}']],
  ],
  [
    'the whole call sent again',
    [[{ index: 0, id: 'c', ...f('list', '{"a":1}') }], [{ index: 0, id: 'c', ...f('list', '{"a":1}') }]],
    [['c', 'list', '{"a":1}']],
  ],
  [
    'the whole arguments once more after their fragments',
    [
      [{ index: 0, id: 'c', ...f('list', '{"a"') }],
      [{ index: 0, ...f(undefined, ':1}') }],
      [{ index: 0, ...f(undefined, '{"a":1}') }],
    ],
    [['c', 'list', '{"a":1}']],
  ],
  [
    'arguments that grow',
    ['{"a"', '{"a":1', '{"a":1}'].map((part) => [{ index: 0, id: 'c', ...f('list', part) }]),
    [['c', 'list', '{"a":1}']],
  ],
  [
    'an empty object before the real arguments',
    [
      [{ index: 0, id: 'c', ...f('list', '{}') }],
      [{ index: 0, ...f(undefined, '{"a"') }],
      [{ index: 0, ...f(undefined, ':1}') }],
    ],
    [['c', 'list', '{"a":1}']],
  ],
  [
    'arguments whose fragments look like repeats and are none',
    [[{ index: 0, id: 'c', ...f('list', '{"a":') }], [{ index: 0, ...f(undefined, '{"a":1}}') }]],
    [['c', 'list', '{"a":{"a":1}}']],
  ],
  [
    'arguments that never close, as they are',
    [[{ index: 0, id: 'c', ...f('list', '{"a": "b') }]],
    [['c', 'list', '{"a": "b']],
  ],
  [
    'a prefix the provider puts before the name',
    [[{ index: 0, id: 'c', ...f('functions.shell', '{}') }]],
    [['c', 'shell', '{}']],
  ],
  ['a name nobody offered, as it is', [[{ index: 0, id: 'c', ...f('rm', '{}') }]], [['c', 'rm', '{}']]],
  ['things that are no calls', [[null, 'x', 1, [], { id: 'stray' }]], []],
])('calls are put together from %s', (_, chunks, calls) => {
  expect(assemble(chunks)).toEqual(calls);
});

test('what comes beside a call, with it or in a piece of its own, stays with it', () => {
  const assembly = createToolCallAssembly(tools);
  assembly.add(readCallPieces([{ index: 0, id: 'a', ...f('list', '{}'), extra_content: { signature: 1 } }]));
  assembly.add(readCallPieces([{ index: 1, id: 'b', ...f('shell', '{}') }]));
  assembly.add(
    readCallPieces([
      { index: 1, extra_content: { signature: 2 } },
      { index: 2, extra_content: 3 },
    ]),
  );
  expect(assembly.finish()).toEqual([
    { providerId: 'a', name: 'list', arguments: '{}', extra: { signature: 1 } },
    { providerId: 'b', name: 'shell', arguments: '{}', extra: { signature: 2 } },
  ]);
});

/** The one call that comes out of very many pieces, which takes for ever when each piece looks back at all before. */
function assembleMany(piece: (i: number) => unknown) {
  const assembly = createToolCallAssembly(tools);
  for (let i = 0; i < 50_000; i++) assembly.add(readCallPieces([piece(i)]));
  const calls = assembly.finish();
  expect(calls).toHaveLength(1);
  return calls[0]!;
}
const digits = '1'.repeat(49_998);
const fragment = (i: number) => (i === 0 ? '{"n":' : i === 49_999 ? '}' : digits[i - 1]!);

test.each<[string, (i: number) => unknown, string, string]>([
  [
    'with id and name in each',
    (i) => ({ index: 0, id: 'c', ...f('shell', fragment(i)) }),
    'shell',
    `{"n":${digits}}`,
  ],
  [
    'with another id in each',
    (i) => ({ index: 0, id: `r${i}`, ...f(i === 0 ? 'shell' : undefined, fragment(i)) }),
    'shell',
    `{"n":${digits}}`,
  ],
  ['that each add to the name', () => ({ index: 0, id: 'c', ...f('~x', '') }), '~x', '{}'],
  [
    'that each add something else to the name',
    (i) => ({ index: 0, id: 'c', ...f(`${i}`, '') }),
    Array.from({ length: 400 }, (_, i) => `${i}`)
      .join('')
      .slice(0, 1_000),
    '{}',
  ],
  [
    'of white space after the end',
    (i) => ({ index: 0, id: 'c', ...f('list', i === 0 ? '{"a":1}' : ' ') }),
    'list',
    `{"a":1}${' '.repeat(49_999)}`,
  ],
  ['that all repeat the whole', () => ({ index: 0, id: 'c', ...f('list', '{"a":1}') }), 'list', '{"a":1}'],
  [
    'that each close a bracket of something else',
    () => ({ index: 0, id: 'c', ...f('list', '}') }),
    'list',
    '}'.repeat(50_000),
  ],
])('a call is put together from 50,000 pieces %s', (_, piece, name, input) => {
  const call = assembleMany(piece);
  expect(call.name).toBe(name);
  expect(call.arguments).toBe(input);
});

test('no more than 1,000 calls are put together, and what is beyond is said to be', () => {
  const assembly = createToolCallAssembly(tools);
  const calls = Array.from({ length: maxCalls }, (_, index) => ({ index, ...f('list', '{}') }));
  expect(assembly.add(readCallPieces(calls))).toBe(2 * maxCalls);
  expect(assembly.add(readCallPieces([{ index: maxCalls, ...f('list', '{}') }]))).toBeNull();
  expect(assembly.finish()).toHaveLength(maxCalls);
});
