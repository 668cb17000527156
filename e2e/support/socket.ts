/**
 * Owns: one raw socket to a server, for those who want to see how it is closed; the client kit hides that.
 */

export interface RawSocket {
  /** Resolves with the close frame. */
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
  close(): void;
}

/** Opens a socket and resolves when the server has accepted its token. */
export async function openSocket(url: string, token: string): Promise<RawSocket> {
  const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/graphql`, 'graphql-transport-ws');
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.addEventListener('close', ({ code, reason }) => {
      resolve({ code, reason });
    });
  });
  const accepted = new Promise<void>((resolve) => {
    socket.addEventListener('message', () => {
      resolve();
    });
  });
  socket.addEventListener('open', () => {
    socket.send(JSON.stringify({ type: 'connection_init', payload: { token } }));
  });
  const early = await Promise.race([accepted.then(() => null), closed]);
  if (early) throw new Error(`The socket was closed at once: ${early.code} ${early.reason}`);
  return {
    closed,
    close: () => {
      socket.close();
    },
  };
}
