/**
 * Owns: the demo model: not a language model, but a fixed grammar of phrases, so that a newcomer sees streaming,
 * tools, approvals and stop without a network. Does not own: tools, approvals, stop; it only asks for calls, as any
 * model does.
 *
 * Invariants: no network, no randomness, time only by the clock; abortable between any two words; the help text
 * lists every phrase there is.
 */
import type { Clock } from '../../ports/clock.ts';
import type { ModelAnswer, ModelDelta, ModelInfo, ModelMessage, ModelRequest } from '../../ports/model.ts';

export const demoAlias = 'demo';

export const demoModel: Omit<ModelInfo, 'isDefault'> = {
  alias: demoAlias,
  description: 'demo, not a language model',
  demo: true,
  health: 'HEALTHY',
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
  vision: false,
  reasoning: false,
  price: null,
};

/** Milliseconds between two words. */
const wordMs = 15;
const slowWordMs = 150;

/** What a phrase makes the model do. */
type Deed =
  | { readonly type: 'text' | 'reasoning'; readonly text: string; readonly wordMs: number }
  | { readonly type: 'call'; readonly name: string; readonly input: Readonly<Record<string, string>> };

interface Phrase {
  readonly usage: string;
  readonly does: string;
  readonly pattern: RegExp;
  readonly deed: (parts: readonly string[]) => Deed;
}

const phrases: readonly Phrase[] = [
  {
    usage: 'run: <command>',
    does: 'calls the shell tool',
    pattern: /^run:\s*(.+)$/i,
    deed: ([command = '']) => ({ type: 'call', name: 'shell', input: { command } }),
  },
  {
    usage: 'write <file>: <text>',
    does: 'writes a file',
    pattern: /^write\s+([^:]+?)\s*:\s?(.*)$/i,
    deed: ([path = '', text = '']) => ({
      type: 'call',
      name: 'write_file',
      input: { path, content: text },
    }),
  },
  {
    usage: 'read <file>',
    does: 'reads a file',
    pattern: /^read:?\s+(.+)$/i,
    deed: ([path = '']) => ({ type: 'call', name: 'read_file', input: { path } }),
  },
  {
    usage: 'list <folder>',
    does: 'lists a folder',
    pattern: /^list(?::?\s+(.+))?$/i,
    deed: ([path = '.']) => ({ type: 'call', name: 'list_files', input: { path } }),
  },
  {
    usage: 'edit <file>: <old> => <new>',
    does: 'replaces text in a file',
    pattern: /^edit\s+([^:]+?)\s*:\s?(.+?)\s*=>\s?(.*)$/i,
    deed: ([path = '', before = '', after = '']) => ({
      type: 'call',
      name: 'edit_file',
      input: { path, old_text: before, new_text: after },
    }),
  },
  {
    usage: 'say: <text>',
    does: 'answers with that text',
    pattern: /^say:\s*(.+)$/i,
    deed: ([text = '']) => ({ type: 'text', text, wordMs }),
  },
  {
    usage: 'think: <text>',
    does: 'shows that text as reasoning',
    pattern: /^think:\s*(.+)$/i,
    deed: ([text = '']) => ({ type: 'reasoning', text, wordMs }),
  },
  {
    usage: 'slow: <text>',
    does: 'answers with a word every 150 ms, so that you can press stop',
    pattern: /^slow:\s*(.+)$/i,
    deed: ([text = '']) => ({ type: 'text', text, wordMs: slowWordMs }),
  },
];

const help = [
  'I am a demo, not a language model. I obey these phrases, one a line:',
  '',
  ...phrases.map((p) => `- \`${p.usage}\` ${p.does}`),
  '',
  'Several lines with calls become several calls in one answer.',
  'For a language model set OPENAI_BASE_URL or OPENAI_API_KEY, and WEIR_MODEL.',
].join('\n');

/** The demo's `Model.call`; the alias is not looked at. */
export async function callDemo(
  deps: { readonly clock: Clock },
  request: ModelRequest,
  signal: AbortSignal,
  onDelta: (delta: ModelDelta) => void,
): Promise<ModelAnswer | { readonly type: 'aborted' }> {
  const deeds = decide(request);
  const said = { text: [] as string[], reasoning: [] as string[] };
  const calls: ModelAnswer['calls'][number][] = [];
  for (const deed of deeds) {
    if (deed.type === 'call') {
      calls.push({ providerId: '', name: deed.name, arguments: JSON.stringify(deed.input) });
      continue;
    }
    const channel = said[deed.type];
    const text = channel.length > 0 ? `\n${deed.text}` : deed.text;
    for (const word of text.match(/\s*\S+|\s+$/g) ?? []) {
      if (!(await pause(deps.clock, deed.wordMs, signal))) return { type: 'aborted' };
      channel.push(word);
      onDelta({ type: deed.type, text: word });
    }
  }
  // An answer of calls alone also takes a moment, in which it can be stopped.
  if (!(await pause(deps.clock, wordMs, signal))) return { type: 'aborted' };
  const text = said.text.join('');
  return {
    type: 'answered',
    text,
    reasoning: said.reasoning.join(''),
    calls,
    finish: calls.length > 0 ? 'TOOL_CALLS' : 'STOP',
    usage: null,
    alias: demoAlias,
    model: demoAlias,
  };
}

/** What to do about a conversation: obey the last user message, else say what came back, else help. */
function decide(request: ModelRequest): readonly Deed[] {
  const since = request.messages.slice(request.messages.findLastIndex((m) => m.role === 'assistant') + 1);
  const asked = since.findLast((m) => m.role === 'user')?.text ?? '';
  const deeds = obey(asked).map((deed) => offeredOnly(deed, request));
  const results = since.filter((m) => m.role === 'tool');
  const speaks = deeds.some((d) => d.type !== 'reasoning');
  if (speaks) return deeds;
  const lines = results.map((result) => report(result, request.messages));
  const rest =
    lines.length > 0
      ? [
          ...lines,
          ...(asked.trim() !== '' && deeds.length === 0 ? [`You said: ${shorten(asked)}`] : []),
        ].join('\n')
      : deeds.length > 0
        ? 'I have thought about it.'
        : help;
  return [...deeds, { type: 'text', text: rest, wordMs }];
}

const obey = (text: string): readonly Deed[] =>
  text.split(/\r?\n/).flatMap((line) => {
    for (const phrase of phrases) {
      const match = phrase.pattern.exec(line.trim());
      // Groups that did not take part are undefined, which leaves the phrase's default.
      if (match) return [phrase.deed(match.slice(1))];
    }
    return [];
  });

/** A call is made only to a tool that was offered. */
function offeredOnly(deed: Deed, request: ModelRequest): Deed {
  if (deed.type !== 'call' || request.tools.some((tool) => tool.name === deed.name)) return deed;
  return { type: 'text', text: `I was not offered a tool named ${deed.name}.`, wordMs };
}

function report(result: Extract<ModelMessage, { role: 'tool' }>, messages: readonly ModelMessage[]): string {
  const call = messages
    .flatMap((m) => (m.role === 'assistant' ? m.calls : []))
    .find((c) => c.callId === result.callId);
  const name = call?.name ?? 'A tool';
  return result.text.trim() === ''
    ? `\`${name}\` came back with no output.`
    : `\`${name}\` came back: ${shorten(result.text)}`;
}

/** The first three lines, at most 200 characters. */
function shorten(text: string): string {
  const trimmed = text.trim();
  const start = [...trimmed.split('\n').slice(0, 3).join('\n')].slice(0, 200).join('');
  return start.length < trimmed.length ? `${start} …` : start;
}

/** Waits; answers false as soon as the signal is aborted. */
function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const stop = (): void => {
      cancel();
      resolve(false);
    };
    const cancel = clock.after(ms, () => {
      signal.removeEventListener('abort', stop);
      resolve(true);
    });
    signal.addEventListener('abort', stop, { once: true });
  });
}
