/** Owns: how what waits is said to a person. Pure. */
import type { Queue } from 'schema/projection';

/** What the messages wait for. Empty when none waits. `failed`: whether the last turn did, rather than being stopped. */
export function queueWords(
  { items, held }: Queue,
  failed: boolean,
): { readonly head: string; readonly text: string } {
  const steering = items.filter((item) => item.delivery === 'STEER').length;
  const waiting = items.length - steering;
  if (held) {
    const [waits, them] =
      items.length === 1 ? ['one message waits', 'it'] : [`${items.length} messages wait`, 'them'];
    return {
      head: 'On hold:',
      text: `${waits} because the last turn ${failed ? 'failed' : 'was stopped'}. Your next message takes ${them} along.`,
    };
  }
  const said = [
    ...(steering > 0 ? [`${messages(steering, 'is', 'are')} said after the current step.`] : []),
    ...(waiting > 0 ? [`${messages(waiting, 'waits', 'wait')} until this turn ends.`] : []),
  ];
  return { head: '', text: said.join(' ') };
}

const messages = (count: number, one: string, more: string): string =>
  count === 1 ? `One message ${one}` : `${count} messages ${more}`;
