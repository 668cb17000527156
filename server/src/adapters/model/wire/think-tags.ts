/**
 * Owns: thoughts that a model without a reasoning channel writes at the beginning of its text, in tags.
 *
 * Invariants: the result is the same however the text is cut; each character is looked at a bounded number of
 * times; a tag after the first visible character is text like any other; what was held back comes out at the end.
 */

export interface ThinkTagSplitter {
  push(text: string): void;
  /**
   * Something else than text came: a thought that no tag has closed is over, and what follows may be the answer. Only
   * THOUGHT: a closing tag may have been cut in two by it.
   */
  interrupt(by: 'THOUGHT' | 'CALL'): void;
  /** Lets go of what was held back because it might have become a tag. */
  end(): void;
}

const names = ['think', 'thinking', 'reasoning', 'thought'];
const openTags = names.map((name) => `<${name}>`);
/** Each closes any: models open with one name and close with another. */
const closeTags = names.map((name) => `</${name}>`);
const longestTag = Math.max(...closeTags.map((tag) => tag.length));
const anyCloseTag = new RegExp(closeTags.join('|'));

/** Hands pieces on to one of two channels as they become clear. `startsOpen`: the prompt ended in an opening tag. */
export function createThinkTagSplitter(
  to: { readonly text: (text: string) => void; readonly reasoning: (text: string) => void },
  startsOpen = false,
): ThinkTagSplitter {
  // OPENED: as START, within a thought. THINKING: in one. CUT: in one that was interrupted in the middle of what may be
  // its closing tag. AFTER: a tag was closed; white space after it belongs to neither channel.
  let state: 'OPENED' | 'START' | 'THINKING' | 'CUT' | 'AFTER' | 'ANSWER' = startsOpen ? 'OPENED' : 'START';
  let held = '';
  /** The end of a thought that was interrupted, part of `held`. */
  let tail = '';
  /** White space at the very beginning; it goes with what follows when that is no tag. In parts: it may be long. */
  let space: string[] = [];

  function begin(otherwise: 'THINKING' | 'ANSWER'): boolean {
    const seen = held.trimStart();
    if (seen.length < held.length) {
      space.push(held.slice(0, held.length - seen.length));
      held = seen;
    }
    const opened = openTags.find((tag) => seen.startsWith(tag));
    // Some servers leave a lone closing tag in the text when they moved the thoughts elsewhere.
    const tag = opened ?? closeTags.find((t) => seen.startsWith(t));
    if (tag !== undefined) {
      held = seen.slice(tag.length);
      space = [];
      state = opened === undefined ? 'AFTER' : 'THINKING';
      return true;
    }
    if ([...openTags, ...closeTags].some((t) => t.startsWith(seen))) return false;
    held = space.join('') + held;
    space = [];
    state = otherwise;
    return true;
  }

  function thinking(): boolean {
    const closed = anyCloseTag.exec(held);
    if (closed === null) {
      const kept = overlap(held);
      to.reasoning(held.slice(0, held.length - kept));
      held = held.slice(held.length - kept);
      return false;
    }
    to.reasoning(held.slice(0, closed.index));
    held = held.slice(closed.index + closed[0].length);
    state = 'AFTER';
    return true;
  }

  function cut(): boolean {
    const tag = closeTags.find((t) => held.startsWith(t));
    if (tag === undefined && closeTags.some((t) => t.startsWith(held))) return false;
    if (tag === undefined) to.reasoning(tail);
    held = held.slice((tag ?? tail).length);
    state = tag === undefined ? 'START' : 'AFTER';
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

  const byState = {
    OPENED: () => begin('THINKING'),
    START: () => begin('ANSWER'),
    THINKING: thinking,
    CUT: cut,
    AFTER: after,
    ANSWER: answer,
  };

  return {
    push(text) {
      held += text;
      while (byState[state]());
    },
    interrupt(by) {
      if (state === 'OPENED') state = 'START';
      if (state !== 'THINKING' && state !== 'CUT') return;
      if (by === 'THOUGHT' && held !== '') {
        tail = held;
        state = 'CUT';
        return;
      }
      to.reasoning(held);
      held = '';
      state = 'START';
    },
    end() {
      if (state === 'THINKING' || state === 'CUT') to.reasoning(held);
      else if (state !== 'AFTER')
        (state === 'OPENED' ? to.reasoning : to.text)(state === 'ANSWER' ? held : space.join('') + held);
      held = '';
      space = [];
    },
  };
}

/** Length of the longest end of `text` with which a closing tag begins. */
function overlap(text: string): number {
  for (let length = Math.min(text.length, longestTag - 1); length > 0; length--) {
    const end = text.slice(-length);
    if (closeTags.some((tag) => tag.startsWith(end))) return length;
  }
  return 0;
}
