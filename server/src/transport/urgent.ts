/**
 * Owns: which operations hurry, as far as can be told before they are looked at: Stop and decisions (D-1), which stand
 * nowhere behind what else of their token waits. Does not own: waiting (`line.ts`), or that the commands hurry at the
 * database, too (`app/services/command.ts`).
 *
 * Invariants: what a caller says to be urgent moves nothing but what is of its own token, so it is believed; and nothing is
 * kept in memory for it that was not before.
 */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';

/** Mutations that hurry. */
export const urgentMutations = ['stopTurn', 'decideApproval'] as const;

const named = new RegExp(`\\b(?:${urgentMutations.join('|')})\\b`);

/** The text of an operation, or what it comes in, names one that hurries; also where it does so in an argument. */
export const isUrgent = (text: string): boolean => named.test(text);

/**
 * The same of a request whose body nobody has read, by what comes of it first, which is put back: a Stop is short. Rejects
 * with `leave`.
 */
export async function isUrgentRequest(req: IncomingMessage, leave: AbortSignal): Promise<boolean> {
  const { 'content-length': length = '0', 'transfer-encoding': coded } = req.headers;
  if (req.method !== 'POST' || (Number(length) === 0 && coded === undefined)) return false;
  if (req.readableLength === 0) await once(req, 'readable', { signal: leave });
  const first = req.read() as Buffer | null;
  if (first === null) return false;
  req.unshift(first);
  return isUrgent(first.toString('latin1'));
}
