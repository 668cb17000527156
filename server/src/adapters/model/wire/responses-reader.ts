/**
 * Owns: events of the responses API → chunks.
 * Does not own: pieces of calls (`tool-calls.ts`), or thoughts inside of the text (`think-tags.ts`).
 *
 * Each item of the output is told in up to four ways: announced, in deltas, when it is done, and in the response at the
 * end. Servers leave out any of them, and give items ids that change or repeat.
 *
 * Invariant: nothing is said twice and no call is made twice, in however many ways it is told; what a later way adds to
 * an earlier one is taken.
 */
import type { Usage } from 'schema/projection';
import type { Chunk, ChunkReader } from './chunk.ts';
import { countOf, isRecord, listOf, textOf, type Json } from './json.ts';
import { maxCalls } from './tool-calls.ts';

type ItemType = 'message' | 'function_call' | 'reasoning';

interface Item {
  readonly type: ItemType;
  readonly id: string;
  callId: string;
  /** Place in the output; null: not told. */
  readonly at: number | null;
  /** Of a call: its number among the calls. */
  readonly slot: number;
  /** What was said of each part. */
  readonly parts: Map<string, string>;
  /** Of a call: what was said of its arguments. */
  input: string;
  named: boolean;
  kept: boolean;
  /** Told to be done. */
  done: boolean;
}

/** Most items of one answer that are known again; an answer of more calls is not taken anyway. */
const maxItems = 2 * maxCalls;

/** Ways to know an item again, the surest first. */
type Match = (item: Item, told: Json, at: number | null) => boolean;
const sameCall: Match = (item, told) => item.callId !== '' && item.callId === textOf(told['call_id']);
const sameId: Match = (item, told) => item.id !== '' && item.id === textOf(told['id']);
const samePlace: Match = (item, _, at) => at !== null && item.at === at;
const both =
  (a: Match, b: Match): Match =>
  (...args) =>
    a(...args) && b(...args);
const matches: readonly Match[] = [
  both(sameCall, samePlace),
  both(sameId, samePlace),
  sameCall,
  sameId,
  samePlace,
];

/** A reader for the events of one answer. */
export function createResponsesReader(): ChunkReader {
  const items: Item[] = [];
  let calls = 0;
  /** The part that spoke last, of text and of thoughts. */
  const last: Partial<Record<'text' | 'reasoning', string>> = {};

  function open(type: ItemType, told: Json, at: number | null): Item {
    const item: Item = {
      type,
      id: textOf(told['id']),
      callId: textOf(told['call_id']),
      at,
      slot: type === 'function_call' ? calls++ : 0,
      parts: new Map(),
      input: '',
      named: false,
      kept: false,
      done: false,
    };
    if (items.length < maxItems) items.push(item);
    return item;
  }

  /** The item that is meant among some, by the surest way that finds one. */
  function find(among: readonly Item[], told: Json, at: number | null): Item | undefined {
    for (const match of matches) {
      const found = among.findLast((item) => match(item, told, at));
      if (found) return found;
    }
    return undefined;
  }

  const ofType = (type: ItemType): readonly Item[] => items.filter((item) => item.type === type);

  /** The item that an event about a part of it means; one that was never announced is there from now on. */
  function itemOf(type: ItemType, event: Json): Item {
    const at = countOf(event['output_index']) ?? null;
    const told = { id: event['item_id'] };
    const among = ofType(type);
    // Arguments that say nothing of whose they are go on with the last call.
    const found = find(among, told, at) ?? (type === 'function_call' ? among.at(-1) : undefined);
    return found ?? open(type, told, at);
  }

  function say(type: 'text' | 'reasoning' | 'refusal', item: Item, part: string, text: string): Chunk[] {
    if (text === '') return [];
    item.parts.set(part, (item.parts.get(part) ?? '') + text);
    if (type === 'refusal') return [{ type, text }];
    // Parts of a message are one text; each thought is one of its own.
    const run = `${items.indexOf(item)} ${type === 'text' ? '' : part}`;
    const apart = last[type] !== undefined && last[type] !== run;
    last[type] = run;
    return [{ type, text, ...(apart && { apart }) }];
  }

  /** What the whole of a part adds to what was said of it. */
  function complete(
    type: 'text' | 'reasoning' | 'refusal',
    item: Item,
    part: string,
    whole: unknown,
  ): Chunk[] {
    const said = item.parts.get(part) ?? '';
    const text = textOf(whole);
    return text.startsWith(said) ? say(type, item, part, text.slice(said.length)) : [];
  }

  /** Thoughts come as they are or summed up; of an item that has both, what came first counts. */
  function isOther(item: Item, part: string): boolean {
    const [first] = item.parts.keys();
    return first !== undefined && first.split(' ')[0] !== part.split(' ')[0];
  }

  function think(item: Item, part: string, text: unknown, whole: boolean): Chunk[] {
    if (isOther(item, part)) return [];
    return whole ? complete('reasoning', item, part, text) : say('reasoning', item, part, textOf(text));
  }

  const piece = (item: Item, more: { id?: string; name?: string; arguments?: string }): Chunk => ({
    type: 'calls',
    pieces: [{ index: item.slot, id: '', name: '', arguments: '', ...more }],
  });

  function nameCall(item: Item, told: Json): Chunk[] {
    const name = textOf(told['name']);
    const id = textOf(told['call_id']);
    if (item.named || name === '') return [];
    item.named = true;
    item.callId ||= id;
    return [piece(item, { id, name })];
  }

  function completeInput(item: Item, whole: unknown): Chunk[] {
    const text = typeof whole === 'string' ? whole : isRecord(whole) ? JSON.stringify(whole) : '';
    const rest = text.startsWith(item.input) ? text.slice(item.input.length) : '';
    item.input += rest;
    return rest === '' ? [] : [piece(item, { arguments: rest })];
  }

  function completeItem(item: Item, told: Json): Chunk[] {
    item.done = true;
    if (item.type === 'function_call')
      return [...nameCall(item, told), ...completeInput(item, told['arguments'])];
    const content = listOf(told['content']);
    if (item.type === 'message') return content.flatMap((part, i) => completePart(item, part, i));
    const text = (part: unknown): unknown => (isRecord(part) ? part['text'] : part);
    const chunks = [
      ...listOf(told['summary']).flatMap((part, i) => think(item, `summary ${i}`, text(part), true)),
      ...content.flatMap((part, i) => think(item, `content ${i}`, text(part), true)),
    ];
    if (item.kept || textOf(told['encrypted_content']) === '') return chunks;
    item.kept = true;
    return [...chunks, { type: 'native', part: told }];
  }

  function completePart(item: Item, part: unknown, i: number): Chunk[] {
    if (!isRecord(part)) return [];
    if (part['type'] === 'refusal') return complete('refusal', item, `refusal ${i}`, part['refusal']);
    if (part['type'] === 'output_text' || part['type'] === 'text')
      return complete('text', item, `text ${i}`, part['text']);
    return [];
  }

  /** An item that is told whole, in mid-stream. */
  function readDone(told: Json, at: number | null): Chunk[] {
    const type = typeOf(told);
    if (type === null) return [];
    const known = ofType(type);
    const item = find(
      known.filter(({ done }) => !done),
      told,
      at,
    );
    // Told to be done once more.
    if (!item && find(known, told, at)) return [];
    return completeItem(item ?? open(type, told, at), told);
  }

  /** The output as the response at the end has it. */
  function readOutput(output: readonly unknown[]): Chunk[] {
    const left = new Set(items);
    const told = output.map((json, at) => ({ json: isRecord(json) ? json : {}, at }));
    const pairs = new Map<(typeof told)[number], Item>();
    // All by the surest way first; what no way knows again is known by its order.
    for (const match of [...matches, () => true] satisfies Match[]) {
      for (const one of told) {
        if (pairs.has(one)) continue;
        const type = typeOf(one.json);
        const item = [...left].find((known) => known.type === type && match(known, one.json, one.at));
        if (!item) continue;
        pairs.set(one, item);
        left.delete(item);
      }
    }
    return told.flatMap((one) => {
      const type = typeOf(one.json);
      if (type === null) return [];
      return completeItem(pairs.get(one) ?? open(type, one.json, one.at), one.json);
    });
  }

  function readEnd(response: Json, type: string): Chunk[] {
    const chunks = [...readHead(response), ...readOutput(listOf(response['output']))];
    const cut = type === 'response.incomplete' || response['status'] === 'incomplete';
    const details = response['incomplete_details'];
    const reason = textOf(isRecord(details) && details['reason']) || 'length';
    const word = cut ? reason : calls > 0 ? 'tool_calls' : 'stop';
    return [...chunks, { type: 'finish', word }, { type: 'end' }];
  }

  function readPart(type: string, event: Json): Chunk[] {
    const content = countOf(event['content_index']) ?? 0;
    const summary = countOf(event['summary_index']) ?? 0;
    switch (type) {
      case 'output_text.delta':
        return say('text', itemOf('message', event), `text ${content}`, textOf(event['delta']));
      case 'output_text.done':
        return complete('text', itemOf('message', event), `text ${content}`, event['text']);
      case 'refusal.delta':
        return say('refusal', itemOf('message', event), `refusal ${content}`, textOf(event['delta']));
      case 'refusal.done':
        return complete('refusal', itemOf('message', event), `refusal ${content}`, event['refusal']);
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
        const text = textOf(event['delta']);
        item.input += text;
        return [piece(item, { arguments: text })];
      }
      case 'function_call_arguments.done': {
        const item = itemOf('function_call', event);
        return [...nameCall(item, event), ...completeInput(item, event['arguments'])];
      }
      default:
        return [];
    }
  }

  function read(event: unknown, name: string): readonly Chunk[] {
    if (!isRecord(event)) return [];
    const type = textOf(event['type']) || name;
    const at = countOf(event['output_index']) ?? null;
    const response = isRecord(event['response']) ? event['response'] : {};
    const told = isRecord(event['item']) ? event['item'] : {};
    switch (type) {
      case 'response.completed':
      case 'response.incomplete':
      case 'response.done':
        return response['status'] === 'failed' ? [failure(response)] : readEnd(response, type);
      case 'response.failed':
      case 'response.cancelled':
        return [...readHead(response), failure(response)];
      case 'response.output_item.added': {
        const itemType = typeOf(told);
        if (itemType === null) return [];
        const item = open(itemType, told, at);
        // What it already holds comes again in deltas, or when it is done.
        return itemType === 'function_call' ? nameCall(item, told) : [];
      }
      case 'response.output_item.done':
        return readDone(told, at);
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
      return body['status'] === 'failed' ? [failure(body)] : readEnd(body, '');
    },
    doneIsEnough: false,
  };
}

function typeOf(item: Json): ItemType | null {
  const type = item['type'];
  return type === 'message' || type === 'function_call' || type === 'reasoning' ? type : null;
}

const failure = (response: Json): Chunk => ({
  type: 'error',
  description: isRecord(response['error'])
    ? { error: response['error'] }
    : { message: 'the response failed', code: 'server_error' },
});

function readHead(response: Json): Chunk[] {
  const name = textOf(response['model']);
  return [...(name === '' ? [] : [{ type: 'model' as const, name }]), ...readUsage(response['usage'])];
}

function readUsage(sent: unknown): Chunk[] {
  if (!isRecord(sent)) return [];
  const input = isRecord(sent['input_tokens_details']) ? sent['input_tokens_details'] : {};
  const output = isRecord(sent['output_tokens_details']) ? sent['output_tokens_details'] : {};
  const counts: Readonly<Record<keyof Usage, number | undefined>> = {
    inputTokens: countOf(sent['input_tokens']),
    outputTokens: countOf(sent['output_tokens']),
    cachedInputTokens: countOf(input['cached_tokens']),
    reasoningTokens: countOf(output['reasoning_tokens']),
  };
  return [{ type: 'usage', usage: counts as Partial<Usage> }];
}
