/** What others on the page may ask of the composer. */
export interface ComposerHandle {
  focus(): void;
  /** Puts a text behind what is there. */
  append(text: string): void;
  /** Puts a text there to be sent or changed. */
  suggest(text: string): void;
}
