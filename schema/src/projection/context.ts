/**
 * Owns: how full a context is, from its mark (D-39): the same for server and client.
 * Does not own: how a mark comes about, or what is done about a full context (the server's core).
 */
import type { ContextMark } from './entries.ts';

/** Of the window: above it the model is advised to wind down, and a person is warned. */
export const nearlyFull = 0.8;

/** Tokens the model is told now. */
export function usedOf({ told, counted, scale, overhead }: ContextMark): number {
  if (!counted) return Math.round((overhead + told) * scale);
  return Math.max(0, Math.round(counted.tokens + (told - counted.told) * scale));
}

/** True while a part of that is estimated. */
export const isEstimated = ({ told, counted }: ContextMark): boolean => counted?.told !== told;

/** True above `nearlyFull` of the window; false where the window is not known. */
export const isNearlyFull = (context: ContextMark): boolean =>
  context.window !== null && usedOf(context) > context.window * nearlyFull;
