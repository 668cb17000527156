/**
 * Owns: that the keyboard is always somewhere: on another page it goes on where that page is used, and when what had the
 * focus goes away or cannot be pressed any more, it does not fall off the page.
 * Does not own: a focus that a component gives on purpose, which is left alone.
 *
 * Invariants: the page is used where it says `data-landing`, else at its heading; where fingers are what points, the
 * heading, for a field would bring up a keyboard that nobody asked for. A person who left what had the focus is not
 * brought back.
 */

/** Where the keyboard goes on in `main`; null while nothing is there yet. */
function place(main: HTMLElement): HTMLElement | null {
  const field = matchMedia('(pointer: coarse)').matches
    ? null
    : main.querySelector<HTMLElement>('[data-landing]:not(:disabled)');
  const heading = main.querySelector<HTMLElement>('h1');
  if (!field && heading && !heading.hasAttribute('tabindex')) heading.tabIndex = -1;
  return field ?? heading;
}

const isHeld = (): boolean => document.activeElement !== null && document.activeElement !== document.body;
const canHold = (node: HTMLElement): boolean =>
  node.isConnected && !node.matches(':disabled') && node.checkVisibility();

export interface Landing {
  /** Another page is shown, or will be when it is loaded. */
  arrive(): void;
  /** To where the page is used. */
  land(): void;
  stop(): void;
}

/** `main`: holds one page after the other. `beside`: selects what may keep the focus when another page is shown. */
export function createLanding(main: HTMLElement, beside: string): Landing {
  /** Until the keyboard is on the page that was gone to: what had the focus when it was. */
  let expected: { readonly from: Element | null } | null = null;
  /** What had the focus last, from the inside out; empty when it was left on purpose. */
  let trail: readonly HTMLElement[] = [];
  let planned = 0;

  const stays = (): boolean => {
    const { activeElement } = document;
    if (main.contains(activeElement) || activeElement?.closest(beside)) return true;
    // A person went elsewhere while it was loaded.
    return isHeld() && activeElement !== expected?.from;
  };
  const land = () => {
    const there = place(main);
    if (!there) return;
    expected = null;
    there.focus({ preventScroll: true });
  };
  const look = () => {
    planned = 0;
    if (expected) {
      if (stays()) expected = null;
      else land();
      return;
    }
    const [held] = trail;
    if (isHeld() || !held) return;
    if (held.isConnected && held.matches(':disabled')) return;
    // What could not be pressed for a while has it back; for what is gone, what is around it has it.
    const takes = (node: HTMLElement): boolean =>
      node.tabIndex >= 0 || (node.hasAttribute('tabindex') && node.closest('dialog') !== null);
    const next = trail.find((node, i) => canHold(node) && (i === 0 || takes(node)));
    if (next) next.focus({ preventScroll: true });
    else land();
  };
  /** When all that is under way on the page is done, among it a focus that somebody gives on purpose. */
  const plan = () => {
    if (expected || (!isHeld() && trail.length > 0)) planned ||= requestAnimationFrame(look);
  };

  const onfocusin = ({ target }: FocusEvent) => {
    const nodes: HTMLElement[] = [];
    for (let node = target instanceof HTMLElement ? target : null; node; node = node.parentElement)
      nodes.push(node);
    trail = nodes;
  };
  /** Clicked away from: still there, and could be pressed. */
  const onfocusout = () => {
    queueMicrotask(() => {
      const [held] = trail;
      if (!isHeld() && held && canHold(held)) trail = [];
      else plan();
    });
  };

  const changes = new MutationObserver(plan);
  changes.observe(document.body, {
    subtree: true,
    childList: true,
    attributeFilter: ['disabled', 'hidden', 'open'],
  });
  document.addEventListener('focusin', onfocusin);
  document.addEventListener('focusout', onfocusout);
  return {
    arrive: () => {
      expected = { from: document.activeElement };
      plan();
    },
    land,
    stop: () => {
      changes.disconnect();
      cancelAnimationFrame(planned);
      document.removeEventListener('focusin', onfocusin);
      document.removeEventListener('focusout', onfocusout);
    },
  };
}

/**
 * For a form that is being sent: when it turns out to be refused for what stands in it, to its first field that is marked
 * wrong; nowhere when none is, or a person has gone on to something else meanwhile.
 */
export function wrongFieldOf(form: HTMLElement): () => void {
  const from = document.activeElement;
  return () => {
    const { activeElement: now } = document;
    if (isHeld() && now !== from && !now?.contains(form)) return;
    form.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  };
}
