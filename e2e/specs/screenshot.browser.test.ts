/**
 * Owns: the picture on the front page of the README: the demo, with a question about a command open. It is made anew
 * in `e2e/out/` by every run, and in `docs/images/` where UPDATE_SCREENSHOTS=1.
 */
import { spawnSync } from 'node:child_process';
import { chownSync, copyFileSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { createBrowserWorld, out } from '../support/browser.ts';
import { button, inState, question, say, sees } from '../support/page.ts';
import { makePlace } from '../support/weir.ts';

const committed = join(import.meta.dirname, '../../docs/images/approval.png');
const size = { width: 1280, height: 800 };
const updates = process.env['UPDATE_SCREENSHOTS'] === '1';

const nobody = 65_534;
const becomeNobody = ['setpriv', '--reuid=nobody', '--regid=nogroup', '--clear-groups', '--'] as const;

const place = { ...makePlace(), ...(updates && { workspaces: join(tmpdir(), 'projects') }) };
// The picture shows the path. Fails where that folder is somebody's.
if (updates) mkdirSync(place.workspaces);
afterAll(() => {
  if (updates) rmSync(place.workspaces, { recursive: true });
});

// Where the tests run as root the page would open with a warning that few readers of the README will see.
if (canBecomeNobody()) chownSync(place.root, nobody, nobody);
const world = createBrowserWorld({
  model: 'demo',
  place,
  server: canBecomeNobody() ? { prefix: becomeNobody } : {},
});

it('makes the picture of the README', async () => {
  mkdirSync(out, { recursive: true });
  const page = await world.open();
  for (const [title, text] of [
    ['Release notes', 'say: The draft is in notes.md.'],
    ['Nightly build', `slow: ${'still building '.repeat(400)}`],
  ] as const) {
    const id = await world.api.create({ title, workspace: world.folder(title) });
    await world.api.send(id, text);
  }
  const folder = world.folder('hello-weir');
  if (canBecomeNobody()) chownSync(folder, nobody, nobody);
  const id = await world.api.create({ title: 'First steps', workspace: folder });
  await page.goto(`${world.weir.url}/#/w/${id}`);
  await say(page, 'write notes.txt: Buy milk');
  await button(question(page, 'write_file'), 'Approve').click();
  await inState(page, 'Idle');
  await say(page, 'run: ls -la');
  await sees(question(page, 'shell'));
  await sees(button(page, 'Approve'));
  const list = page.getByRole('navigation', { name: 'Workstreams' });
  await sees(list.getByRole('link', { name: /^Release notes\s+Idle/ }));
  await sees(list.getByRole('link', { name: /^Nightly build\s+Thinking/ }));
  const fresh = join(out, 'approval.png');
  await page.screenshot({ path: fresh, animations: 'disabled' });
  if (updates) copyFileSync(fresh, committed);
  expect(sizeOfPng(readFileSync(fresh))).toEqual(size);
  expect(sizeOfPng(readFileSync(committed))).toEqual(size);
});

/** Throws when it is no PNG. */
function sizeOfPng(file: Buffer): { readonly width: number; readonly height: number } {
  expect(file.subarray(0, 8).toString('latin1')).toBe('\u0089PNG\r\n\u001a\n');
  return { width: file.readUInt32BE(16), height: file.readUInt32BE(20) };
}

function canBecomeNobody(): boolean {
  if (process.getuid?.() !== 0) return false;
  const [program, ...flags] = becomeNobody;
  return (
    spawnSync(program, [...flags, process.execPath, '--version'], { cwd: import.meta.dirname }).status === 0
  );
}
