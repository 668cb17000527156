/** Owns: doing one thing at a time per workstream, in the order it was asked for. */

export type OneAtATime = <T>(workstreamId: string, work: () => Promise<T>) => Promise<T>;

/** Runs `work` when all that was given before it for that workstream has ended, however that went. */
export function createOneAtATime(): OneAtATime {
  /** The last that was given for each. */
  const turns = new Map<string, Promise<unknown>>();
  return async (id, work) => {
    const turn = (turns.get(id) ?? Promise.resolve()).then(work, work);
    turns.set(id, turn);
    try {
      return await turn;
    } finally {
      if (turns.get(id) === turn) turns.delete(id);
    }
  };
}
