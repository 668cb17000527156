/** What keeps one call from filling the context, the memory or an afternoon, and from what is the server's own. */
export interface ToolLimits {
  /** Bytes of a call's arguments, the JSON text in UTF-8. They are kept for ever, and shown to who is asked. */
  readonly maxArgumentsBytes: number;
  /** Seconds a command may run when the model does not say. */
  readonly defaultTimeoutSeconds: number;
  readonly maxTimeoutSeconds: number;
  /** Bytes of a command's output that are kept. */
  readonly maxOutputBytes: number;
  /** Bytes of a file that one read returns. */
  readonly maxReadBytes: number;
  /** Bytes of a file that is written or edited, before and after. */
  readonly maxFileBytes: number;
  /** Entries one listing returns. */
  readonly maxEntries: number;
  /** UTF-16 code units of a preview's body. */
  readonly maxPreviewLength: number;
  /** Real paths of folders where file tools touch nothing, unless the workspace is a folder below. */
  readonly closedFolders: readonly string[];
}

export const defaultLimits: ToolLimits = {
  maxArgumentsBytes: 1_048_576,
  defaultTimeoutSeconds: 120,
  maxTimeoutSeconds: 600,
  maxOutputBytes: 65_536,
  maxReadBytes: 262_144,
  maxFileBytes: 4_194_304,
  maxEntries: 1_000,
  maxPreviewLength: 65_536,
  closedFolders: [],
};
