/** Owns: what a command line must be before anybody is asked about it, told to the model. Does not own: the deny list (core). */
import { deniedIn } from '../../core/approvals/denied.ts';
import { refuse, type Refusal } from './tool.ts';
import { visibleLine } from 'schema/projection';

/** What is wrong with a command, and that nothing ran; null when it may be asked about and run. */
export function refusedCommand(command: string): Refusal | null {
  if (command.includes('\0') || !command.isWellFormed()) {
    return refuse('The command holds a NUL or a broken character, which no program can be given.');
  }
  const denied = deniedIn(command);
  return denied === null
    ? null
    : refuse(
        `${visibleLine(denied)} Nothing of the command was run. ` +
          'Do what is needed without this part, or ask a person to do it by hand.',
      );
}
