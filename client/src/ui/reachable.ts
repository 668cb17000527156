/**
 * Owns: that what scrolls can be scrolled with the keyboard, and what does not is no stop on the way.
 *
 * Invariants: the content is one element, the first child, for only its size tells when there is more than fits; what has
 * the focus does not lose it.
 */

/** Lets Tab reach `area`, under this name, while it holds more than it shows. */
export function reachable(name: string) {
  return (area: HTMLElement) => {
    const look = () => {
      if (area.scrollHeight > area.clientHeight + 1) {
        area.tabIndex = 0;
        area.role = 'group';
        area.ariaLabel = name;
      } else if (document.activeElement !== area) {
        for (const attribute of ['tabindex', 'role', 'aria-label']) area.removeAttribute(attribute);
      }
    };
    const sizes = new ResizeObserver(look);
    sizes.observe(area);
    if (area.firstElementChild) sizes.observe(area.firstElementChild);
    area.addEventListener('blur', look);
    return () => {
      sizes.disconnect();
      area.removeEventListener('blur', look);
    };
  };
}
