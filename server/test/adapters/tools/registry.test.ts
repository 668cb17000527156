import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createProcesses } from '../../../src/adapters/process/index.ts';
import { argumentsHash } from '../../../src/adapters/tools/arguments-hash.ts';
import { createTools } from '../../../src/adapters/tools/index.ts';
import { createBench } from './support.ts';

describe('the definitions', () => {
  const { definitions } = createTools({ processes: createProcesses({ sessionId: 'test' }) });

  it('name each tool, what it may do and a strict object schema', () => {
    expect(definitions.map(({ name, access }) => `${name} ${access}`)).toEqual([
      'read_file READ',
      'list_files READ',
      'write_file WRITE',
      'edit_file WRITE',
      'shell EXECUTE',
    ]);
    for (const { parameters, description } of definitions) {
      expect(parameters).toMatchObject({ type: 'object', additionalProperties: false });
      expect(parameters).not.toHaveProperty('$schema');
      expect(description).toMatch(/\w/);
    }
  });

  it('describe the arguments of edit_file as JSON Schema', () => {
    expect(definitions.find(({ name }) => name === 'edit_file')?.parameters).toMatchObject({
      required: ['path', 'old_text', 'new_text'],
      properties: {
        path: { type: 'string', description: expect.any(String) as string },
        old_text: { type: 'string', minLength: 1 },
        new_text: { type: 'string' },
        replace_all: { type: 'boolean' },
      },
    });
  });
});

describe('arguments', () => {
  it.each([
    ['no text', ''],
    ['broken JSON', '{"path": '],
    ['a list', '["a"]'],
    ['null', 'null'],
    ['a string', '"a"'],
    ['deeply nested', '['.repeat(200_000)],
  ])('that are %s are invalid, and the message says what to send', async (_, text) => {
    const { prepare, run } = createBench();
    const prepared = await prepare('read_file', text);
    expect(prepared).toEqual({ type: 'invalid', message: expect.stringContaining('JSON object') as string });
    expect(await run('read_file', text, null)).toMatchObject({ outcome: 'ERROR', effect: 'NONE' });
  });

  it.each([
    [{}, 'path'],
    [{ path: 3 }, 'path'],
    [{ path: 'a', ofset: 3 }, 'ofset'],
    [{ path: 'a', offset: '3' }, 'offset'],
    [{ path: 'a', offset: 0 }, 'offset'],
    [{ path: 'a', offset: 1.5 }, 'offset'],
  ])('%j of read_file name the wrong part', async (args, part) => {
    const prepared = await createBench().prepare('read_file', args);
    expect(prepared).toEqual({ type: 'invalid', message: expect.stringContaining(part) as string });
  });

  it.each([
    ['broken JSON', '['.repeat(1_048_577)],
    ['a whole file', JSON.stringify({ path: 'a.txt', content: 'x'.repeat(1_048_576) })],
    ['two bytes a character', JSON.stringify({ path: 'a.txt', content: 'é'.repeat(524_288) })],
  ])('longer than 1 MiB of text are invalid before they are parsed: %s', async (_, text) => {
    const bench = createBench();
    const message = expect.stringMatching(
      /longer than the 1048576 bytes .* in parts: .* edit_file/,
    ) as string;
    const parse = vi.spyOn(JSON, 'parse');
    onTestFinished(() => parse.mockRestore());
    expect(await bench.prepare('write_file', text)).toEqual({ type: 'invalid', message });
    expect(await bench.run('write_file', text, 'absent@a.txt')).toEqual({
      outcome: 'ERROR',
      effect: 'NONE',
      content: message,
    });
    expect(parse).not.toHaveBeenCalled();
    expect(readdirSync(bench.workspace)).toEqual([]);
  });

  it('of exactly 1 MiB are taken', async () => {
    const empty = JSON.stringify({ path: 'a.txt', content: '' });
    const text = JSON.stringify({ path: 'a.txt', content: 'x'.repeat(1_048_576 - empty.length) });
    expect(Buffer.byteLength(text)).toBe(1_048_576);
    expect(await createBench().prepare('write_file', text)).toMatchObject({ type: 'ready' });
  });

  it('of a tool that does not exist are answered with those that do', async () => {
    const { prepare, run } = createBench();
    const message =
      'There is no tool "constructor". There are: read_file, list_files, write_file, edit_file, shell.';
    expect(await prepare('constructor', {})).toEqual({ type: 'invalid', message });
    expect(await run('constructor', {}, null)).toEqual({
      outcome: 'ERROR',
      effect: 'NONE',
      content: message,
    });
  });

  it('are hashed together with the name, as written (D-64)', async () => {
    const text = '{ "path":  "a.txt" }';
    const expected = createHash('sha256').update(`read_file\n${text}`).digest('hex');
    expect(argumentsHash('read_file', text)).toBe(expected);
    expect(await createBench().prepare('read_file', text)).toMatchObject({ argumentsHash: expected });
  });
});
