import { once } from 'node:events';
import type { Socket } from 'node:net';
import { connect, createServer } from 'node:net';

/** An address that leads to a port of this machine. */
export interface Forwarding {
  readonly port: number;
  /** Cuts all connections; new ones lead to another port. */
  lead(port: number): void;
  close(): Promise<void>;
}

export async function forward(target: number): Promise<Forwarding> {
  let port = target;
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(socket);
      socket
        .on('error', () => {})
        .on('close', () => {
          open.delete(socket);
          other.destroy();
        });
      socket.pipe(other);
    }
  });
  const cut = () => {
    for (const socket of open) socket.destroy();
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  return {
    port: address.port,
    lead(next) {
      port = next;
      cut();
    },
    async close() {
      cut();
      if (!server.listening) return;
      server.close();
      await once(server, 'close');
    },
  };
}
