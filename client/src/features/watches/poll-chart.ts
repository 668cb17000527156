/** Owns: the polls of a watch as bars, and the same in one sentence. Pure. */
import type { ResultOf, watchQuery } from 'schema/client-kit';
import { tokensInFull } from '../models/model-words.ts';
import { outcomeOf, tookWords } from './watch-words.ts';

export type Poll = NonNullable<ResultOf<typeof watchQuery>['watch']>['history'][number];

export interface PollBar {
  readonly poll: number;
  readonly kind: ReturnType<typeof outcomeOf>['kind'];
  readonly mark: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Units of the drawing. A row of marks stands above the bars. */
export const chart = { width: 300, height: 56, marks: 12 } as const;
const LEAST = 2;
const WIDEST = 14;

/** The oldest first, as high as it took long, the longest all of it. `polls`: newest first. */
export function barsOf(polls: readonly Poll[]): readonly PollBar[] {
  const longest = Math.max(1, ...polls.map(({ durationMs }) => durationMs));
  const step = Math.min(WIDEST, chart.width / Math.max(1, polls.length));
  const room = chart.height - chart.marks;
  return polls.toReversed().map((poll, i) => {
    const { kind, mark } = outcomeOf(poll);
    const height = Math.max(LEAST, (poll.durationMs / longest) * room);
    return { poll: poll.poll, kind, mark, x: i * step, y: chart.height - height, width: step * 0.8, height };
  });
}

/** What stands above the bars: what they are, and how high the highest is. */
export const chartTitle = (polls: readonly Poll[]): string =>
  `How long each poll took, the oldest first; the longest ${tookWords(Math.max(0, ...polls.map(({ durationMs }) => durationMs)))}`;

/** What the bars show, for who does not see them. */
export function chartWords(polls: readonly Poll[]): string {
  const count = (kind: PollBar['kind']) => polls.filter((poll) => outcomeOf(poll).kind === kind).length;
  const durations = polls.map(({ durationMs }) => durationMs);
  const said = [
    `${tokensInFull(count('fired'))} fired`,
    `${tokensInFull(count('error'))} went wrong`,
    `the command of ${tokensInFull(count('exit'))} others failed`,
  ].join(', ');
  const took = `They took ${tookWords(Math.min(...durations))} to ${tookWords(Math.max(...durations))}.`;
  return polls.length === 0 ? 'No poll.' : `Of ${tokensInFull(polls.length)} polls ${said}. ${took}`;
}
