/**
 * Owns: whether an open question stands before the reader's eyes, so that nothing has to lead there.
 *
 * Invariant: what it says does not depend on how high what scrolls is: the line that leads to a question takes room from
 * that, and would else come and go by itself.
 */

/** How much of a question is enough to know that it is there and how it goes on, pixels. */
const ENOUGH = 320;
/** Of the height of the window: what is read may have no more of that than two fifths. */
const SHARE = 0.35;

/** `height` of the question, `shown` of it, and that of the window, pixels. */
export const isBeforeEyes = (height: number, shown: number, windowHeight: number): boolean =>
  // Borders fall between pixels.
  height > 0 && shown >= Math.min(height - 2, ENOUGH, windowHeight * SHARE);

const steps = Array.from({ length: 101 }, (_, i) => i / 100);

/**
 * Tells whether this element is in sight, and whenever that changes, until the returned function is called; then it is
 * not. It counts as in sight until that is known, so that nothing appears for a moment where it is.
 */
export function watchSight(element: Element, tell: (inSight: boolean) => void): () => void {
  const sight = new IntersectionObserver(
    (entries) => {
      const last = entries.at(-1);
      if (last)
        tell(isBeforeEyes(last.boundingClientRect.height, last.intersectionRect.height, window.innerHeight));
    },
    { threshold: steps },
  );
  tell(true);
  sight.observe(element);
  return () => {
    sight.disconnect();
    tell(false);
  };
}
