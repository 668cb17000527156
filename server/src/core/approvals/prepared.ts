/** Owns: what is known of a tool call before it runs. */
import type { Preview } from 'schema/projection';

/** READ only looks inside the workspace; WRITE changes files inside it; EXECUTE can do anything. */
export type Access = 'READ' | 'WRITE' | 'EXECUTE';

export type PreparedCall =
  | {
      readonly type: 'ready';
      readonly access: Access;
      readonly argumentsHash: string;
      readonly preview: Preview;
      /** What the preview was computed from; handed back when it runs, so that a changed world is noticed. */
      readonly basis: string | null;
    }
  /** The model is told `message` and can correct itself; nothing ran. */
  | { readonly type: 'invalid'; readonly message: string };
