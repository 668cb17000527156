/**
 * Owns: that a key does one thing, however long it is held: a keyboard repeats a held key, and by then something else has
 * the focus, such as the button of a question that the first press put.
 *
 * Invariants: no button and no link is pressed, no form sent and nothing left by a repeat; what is written is written as
 * long as a key is held.
 */

type Press = Pick<KeyboardEvent, 'key' | 'repeat' | 'ctrlKey' | 'metaKey'>;

/**
 * Whether this is the repeat of a key that does something where the focus is. `inText`: that is where lines are written.
 * (The space bar presses a button when it is let go, which happens once.)
 */
export function doesAgain({ key, repeat, ctrlKey, metaKey }: Press, inText: boolean): boolean {
  if (!repeat) return false;
  return key === 'Escape' || (key === 'Enter' && (!inText || ctrlKey || metaKey));
}

/** Watches over the whole page, before anything on it does. */
export function actOnce(page: Window): void {
  page.addEventListener(
    'keydown',
    (event) => {
      if (!doesAgain(event, event.target instanceof HTMLTextAreaElement)) return;
      event.preventDefault();
      event.stopImmediatePropagation();
    },
    { capture: true },
  );
}
