import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { watchStalls } from '../../support/stalls.ts';
import { createBench, type Bench } from './support.ts';

const read = ({ workspace }: Bench, path: string): string => readFileSync(join(workspace, path), 'utf8');

async function ready(bench: Bench, name: string, args: object) {
  const prepared = await bench.prepare(name, args);
  if (prepared.type === 'invalid') throw new Error(prepared.message);
  return prepared;
}

async function refusal(bench: Bench, name: string, args: object): Promise<string> {
  const prepared = await bench.prepare(name, args);
  expect(prepared.type).toBe('invalid');
  return prepared.type === 'invalid' ? prepared.message : '';
}

describe('the preview of a change', () => {
  const lines = Array.from({ length: 12 }, (_, i) => `line ${i + 1}`);

  it('of an edit is a unified diff titled by the path', async () => {
    const bench = createBench();
    bench.files({ 'src/a.txt': `${lines.join('\n')}\n` });
    const { preview } = await ready(bench, 'edit_file', {
      path: 'src/a.txt',
      old_text: 'line 6\nline 7',
      new_text: 'line six',
    });
    expect(preview).toEqual({
      kind: 'DIFF',
      title: 'src/a.txt',
      body: [
        '--- a/src/a.txt',
        '+++ b/src/a.txt',
        '@@ -3,8 +3,7 @@',
        ' line 3',
        ' line 4',
        ' line 5',
        '-line 6',
        '-line 7',
        '+line six',
        ' line 8',
        ' line 9',
        ' line 10',
        '',
      ].join('\n'),
    });
    expect(read(bench, 'src/a.txt')).toBe(`${lines.join('\n')}\n`);
  });

  it('of a new file comes from /dev/null and makes nothing', async () => {
    const bench = createBench();
    const { preview } = await ready(bench, 'write_file', { path: 'new/a.txt', content: 'one\ntwo' });
    expect(preview).toEqual({
      kind: 'DIFF',
      title: 'new/a.txt',
      body: '--- /dev/null\n+++ b/new/a.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n\\ No newline at end of file\n',
    });
    expect(readdirSync(bench.workspace)).toEqual([]);
  });

  it('of a replaced file shows what goes; of a binary one that it goes; of the same content that nothing changes', async () => {
    const bench = createBench();
    bench.files({ 'a.txt': 'old\n', 'é.txt': 'old\n', 'a.bin': Buffer.from([0, 1, 2]) });
    const bodyOf = async (path: string, content: string): Promise<string> =>
      (await ready(bench, 'write_file', { path, content })).preview.body;
    expect(await bodyOf('a.txt', 'new\n')).toBe('--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,1 @@\n-old\n+new\n');
    expect(await bodyOf('é.txt', 'new\n')).toMatch(/^--- a\/é\.txt\n\+\+\+ b\/é\.txt\n@@/);
    expect(await bodyOf('new.txt', '')).toBe('--- /dev/null\n+++ b/new.txt\n[an empty file]\n');
    expect(await bodyOf('a.bin', 'new\n')).toMatch(
      /^Replaces a file of 3 bytes that is not text\.\n--- \/dev\/null\n/,
    );
    expect(await bodyOf('a.txt', 'old\n')).toMatch(/^Nothing changes/);
  });

  it('makes hidden characters visible, in the path too', async () => {
    const bench = createBench();
    const { preview } = await ready(bench, 'write_file', {
      path: 'a\n\u202Eb',
      content: 'x\u202Ey\x1b[2K\n',
    });
    expect(preview.title).toBe('a⟨U+000A⟩⟨U+202E⟩b');
    expect(preview.body).toContain('+x⟨U+202E⟩y⟨U+001B⟩[2K\n');
    expect(preview.body).toContain('+++ b/a⟨U+000A⟩⟨U+202E⟩b\n');
  });

  it('that would be huge is cut with a note, and hard ones do not hold the server up', async () => {
    const bench = createBench();
    const many = (word: string): string =>
      Array.from({ length: 40_000 }, (_, i) => `${word} ${(i * 7919) % 40_009}`).join('\n');
    bench.files({ 'a.txt': many('old') });
    const stalls = watchStalls();
    const { preview } = await ready(bench, 'write_file', { path: 'a.txt', content: many('new') });
    expect(stalls.longestMs()).toBeLessThan(5_000);
    expect(preview.body.length).toBeLessThan(66_000);
    expect(preview.body).toMatch(/\[… \d+ more lines of the diff are not shown …\]\n$/);
    expect(preview.body).toContain('all 40000 lines are replaced by these 40000');
  });
});

describe('writing', () => {
  it('creates a file with its folders, and replaces one', async () => {
    const bench = createBench();
    expect(await bench.call('write_file', { path: 'a/b/c.txt', content: 'é\n' })).toEqual({
      outcome: 'OK',
      effect: 'COMMITTED',
      content: 'Created "a/b/c.txt" (3 bytes).',
    });
    expect(await bench.call('write_file', { path: 'a/b/c.txt', content: '' })).toMatchObject({
      content: 'Replaced "a/b/c.txt" (0 bytes).',
    });
    expect(await bench.call('write_file', { path: 'a/b/c.txt', content: 'a' })).toMatchObject({
      content: 'Replaced "a/b/c.txt" (1 byte).',
    });
    expect(read(bench, 'a/b/c.txt')).toBe('a');
    expect(readdirSync(join(bench.workspace, 'a/b'))).toEqual(['c.txt']);
  });

  it('keeps the mode of a file, but no set-id bits; a new one gets the usual', async () => {
    const bench = createBench();
    bench.files({ 'run.sh': 'a', 'private.txt': 'a', suid: 'a' });
    const modeOf = (path: string): number => statSync(join(bench.workspace, path)).mode & 0o7777;
    chmodSync(join(bench.workspace, 'run.sh'), 0o755);
    chmodSync(join(bench.workspace, 'private.txt'), 0o600);
    chmodSync(join(bench.workspace, 'suid'), 0o4755);
    await bench.call('edit_file', { path: 'run.sh', old_text: 'a', new_text: 'b' });
    await bench.call('write_file', { path: 'private.txt', content: 'b' });
    await bench.call('write_file', { path: 'suid', content: 'b' });
    await bench.call('write_file', { path: 'new.txt', content: 'b' });
    expect(['run.sh', 'private.txt', 'suid'].map(modeOf)).toEqual([0o755, 0o600, 0o755]);
    expect(modeOf('new.txt')).toBe(0o666 & ~process.umask());
  });

  it('is one move: who has the old file open keeps all of it, and nothing else is left in the folder', async () => {
    const bench = createBench();
    bench.files({ 'a.txt': 'old' });
    linkSync(join(bench.workspace, 'a.txt'), join(bench.workspace, 'b.txt'));
    const before = statSync(join(bench.workspace, 'a.txt')).ino;
    await bench.call('write_file', { path: 'a.txt', content: 'new' });
    expect(statSync(join(bench.workspace, 'a.txt')).ino).not.toBe(before);
    expect([read(bench, 'a.txt'), read(bench, 'b.txt')]).toEqual(['new', 'old']);
    expect(readdirSync(bench.workspace).sort()).toEqual(['a.txt', 'b.txt']);
  });

  it('is refused when the file changed, appeared or went since the approval was asked for', async () => {
    const bench = createBench();
    const args = { path: 'a.txt', content: 'mine' };
    const path = join(bench.workspace, 'a.txt');
    const steps: [string, () => void][] = [
      ['appeared', () => writeFileSync(path, 'theirs')],
      ['changed', () => writeFileSync(path, 'theirs again')],
      ['went', () => rmSync(path)],
      ['became a folder', () => mkdirSync(path)],
    ];
    for (const [what, change] of steps) {
      const { basis } = await ready(bench, 'write_file', args);
      change();
      const content = existsSync(path) && statSync(path).isFile() ? readFileSync(path, 'utf8') : null;
      const result = await bench.run('write_file', args, basis);
      expect(result, what).toMatchObject({ outcome: 'ERROR', effect: 'NONE' });
      if (what !== 'became a folder') expect(result.content).toContain('changed after the approval');
      if (content !== null) expect(readFileSync(path, 'utf8')).toBe(content);
      else expect(existsSync(path) && statSync(path).isFile()).toBe(false);
    }
  });

  it('of two approved changes of one file lets one happen', async () => {
    const bench = createBench();
    bench.files({ 'a.txt': 'a b\n' });
    const edits = [
      { path: 'a.txt', old_text: 'a', new_text: 'A' },
      { path: 'a.txt', old_text: 'b', new_text: 'B' },
    ];
    const bases = await Promise.all(edits.map((args) => ready(bench, 'edit_file', args)));
    const results = await Promise.all(
      edits.map((args, i) => bench.run('edit_file', args, bases[i]?.basis ?? null)),
    );
    expect(results.map((result) => result.effect).sort()).toEqual(['COMMITTED', 'NONE']);
    expect(['A b\n', 'a B\n']).toContain(read(bench, 'a.txt'));
  });

  it('does not happen without a basis, or after a stop', async () => {
    const bench = createBench();
    const args = { path: 'a.txt', content: 'x' };
    const { basis } = await ready(bench, 'write_file', args);
    expect(await bench.run('write_file', args, null)).toMatchObject({ outcome: 'ERROR', effect: 'NONE' });
    expect(await bench.run('write_file', args, basis, AbortSignal.abort())).toMatchObject({
      outcome: 'CANCELED',
      effect: 'NONE',
    });
    expect(readdirSync(bench.workspace)).toEqual([]);
  });

  it('refuses what is no text, and what is too large', async () => {
    const bench = createBench({ maxFileBytes: 1_000 });
    bench.files({ 'large.txt': 'a'.repeat(1_001), 'small.txt': 'a'.repeat(900) });
    expect(await refusal(bench, 'write_file', { path: 'a', content: 'a\0' })).toContain('NUL');
    expect(await refusal(bench, 'write_file', { path: 'a', content: '\uD800' })).toContain('broken');
    expect(await refusal(bench, 'write_file', { path: 'a', content: 'é'.repeat(501) })).toContain(
      '1002 bytes',
    );
    expect(await refusal(bench, 'edit_file', { path: 'large.txt', old_text: 'a', new_text: '' })).toContain(
      '1001 bytes',
    );
    const swelling = { path: 'small.txt', old_text: 'a', new_text: 'b'.repeat(100_000), replace_all: true };
    expect(await refusal(bench, 'edit_file', swelling)).toContain('more than the 1000 bytes');
  });
});

describe('editing', () => {
  it('replaces exactly the one piece, whatever it looks like', async () => {
    const bench = createBench();
    bench.files({ 'a.txt': '\uFEFFa.*$b\r\nc\r\n' });
    const args = { path: 'a.txt', old_text: '.*$b\r\n', new_text: '$& $1 \\n' };
    expect(await bench.call('edit_file', args)).toEqual({
      outcome: 'OK',
      effect: 'COMMITTED',
      content: 'Replaced 1 occurrence in "a.txt" (line 1).',
    });
    expect(read(bench, 'a.txt')).toBe('\uFEFFa$& $1 \\nc\r\n');
  });

  it('replaces all when asked', async () => {
    const bench = createBench();
    bench.files({ 'a.txt': 'x\nyx\nxx\n' });
    const args = { path: 'a.txt', old_text: 'x', new_text: '', replace_all: true };
    expect(await bench.call('edit_file', args)).toMatchObject({
      content: 'Replaced 4 occurrences in "a.txt" (lines 1, 2, 3).',
    });
    expect(read(bench, 'a.txt')).toBe('\ny\n\n');
  });

  it('says how often and where, when the piece is there more than once', async () => {
    const bench = createBench();
    bench.files({ 'a.txt': 'x\nyx\nxx\n' });
    const message = await refusal(bench, 'edit_file', { path: 'a.txt', old_text: 'x', new_text: 'z' });
    expect(message).toContain('4 times (lines 1, 2, 3)');
    expect(message).toContain('replace_all');
  });

  it('says what may be wrong, when the piece is not there', async () => {
    const bench = createBench();
    bench.files({ 'a.txt': 'if (x) {\n\treturn 1;\n}\n', 'crlf.txt': 'one\r\ntwo\r\n' });
    const missing = (path: string, old_text: string): Promise<string> =>
      refusal(bench, 'edit_file', { path, old_text, new_text: 'new' });
    expect(await missing('a.txt', 'nothing like it')).toContain('Read the file');
    expect(await missing('a.txt', '    return 1;\n')).toContain('Line 2 has its first line');
    expect(await missing('crlf.txt', 'one\ntwo')).toContain('CRLF');
    expect(await missing('none.txt', 'x')).toContain('Use write_file');
  });

  it('refuses an edit that does nothing, and files that are not UTF-8', async () => {
    const bench = createBench();
    bench.files({ 'a.txt': 'a', 'latin.txt': Buffer.from('caf\xe9', 'latin1') });
    expect(await refusal(bench, 'edit_file', { path: 'a.txt', old_text: 'a', new_text: 'a' })).toContain(
      'the same',
    );
    expect(await refusal(bench, 'edit_file', { path: 'a.txt', old_text: '', new_text: 'a' })).toContain(
      'old_text',
    );
    const latin = { path: 'latin.txt', old_text: 'caf', new_text: 'CAF' };
    expect(await refusal(bench, 'edit_file', latin)).toContain('not UTF-8');
  });
});
