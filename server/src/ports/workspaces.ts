/** Owns: the need for a folder that a workstream works in. */
export interface Workspaces {
  /** Folders a person may choose from or below, absolute and resolved. */
  readonly roots: readonly string[];
  /** The folder to use (absolute, resolved), or why not. `null` asks for a folder of its own, which is made. */
  choose(
    workstreamId: string,
    asked: string | null,
  ): Promise<
    | { readonly type: 'chosen'; readonly path: string }
    | { readonly type: 'refused'; readonly problem: string }
  >;
}
