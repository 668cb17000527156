/**
 * Owns: which room may import which ("Rooms and doors"), as data. Does not own: unused code (knip), style (eslint).
 *
 * A room is a folder; `mayImport` is the whole list of what its files may reach besides the room itself: other rooms
 * as path patterns, packages as `pkg(...)`, Node's own modules as NODE. Everything else is a violation. Tests are
 * exempt, for they stand outside the house (all but those of `e2e`, which are a room).
 * `scripts/test/dependency-rules.test.ts` breaks every rule once.
 */

const NODE =
  '^(?:node:)?(?:fs|os|path|url|util|http|https|net|tls|crypto|stream|events|timers|child_process|worker_threads|perf_hooks|async_hooks|buffer|process|module|zlib|readline|string_decoder|diagnostics_channel|querystring|assert|constants|dns|tty|v8|vm)(?:/|$)';
const pkg = (...names) => `node_modules/(?:${names.join('|')})/`;

const PROJECTION = '^schema/src/projection/';
const SCHEMA = '^schema/';
const PORTS = '^server/src/ports/';
const CORE = '^server/src/core/';

const rooms = [
  {
    name: 'projection-imports-nothing',
    room: '^schema/src/projection/',
    mayImport: [],
    comment:
      'What does a client know after these feed items? The one fold runs in server and browser alike (D-58).',
  },
  {
    name: 'client-kit-stays-small',
    room: '^schema/src/client-kit/',
    mayImport: [PROJECTION, pkg('graphql-ws', 'graphql', 'gql\\.tada')],
    comment:
      'Would a script or the SPA need it to follow a workstream rightly? It knows the wire (documents and how they travel) and the fold.',
  },
  {
    name: 'schema-knows-only-graphql',
    room: '^schema/src/(?!projection/|client-kit/|print\\.ts$)',
    mayImport: ['^schema/src/(?!client-kit/)', pkg('graphql', '@pothos/[^/]+')],
    comment:
      'Is it what a client may see or ask? The schema owns the Services port; it never sees the server.',
  },
  {
    name: 'printer-writes-one-file',
    room: '^schema/src/print\\.ts$',
    mayImport: ['^schema/src/', pkg('graphql', 'prettier'), NODE],
    comment: 'The printer is a script: the schema, and a file system to write it to.',
  },
  {
    name: 'migrations-stand-alone',
    room: '^migrations/',
    mayImport: [pkg('@mikro-orm/migrations'), '^url$'],
    comment:
      'Is it a change of tables, made for ever? A migration that imports living code changes when that code does.',
  },
  {
    name: 'core-is-true-on-paper',
    room: CORE,
    mayImport: [PROJECTION, pkg('tokenx', 'unbash')],
    comment:
      'Would it be true on paper? The core decides; it touches nothing. (eslint forbids clocks, chance, async.) What it ' +
      'borrows are pure functions: how many tokens a text is likely to be, and what a shell would make of a line.',
  },
  {
    name: 'ports-speak-core',
    room: PORTS,
    mayImport: [CORE, PROJECTION],
    comment:
      "Is it a need, stated by the one who needs it? A port speaks the core's words (some live in the projection).",
  },
  {
    name: 'app-orders-the-work',
    room: '^server/src/app/',
    mayImport: [CORE, PORTS, '^schema/src/(?:projection/|model/|services\\.ts$|outcome\\.ts$|context\\.ts$)'],
    comment:
      "Is it about order: what, then what? It reaches the world through ports and answers the schema's Services.",
  },
  ...adapter('storage', ['^migrations/', pkg('@mikro-orm/[^/]+', 'pg'), NODE]),
  ...adapter('model', [pkg('openai', 'eventsource-parser', 'undici', 'zod'), NODE]),
  ...adapter('tools', [pkg('diff', 'write-file-atomic', 'zod'), NODE]),
  ...adapter('conditions', [pkg('@marcbachmann/cel-js', 're2js'), NODE]),
  ...adapter('process', [NODE]),
  ...adapter('bus', [NODE]),
  ...adapter('clock', [NODE]),
  ...adapter('random', [NODE]),
  ...adapter('telemetry', [pkg('pino'), NODE]),
  ...adapter('workspaces', [NODE]),
  {
    name: 'adapter-is-listed',
    room: '^server/src/adapters/(?!(?:storage|model|tools|conditions|process|bus|clock|random|telemetry|workspaces)/)',
    mayImport: [],
    comment: 'A new adapter gets a row above: its ports, core types, and its one library.',
  },
  {
    name: 'transport-meets-services-only',
    room: '^server/src/transport/',
    mayImport: [
      SCHEMA,
      PORTS,
      pkg('graphql', 'graphql-yoga', '@graphql-yoga/[^/]+', 'graphql-ws', 'ws', 'sirv'),
      NODE,
    ],
    comment:
      'Does it speak HTTP or WebSocket, or check who is asking? It never knows how an answer comes about.',
  },
  {
    name: 'client-sees-the-public-api',
    room: '^client/src/',
    mayImport: [
      PROJECTION,
      '^schema/src/client-kit/',
      '^schema/schema\\.graphql$',
      '^client/',
      pkg(
        'svelte',
        'dompurify',
        'marked',
        '@noble/hashes',
        'gql\\.tada',
        'graphql',
        'graphql-ws',
        '@urql/[^/]+',
      ),
    ],
    comment: 'Does a person see it? The client knows what any client may know.',
  },
  {
    name: 'e2e-is-a-stranger',
    room: '^e2e/',
    mayImport: [
      PROJECTION,
      '^schema/src/client-kit/',
      '^schema/schema\\.graphql$',
      '^server/test/support/',
      '^scripts/',
      pkg('playwright-core', 'vitest', 'graphql', 'graphql-ws', 'ws', 'pg'),
      NODE,
    ],
    testsToo: true,
    comment: 'Would a stranger observe it? End-to-end tests use the built product over its public surface.',
  },
];

/** An adapter translates to one thing outside. It never meets another adapter or the app: those meet in compose.ts. */
function adapter(name, outside) {
  return [
    {
      name: `adapter-${name}`,
      room: `^server/src/adapters/${name}/`,
      mayImport: [CORE, PORTS, PROJECTION, ...outside],
      comment: `Does it translate to something outside? ${name}: ports, core types and its own library, nothing else.`,
    },
  ];
}

const TESTS = '(?:^|/)test/|\\.(?:test|spec)\\.ts$';

export const forbidden = [
  ...rooms.map(({ name, room, mayImport, comment, testsToo = false }) => ({
    name,
    comment,
    severity: 'error',
    from: testsToo ? { path: room } : { path: room, pathNot: TESTS },
    to: { pathNot: [room, ...mayImport] },
  })),
  {
    name: 'only-compose-constructs-adapters',
    comment: 'Does it choose the real thing? Only compose.ts imports adapters; main and config ask compose.',
    severity: 'error',
    from: { path: '^server/src/', pathNot: [TESTS, '^server/src/compose\\.ts$', '^server/src/adapters/'] },
    to: { path: '^server/src/adapters/' },
  },
  {
    name: 'nobody-imports-the-top',
    comment: 'main, compose and config stand on top of the server: what they import never imports them back.',
    severity: 'error',
    from: {
      path: '^(?:server|schema|client|migrations)/',
      pathNot: [TESTS, '^server/src/(?:main|compose|config)\\.ts$'],
    },
    to: { path: '^server/src/(?:main|compose|config)\\.ts$' },
  },
  {
    name: 'product-never-imports-tests',
    comment: 'Tests look at the product; the product does not know them.',
    severity: 'error',
    from: { path: '^(?:server|schema|client|migrations)/', pathNot: TESTS },
    to: { path: '(?:^|/)test/|\\.(?:test|spec)\\.ts$|^e2e/|^scripts/', pathNot: 'node_modules' },
  },
  {
    name: 'no-circles',
    comment: 'A circle is one module that pretends to be two.',
    severity: 'error',
    from: {},
    to: { circular: true },
  },
  {
    name: 'resolvable',
    comment: 'An import that leads nowhere would escape every other rule.',
    severity: 'error',
    from: {},
    to: { couldNotResolve: true },
  },
];

export default {
  forbidden,
  options: {
    doNotFollow: { path: 'node_modules' },
    // Our own products only: a package may well live in a folder called dist.
    exclude: {
      path: ['^(?:client|server|schema|e2e)/(?:dist|out)/', '^(?:dist|out|\\.data)/', '\\.(?:css|svg)$'],
    },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    moduleSystems: ['es6'],
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'types', 'svelte', 'default'],
    },
  },
};
