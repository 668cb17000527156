/** Owns: calling the chat completions adapter against a scripted provider, for the tests of this folder. */
import { createOpenAiChat } from '../../../src/adapters/model/openai-chat.ts';
import { parseEndpoint } from '../../../src/adapters/model/endpoint.ts';
import type { Clock } from '../../../src/ports/clock.ts';
import type { ModelDelta, ModelOutcome, ModelRequest, ToolDefinition } from '../../../src/ports/model.ts';
import { createTestClock } from '../../support/clock.ts';
import { startScriptedProvider, type Step } from '../../support/scripted-provider.ts';

export const tool = (name: string): ToolDefinition => ({
  name,
  description: `the ${name} tool`,
  parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
});

export const question: ModelRequest = {
  workstreamId: 'w1',
  alias: 'alias',
  messages: [{ role: 'user', text: 'hello' }],
  tools: [tool('shell'), tool('read_file'), tool('edit_existing_file')],
};

export interface Heard {
  readonly outcome: ModelOutcome;
  /** Deltas of each channel, joined. */
  readonly text: string;
  readonly reasoning: string;
  readonly deltas: readonly ModelDelta[];
}

/** A provider with an adapter pointed at it; close it with `await using`. */
export async function connect(options: { readonly clock?: Clock; readonly apiKey?: string } = {}) {
  const provider = await startScriptedProvider();
  const endpoint = parseEndpoint(provider.url, options.apiKey ?? 'sk-not-to-be-shown');
  if (!endpoint) throw new Error('the provider has no URL');
  const chat = createOpenAiChat({ clock: options.clock ?? createTestClock() }, endpoint, 'm1');

  async function ask(
    request: ModelRequest = question,
    signal: AbortSignal = new AbortController().signal,
    onDelta: (delta: ModelDelta) => void = () => undefined,
  ): Promise<Heard> {
    const deltas: ModelDelta[] = [];
    const outcome = await chat.call(request, signal, (delta) => {
      deltas.push(delta);
      onDelta(delta);
    });
    const joined = (type: ModelDelta['type']): string =>
      deltas.flatMap((d) => (d.type === type ? [d.text] : [])).join('');
    return { outcome, text: joined('text'), reasoning: joined('reasoning'), deltas };
  }

  return {
    provider,
    ask,
    /** Asks once and lets the provider answer with this step. */
    async answer(step: Step): Promise<Heard> {
      provider.script([step]);
      const heard = await ask();
      provider.assertDone();
      return heard;
    },
    [Symbol.asyncDispose]: () => provider.close(),
  };
}

/**
 * A link whose provider sends each piece only when the adapter has read the one before, so that no two arrive together.
 * The fact it goes by: the adapter sets its idle timer anew before each read (and one timer before the response).
 */
export async function connectInPieces() {
  const clock = createTestClock();
  let timers = 0;
  const link = await connect({
    clock: {
      now: () => clock.now(),
      after(ms, f) {
        timers += 1;
        link.provider.release(`answer ${answers} read ${timers - 1}`);
        return clock.after(ms, f);
      },
    },
  });
  let answers = 0;
  return {
    ...link,
    /** How often the adapter had read when its last answer was complete. */
    reads: () => timers - 1,
    async answerInPieces(pieces: readonly Uint8Array[]): Promise<Heard> {
      timers = 0;
      answers += 1;
      const stream = pieces.flatMap((raw, i) => [{ gate: `answer ${answers} read ${i + 1}` }, { raw }]);
      return link.answer({ ...bytes(''), stream });
    },
  };
}

/** An SSE body: each chunk an event, then `[DONE]`. */
export const sse = (chunks: readonly unknown[], end = 'data: [DONE]\n\n'): string =>
  chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('') + end;

/** A chunk of one choice. */
export const chunk = (delta: unknown, finish: string | null = null, more: object = {}): object => ({
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...more,
});

/** A step that sends these bytes and nothing else. */
export const bytes = (raw: string | Uint8Array): Step => ({
  stream: [{ raw }],
  finish: null,
  usage: null,
  done: false,
});
