/** Owns: how the connection is said to a person. Pure. */
import type { Connection } from 'schema/client-kit';

export interface Said {
  readonly tone: 'good' | 'wait' | 'bad';
  readonly text: string;
}

/** `now` in ms since 1970; `online` is what the browser thinks of its network. */
export function connectionSaid(connection: Connection, now: number, online: boolean): Said {
  switch (connection.status) {
    case 'CONNECTED':
      return { tone: 'good', text: 'Connected' };
    case 'CONNECTING':
      return { tone: 'wait', text: 'Connecting …' };
    case 'WAITING': {
      if (!online) return { tone: 'bad', text: 'Offline' };
      const seconds = Math.ceil((connection.retryAt - now) / 1_000);
      return { tone: 'wait', text: seconds > 0 ? `Reconnecting in ${seconds} s` : 'Reconnecting …' };
    }
    case 'SIGNED_OUT':
      return { tone: 'bad', text: 'Signed out' };
    case 'ENDED':
      return { tone: 'bad', text: 'Ended' };
  }
}
