/**
 * Owns: what one model call cost, as it is kept for ever (D-5): every caller's, also of calls that came to nothing.
 */
import type { Usage } from 'schema/projection';

export interface ModelCall {
  /** Unique; it is counted once, however often it is told. */
  readonly id: string;
  readonly purpose: 'TURN' | 'SUMMARY' | 'TITLE';
  /** Null: of no turn. */
  readonly turnId: string | null;
  /** Alias of the model that was asked, and its name at the provider. */
  readonly alias: string;
  readonly model: string;
  readonly usage: Usage;
  /** True: the provider did not count, because the call was given up or it never does. */
  readonly estimated: boolean;
  readonly outcome: 'ANSWERED' | 'FAILED' | 'ABORTED';
  /** United States dollars at the price of that time; null: no price was set. */
  readonly cost: number | null;
}

/** With no more of each from the cache, or thought, than was read, or written: some endpoints count the one and not the other. */
export function plausible(usage: Usage): Usage {
  const { inputTokens, outputTokens, cachedInputTokens: cached, reasoningTokens: thought } = usage;
  return {
    ...usage,
    ...(cached !== undefined && { cachedInputTokens: Math.min(cached, inputTokens) }),
    ...(thought !== undefined && { reasoningTokens: Math.min(thought, outputTokens) }),
  };
}

/** Tokens that count against a budget: read and written, those from a cache included, which a provider has in both. */
export const spentBy = ({ usage }: ModelCall): number => usage.inputTokens + usage.outputTokens;
