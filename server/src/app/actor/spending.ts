/**
 * Owns: what a model call that has ended cost (D-5), as it is handed to the core: what the provider counted, else what
 * was asked and said, estimated.
 *
 * Invariants: a call that cost nothing is none; a count of nothing is no count (G8).
 */
import type { Usage } from 'schema/projection';
import { estimateTokens } from '../../core/context/tokens.ts';
import { plausible, spentBy, type ModelCall } from '../../core/models/spending.ts';
import type { ModelDelta, ModelInfo, ModelMessage, ModelOutcome, Unfinished } from '../../ports/model.ts';

/** What came of one call before it ended. */
export interface Said {
  add(delta: ModelDelta): void;
  readonly text: string;
  readonly reasoning: string;
}

export function createSaid(): Said {
  const said = { text: '', reasoning: '' };
  return {
    add: ({ type, text }) => void (said[type] += text),
    get text() {
      return said.text;
    },
    get reasoning() {
      return said.reasoning;
    },
  };
}

/** A call as it was asked. */
export interface AskedCall {
  readonly id: string;
  readonly purpose: ModelCall['purpose'];
  readonly turnId: string | null;
  /** Who is asked, as far as is known before it has answered. */
  readonly lane: string;
  /** Tokens of the request, estimated. */
  readonly input: number;
}

const outcomes = { answered: 'ANSWERED', failed: 'FAILED', aborted: 'ABORTED' } as const;

/** Of calls that were not told while they came, UTF-16 units. */
const unitsPerToken = 4;

/** Null: nothing was read or written, as far as can be known: it was not sent, or refused. */
export function costOf(
  asked: AskedCall,
  outcome: ModelOutcome,
  said: Pick<Said, 'text' | 'reasoning'>,
  models: readonly ModelInfo[],
): ModelCall | null {
  if (!wasTaken(outcome, said)) return null;
  const alias = outcome.type === 'aborted' ? asked.lane : outcome.alias;
  const counted =
    outcome.type === 'answered'
      ? usageOf(outcome.usage, asked.input, outcome)
      : usageSoFar(outcome.unfinished, asked.input, said);
  const { estimated } = counted;
  const usage = plausible(counted.usage);
  return {
    id: asked.id,
    purpose: asked.purpose,
    turnId: asked.turnId,
    alias,
    model: outcome.type === 'answered' ? outcome.model : alias,
    usage,
    estimated,
    outcome: outcomes[outcome.type],
    cost: priceOf(usage, models.find((info) => info.alias === alias)?.price ?? null),
  };
}

function wasTaken(outcome: ModelOutcome, { text, reasoning }: Pick<Said, 'text' | 'reasoning'>): boolean {
  if (outcome.type === 'answered' || text !== '' || reasoning !== '') return true;
  const { unfinished } = outcome;
  if (outcome.type === 'aborted') return unfinished !== undefined;
  // A stream may begin with that, and what does not fit is not read.
  if (outcome.kind === 'CONTEXT_OVERFLOW') return (unfinished?.usage ?? null) !== null;
  return outcome.accepted || unfinished !== undefined;
}

interface Counted {
  readonly usage: Usage;
  readonly estimated: boolean;
}

/** What a provider had counted on the way may be behind what had come. */
function usageSoFar(
  unfinished: Unfinished | undefined,
  input: number,
  said: Pick<Said, 'text' | 'reasoning'>,
): Counted {
  const { usage = null, calls = 0 } = unfinished ?? {};
  const { usage: estimate } = usageOf(null, input, said);
  const output = estimate.outputTokens + Math.ceil(calls / unitsPerToken);
  return {
    usage: {
      ...estimate,
      ...usage,
      inputTokens: usage && usage.inputTokens > 0 ? usage.inputTokens : input,
      outputTokens: Math.max(usage?.outputTokens ?? 0, output),
    },
    estimated: true,
  };
}

interface Written {
  readonly text: string;
  readonly reasoning: string;
  readonly calls?: readonly { readonly name: string; readonly arguments: string }[];
}

/** The provider's counts, each that is missing estimated. */
function usageOf(counted: Usage | null, input: number, { text, reasoning, calls = [] }: Written): Counted {
  const thought = estimateTokens(reasoning);
  const output = calls.reduce(
    (sum, call) => sum + estimateTokens(call.name + call.arguments),
    estimateTokens(text) + thought,
  );
  const reads = (counted?.inputTokens ?? 0) > 0;
  const writes = (counted?.outputTokens ?? 0) > 0 || (reads && output === 0);
  if (counted && reads && writes) return { usage: counted, estimated: false };
  const usage: Usage = {
    ...counted,
    inputTokens: reads ? counted!.inputTokens : input,
    outputTokens: writes ? counted!.outputTokens : output,
    ...(!writes && thought > 0 && { reasoningTokens: thought }),
  };
  return { usage, estimated: true };
}

/** United States dollars, of prices per million tokens. */
function priceOf(usage: Usage, price: ModelInfo['price']): number | null {
  if (!price) return null;
  const { inputTokens, outputTokens, cachedInputTokens: cached = 0 } = usage;
  const read = (inputTokens - cached) * price.input + cached * (price.cachedInput ?? price.input);
  return (read + outputTokens * price.output) / 1_000_000;
}

/** Of a request without tools, estimated. */
export const tokensOfRequest = (messages: readonly ModelMessage[]): number =>
  messages.reduce((sum, { text }) => sum + 4 + estimateTokens(text), 0);

/** Calls that have ended and are to be handed in with the next that is told to the core. */
export interface Bill {
  add(call: ModelCall | null): void;
  /** What was added since, or nothing. */
  take(): readonly ModelCall[];
  /** Tokens of it, which the core does not know of yet. */
  spent(): number;
}

export function createBill(): Bill {
  let calls: readonly ModelCall[] = [];
  return {
    add: (call) => void (calls = call ? [...calls, call] : calls),
    take() {
      const taken = calls;
      calls = [];
      return taken;
    },
    spent: () => calls.reduce((sum, call) => sum + spentBy(call), 0),
  };
}
