/** Owns: how what waits is said to a person. Pure. */
import type { Queue, QueuedMessage } from 'schema/projection';

/**
 * What the messages wait for, and how they go out, which is for who looks at them. Empty when none waits. `failed`:
 * whether the last turn did, rather than being stopped.
 */
export function queueWords(
  { items, held }: Queue,
  failed: boolean,
): { readonly head: string; readonly text: string; readonly aside: string } {
  const steering = items.filter(isSteering).length;
  const waits = items.filter((item) => !isSteering(item));
  if (held) {
    const [said, them] =
      items.length === 1 ? ['one message waits', 'it'] : [`${items.length} messages wait`, 'them'];
    return {
      head: 'On hold:',
      text: `${said} because the last turn ${failed ? 'failed' : 'was stopped'}. Your next message takes ${them} along.`,
      aside: '',
    };
  }
  const said = [
    ...(steering > 0 ? [`${messages(steering, 'is', 'are')} said after the current step.`] : []),
    ...(waits.length > 0 ? [`${messages(waits.length, 'waits', 'wait')} until this turn ends.`] : []),
  ];
  return { head: '', text: said.join(' '), aside: asOne(waits) };
}

/** As they go out: what is said to the running turn goes before what waits for its end. */
export const inOrder = (items: readonly QueuedMessage[]): readonly QueuedMessage[] => [
  ...items.filter(isSteering),
  ...items.filter((item) => !isSteering(item)),
];

const isSteering = ({ delivery }: QueuedMessage): boolean => delivery === 'STEER';

/** Neighbours of one author become one message; each of another author has a turn of its own. */
function asOne(waits: readonly QueuedMessage[]): string {
  const turns = waits.filter((item, i) => item.author.id !== waits[i - 1]?.author.id).length;
  if (turns === waits.length) return '';
  return turns === 1
    ? 'Then they go out as one.'
    : `Then they go out as ${turns}, those of one author as one.`;
}

const messages = (count: number, one: string, more: string): string =>
  count === 1 ? `One message ${one}` : `${count} messages ${more}`;
