/**
 * Owns: what the model's `watch` tool does in its workstream: a watch is an entry of the journal, so making and cancelling
 * one is the core's, in the step that would start any other call. Checking and previewing are the tool's.
 */
import { liveTurn, type Author, type ToolResult, type WatchDefinition } from 'schema/projection';
import { quote } from '../kit/quote.ts';
import type { StepDraft } from '../step-draft.ts';
import { endingAfter } from './definition.ts';
import { spanOf } from './message.ts';
import { changeWatch, find, makeWatch, watchesOf } from './watch.ts';

export const watchTool = 'watch';

/** What a call was found to want when it was prepared, as its `basis` has it in JSON. */
export type WatchAction =
  /** `lasts`: as `Defined` has it. A person may take his time to say yes, and it is made only then. */
  | { readonly action: 'create'; readonly definition: WatchDefinition; readonly lasts: number | null }
  | { readonly action: 'cancel'; readonly name: string };

export const basisOf = (action: WatchAction): string => JSON.stringify(action);

/** Null: it is not done here. */
export const actionOf = (name: string, basis: string | null): WatchAction | null =>
  name === watchTool && basis !== null ? (JSON.parse(basis) as WatchAction) : null;

/** `by`: who approved the call. */
export function runWatchTool(
  draft: StepDraft,
  action: WatchAction,
  by: Author,
): { readonly draft: StepDraft; readonly result: ToolResult } {
  const failed = (content: string) => ({
    draft,
    result: { outcome: 'ERROR', effect: 'NONE', content } as const,
  });
  if (action.action === 'cancel') {
    const known = find(draft, action.name);
    const made = known && changeWatch(draft, known.id, 'CANCEL');
    if (made?.type !== 'made')
      return failed(`There is no watch "${quote(action.name)}" that could be cancelled. ${namesIn(draft)}`);
    return done(made.draft, `The watch "${made.watch.definition.name}" is cancelled.`);
  }
  const depth = (liveTurn(draft.state.projection)?.depth ?? 0) + 1;
  const definition = endingAfter(action.definition, action.lasts, Date.parse(draft.at));
  const made = makeWatch(draft, definition, { author: by, depth });
  if (made.type === 'made') return done(made.draft, created(made.watch.definition));
  switch (made.code) {
    case 'WATCH_LIMIT':
      return failed(
        `There are ${made.capacity} watches already, and no more may be active in one workstream. Cancel one first. ${namesIn(draft)}`,
      );
    case 'WATCH_NAME_TAKEN':
      return failed(
        `There is a watch "${made.name}" already. Choose another name, or cancel that one first.`,
      );
    default:
      return failed('The watch could not be made.');
  }
}

/**
 * Why nobody is to be asked about it; null: it can be done. `earlier`: what calls before it in the same answer are to do,
 * of which those that need nobody's approval will have been done.
 */
export function whyInVain(
  draft: StepDraft,
  action: WatchAction,
  earlier: readonly WatchAction[],
): string | null {
  if (action.action !== 'create') return null;
  const by = liveTurn(draft.state.projection)!.principal;
  const then = earlier
    .filter((one) => one.action === 'cancel')
    .reduce((d, one) => runWatchTool(d, one, by).draft, draft);
  // Only looked at: what it would write is dropped.
  const { result } = runWatchTool(then, action, by);
  return result.outcome === 'OK' ? null : result.content;
}

const done = (draft: StepDraft, content: string) => ({
  draft,
  result: { outcome: 'OK', effect: 'COMMITTED', content } as const,
});

const created = ({ name, everySeconds, maxPolls, command, condition, repeat }: WatchDefinition): string =>
  [
    `The watch "${name}" is made.`,
    `It polls every ${spanOf(everySeconds)}, at most ${maxPolls} times${repeat ? ', and goes on after it fired' : ', and ends when it fires'}. You are told when it does: end your turn meanwhile.`,
    `Command: ${command}`,
    condition === null ? 'It fires when the output changes.' : `It fires when this holds: ${condition}`,
  ].join('\n');

function namesIn(draft: StepDraft): string {
  const names = watchesOf(draft).map(({ definition }) => `"${definition.name}"`);
  return names.length === 0 ? 'There are none.' : `There are: ${names.join(', ')}.`;
}
