/**
 * Owns: the models of a simulated world as their endpoints are: how much each reads, what is said of that, and how it
 * counts what it is asked.
 */
import type { Usage } from 'schema/projection';
import { estimateTokens, overheadOf } from '../../src/core/context/tokens.ts';
import type { ModelAnswer, ModelInfo, ModelRequest } from '../../src/ports/model.ts';
import { modelInfo } from '../support/fake-model.ts';

/** NONE: not at all. ABSURD: far more than there can be. LOW: far less. */
export type Counting = 'HONEST' | 'NONE' | 'ZEROS' | 'ABSURD' | 'LOW';

interface Endpoint {
  /** Tokens it is said to read; null: nobody says. */
  readonly said: number | null;
  /** Tokens it reads; null: any number. */
  readonly reads: number | null;
}

/** What stands beside a conversation takes some four hundred of them. The default first. */
const endpoints: Readonly<Record<string, Endpoint>> = {
  test: { said: 1_200, reads: 1_200 },
  /** A summary does not fit into it with what is asked about it. */
  tiny: { said: 520, reads: 520 },
  silent: { said: null, reads: 900 },
  boastful: { said: 6_000, reads: 1_000 },
  endless: { said: null, reads: null },
};

export const aliases: readonly string[] = Object.keys(endpoints);

export const models: readonly ModelInfo[] = aliases.map((alias) => ({
  ...modelInfo,
  alias,
  isDefault: alias === 'test',
  window: endpoints[alias]!.said,
}));

/** Who is asked: there are no fallbacks here. */
export const aliasOf = ({ lane, model }: ModelRequest): string => lane ?? model.alias;

export const windowOf = (alias: string): number | null => endpoints[alias]?.said ?? null;

export function isTooLong(alias: string, tokens: number): boolean {
  const reads = endpoints[alias]?.reads ?? null;
  return reads !== null && tokens > reads;
}

/** What a request has, counted as an honest endpoint counts: message by message, as it came. */
export function tokensIn({ messages, tools }: Pick<ModelRequest, 'messages' | 'tools'>): number {
  const [system, ...rest] = messages;
  return rest.reduce(
    (sum, message) => {
      const calls = message.role === 'assistant' ? message.calls : [];
      return (
        sum +
        4 +
        estimateTokens(message.text) +
        calls.reduce((all, c) => all + 4 + estimateTokens(c.name) + estimateTokens(c.arguments), 0)
      );
    },
    overheadOf(system?.text ?? '', tools),
  );
}

/** The same without what the server puts around what it was told: that is in no estimate. */
export const bareTokensIn = ({ messages, tools }: Pick<ModelRequest, 'messages' | 'tools'>): number =>
  tokensIn({ tools, messages: messages.map((message) => ({ ...message, text: bare(message.text) })) });

const bare = (text: string): string =>
  text.replace(/^\[.* writes:\]\n/, '').replaceAll(/^\[(What|End) .*\]$/gm, '');

export function countOf(
  counting: Counting,
  input: number,
  { text, calls }: Pick<ModelAnswer, 'text' | 'calls'>,
): Usage | null {
  const output = 1 + estimateTokens(text + calls.map((c) => c.name + c.arguments).join(' '));
  switch (counting) {
    case 'HONEST':
      return { inputTokens: input, outputTokens: output };
    case 'NONE':
      return null;
    case 'ZEROS':
      return { inputTokens: 0, outputTokens: 0 };
    case 'ABSURD':
      return { inputTokens: input * 40 + 100_000, outputTokens: output };
    case 'LOW':
      return { inputTokens: 1, outputTokens: 1 };
  }
}
