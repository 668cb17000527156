/**
 * Owns: reasoning that a model without a reasoning channel writes at the beginning of its text, in `<think>` tags.
 *
 * Invariants: the result is the same however the text is cut; each character is looked at a bounded number of
 * times; a tag after the first visible character is text like any other.
 */

export interface ThinkTagSplitter {
  push(text: string): void;
  /** Lets go of what was held back because it might have become a tag. */
  end(): void;
}

const openTag = '<think>';
const closeTag = '</think>';

/** Hands pieces on to one of two channels as they become clear. */
export function createThinkTagSplitter(to: {
  readonly text: (text: string) => void;
  readonly reasoning: (text: string) => void;
}): ThinkTagSplitter {
  // START: nothing visible yet. AFTER: a tag was closed; white space after it belongs to neither channel.
  let state: 'START' | 'THINKING' | 'AFTER' | 'ANSWER' = 'START';
  let held = '';
  /** White space at the very beginning; it goes with the text when no tag follows. In parts: it may be long. */
  let space: string[] = [];

  function start(): boolean {
    const seen = held.trimStart();
    if (seen.length < held.length) {
      space.push(held.slice(0, held.length - seen.length));
      held = seen;
    }
    // Some servers leave a lone closing tag in the text when they moved the reasoning elsewhere.
    for (const [tag, next] of [
      [openTag, 'THINKING'],
      [closeTag, 'AFTER'],
    ] as const) {
      if (seen.startsWith(tag)) {
        held = seen.slice(tag.length);
        space = [];
        state = next;
        return true;
      }
    }
    if (openTag.startsWith(seen) || closeTag.startsWith(seen)) return false;
    held = space.join('') + held;
    state = 'ANSWER';
    return true;
  }

  function thinking(): boolean {
    const at = held.indexOf(closeTag);
    if (at < 0) {
      const kept = overlap(held, closeTag);
      to.reasoning(held.slice(0, held.length - kept));
      held = held.slice(held.length - kept);
      return false;
    }
    to.reasoning(held.slice(0, at));
    held = held.slice(at + closeTag.length);
    state = 'AFTER';
    return true;
  }

  function after(): boolean {
    held = held.trimStart();
    if (held === '') return false;
    state = 'ANSWER';
    return true;
  }

  function answer(): boolean {
    to.text(held);
    held = '';
    return false;
  }

  const byState = { START: start, THINKING: thinking, AFTER: after, ANSWER: answer };

  return {
    push(text) {
      held += text;
      while (byState[state]());
    },
    end() {
      if (state === 'THINKING') to.reasoning(held);
      else if (state !== 'AFTER') to.text(state === 'START' ? space.join('') + held : held);
      held = '';
    },
  };
}

/** Length of the longest end of `text` with which `tag` begins. */
function overlap(text: string, tag: string): number {
  for (let length = Math.min(text.length, tag.length - 1); length > 0; length--) {
    if (tag.startsWith(text.slice(-length))) return length;
  }
  return 0;
}
