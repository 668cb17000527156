import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createBench, type Bench } from './support.ts';

const content = async (bench: Bench, name: string, args: object): Promise<string> => {
  const result = await bench.call(name, args);
  if ('refused' in result) throw new Error(result.refused);
  expect(result).toMatchObject({ outcome: 'OK', effect: 'NONE' });
  return result.content;
};

describe('read_file', () => {
  it('returns the text as it is, exactly', async () => {
    const bench = createBench();
    for (const text of [
      'one\ntwo\n',
      'no end of line',
      '\n',
      'a\r\nb\r\n',
      'é€😀\ttab\n',
      '\uFEFFmarked\n',
    ]) {
      bench.files({ 'a.txt': text });
      expect(await content(bench, 'read_file', { path: 'a.txt' })).toBe(text);
    }
    bench.files({ 'a.txt': '' });
    expect(await content(bench, 'read_file', { path: 'a.txt' })).toBe('(the file is empty)');
  });

  it('returns a part by lines and says where it is and how to go on', async () => {
    const bench = createBench();
    bench.files({ 'a.txt': '1\n2\n3\n4\n5' });
    const part = (offset: number | undefined, limit: number | undefined): Promise<string> =>
      content(bench, 'read_file', { path: 'a.txt', offset, limit });
    expect(await part(2, 2)).toBe('2\n3\n[lines 2 to 3 of 5; read on with offset 4]');
    expect(await part(undefined, 1)).toBe('1\n[lines 1 to 1 of 5; read on with offset 2]');
    expect(await part(4, undefined)).toBe('4\n5\n[lines 4 to 5 of 5]');
    expect(await part(1, 5)).toBe('1\n2\n3\n4\n5');
    expect(await bench.call('read_file', { path: 'a.txt', offset: 6 })).toMatchObject({
      outcome: 'ERROR',
      content: '"a.txt" has 5 lines; there is no line 6.',
    });
  });

  it('cuts at whole lines, so that reading on as told gives every byte once', async () => {
    const bench = createBench({ maxReadBytes: 1_000 });
    const lines = Array.from({ length: 300 }, (_, i) => `line ${i} ${'é'.repeat(i % 40)}\n`);
    bench.files({ 'a.txt': lines.join('') });
    let offset = 1;
    let all = '';
    for (let reads = 0; reads < 100; reads++) {
      const text = await content(bench, 'read_file', { path: 'a.txt', offset });
      const note = /\n\[lines (\d+) to (\d+) of 300(?:; read on with offset (\d+))?\]$/.exec(text);
      if (note === null) throw new Error(`no note: ${text}`);
      const body = `${text.slice(0, note.index)}\n`;
      expect(Buffer.byteLength(body)).toBeLessThanOrEqual(1_000);
      expect(Number(note[1])).toBe(offset);
      all += body;
      if (note[3] === undefined) break;
      offset = Number(note[3]);
    }
    expect(all).toBe(lines.join(''));
  });

  it('shows the start of a line that is too long, and how to get its rest', async () => {
    const bench = createBench({ maxReadBytes: 10 });
    bench.files({ 'a.txt': `short\n${'é'.repeat(20)}x\nlast\n` });
    const text = await content(bench, 'read_file', { path: 'a.txt', offset: 2 });
    expect(text).toMatch(
      /^é{5}\n\[line 2 of 3 is longer .* up to byte 10.* tail -c \+11 .*read on with offset 3\]$/,
    );
  });

  it('returns at most 256 KiB of a large file', async () => {
    const bench = createBench();
    bench.files({ 'a.txt': 'x'.repeat(99).concat('\n').repeat(50_000) });
    const text = await content(bench, 'read_file', { path: 'a.txt' });
    expect(text.length).toBeLessThan(262_144 + 200);
    expect(text).toMatch(/\[lines 1 to 2621 of 50000; read on with offset 2622\]$/);
  });

  it('refuses binary files, and says when bytes are not UTF-8', async () => {
    const bench = createBench();
    bench.files({ 'a.bin': Buffer.from([1, 0, 2]), 'latin.txt': Buffer.from('caf\xe9\n', 'latin1') });
    expect(await bench.call('read_file', { path: 'a.bin' })).toMatchObject({
      outcome: 'ERROR',
      effect: 'NONE',
      content: expect.stringContaining('binary') as string,
    });
    expect(await content(bench, 'read_file', { path: 'latin.txt' })).toMatch(
      /^caf\uFFFD\n\[.*not valid UTF-8/,
    );
  });

  it('says that there is no such file', async () => {
    expect(await createBench().call('read_file', { path: 'no/such.txt' })).toEqual({
      outcome: 'ERROR',
      effect: 'NONE',
      content: 'There is no "no/such.txt". Use list_files to see what there is.',
    });
  });
});

describe('list_files', () => {
  it('names what is there, by depth, without following links or entering what nobody wants', async () => {
    const bench = createBench();
    bench.files({
      'b.txt': '',
      'a/x/deep/deeper.txt': '',
      'a/y.txt': '',
      '.git/HEAD': '',
      'node_modules/p/i.js': '',
    });
    symlinkSync('..', join(bench.workspace, 'link'));
    mkdirSync(join(bench.workspace, 'odd\nname'));
    expect(await content(bench, 'list_files', {})).toBe(
      ['.git/', 'a/', 'a/x/', 'a/y.txt', 'b.txt', 'link -> ..', 'node_modules/', 'odd⟨U+000A⟩name/'].join(
        '\n',
      ),
    );
    expect(await content(bench, 'list_files', { path: 'a', depth: 1 })).toBe('a/x/\na/y.txt');
    expect(await content(bench, 'list_files', { path: 'a', depth: 3 })).toBe(
      'a/x/\na/x/deep/\na/x/deep/deeper.txt\na/y.txt',
    );
    expect(await content(bench, 'list_files', { path: '.git' })).toBe('.git/HEAD');
    expect(await content(bench, 'list_files', { path: 'odd\nname' })).toBe('(the folder is empty)');
  });

  it('is bounded, and says what was cut', async () => {
    const bench = createBench({ maxEntries: 10 });
    bench.files(Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`a/${i}`, ''])));
    bench.files(Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`b/${i}`, ''])));
    const lines = (await content(bench, 'list_files', {})).split('\n');
    expect(lines.filter((line) => !line.startsWith('['))).toHaveLength(10);
    expect(lines.at(-1)).toBe('[b/ has more entries than fit here; list it alone, or use find in the shell]');
  });
});
