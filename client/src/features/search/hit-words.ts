/** Owns: how what was found is said to a person. Pure. */
import type { Hit } from './searching.svelte.ts';

/** Who said it, or what it is; `me`: id of who looks. */
export function whose({ entry }: Pick<Hit, 'entry'>, me: string | undefined): string {
  switch (entry.__typename) {
    case 'UserEntry':
      return entry.author.id === me ? 'You' : entry.author.name;
    case 'AssistantEntry':
      return 'Answer';
    case 'CancellationEntry':
      return 'Unfinished answer';
    case 'ToolEntry':
      return `Result of ${entry.name}`;
    case 'SystemEntry':
      return 'System';
    default:
      return 'Entry';
  }
}
