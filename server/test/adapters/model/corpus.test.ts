/**
 * Owns: streams of either dialect, written down as bytes, and the answer that each is (`test/corpus/streams`). A new
 * shape gets a file there.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { expect, test } from 'vitest';
import type { Attempted } from '../../../src/adapters/model/caller.ts';
import { scopeOf } from '../../../src/adapters/model/faults.ts';
import { createChatReader } from '../../../src/adapters/model/wire/chat-reader.ts';
import { createDrain } from '../../../src/adapters/model/wire/drain.ts';
import { createReading } from '../../../src/adapters/model/wire/events.ts';
import { createResponsesReader } from '../../../src/adapters/model/wire/responses-reader.ts';
import type { ModelDelta } from '../../../src/ports/model.ts';
import { bindingFor, createAsker, exchange, joined, question, serve } from './harness.ts';

const corpus = join(import.meta.dirname, '../../corpus/streams');
const dialects = [
  ['CHAT', 'chat', createChatReader],
  ['RESPONSES', 'responses', createResponsesReader],
] as const;

const streams = dialects.flatMap(([dialect, folder, createReader]) =>
  readdirSync(join(corpus, folder))
    .filter((file) => file.endsWith('.sse'))
    .map((file) => {
      const path = join(corpus, folder, file);
      return {
        name: `${folder}/${file}`,
        dialect,
        createReader,
        raw: readFileSync(path),
        expected: JSON.parse(readFileSync(path.replace(/sse$/, 'json'), 'utf8')) as Attempted,
      };
    }),
);
type Stream = (typeof streams)[number];

/** Reads the pieces as they would arrive, without a network between. */
function read({ dialect, createReader }: Stream, pieces: readonly Uint8Array[]) {
  const binding = bindingFor('http://models.test/v1', { dialect });
  const deltas: ModelDelta[] = [];
  const tools = new Set(question.tools.map((tool) => tool.name));
  const drain = createDrain(binding, tools, (delta) => deltas.push(delta));
  const reading = createReading(createReader(), drain, scopeOf(binding));
  for (const piece of pieces) {
    const outcome = reading.feed(piece);
    if (outcome) return { outcome, deltas };
  }
  return { outcome: reading.end(), deltas };
}

function expectOutcome(outcome: Attempted | undefined, expected: Attempted): void {
  if (expected.type === 'failed') expect(outcome).toMatchObject(expected);
  else expect(outcome).toEqual(expected);
}

test.each(streams)(
  '$name gives the answer written down for it, over HTTP',
  async ({ dialect, raw, expected }) => {
    await using endpoint = await serve([raw.toString('utf8')]);
    const heard = await createAsker(bindingFor(endpoint.url, { dialect }))();
    expectOutcome(heard.outcome, expected);
    if (expected.type === 'answered')
      expect([heard.text, heard.reasoning]).toEqual([expected.text, expected.reasoning]);
  },
);

test.each(streams)('$name gives the same answer byte by byte, and cut in two anywhere', (stream) => {
  const { raw, expected } = stream;
  const whole = read(stream, [raw]);
  expectOutcome(whole.outcome, expected);
  const single = read(
    stream,
    [...raw].map((byte) => Uint8Array.of(byte)),
  );
  expect(single).toEqual(whole);
  for (let at = 1; at < raw.length; at += 7) {
    expect(read(stream, [raw.subarray(0, at), raw.subarray(at)]), `cut at byte ${at}`).toEqual(whole);
  }
  if (expected.type === 'answered') {
    expect(joined(whole.deltas, 'text')).toBe(expected.text);
    expect(joined(whole.deltas, 'reasoning')).toBe(expected.reasoning);
  }
});

test('an answer that is no stream is read in the words of either dialect', async () => {
  const whole = streams.filter(({ name }) => name === 'responses/only-at-the-end.sse');
  const [stream] = whole;
  const data = /event: response\.completed\ndata: (.*)/.exec(stream!.raw.toString('utf8'))?.[1] ?? '';
  const { response } = JSON.parse(data) as { response: unknown };
  const { outcome } = await exchange([JSON.stringify(response)], { dialect: 'RESPONSES' });
  expectOutcome(outcome, stream!.expected);
});

/** What `pnpm replay` prints of a path, and how it ends. */
async function replay(path: string) {
  const child = spawn(execPath, [join(import.meta.dirname, '../../../../scripts/replay.ts'), path]);
  let printed = '';
  child.stdout.on('data', (data: Buffer) => (printed += data.toString('utf8')));
  child.stderr.on('data', (data: Buffer) => (printed += data.toString('utf8')));
  const status = await new Promise((resolve) => child.once('close', resolve));
  return { lines: printed.trim().split('\n'), status };
}

test('pnpm replay reads a folder of streams through the adapter, one line a file, and says what a turn would', async () => {
  const { lines, status } = await replay(corpus);
  expect(lines).toHaveLength(streams.length + 1);
  expect(lines).toContain(
    'chat/truncation.sse: text 15, reasoning 0, calls shell (not run), finish LENGTH, usage none',
  );
  expect(lines.find((line) => line.startsWith('responses/error.sse'))).toMatch(
    /fault RATE_LIMIT \(RETRY\): Model "replay"/,
  );
  // As a turn has it under the usual settings, and without advice about settings that nobody made.
  expect(lines.find((line) => line.startsWith('chat/cut-off.sse'))).toMatch(/fault MALFORMED \(RETRY\): /);
  expect(lines.join()).not.toMatch(/OPENAI_|weir\.config\.json/);
  expect(lines.at(-1)).toBe(`replay: ${streams.length} files, 0 failures`);
  expect(status).toBe(0);
});

test('pnpm replay reads a single recording, too, and says of anything else what it looks for', async () => {
  const one = await replay(join(corpus, 'chat/plain.sse'));
  expect(one).toMatchObject({
    status: 0,
    lines: [expect.stringMatching(/^plain\.sse: text /), expect.anything()],
  });
  for (const [path, said] of [
    [join(corpus, 'chat/plain.json'), /plain\.json is neither \*\.sse .* nor \*\.chunks\.txt/],
    [join(corpus, '..', 'nowhere'), /^There is no .*nowhere\.$/],
    [
      import.meta.dirname,
      /^There is nothing to replay in .*: it looks for files named \*\.sse or \*\.chunks\.txt/,
    ],
  ] as const) {
    const other = await replay(path);
    expect(other.status).toBe(2);
    expect(other.lines.join()).toMatch(said);
  }
});

test('pnpm replay knows a stream of the responses API however its JSON is spaced', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-replay-'));
  try {
    const path = join(folder, 'spaced.sse');
    const events = [
      { type: 'response.output_text.delta', delta: 'hello' },
      { type: 'response.completed', response: {} },
    ];
    const spaced = events.map((event) => JSON.stringify(event).replaceAll('":', '" : '));
    writeFileSync(path, spaced.map((data) => `data: ${data}\n\n`).join(''));
    expect((await replay(path)).lines[0]).toMatch(/^spaced\.sse: text 5, .* finish STOP/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
