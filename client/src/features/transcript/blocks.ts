/**
 * Owns: what the transcript shows: the loaded entries told as blocks, in the order of the journal. Pure.
 * Does not own: how a block looks (the components), or what follows from entries (the projection).
 *
 * Invariants: a call is one block from its declaration to its result, in the place where it was declared, and keeps
 * who decided what about it; a call whose declaration is not loaded still shows its result.
 */
import type {
  ApprovalItem,
  Author,
  Call,
  Entry,
  EntryOf,
  Overlay,
  ToolResult,
  TurnOutcome,
} from 'schema/projection';

export interface UserBlock {
  readonly type: 'user';
  readonly id: string;
  readonly text: string;
  readonly author: Author;
  /** True for what was said along with a decision. */
  readonly feedback: boolean;
  readonly at: string;
  readonly durable: boolean;
}

export interface AssistantBlock {
  readonly type: 'assistant';
  readonly id: string;
  readonly text: string;
  readonly reasoning: string;
  readonly streaming: boolean;
  /** Set when it was cut off: by Stop, or because the model call failed. */
  readonly cut: EntryOf<'CANCELLATION'>['reason'] | null;
  readonly finish: EntryOf<'ASSISTANT'>['finish'] | null;
  readonly discarded: readonly string[];
  readonly durable: boolean;
}

/** Where a call stands. Total: each has its words in `callWords`. */
export type CallState =
  /** Declared; nobody was asked yet and it has not started. */
  | 'DECLARED'
  | 'ASKING'
  /** Approved; it starts when the other calls of its question are decided, too. */
  | 'APPROVED'
  | 'RUNNING'
  | 'SETTLED'
  /** The turn ended before it was decided or started. */
  | 'DROPPED';

export interface CallBlock {
  readonly type: 'call';
  readonly id: string;
  readonly name: string;
  /** JSON text; null when the entry that declared it is not loaded. */
  readonly arguments: string | null;
  readonly state: CallState;
  readonly cycleId: string | null;
  readonly item: ApprovalItem | null;
  readonly result: ToolResult | null;
}

export interface MarkBlock {
  readonly type: 'mark';
  readonly id: string;
  readonly tone: 'CALM' | 'WARNING';
  readonly text: string;
}

export interface OutcomeBlock {
  readonly type: 'outcome';
  readonly id: string;
  readonly outcome: TurnOutcome;
}

export interface SystemBlock {
  readonly type: 'system';
  readonly id: string;
  readonly text: string;
  readonly source: string;
}

export type Block = UserBlock | AssistantBlock | CallBlock | MarkBlock | OutcomeBlock | SystemBlock;

/** `durableThrough`: entries above it are accepted but not yet safe. */
export function blocksOf(
  entries: readonly Entry[],
  overlay: Overlay,
  durableThrough: number,
): readonly Block[] {
  const blocks: Block[] = [];
  const placeByCall = new Map<string, number>();

  const declare = (call: Pick<Call, 'callId' | 'name'> & { readonly arguments: string | null }) => {
    placeByCall.set(call.callId, blocks.length);
    blocks.push({
      type: 'call',
      id: call.callId,
      name: call.name,
      arguments: call.arguments,
      state: 'DECLARED',
      cycleId: null,
      item: null,
      result: null,
    });
  };
  const change = (callId: string, to: (block: CallBlock) => CallBlock) => {
    const place = placeByCall.get(callId);
    const block = place === undefined ? undefined : blocks[place];
    if (place !== undefined && block?.type === 'call') blocks[place] = to(block);
  };
  const known = (callId: string, name: string) => {
    if (!placeByCall.has(callId)) declare({ callId, name, arguments: null });
  };

  for (const entry of entries) {
    const { id } = entry;
    const durable = entry.revision <= durableThrough;
    switch (entry.kind) {
      case 'USER':
        blocks.push({
          type: 'user',
          id,
          text: entry.text,
          author: entry.author,
          feedback: entry.source === 'FEEDBACK',
          at: entry.at,
          durable,
        });
        break;
      case 'ASSISTANT': {
        const { text, reasoning, finish, discarded } = entry;
        if (text !== '' || reasoning !== '' || entry.calls.length === 0)
          blocks.push({
            type: 'assistant',
            id,
            text,
            reasoning,
            streaming: false,
            cut: null,
            finish,
            discarded,
            durable,
          });
        entry.calls.forEach(declare);
        break;
      }
      case 'CANCELLATION':
        blocks.push({
          type: 'assistant',
          id,
          text: entry.text,
          reasoning: entry.reasoning,
          streaming: false,
          cut: entry.reason,
          finish: null,
          discarded: [],
          durable,
        });
        break;
      case 'TOOL_STARTED':
        known(entry.callId, entry.name);
        change(entry.callId, (block) => ({ ...block, state: 'RUNNING' }));
        break;
      case 'TOOL_SETTLED':
        known(entry.callId, entry.name);
        change(entry.callId, (block) => ({ ...block, state: 'SETTLED', result: entry.result }));
        break;
      case 'TOOL': {
        const { outcome, effect, content } = entry;
        known(entry.callId, entry.name);
        // What the call gave is shown rather than what the model was told of it, which may be shorter.
        change(entry.callId, (block) => ({
          ...block,
          state: 'SETTLED',
          result: block.result ?? { outcome, effect, content },
        }));
        break;
      }
      case 'APPROVAL': {
        const { cycle } = entry;
        for (const item of cycle.items) {
          if (!placeByCall.has(item.callId)) declare(item);
          change(item.callId, (block) => ({
            ...block,
            cycleId: cycle.id,
            item,
            state:
              block.state === 'DECLARED' || block.state === 'ASKING'
                ? asked(item, cycle.status)
                : block.state,
          }));
        }
        break;
      }
      case 'TURN':
        if (entry.turn.outcome) {
          for (const [callId] of placeByCall)
            change(callId, (block) =>
              block.state === 'SETTLED' || block.state === 'DROPPED' ? block : { ...block, state: 'DROPPED' },
            );
          if (entry.turn.outcome.type !== 'COMPLETED')
            blocks.push({ type: 'outcome', id, outcome: entry.turn.outcome });
        }
        break;
      case 'RECOVERY':
        blocks.push({
          type: 'mark',
          id,
          tone: 'WARNING',
          text: entry.message || 'The turn was carried on after a restart.',
        });
        break;
      case 'LIFECYCLE':
        if (entry.lifecycle === 'CLOSED') blocks.push(calm(id, 'Closed'));
        else if (entry.revision > 2) blocks.push(calm(id, 'Opened again'));
        break;
      case 'CONFIGURATION':
        if (entry.revision > 2) blocks.push(calm(id, `Now with the model ${entry.configuration.model}`));
        break;
      case 'SYSTEM':
        blocks.push({ type: 'system', id, text: entry.text, source: entry.source });
        break;
      case 'QUEUE':
        break;
      default:
        // A kind that this page does not know has nothing to show.
        break;
    }
  }

  const { message } = overlay;
  if (message)
    blocks.push({
      type: 'assistant',
      id: message.id,
      text: message.text,
      reasoning: message.reasoning,
      streaming: true,
      cut: null,
      finish: null,
      discarded: [],
      durable: true,
    });
  return blocks;
}

const calm = (id: string, text: string): MarkBlock => ({ type: 'mark', id, tone: 'CALM', text });

function asked(item: ApprovalItem, status: 'OPEN' | 'SETTLED' | 'SUPERSEDED'): CallState {
  if (item.decision) return item.decision.verdict === 'APPROVED' ? 'APPROVED' : 'DECLARED';
  return status === 'OPEN' ? 'ASKING' : 'DROPPED';
}

/** The arguments in one short line, for the head of a card: the one that says most, or all. */
export function argumentsLine(text: string | null): string {
  if (text === null) return '';
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return oneLine(text);
    const values = parsed as Readonly<Record<string, unknown>>;
    for (const name of ['command', 'path']) {
      const value = values[name];
      if (typeof value === 'string') return oneLine(value);
    }
    return oneLine(
      Object.entries(values)
        .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
        .join(', '),
    );
  } catch {
    return oneLine(text);
  }
}

const LINE = 160;

function oneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > LINE ? `${line.slice(0, LINE - 1).replace(/[\uD800-\uDBFF]$/, '')}…` : line;
}

/** The arguments for reading in full: indented when they are JSON, as they are when not. */
export function argumentsText(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
