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
  /**
   * Takes back a folder that `choose` made, if it is empty; any other is let be. Answers its path when it is left, because
   * files are in it or it cannot be removed; null when there is none, or none any more. Never rejects.
   */
  abandon(path: string): Promise<string | null>;
  /** Path of the folder that is made for a workstream which chose none, whether it is there or not. Never rejects. */
  own(workstreamId: string): Promise<string>;
  /**
   * Where a folder is that was written down as `path`: one that was made for a workstream may have been moved or copied with
   * all data since, and is then the one here. Any other is where it was. Never rejects.
   */
  at(path: string): Promise<string>;
  /** The folder they are made in, resolved; null while it cannot be reached. Never rejects. */
  ownRoot(): Promise<string | null>;
  /** With what the paths begin by which those that may be here were written down; null while that cannot be reached. */
  writtenBelow(): Promise<string | null>;
}
