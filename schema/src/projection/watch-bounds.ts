/** Owns: the bounds of watches that whoever asks for one is told, and whoever makes one keeps (D-80, D-85). */

/** Watches of a workstream that have not ended, at most. */
export const watchCapacity = 5;
export const mostPolls = 10_000;
export const usualPolls = 100;
/** How many watches may stand between a turn and a person: beyond that a fire is written down and starts none. */
export const maxDepth = 5;
