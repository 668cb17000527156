/** What the page that has a dialog may ask of it. */
export interface DialogHandle {
  open(): void;
  /** The focus goes back to where it was. */
  close(): void;
}
