/**
 * Owns: what makes an entry impossible to write twice. Unique per incarnation in the database, so that a mistake
 * anywhere above cannot answer a call twice (D-35, I38) or settle a turn twice (I26).
 */
import type { Entry } from 'schema/projection';

/** The idempotency key of an entry. */
export function commitKey(entry: Entry): string {
  switch (entry.kind) {
    case 'TOOL':
      return `tool:${entry.callId}`;
    case 'TOOL_STARTED':
      return `started:${entry.callId}`;
    case 'TOOL_SETTLED':
      return settledKey(entry.callId);
    case 'TURN':
      return entry.turn.outcome ? `settle:${entry.turn.id}` : `entry:${entry.id}`;
    case 'SYSTEM':
      // A fire is written down once, whoever tells it (D-84).
      return entry.fire ? `fire:${entry.fire.watchId}:${entry.fire.poll}` : `entry:${entry.id}`;
    default:
      return `entry:${entry.id}`;
  }
}

/** That of the entry that says how a call ended. */
export const settledKey = (callId: string): string => `settled:${callId}`;
