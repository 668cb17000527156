/** Owns: whether the list is drawn out on a narrow page. On a wide one it always stands there. */
export default class Drawer {
  open = $state(false);

  toggle(): void {
    this.open = !this.open;
  }

  close(): void {
    this.open = false;
  }

  onkeydown(event: KeyboardEvent): void {
    if (event.key !== 'Escape' || !this.open) return;
    // What is open in front of it is left first.
    if (event.target instanceof Element && event.target.closest('[data-own-escape], dialog[open]')) return;
    event.preventDefault();
    this.close();
  }
}
