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
  /** Takes back the folder made for a workstream that came to nothing, if it is empty. Never rejects. */
  abandon(workstreamId: string): Promise<void>;
}
