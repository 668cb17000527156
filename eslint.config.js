/**
 * Owns: what a line may say. Does not own: which room imports which (`.dependency-cruiser.js`), layout (prettier).
 */
import comments from '@eslint-community/eslint-plugin-eslint-comments/configs';
import js from '@eslint/js';
import graphql from '@graphql-eslint/eslint-plugin';
import prettier from 'eslint-config-prettier/flat';
import svelte from 'eslint-plugin-svelte';
import { defineConfig, globalIgnores } from 'eslint/config';
import globals from 'globals';
import { existsSync } from 'node:fs';
import ts from 'typescript-eslint';

const svelteFiles = ['**/*.svelte', '**/*.svelte.ts'];
const clientConfig = new URL('client/svelte.config.js', import.meta.url);
const { default: svelteConfig } = existsSync(clientConfig)
  ? await import(clientConfig.href)
  : { default: {} };

/** What a pure room must not know: it is given times, ids and chance as data, and answers at once. */
const impureGlobals = [
  'setTimeout',
  'setInterval',
  'setImmediate',
  'clearTimeout',
  'clearInterval',
  'clearImmediate',
  'queueMicrotask',
  'process',
  'crypto',
  'console',
  'performance',
  'fetch',
  'globalThis',
  'Promise',
  'AbortController',
  'AbortSignal',
  'WebSocket',
  'require',
].map((name) => ({ name, message: 'A pure room has no clock, no chance, no I/O and never waits (D-1).' }));

const impureSyntax = [
  ['NewExpression[callee.name="Date"][arguments.length=0]', 'The time is an input, never read.'],
  ['CallExpression[callee.name="Date"]', 'The time is an input, never read.'],
  [':function[async=true]', 'A pure room never waits (D-1).'],
  ['AwaitExpression', 'A pure room never waits (D-1).'],
  ['ForOfStatement[await=true]', 'A pure room never waits (D-1).'],
  ['TSTypeReference > Identifier[name=/^(?:Promise|PromiseLike)$/]', 'A pure room never waits (D-1).'],
  ['ImportExpression', 'A pure room loads nothing.'],
  ['ClassDeclaration', 'State is data that a function is given and returns.'],
  ['Program > VariableDeclaration[kind="let"]', 'State is data that a function is given and returns.'],
  ['Program > ExportNamedDeclaration > VariableDeclaration[kind="let"]', 'State is given and returned.'],
].map(([selector, message]) => ({ selector, message }));

/** A test is left out by a condition that says why (`skipIf`, `runIf`) or not at all. */
const idleTests = ['it', 'test', 'describe'].flatMap((object) =>
  ['skip', 'only', 'todo'].map((property) => ({
    object,
    property,
    message: 'Leave a test out by a condition (skipIf, runIf), or fix it.',
  })),
);

export default defineConfig(
  globalIgnores(['**/dist/**', '**/out/**', '**/.data/**', '**/node_modules/**']),
  // gql.tada writes it, with a line of its own that disables all rules and gives no reason: this is it.
  globalIgnores(['schema/src/client-kit/graphql-env.d.ts']),
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  comments.recommended,
  {
    rules: {
      '@eslint-community/eslint-comments/require-description': 'error',
      '@eslint-community/eslint-comments/disable-enable-pair': ['error', { allowWholeFile: true }],
    },
  },
  {
    files: ['**/*.{js,ts,svelte}'],
    extends: [js.configs.recommended, ts.configs.recommendedTypeChecked],
    languageOptions: {
      parserOptions: {
        projectService: { allowDefaultProject: ['client/*.js', '.dependency-cruiser.js'] },
        extraFileExtensions: ['.svelte'],
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', ignoreRestSiblings: true }],
      '@typescript-eslint/ban-ts-comment': ['error', { minimumDescriptionLength: 10 }],
      // A port or a resolver may be asynchronous by contract and answer at once.
      '@typescript-eslint/require-await': 'off',
      // Functions and factories: our ports' methods have no `this`, and are passed on freely.
      '@typescript-eslint/unbound-method': 'off',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-restricted-properties': ['error', ...idleTests],
    },
  },
  svelte.configs.recommended,
  {
    files: svelteFiles,
    languageOptions: {
      parserOptions: {
        projectService: true,
        extraFileExtensions: ['.svelte'],
        parser: ts.parser,
        svelteConfig,
      },
    },
  },
  { files: ['client/src/**'], languageOptions: { globals: globals.browser } },
  {
    files: ['**/*.js'],
    extends: [ts.configs.disableTypeChecked],
    languageOptions: { globals: globals.node },
  },
  {
    files: ['server/src/core/**/*.ts', 'schema/src/projection/**/*.ts'],
    rules: {
      'no-restricted-globals': ['error', ...impureGlobals],
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now', message: 'The time is an input, never read.' },
        { object: 'Math', property: 'random', message: 'Chance is an input, never drawn.' },
      ],
      'no-restricted-syntax': ['error', ...impureSyntax],
      'no-restricted-imports': [
        'error',
        { patterns: [{ regex: '^node:', message: 'A pure room has no I/O.' }], paths: builtins() },
      ],
    },
  },
  {
    files: ['schema/**/*.graphql'],
    plugins: { '@graphql-eslint': graphql },
    languageOptions: {
      parser: graphql.parser,
      parserOptions: { graphQLConfig: { schema: './schema/schema.graphql', documents: [] } },
    },
    rules: {
      ...graphql.configs['flat/schema-recommended'].rules,
      ...graphql.configs['flat/schema-relay'].rules,
      '@graphql-eslint/require-description': [
        'error',
        {
          types: true,
          FieldDefinition: true,
          InputValueDefinition: true,
          EnumValueDefinition: true,
          DirectiveDefinition: true,
        },
      ],
      // Lists may hold plain values; an edge's node may be a summary; a connection may be paged one way.
      '@graphql-eslint/relay-edge-types': [
        'error',
        { withEdgeSuffix: true, listTypeCanWrapOnlyEdgeType: false, shouldImplementNode: false },
      ],
      '@graphql-eslint/relay-arguments': ['error', { includeBoth: false }],
      // `callId` is the API's one word for it, on the call as everywhere else.
      '@graphql-eslint/no-typename-prefix': 'off',
      // Only what implements Node has an id; values, unions' members and payloads have none.
      '@graphql-eslint/strict-id-in-types': 'off',
    },
  },
  prettier,
);

/** Node's own modules without the prefix. */
function builtins() {
  return [
    'fs',
    'path',
    'os',
    'crypto',
    'timers',
    'events',
    'stream',
    'http',
    'child_process',
    'worker_threads',
  ];
}
