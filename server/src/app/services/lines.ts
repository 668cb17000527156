/** Owns: doing one thing at a time per workstream, in the order it was asked for. */

export type InLine = <T>(workstreamId: string, work: () => Promise<T>) => Promise<T>;

/** Runs `work` when all that was given before it for that workstream has ended, however that went. */
export function createLines(): InLine {
  /** The last of each. */
  const lines = new Map<string, Promise<unknown>>();
  return async (id, work) => {
    const turn = (lines.get(id) ?? Promise.resolve()).then(work, work);
    lines.set(id, turn);
    try {
      return await turn;
    } finally {
      if (lines.get(id) === turn) lines.delete(id);
    }
  };
}
