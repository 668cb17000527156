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
    event.preventDefault();
    this.close();
  }
}
