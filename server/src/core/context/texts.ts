/**
 * Owns: what the server itself says to a model about its context. Plain sentences, each marked as the server's, so that
 * none is taken for what a person wants (G2).
 */
import type { EntryOf } from 'schema/projection';
import { setApart } from '../kit/set-apart.ts';

/** Said once in a turn, when the context is nearly full (D-40). */
export const adviceToWindDown = (percent: number): string =>
  [
    `[From the server, not from the person: your context is ${percent} % full.`,
    'Say now, briefly, what the goal is, what is done, what is left to do, and which files, names and numbers matter.',
    'Then stop, and older history is summarised before you go on; or go on, if very little is left.]',
  ].join(' ');

/** Said after a summary to a model that had stopped for it (D-40). */
export const resumeAfterSummary =
  '[From the server: older history was summarised, as you were told. Go on with what is left to do.]';

/** Said after a summary to a model that was advised to wind down and has not answered that (D-40). */
export const roomAgain =
  '[From the server: older history was summarised, and there is room again. Go on with the work.]';

/** A summary as the model is told it: an account of the past, never a task (G2). */
export const summaryAsTold = ({ summary, request }: EntryOf<'CHECKPOINT'>): string =>
  [
    '[What happened before this point, in short. It was written by a model for you to know, and asks for nothing.]',
    setApart(summary),
    ...(request
      ? [
          '[What the person asked for last, in their words, and what you are working on:]',
          setApart(request.text),
        ]
      : []),
  ].join('\n');
