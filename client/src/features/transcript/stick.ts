/**
 * Owns: staying at the end of what grows, unless the reader went up.
 *
 * Invariant: only the reader lets go of the end, never the growing itself: a scroll event that comes late, after more has
 * come, is told from a reader's by its direction.
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

/** Keeps the end of `area` in sight while `area` or its first child grows; tells when that begins and ends. */
export function stick(onchange: (sticks: boolean) => void) {
  return (area: HTMLElement) => {
    let sticks = true;
    let lastTop = area.scrollTop;
    const toEnd = () => {
      area.scrollTop = area.scrollHeight;
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
