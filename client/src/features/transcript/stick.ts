/**
 * Owns: staying at the end of what grows, unless the reader went up.
 *
 * Invariants: only the reader lets go of the end, never the growing itself: a scroll event that comes late, after more has
 * come, is told from a reader's by its direction. Nothing scrolls past the beginning of an open question, which is to be
 * read before it is answered; a reader who goes on from there is left alone.
 */
export interface Place {
  readonly scrollTop: number;
  readonly scrollHeight: number;
  readonly clientHeight: number;
}

/** So many pixels from the end still count as the end. */
const NEAR = 48;

const atEnd = (place: Place): boolean => place.scrollHeight - place.scrollTop - place.clientHeight <= NEAR;

/** Whether to stay at the end after a scroll event; `lastTop` is where the one before it was. */
export const sticksAfter = (sticks: boolean, lastTop: number, place: Place): boolean =>
  atEnd(place) || (sticks && place.scrollTop >= lastTop);

/** Room above a question, pixels. */
const MARGIN = 16;

/** Where to rest: at the end, unless an open question that begins at `questionTop` would be cut off above. */
export function restOf({ scrollHeight, clientHeight }: Place, questionTop: number | null): number {
  const end = Math.max(0, scrollHeight - clientHeight);
  return questionTop === null ? end : Math.max(0, Math.min(end, questionTop - MARGIN));
}

/** Keeps the end of `area` in sight while `area` or its first child grows; tells when that begins and ends. */
export function stick(onchange: (sticks: boolean) => void) {
  return (area: HTMLElement) => {
    let sticks = true;
    let lastTop = area.scrollTop;
    /** The question at whose beginning it rests, and where that was. */
    let held: { readonly question: Element; readonly top: number } | null = null;
    const toEnd = () => {
      const question = area.querySelector('[data-asking="true"]');
      const top = question && question.getBoundingClientRect().top - area.getBoundingClientRect().top;
      const rest = restOf(area, top === null ? null : top + area.scrollTop);
      const isCut = question !== null && rest < restOf(area, null);
      // The reader went on to its buttons.
      if (isCut && held?.question === question && area.scrollTop > held.top) return;
      area.scrollTop = rest;
      lastTop = area.scrollTop;
      held = isCut ? { question, top: lastTop } : null;
    };
    const onscroll = () => {
      const next = sticksAfter(sticks, lastTop, area);
      lastTop = area.scrollTop;
      if (next !== sticks) onchange((sticks = next));
    };
    const sizes = new ResizeObserver(() => {
      if (sticks) toEnd();
    });
    sizes.observe(area);
    if (area.firstElementChild) sizes.observe(area.firstElementChild);
    area.addEventListener('scroll', onscroll, { passive: true });
    toEnd();
    return () => {
      sizes.disconnect();
      area.removeEventListener('scroll', onscroll);
    };
  };
}
