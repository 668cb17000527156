/** Owns: how sums of model calls are said to a person. Pure. */
import type { ResultOf, usageQuery } from 'schema/client-kit';
import { costWords, tokensInFull } from '../models/model-words.ts';

/** What calls of one day, model or workstream cost; of all, when they are not told apart. */
export type UsageGroup = ResultOf<typeof usageQuery>['usage'][number];
export type UsageTotal = UsageGroup['total'];

/** Read and written: what a budget counts. */
export const spentIn = ({
  inputTokens,
  outputTokens,
}: Pick<UsageTotal, 'inputTokens' | 'outputTokens'>): number => inputTokens + outputTokens;

const callsInWords = (calls: number): string => (calls === 1 ? 'one call' : `${tokensInFull(calls)} calls`);

/** What a workstream has spent, in one sentence. */
export function spendingWords(total: UsageTotal): string {
  if (total.calls === 0) return 'Nothing was spent yet.';
  const cost = total.cost === null ? '' : `, ${costWords(total.cost)}`;
  return `Spent so far: ${tokensInFull(spentIn(total))} tokens in ${callsInWords(total.calls)}${cost}.`;
}

/** Where a person is asked next; empty where nobody is. */
export const limitWords = (limit: number | null): string =>
  limit === null ? '' : `You are asked at ${tokensInFull(limit)}.`;

/** What is not exact in these sums; empty where all of it is. */
export function inexactWords({
  calls,
  estimatedCalls,
}: Pick<UsageTotal, 'calls' | 'estimatedCalls'>): string {
  if (estimatedCalls === 0) return '';
  const which =
    estimatedCalls === calls
      ? `${calls === 1 ? '' : 'all '}${callsInWords(calls)}`
      : `${tokensInFull(estimatedCalls)} of ${callsInWords(calls)}`;
  return `The tokens of ${which} are estimated, because the provider did not count them.`;
}

const DAY_MS = 86_400_000;

/** The first of so many days, today included, as an ISO date in UTC. */
export const firstDay = (days: number, now: number): string =>
  new Date(now - (days - 1) * DAY_MS).toISOString().slice(0, 10);
