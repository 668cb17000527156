/**
 * Owns: what the transcript shows: the loaded entries told as blocks, in the order of the journal. Pure.
 * Does not own: how a block looks (the components), or what follows from entries (the projection).
 *
 * Invariants: a call is one block from its declaration to its result, in the place where it was declared, and keeps
 * who decided what about it; a call whose declaration is not loaded still shows its result; a question about the budget
 * is one block from its asking to its answer.
 */
import type {
  ApprovalCycle,
  ApprovalItem,
  Author,
  BudgetQuestion,
  Call,
  CompactionTrigger,
  Configuration,
  Entry,
  EntryOf,
  Fire,
  Overlay,
  ToolResult,
  TurnOutcome,
  Usage,
  Watch,
} from 'schema/projection';
import { watchNews } from '../watches/watch-news.ts';
import { begunByWatch } from '../watches/watch-words.ts';
import { changeWords } from './change-words.ts';

interface Placed {
  /** Of the entry, or of the call: the same as long as it is shown. */
  readonly id: string;
  /** Place in the journal of the entry that it begins with; ascending from block to block. */
  readonly revision: number;
}

export interface UserBlock extends Placed {
  readonly type: 'user';
  readonly text: string;
  readonly author: Author;
  /** True for what was said along with a decision. */
  readonly feedback: boolean;
  /** True for what was said while the turn ran. */
  readonly steered: boolean;
  readonly at: string;
  readonly durable: boolean;
}

export interface AssistantBlock extends Placed {
  readonly type: 'assistant';
  readonly text: string;
  readonly reasoning: string;
  readonly streaming: boolean;
  /** Set when it was cut off: by Stop, or because the model call failed. */
  readonly cut: EntryOf<'CANCELLATION'>['reason'] | null;
  readonly finish: EntryOf<'ASSISTANT'>['finish'] | null;
  readonly discarded: readonly string[];
  /** Alias of the model that answered in place of the one that was chosen; null when that one did. */
  readonly standIn: string | null;
  readonly usage: Usage | null;
  readonly durable: boolean;
}

/** Where a call stands. Total: each has its words in `callWords`. */
export type CallState =
  /** Declared; nobody was asked yet and it has not started. */
  | 'DECLARED'
  | 'ASKING'
  /** Approved, about to start: it does not wait for the others of its question. */
  | 'APPROVED'
  | 'RUNNING'
  | 'SETTLED'
  /** The turn ended before it was decided or started. */
  | 'DROPPED';

export interface CallBlock extends Placed {
  readonly type: 'call';
  readonly name: string;
  /** JSON text; null when the entry that declared it is not loaded. */
  readonly arguments: string | null;
  readonly state: CallState;
  readonly cycleId: string | null;
  readonly item: ApprovalItem | null;
  readonly result: ToolResult | null;
  /** True when the note of its decision is a block of its own. */
  readonly noteSaid: boolean;
}

export interface MarkBlock extends Placed {
  readonly type: 'mark';
  readonly tone: 'CALM' | 'WARNING';
  readonly text: string;
  /** Who did it, where that is to be said. */
  readonly by: Author | null;
}

export interface OutcomeBlock extends Placed {
  readonly type: 'outcome';
  readonly outcome: TurnOutcome;
}

export interface SystemBlock extends Placed {
  readonly type: 'system';
  readonly text: string;
  readonly source: string;
}

/** A watch has something to say, which the server says to the model. */
export interface FireBlock extends Placed {
  readonly type: 'fire';
  readonly fire: Fire;
  readonly at: string;
  readonly durable: boolean;
}

/** Somebody went back: what it took out stands before it. */
export interface RewindBlock extends Placed {
  readonly type: 'rewind';
  readonly by: Author;
  readonly at: string;
  readonly reason: EntryOf<'REWIND'>['reason'];
}

/** From here on the model is told the summary in the place of what is before. */
export interface CheckpointBlock extends Placed {
  readonly type: 'checkpoint';
  readonly summary: string;
  /** What was being worked on, which crosses word for word. */
  readonly request: EntryOf<'CHECKPOINT'>['request'];
  readonly trigger: CompactionTrigger;
  /** Tokens the model was told before it and after it. */
  readonly before: number;
  readonly after: number;
  /** Alias of the model that wrote it. */
  readonly by: string;
  readonly at: string;
  readonly durable: boolean;
}

/** A person is asked whether more tokens may be spent. */
export interface BudgetBlock extends Placed {
  readonly type: 'budget';
  readonly cycleId: string;
  readonly question: BudgetQuestion;
  readonly item: ApprovalItem;
  /** ASKED: it is not known here whether it was answered. DROPPED: the turn ended before it was. */
  readonly state: 'ASKING' | 'ASKED' | 'GRANTED' | 'DENIED' | 'DROPPED';
}

export type Block =
  | UserBlock
  | AssistantBlock
  | CallBlock
  | MarkBlock
  | OutcomeBlock
  | SystemBlock
  | FireBlock
  | RewindBlock
  | CheckpointBlock
  | BudgetBlock;

/** True for a question that waits for a person. */
export const asks = (block: Block): boolean =>
  (block.type === 'call' || block.type === 'budget') && block.state === 'ASKING';

/** A call as an entry names it; what declared it gives the arguments, too. */
type Named = Pick<Call, 'callId' | 'name'> & { readonly arguments?: string };

/** An answer about which there is nothing more to say than its text. */
const answer = {
  type: 'assistant',
  streaming: false,
  cut: null,
  finish: null,
  discarded: [],
  standIn: null,
  usage: null,
  durable: true,
} as const;

/**
 * `durableThrough`: entries above it are accepted but not yet safe. `model`: alias of the model that is chosen now, for
 * answers before which nothing is loaded that says what was chosen then; null where nothing is known.
 */
export function blocksOf(
  entries: readonly Entry[],
  durableThrough: number,
  model: string | null = null,
): readonly Block[] {
  const blocks: Block[] = [];
  const placeByCall = new Map<string, number>();
  /** Calls that have not ended. */
  const open = new Set<string>();
  let configuration: Configuration | null = null;
  /** A summary is being made, as far as is told. */
  let summarising = false;
  /** As the last entry about each has it, by id. */
  const watches = new Map<string, Watch>();
  let turnId: string | null = null;
  /** Null: not known, since what is loaded begins later. */
  let closed: boolean | null = null;

  const declare = ({ callId, name, arguments: text }: Named, revision: number) => {
    placeByCall.set(callId, blocks.length);
    open.add(callId);
    blocks.push({
      type: 'call',
      id: callId,
      revision,
      name,
      arguments: text ?? null,
      state: 'DECLARED',
      cycleId: null,
      item: null,
      result: null,
      noteSaid: false,
    });
  };
  const change = (callId: string, to: (block: CallBlock) => Partial<CallBlock>) => {
    const place = placeByCall.get(callId);
    const block = place === undefined ? undefined : blocks[place];
    if (place !== undefined && block?.type === 'call') blocks[place] = { ...block, ...to(block) };
  };
  /** Tells more of a call, and that there is one when what declared it is not loaded. */
  const tell = (call: Named, revision: number, to: (block: CallBlock) => Partial<CallBlock>) => {
    if (!placeByCall.has(call.callId)) declare(call, revision);
    change(call.callId, to);
  };

  /** Where it was asked first; its answer changes it there. */
  const askOfBudget = (
    cycle: ApprovalCycle,
    question: BudgetQuestion,
    item: ApprovalItem,
    revision: number,
  ) => {
    const place = blocks.findIndex((block) => block.type === 'budget' && block.id === item.callId);
    const block: BudgetBlock = {
      type: 'budget',
      id: item.callId,
      revision: blocks[place]?.revision ?? revision,
      cycleId: cycle.id,
      question,
      item,
      state: budgetState(item, cycle.status),
    };
    if (place === -1) blocks.push(block);
    else blocks[place] = block;
  };
  /** Of a turn that is over. */
  const dropBudgetQuestion = () => {
    const place = blocks.findLastIndex((block) => block.type === 'budget');
    const block = blocks[place];
    if (block?.type === 'budget' && block.state === 'ASKING') blocks[place] = { ...block, state: 'DROPPED' };
  };

  for (const entry of entries) {
    const { id, revision } = entry;
    const durable = revision <= durableThrough;
    switch (entry.kind) {
      case 'USER':
        if (entry.source === 'COMPACTION_RESUME') {
          // It has an author, on whose credentials the turn runs, and is not that author's word.
          blocks.push({ type: 'system', id, revision, text: entry.text, source: entry.source });
          break;
        }
        if (entry.source === 'FEEDBACK') {
          const decided = blocks.findLast(
            (block) =>
              block.type === 'call' && !block.noteSaid && block.item?.decision?.feedback === entry.text,
          );
          if (decided) change(decided.id, () => ({ noteSaid: true }));
        }
        blocks.push({
          type: 'user',
          id,
          revision,
          text: entry.text,
          author: entry.author,
          feedback: entry.source === 'FEEDBACK',
          steered: entry.source === 'STEER',
          at: entry.at,
          durable,
        });
        break;
      case 'ASSISTANT': {
        const { text, reasoning, finish, discarded, usage, alias } = entry;
        const chosen = configuration?.model ?? model;
        const standIn = alias !== undefined && chosen !== null && alias !== chosen ? alias : null;
        if (text !== '' || reasoning !== '' || entry.calls.length === 0)
          blocks.push({
            ...answer,
            id,
            revision,
            text,
            reasoning,
            finish,
            discarded,
            standIn,
            usage,
            durable,
          });
        for (const call of entry.calls) declare(call, revision);
        break;
      }
      case 'CANCELLATION': {
        const { text, reasoning, reason } = entry;
        blocks.push({ ...answer, id, revision, text, reasoning, cut: reason, durable });
        break;
      }
      case 'TOOL_STARTED':
        tell(entry, revision, () => ({ state: 'RUNNING' }));
        break;
      case 'TOOL_SETTLED':
        tell(entry, revision, () => ({ state: 'SETTLED', result: entry.result }));
        open.delete(entry.callId);
        break;
      case 'TOOL': {
        const { outcome, effect, content } = entry;
        // What the call gave is shown rather than what the model was told of it, which may be shorter.
        tell(entry, revision, ({ result }) => ({
          state: 'SETTLED',
          result: result ?? { outcome, effect, content },
        }));
        open.delete(entry.callId);
        break;
      }
      case 'APPROVAL': {
        const { cycle } = entry;
        if (cycle.budget) {
          for (const item of cycle.items) askOfBudget(cycle, cycle.budget, item, revision);
          break;
        }
        for (const item of cycle.items)
          tell(item, revision, ({ state }) => ({
            cycleId: cycle.id,
            item,
            state: state === 'DECLARED' || state === 'ASKING' ? asked(item, cycle.status) : state,
          }));
        break;
      }
      case 'TURN':
        // It begins with an entry of that time, whatever of it is loaded.
        if (entry.turn.id !== turnId && entry.turn.startedAt === entry.at && (entry.turn.depth ?? 0) > 0)
          blocks.push(calm(entry, begunByWatch(entry.turn.depth ?? 0)));
        turnId = entry.turn.id;
        // Without a summary in between it came to nothing.
        if (summarising && entry.turn.phase === 'RUNNING')
          blocks.push({ ...calm(entry, 'Older history could not be summarised'), tone: 'WARNING' });
        summarising = entry.turn.phase === 'COMPACTING';
        if (entry.turn.outcome) {
          dropBudgetQuestion();
          for (const callId of open) change(callId, () => ({ state: 'DROPPED' }));
          open.clear();
          if (entry.turn.outcome.type !== 'COMPLETED' && !saidAlready(blocks.at(-1), entry.turn.outcome))
            blocks.push({ type: 'outcome', id, revision, outcome: entry.turn.outcome });
        }
        break;
      case 'RECOVERY':
        blocks.push({
          ...calm(entry, entry.message || 'The turn was carried on after a restart.'),
          tone: 'WARNING',
        });
        break;
      case 'LIFECYCLE':
        if (entry.lifecycle === 'CLOSED') {
          closed = true;
          blocks.push(calm(entry, 'Closed', entry.by));
        } else {
          // Making one opens it, too, which goes without saying.
          if (closed ?? revision > 2) blocks.push(calm(entry, 'Opened again', entry.by));
          closed = false;
        }
        break;
      case 'FORK':
        blocks.push(calm(entry, `Forked from “${entry.origin.title}”. Files were not copied.`));
        break;
      case 'CONFIGURATION': {
        // What it was before may be on an older page: then nothing is known to have changed.
        const changed = configuration ? changeWords(configuration, entry.configuration) : '';
        const { approvalMode, approvalModeBy } = entry.configuration;
        if (changed !== '') {
          const by = configuration?.approvalMode === approvalMode ? null : approvalModeBy;
          blocks.push(calm(entry, changed, by));
        }
        configuration = entry.configuration;
        break;
      }
      case 'SYSTEM':
        if (entry.fire) blocks.push({ type: 'fire', id, revision, fire: entry.fire, at: entry.at, durable });
        else blocks.push({ type: 'system', id, revision, text: entry.text, source: entry.source });
        break;
      case 'WATCH': {
        const { watch } = entry;
        const news = watchNews(watches.get(watch.id), watch, entry.at);
        if (news) blocks.push(calm(entry, news.text, news.by));
        watches.set(watch.id, watch);
        break;
      }
      case 'CHECKPOINT': {
        const { summary, request, trigger, before, after, alias } = entry;
        summarising = false;
        blocks.push({
          type: 'checkpoint',
          id,
          revision,
          summary,
          request,
          trigger,
          before,
          after,
          by: alias,
          at: entry.at,
          durable,
        });
        break;
      }
      case 'REWIND':
        blocks.push({ type: 'rewind', id, revision, by: entry.by, at: entry.at, reason: entry.reason });
        break;
      case 'QUEUE':
        break;
      default:
        // A kind that this page does not know has nothing to show.
        break;
    }
  }

  return blocks;
}

/** An answer that was stopped says so itself. */
const saidAlready = (last: Block | undefined, { reason, unconfirmed }: TurnOutcome): boolean =>
  last?.type === 'assistant' && last.cut === 'STOPPED' && reason === 'STOPPED' && unconfirmed.length === 0;

/** The answer that is being written, which is no entry yet; null when there is none. */
export const answering = ({ message }: Overlay, revision: number): AssistantBlock | null =>
  message && {
    ...answer,
    id: message.id,
    revision,
    text: message.text,
    reasoning: message.reasoning,
    streaming: true,
  };

/** The block in which an entry is told. */
export const blockIdOf = (entry: Entry): string => ('callId' in entry ? entry.callId : entry.id);

const calm = ({ id, revision }: Entry, text: string, by: Author | null = null): MarkBlock => ({
  type: 'mark',
  id,
  revision,
  tone: 'CALM',
  text,
  by,
});

function budgetState({ decision }: ApprovalItem, status: ApprovalCycle['status']): BudgetBlock['state'] {
  if (decision) return decision.verdict === 'APPROVED' ? 'GRANTED' : 'DENIED';
  return status === 'OPEN' ? 'ASKING' : 'DROPPED';
}

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
