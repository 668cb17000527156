/**
 * Owns: events of the responses API → chunks.
 * Does not own: pieces of calls (`tool-calls.ts`), thoughts inside of the text (`think-tags.ts`), or which item an event
 * means (`responses-items.ts`).
 *
 * Each item of the output is told in up to four ways: announced, in deltas, when it is done, and in the response at the
 * end. Servers leave out any of them, repeat them, change their order, and give items ids that change or repeat.
 *
 * Invariants: nothing is said twice and no call is made twice, in however many ways, in whatever order and however often
 * it is told; what a later way adds to an earlier one is taken; an event costs what it is long.
 */
import type { Usage } from 'schema/projection';
import type { Chunk, ChunkReader } from './chunk.ts';
import { maxAnswer } from './drain.ts';
import { countOf, isRecord, listOf, textOf, tokensOf, type Json } from './json.ts';
import { createItems, typeOf, type Item, type ItemType, type Part, type Told } from './responses-items.ts';
import { createRepeats } from './responses-repeats.ts';

/** A reader for the events of one answer. */
export function createResponsesReader(): ChunkReader {
  const items = createItems();
  const isRepeat = createRepeats();
  /** Units of arguments whose call is not named yet. */
  let held = 0;
  /** The part that spoke last, of text and of thoughts. */
  const last: Partial<Record<'text' | 'reasoning', string>> = {};

  /** The item that an event about a part of it means; one that was never announced is there from now on. */
  const itemOf = (type: ItemType, event: Json): Item =>
    items.ofPart(type, { ...toldOf(event, placeOf(event)), id: textOf(event['item_id']) });

  function partOf(item: Item, name: string): Part {
    const known = item.parts.get(name);
    if (known) return known;
    const part = { said: '', heard: 0 };
    item.parts.set(name, part);
    return part;
  }

  function say(type: 'text' | 'reasoning' | 'refusal', item: Item, name: string, text: string): Chunk[] {
    if (text === '') return [];
    if (type === 'refusal') return [{ type, text }];
    // Parts of a message are one text; each thought is one of its own.
    const run = `${item.number} ${type === 'text' ? '' : name}`;
    const apart = last[type] !== undefined && last[type] !== run;
    last[type] = run;
    return [{ type, text, ...(apart && { apart }) }];
  }

  /** A part of a message or a thought, as a delta or whole. */
  function tell(
    type: 'text' | 'reasoning' | 'refusal',
    item: Item,
    name: string,
    sent: unknown,
    whole: boolean,
  ) {
    const text = textOf(sent);
    if (text === '') return [];
    const part = partOf(item, name);
    return say(type, item, name, whole ? restOf(part, text) : newIn(part, text));
  }

  /** Thoughts come as they are or summed up; of an item that has both, what came first counts. */
  function think(item: Item, name: string, sent: unknown, whole: boolean): Chunk[] {
    const [first] = item.parts.keys();
    const isOther = first !== undefined && first.split(' ')[0] !== name.split(' ')[0];
    return isOther ? [] : tell('reasoning', item, name, sent, whole);
  }

  const piece = (item: Item, more: { id?: string; name?: string; arguments?: string }): Chunk => ({
    type: 'calls',
    pieces: [{ index: item.number, place: item.at, id: '', name: '', arguments: '', ...more }],
  });

  /** Arguments are kept until their call has a name: they may turn out to be those of a call that has one. */
  function pass(item: Item, input: string): Chunk[] {
    if (input === '') return [];
    if (item.named) return [piece(item, { arguments: input })];
    held += input.length;
    return held > maxAnswer ? [{ type: 'tooLong' }] : [];
  }

  function nameCall(item: Item, told: Told): Chunk[] {
    const name = textOf(told.json['name']);
    if (item.named || name === '') return [];
    item.named = true;
    held -= item.input.said.length;
    return [piece(item, { id: item.callId || told.callId, name, arguments: item.input.said })];
  }

  function completeInput(item: Item, whole: unknown): Chunk[] {
    const text = typeof whole === 'string' ? whole : isRecord(whole) ? JSON.stringify(whole) : '';
    return pass(item, restOf(item.input, text));
  }

  function completeItem(item: Item, told: Told): Chunk[] {
    item.done = true;
    if (item.type === 'function_call')
      return [...nameCall(item, told), ...completeInput(item, told.json['arguments'])];
    const content = listOf(told.json['content']);
    if (item.type === 'message') return content.flatMap((part, i) => completePart(item, part, i));
    const text = (part: unknown): unknown => (isRecord(part) ? part['text'] : part);
    const chunks = [
      ...listOf(told.json['summary']).flatMap((part, i) => think(item, `summary ${i}`, text(part), true)),
      ...content.flatMap((part, i) => think(item, `content ${i}`, text(part), true)),
    ];
    if (item.kept || textOf(told.json['encrypted_content']) === '') return chunks;
    item.kept = true;
    return [...chunks, { type: 'native', part: told.json }];
  }

  function completePart(item: Item, part: unknown, i: number): Chunk[] {
    if (!isRecord(part)) return [];
    if (part['type'] === 'refusal') return tell('refusal', item, `refusal ${i}`, part['refusal'], true);
    if (part['type'] === 'output_text' || part['type'] === 'text')
      return tell('text', item, `text ${i}`, part['text'], true);
    return [];
  }

  /** The output as the response at the end has it. */
  function readOutput(output: readonly unknown[]): Chunk[] {
    return items
      .ofOutput(output.map((json, at) => toldOf(isRecord(json) ? json : {}, at)))
      .flatMap(([item, told]) => completeItem(item, told));
  }

  /**
   * Arguments that nothing named, unless they are told under another id as well. A call without a name is the tools'
   * to refuse; of one that was never told, part of the answer is missing, unless the answer was `cut` anyway.
   */
  function readNameless(cut: boolean): Chunk[] {
    const calls = items.all().filter(({ type }) => type === 'function_call');
    const named = new Set(calls.flatMap((item) => (item.named ? [item.input.said.trim()] : [])));
    const nameless = calls.filter((item) => !item.named && !named.has(item.input.said.trim()));
    if (!cut && nameless.some((item) => !item.announced))
      return [{ type: 'missing', what: 'arguments came of a call that did not' }];
    return nameless
      .filter((item) => item.input.said !== '')
      .map((item) => piece(item, { id: item.callId, arguments: item.input.said }));
  }

  function readEnd(response: Json, type: string): Chunk[] {
    const cut = type === 'response.incomplete' || response['status'] === 'incomplete';
    const chunks = [...readHead(response), ...readOutput(listOf(response['output'])), ...readNameless(cut)];
    if (items.overflowed()) return [{ type: 'tooLong' }];
    const details = response['incomplete_details'];
    const reason = textOf(isRecord(details) && details['reason']) || 'length';
    const called = items
      .all()
      .some(({ type, named, input }) => type === 'function_call' && (named || input.said));
    const word = cut ? reason : called ? 'tool_calls' : 'stop';
    return [...chunks, { type: 'finish', word }, { type: 'end' }];
  }

  function readPart(type: string, event: Json): Chunk[] {
    const content = countOf(event['content_index']) ?? 0;
    const summary = countOf(event['summary_index']) ?? 0;
    switch (type) {
      case 'output_text.delta':
        return tell('text', itemOf('message', event), `text ${content}`, event['delta'], false);
      case 'output_text.done':
        return tell('text', itemOf('message', event), `text ${content}`, event['text'], true);
      case 'refusal.delta':
        return tell('refusal', itemOf('message', event), `refusal ${content}`, event['delta'], false);
      case 'refusal.done':
        return tell('refusal', itemOf('message', event), `refusal ${content}`, event['refusal'], true);
      case 'reasoning_text.delta':
        return think(itemOf('reasoning', event), `content ${content}`, event['delta'], false);
      case 'reasoning_text.done':
        return think(itemOf('reasoning', event), `content ${content}`, event['text'], true);
      case 'reasoning_summary_text.delta':
        return think(itemOf('reasoning', event), `summary ${summary}`, event['delta'], false);
      case 'reasoning_summary_text.done':
        return think(itemOf('reasoning', event), `summary ${summary}`, event['text'], true);
      case 'function_call_arguments.delta': {
        const item = itemOf('function_call', event);
        return pass(item, newIn(item.input, textOf(event['delta'])));
      }
      case 'function_call_arguments.done': {
        const item = itemOf('function_call', event);
        return [...nameCall(item, toldOf(event, null)), ...completeInput(item, event['arguments'])];
      }
      default:
        return [];
    }
  }

  function read(event: unknown, name: string): readonly Chunk[] {
    if (!isRecord(event)) return [];
    const type = textOf(event['type']) || name;
    if (isRepeat(type, event)) return [];
    const chunks = readEvent(type, event);
    return items.overflowed() ? [{ type: 'tooLong' }] : chunks;
  }

  function readEvent(type: string, event: Json): readonly Chunk[] {
    const response = isRecord(event['response']) ? event['response'] : {};
    const told = toldOf(isRecord(event['item']) ? event['item'] : {}, placeOf(event));
    const itemType = typeOf(told.json);
    switch (type) {
      case 'response.completed':
      case 'response.incomplete':
      case 'response.done':
        return isOver(response) ? readEnd(response, type) : [...readHead(response), failure(response)];
      case 'response.failed':
      case 'response.cancelled':
        return [...readHead(response), failure(response)];
      case 'response.output_item.added': {
        if (itemType === null) return [];
        const item = items.ofAnnouncement(itemType, told);
        // What it already holds comes again in deltas, or when it is done.
        return itemType === 'function_call' ? nameCall(item, told) : [];
      }
      case 'response.output_item.done':
        return itemType === null ? [] : completeItem(items.ofDone(itemType, told), told);
      case 'error':
        return [{ type: 'error', description: event }];
      default:
        if (event['error']) return [{ type: 'error', description: event }];
        return [...readHead(response), ...readPart(type.replace(/^response\./, ''), event)];
    }
  }

  return {
    read,
    readWhole(body) {
      if (!isRecord(body) || !Array.isArray(body['output'])) return null;
      return isOver(body) ? readEnd(body, '') : [...readHead(body), failure(body)];
    },
    doneIsEnough: false,
  };
}

const placeOf = (event: Json): number | null => countOf(event['output_index']) ?? null;

const toldOf = (json: Json, at: number | null): Told => ({
  id: textOf(json['id']),
  callId: textOf(json['call_id']),
  at,
  json,
});

/** What a delta adds: one that comes after the whole says what was said already. */
function newIn(part: Part, delta: string): string {
  const ahead = part.said.length - part.heard;
  const known = Math.min(ahead, delta.length);
  const isAgain = ahead > 0 && part.said.startsWith(delta.slice(0, known), part.heard);
  part.heard = isAgain ? part.heard + delta.length : part.said.length + delta.length;
  const rest = isAgain ? delta.slice(known) : delta;
  part.said += rest;
  return rest;
}

/** What the whole adds to what was said. What is shorter is not compared, so that this costs what the whole is long. */
function restOf(part: Part, whole: string): string {
  if (whole.length <= part.said.length || !whole.startsWith(part.said)) return '';
  const rest = whole.slice(part.said.length);
  part.said = whole;
  return rest;
}

/**
 * Whether a response that is told as one that ended is an answer: some leave the status out. Any other, and any that may
 * be invented, says that it is none, whatever it holds: what of it is half a call nobody could tell (D-30).
 */
const isOver = ({ status }: Json): boolean =>
  status == null || status === '' || status === 'completed' || status === 'incomplete';

function failure(response: Json): Chunk {
  const { error, status } = response;
  if (isRecord(error)) return { type: 'error', description: { error } };
  if (status == null || status === 'failed')
    return { type: 'error', description: { message: 'the response failed', code: 'server_error' } };
  const said = typeof status === 'string' ? JSON.stringify(status.slice(0, 100)) : 'no word';
  return { type: 'error', description: { message: `the response ended with the status ${said}` } };
}

function readHead(response: Json): Chunk[] {
  const name = textOf(response['model']);
  return [...(name === '' ? [] : [{ type: 'model' as const, name }]), ...readUsage(response['usage'])];
}

function readUsage(sent: unknown): Chunk[] {
  if (!isRecord(sent)) return [];
  const input = isRecord(sent['input_tokens_details']) ? sent['input_tokens_details'] : {};
  const output = isRecord(sent['output_tokens_details']) ? sent['output_tokens_details'] : {};
  const counts: Readonly<Record<keyof Usage, number | undefined>> = {
    inputTokens: tokensOf(sent['input_tokens']),
    outputTokens: tokensOf(sent['output_tokens']),
    cachedInputTokens: tokensOf(input['cached_tokens']),
    reasoningTokens: tokensOf(output['reasoning_tokens']),
  };
  return [{ type: 'usage', usage: counts as Partial<Usage> }];
}
