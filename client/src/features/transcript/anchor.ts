/**
 * Owns: keeping what is read where it is while the page above it changes: older entries that come, pieces that are drawn
 * again. Browsers have this of their own, but not all of them.
 * Does not own: staying at the end (`stick.ts`); while that does, this does nothing.
 */

/** Holds the first visible `[data-line]` of `area`, or else `[data-piece]`, whenever the first child of `area` changes its size. */
export function anchor(holds: () => boolean) {
  return (area: HTMLElement) => {
    let held: { readonly node: Element; readonly top: number } | null = null;
    const topOf = (node: Element): number =>
      node.getBoundingClientRect().top - area.getBoundingClientRect().top;
    const firstVisible = (kind: string): Element | undefined => {
      const top = area.getBoundingClientRect().top;
      return [...area.querySelectorAll(kind)].find((node) => node.getBoundingClientRect().bottom > top + 1);
    };
    const remember = () => {
      const node = firstVisible('[data-line]') ?? firstVisible('[data-piece]');
      held = node ? { node, top: topOf(node) } : null;
    };
    const sizes = new ResizeObserver(() => {
      if (holds() && held?.node.isConnected) {
        const moved = topOf(held.node) - held.top;
        if (Math.abs(moved) >= 1) area.scrollTop += moved;
      }
      remember();
    });
    if (area.firstElementChild) sizes.observe(area.firstElementChild);
    area.addEventListener('scroll', remember, { passive: true });
    return () => {
      sizes.disconnect();
      area.removeEventListener('scroll', remember);
    };
  };
}
