/** Owns: what an entry about a watch is told as in the transcript. Pure. */
import { type Author, type Watch, visibleLine } from 'schema/projection';
import { spanWords } from './watch-words.ts';

export interface WatchNews {
  readonly text: string;
  /** Who did it, where the entry says so. */
  readonly by: Author | null;
}

/**
 * `before`: the watch as the entry before had it; undefined: that is not loaded, or there was none. `at`: when the entry
 * was written. Null: there is nothing to tell that does not stand beside it.
 */
export function watchNews(before: Watch | undefined, now: Watch, at: string): WatchNews | null {
  const { definition, version, status, pausedBy, author, due } = now;
  const name = `Watch “${visibleLine(definition.name)}”`;
  const tell = (what: string, by: Author | null = null): WatchNews => ({ text: `${name} ${what}`, by });
  // What it ends with is a fire, which says so, but for this.
  if (status === 'ENDED') return now.end === 'CANCELED' ? tell('cancelled') : null;
  if (!before && version === 1 && now.createdAt === at) return tell(`made: ${sayingOf(now)}`);
  if (before ? version > before.version : version > 1 && due === 'LATER') {
    const named =
      before && before.definition.name !== definition.name
        ? `, once “${visibleLine(before.definition.name)}”`
        : '';
    return tell(`edited${named}: ${sayingOf(now)}`, author);
  }
  if (status === 'PAUSED')
    return before?.status === 'PAUSED'
      ? null
      : tell(pausedBy === 'CLOSED' ? 'paused with the workstream' : 'paused');
  if (due !== 'NOW') return null;
  if (before?.status === 'PAUSED')
    return tell(
      before.pausedBy === 'CLOSED' ? 'resumed with the workstream' : 'resumed, and told to poll at once',
    );
  return tell(before ? 'told to poll at once' : 'resumed, or told to poll at once');
}

const sayingOf = ({ definition: { everySeconds, condition, repeat } }: Watch): string =>
  `every ${spanWords(everySeconds)}, ${repeat ? 'whenever' : 'until'} its ${condition === null ? 'output changes' : 'condition holds'}`;
