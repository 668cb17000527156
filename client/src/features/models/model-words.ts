/** Owns: how a model is told to a person: its health, its size, its price, how busy it is. Pure. */
import type { Model } from 'schema/client-kit';
import type { Configuration, Effort, Usage } from 'schema/projection';

/** `mark`: a shape, for who does not see colours or looks at many. */
export const healthWords: Readonly<
  Record<Model['health'], { readonly mark: string; readonly name: string; readonly means: string }>
> = {
  UNKNOWN: { mark: '○', name: 'Not called yet', means: 'No call has gone to it since the server started.' },
  HEALTHY: { mark: '●', name: 'Healthy', means: 'It answers.' },
  FAILING: {
    mark: '◆',
    name: 'Failing',
    means: 'The last call to it or to its endpoint failed; it is asked as before.',
  },
  DEGRADED: {
    mark: '▲',
    name: 'Degraded',
    means: 'Five calls in a row failed: it is asked last until one succeeds.',
  },
};

export const effortWords: Readonly<Record<Effort, string>> = {
  NONE: 'none',
  MINIMAL: 'minimal',
  LOW: 'low',
  MEDIUM: 'medium',
  HIGH: 'high',
  XHIGH: 'very high',
};

/** In steps of 1000, but of 1024 where it is made of those alone, as many windows are. */
const stepOf = (count: number): number => (count % 1_000 !== 0 && count % 1_024 === 0 ? 1_024 : 1_000);

/** `32k`. `fine`: below this size in its unit it has a decimal; `step`: see `stepOf`. */
function short(count: number, fine: number, step: number): string {
  if (count < 1_000) return String(count);
  const [size, unit] = Math.round(count / step) < step ? [count / step, 'k'] : [count / step / step, 'M'];
  return `${size < fine ? Math.round(size * 10) / 10 : Math.round(size)}${unit}`;
}

/** `12.4k`: how many tokens, to be compared at a glance. `beside`: the number that it stands beside, if any. */
export const tokensInShort = (count: number, beside: number = count): string =>
  short(count, 100, stepOf(beside));

/** What it can read at once; null: nobody knows. */
export const windowWords = (window: number | null): string | null =>
  window === null ? null : `${short(window, 10, stepOf(window))} tokens`;

const dollars = (price: number): string =>
  new Intl.NumberFormat('en-US', {
    style: 'currency',
    currency: 'USD',
    minimumFractionDigits: Number.isInteger(price) ? 0 : 2,
    maximumFractionDigits: 6,
  }).format(price);

/** Null: not configured. */
const priceWords = (price: Model['price']): string | null =>
  price && `${priceInShort(price)} per million tokens`;

/** The same, to stand under a heading that says per what. */
export const priceInShort = ({ input, output, cachedInput }: NonNullable<Model['price']>): string =>
  [
    `${dollars(input)} in`,
    ...(cachedInput === null ? [] : [`${dollars(cachedInput)} cached`]),
    `${dollars(output)} out`,
  ].join(', ');

/** How busy it is; null: nothing is under way. */
export function useWords({ inUse, waiting, concurrency }: Model): string | null {
  if (inUse === 0 && waiting === 0) return null;
  const used = concurrency === null ? `${inUse} in use` : `${inUse} of ${concurrency} in use`;
  return waiting === 0 ? used : `${used}, ${waiting} waiting`;
}

/** What there is to know beside name and health, in one line; empty when there is nothing. */
export const factsLine = (model: Model): string =>
  [windowWords(model.window), priceWords(model.price), useWords(model)]
    .filter((fact) => fact !== null)
    .join(' · ');

/** How it is to answer, where a workstream says that; empty: as it is set up. */
export const tuningWords = ({ temperature, effort }: Pick<Configuration, 'temperature' | 'effort'>): string =>
  [
    ...(temperature === undefined ? [] : [`temperature ${temperature}`]),
    ...(effort === undefined ? [] : [`effort ${effortWords[effort]}`]),
  ].join(' · ');

const counted = new Intl.NumberFormat('en-US');

/** `12,400`: how many tokens, exactly. */
export const tokensInFull = (count: number): string => counted.format(count);

/** What calls cost, in dollars; null: no model that was asked has a price. */
export const costWords = (cost: number | null): string => {
  if (cost === null) return 'no price set';
  if (cost > 0 && cost < 0.0001) return 'under $0.0001';
  return new Intl.NumberFormat('en-US', {
    style: 'currency',
    currency: 'USD',
    maximumFractionDigits: cost < 1 ? 4 : 2,
  }).format(cost);
};

/** What an answer cost in tokens. `short`: to stand in a line; `long`: a sentence of its own. */
export function usageWords({ inputTokens, outputTokens, cachedInputTokens, reasoningTokens }: Usage): {
  readonly short: string;
  readonly long: string;
} {
  const told = (cached: string, thinking: string, input: string, output: string) => {
    const of = (count: number | undefined, what: string) =>
      count === undefined || count === 0 ? '' : ` (${counted.format(count)} ${what})`;
    return `${counted.format(inputTokens)} ${input}${of(cachedInputTokens, cached)}, ${counted.format(outputTokens)} ${output}${of(reasoningTokens, thinking)}`;
  };
  return {
    short: `Tokens: ${told('cached', 'thinking', 'in', 'out')}`,
    long: `Tokens: ${told('of them from the cache of the provider', 'of them for thinking', 'read', 'written')}.`,
  };
}
