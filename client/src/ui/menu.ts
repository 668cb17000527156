/** What a menu offers. */
export interface MenuItem {
  readonly label: string;
  readonly danger?: boolean;
  /** Why it cannot be done now; null or nothing when it can. */
  readonly unable?: string | null;
  /** True for what moves the focus itself; else it goes back to the button. */
  readonly movesFocus?: boolean;
  readonly run: () => void;
}
