/**
 * Owns: the need for what stands in files and is told to every model that works there.
 */
export interface Guidance {
  /**
   * The text of `AGENTS.md` in a workspace, cut to what is told of it; null when there is none, or it is no file inside
   * of it. Looked at anew each time. Never rejects.
   */
  ofWorkspace(workspace: string): Promise<string | null>;
  /** What the operator of this server has every model told; null: nothing. */
  ofServer(): string | null;
}
