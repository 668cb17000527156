import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { visible } from 'schema/projection';
import { createBench } from './support.ts';

describe('the preview of a command', () => {
  it('shows all of it, titled by its first line', async () => {
    const command = `\n  echo one\n${'echo more\n'.repeat(1_000)}rm -rf ./build`;
    expect(await createBench().prepare('shell', { command })).toMatchObject({
      type: 'ready',
      access: 'EXECUTE',
      basis: null,
      preview: { kind: 'COMMAND', title: 'echo one', body: command },
    });
  });

  it('breaks no character where its title is cut', async () => {
    const command = `${'x'.repeat(118)}😀 and more`;
    expect(await createBench().prepare('shell', { command })).toMatchObject({
      preview: { title: `${'x'.repeat(118)}…`, body: command },
    });
  });

  it('makes visible what could hide or reorder a part of it', async () => {
    const command = 'ls\r\x1b[2Krm \u202Egpj.x\u200B \u2066a\u2028b\tc\nd';
    expect(await createBench().prepare('shell', { command })).toMatchObject({
      preview: {
        title: 'ls⟨U+000D⟩⟨U+001B⟩[2Krm ⟨U+202E⟩gpj.x⟨U+200B⟩ ⟨U+2066⟩a⟨U+2028⟩b⟨U+0009⟩c',
        body: 'ls⟨U+000D⟩⟨U+001B⟩[2Krm ⟨U+202E⟩gpj.x⟨U+200B⟩ ⟨U+2066⟩a⟨U+2028⟩b\tc\nd',
      },
    });
  });

  it('makes visible every character that is drawn as nothing', async () => {
    const nothing = /[\p{Default_Ignorable_Code_Point}\u2800]/u;
    const all = Array.from({ length: 0x110000 }, (_, code) => code)
      .filter((code) => code < 0xd800 || code > 0xdfff)
      .map((code) => String.fromCodePoint(code))
      .filter((character) => nothing.test(character));
    for (const character of ['\uFE0F', '\u034F', '\u{E0101}', '\u3164', '\u00AD'])
      expect(all).toContain(character);
    expect(all.filter((character) => visible(character) === character)).toEqual([]);
    expect(await createBench().prepare('shell', { command: 'rm\uFE0F a\u034Fb\u{E0101}' })).toMatchObject({
      preview: { title: 'rm⟨U+FE0F⟩ a⟨U+034F⟩b⟨U+E0101⟩', body: 'rm⟨U+FE0F⟩ a⟨U+034F⟩b⟨U+E0101⟩' },
    });
  });

  it('is refused for a NUL, a broken character, nothing, or too much', async () => {
    const { prepare } = createBench();
    for (const command of ['a\0b', 'a\uD800', '', 'x'.repeat(65_537)]) {
      expect(await prepare('shell', { command })).toMatchObject({ type: 'invalid' });
    }
    for (const timeout_seconds of [0, 601, 1.5]) {
      expect(await prepare('shell', { command: 'ls', timeout_seconds })).toMatchObject({ type: 'invalid' });
    }
  });
});

describe('a command of the deny list (D-82)', () => {
  const command = 'touch ran; dd if=/dev/zero of=/dev/sda';
  const refusal =
    '"dd if=/dev/zero of=/dev/sda" is never run, because it writes to a whole disk. Nothing of the command was run. ' +
    'Do what is needed without this part, or ask a person to do it by hand.';

  it('is refused before anybody is asked, with the part that is meant', async () => {
    const { prepare } = createBench();
    expect(await prepare('shell', { command })).toEqual({ type: 'invalid', message: refusal });
    expect(await prepare('shell', { command: 'rm -rf / \u202E x' })).toMatchObject({
      message: expect.stringContaining('"rm -rf / ⟨U+202E⟩ x"') as string,
    });
    expect(await prepare('shell', { command: 'echo "dd of=/dev/sda"; rm -rf /tmp/x' })).toMatchObject({
      type: 'ready',
    });
  });

  it('is not run either when it was approved in any way, and nothing of it is', async () => {
    const { run, workspace } = createBench();
    expect(await run('shell', { command }, null)).toEqual({
      outcome: 'ERROR',
      effect: 'NONE',
      content: refusal,
    });
    expect(readdirSync(workspace)).toEqual([]);
  });
});

describe('the result of a command', () => {
  it('is OK and COMMITTED for exit code 0, with live output on the way', async () => {
    const { run, workspace } = createBench();
    let live = '';
    const result = await run(
      'shell',
      { command: 'pwd; echo err >&2' },
      null,
      undefined,
      (text) => (live += text),
    );
    expect(result).toEqual({
      outcome: 'OK',
      effect: 'COMMITTED',
      content: `${workspace}\nerr\n[exit code 0]`,
    });
    expect(live).toBe(`${workspace}\nerr\n`);
  });

  it('is ERROR and COMMITTED for another exit code: it ran to its end', async () => {
    expect(await createBench().run('shell', { command: 'exit 3' }, null)).toEqual({
      outcome: 'ERROR',
      effect: 'COMMITTED',
      content: '(no output)\n[exit code 3]',
    });
  });

  it('is UNKNOWN after a timeout, a signal or a stop (D-9)', async () => {
    const { run } = createBench();
    // Long enough for a busy machine to have begun.
    expect(await run('shell', { command: 'echo a; sleep 100', timeout_seconds: 3 }, null)).toMatchObject({
      outcome: 'ERROR',
      effect: 'UNKNOWN',
      content: expect.stringMatching(/^a\n\[timed out after 3 s/) as string,
    });
    expect(await run('shell', { command: 'kill -9 $$' }, null)).toMatchObject({
      outcome: 'ERROR',
      effect: 'UNKNOWN',
      content: '(no output)\n[ended by signal SIGKILL]',
    });
    const stop = new AbortController();
    const stopped = run('shell', { command: 'echo a; sleep 100' }, null, stop.signal, () => stop.abort());
    expect(await stopped).toMatchObject({
      outcome: 'CANCELED',
      effect: 'UNKNOWN',
      content: expect.stringMatching(/^a\n\[stopped on request/) as string,
    });
  });

  it('is NONE for one that never started (D-9)', async () => {
    const { run, workspace } = createBench();
    expect(await run('shell', { command: 'touch ran' }, null, AbortSignal.abort())).toMatchObject({
      outcome: 'CANCELED',
      effect: 'NONE',
    });
    expect(readdirSync(workspace)).toEqual([]);
    rmSync(workspace, { recursive: true });
    expect(await run('shell', { command: 'touch ran' }, null)).toMatchObject({
      outcome: 'ERROR',
      effect: 'NONE',
    });
    mkdirSync(join(workspace));
  });

  it('says how much of a long output was cut', async () => {
    const { run } = createBench({ maxOutputBytes: 1_000 });
    const { content } = await run('shell', { command: 'yes | head -c 5000' }, null);
    expect(content).toMatch(/\[… 4000 bytes of output cut …\]/);
    expect(content.length).toBeLessThan(1_100);
  });
});
