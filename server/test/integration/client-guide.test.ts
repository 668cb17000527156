/**
 * Owns: that the script in the guide to the client kit does what the guide says, word for word as it stands there.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startWeir, type Weir } from '../../../e2e/support/weir.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';

const repository = join(import.meta.dirname, '../../..');
const [, script] = /<<'END'\n([^]*?)END\n/.exec(
  readFileSync(join(repository, 'docs/guide/client.md'), 'utf8'),
)!;

let database: TestDatabase;
let weir: Weir;
beforeAll(async () => {
  database = await createDatabase();
  weir = await startWeir({ databaseUrl: database.url });
});
afterAll(async () => {
  await weir.remove();
  await database.drop();
});

it('the script of the guide creates, follows, sends, approves and prints the answer, in at most thirty lines', async () => {
  expect(script!.trimEnd().split('\n').length).toBeLessThanOrEqual(30);
  const child = spawn(process.execPath, ['--input-type=module-typescript', '-'], {
    cwd: join(repository, 'client'),
    env: {
      PATH: process.env['PATH'],
      WEIR_URL: `${weir.url}/graphql`,
      WEIR_TOKEN: await weir.signIn(),
    },
  });
  child.stdin.end(script);
  const exited = new Promise((resolve) => child.on('exit', resolve));
  const [printed, complained] = await Promise.all([text(child.stdout), text(child.stderr)]);
  expect(complained).toBe('');
  expect(await exited).toBe(0);
  const lines = printed.trimEnd().split('\n');
  expect(lines[0]).toBe('CONNECTING');
  expect(lines).toContain('May it use shell? echo good morning');
  expect(printed).toMatch(/^`shell` came back: good morning$/m);
});
