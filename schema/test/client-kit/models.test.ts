/** Asking which models there are, as the kit reads them. */
import { expect, it } from 'vitest';
import { modelsQuery, type Model } from '../../src/client-kit/index.ts';
import type { ServerModel } from '../../src/model/index.ts';
import { createInProcess } from './support/in-process.ts';

const configured: Model = {
  alias: 'main',
  description: 'big-1 at models.example',
  demo: false,
  isDefault: true,
  health: 'DEGRADED',
  problem: 'The last five calls failed: models.example does not answer.',
  window: 131_072,
  maxOutput: 8_192,
  concurrency: 4,
  inUse: 4,
  waiting: 2,
  fallbacks: ['spare'],
  temperature: 0,
  effort: 'MEDIUM',
  efforts: ['LOW', 'MEDIUM', 'HIGH'],
  vision: true,
  reasoning: true,
  price: { input: 2.5, output: 10, cachedInput: null },
};
const plain: Model = {
  ...configured,
  alias: 'spare',
  isDefault: false,
  health: 'UNKNOWN',
  problem: null,
  window: null,
  maxOutput: null,
  concurrency: null,
  inUse: 0,
  waiting: 0,
  fallbacks: [],
  temperature: null,
  effort: null,
  efforts: [],
  price: null,
};

const server: ServerModel = {
  version: '0.0.0',
  node: 'node-1',
  database: 'PostgreSQL 18',
  workspaceRoots: [],
  warnings: ['It runs as root.'],
  persistence: { status: 'HEALTHY' },
};

it('brings all there is to know of each model, in the order of the server, with null for what is not known, and the warnings', async () => {
  const transport = createInProcess({
    models: { list: () => [configured, plain] },
    server: { info: () => Promise.resolve(server) },
  });
  expect(await transport.request(modelsQuery, {})).toEqual({
    ok: true,
    data: { models: [configured, plain], server: { warnings: server.warnings } },
  });
});
