/**
 * Owns: that the end of a page that had to scroll stays in sight for one who went there, whatever grows around it.
 *
 * Invariants: a page that is at its beginning is left there; what grows because it has the focus is being read, unless it is
 * the end itself.
 */

/** Within so many pixels of the end is at the end: places lie between pixels. */
const NEAR = 2;

/** Keeps the last child of `content` in sight, in the `main` around it. */
export function keepEnd(content: HTMLElement) {
  const area = content.closest('main')!;
  let isThere = false;
  const look = () => {
    isThere = area.scrollTop > 0 && area.scrollHeight - area.scrollTop - area.clientHeight <= NEAR;
  };
  const isRead = ({ target }: ResizeObserverEntry): boolean =>
    target !== area && target !== content.lastElementChild && target.contains(document.activeElement);
  const sizes = new ResizeObserver((grown) => {
    if (isThere && !grown.some(isRead)) area.scrollTop = area.scrollHeight;
    look();
  });
  for (const part of [area, ...content.children]) sizes.observe(part);
  area.addEventListener('scroll', look, { passive: true });
  return () => {
    sizes.disconnect();
    area.removeEventListener('scroll', look);
  };
}
