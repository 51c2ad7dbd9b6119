import { once } from 'node:events';
import type { Socket } from 'node:net';
import { connect, createServer } from 'node:net';

/** A TCP proxy on the loopback interface whose connections can be delayed, cut and split. */
export interface FaultProxy {
  readonly port: number;
  /** Returns the delay of the next chunk in milliseconds. */
  delay: () => number;
  /** Returns the size of the first part of a chunk. The rest follows in a later segment. `undefined`: not split. */
  split: (size: number) => number | undefined;
  /** Cuts all connections. What is in transit is lost, and the last chunk may arrive in part. */
  cut(): void;
  close(): Promise<void>;
}

/** Starts a proxy. */
export async function startFaultProxy(target: number): Promise<FaultProxy> {
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect({ port: target, host: '127.0.0.1', noDelay: true });
    client.setNoDelay(true);
    forward(client, upstream);
    forward(upstream, client);
  });

  function forward(from: Socket, to: Socket): void {
    open.add(from);
    let last: Promise<void> = Promise.resolve();
    from.on('data', (chunk) => {
      from.pause();
      last = last.then(() => send(chunk, to)).then(() => void from.resume());
    });
    from.on('end', () => void last.then(() => to.end()));
    from.on('error', () => {});
    from.on('close', () => {
      open.delete(from);
      // A socket that was cut ends its counterpart without the chunks in transit.
      if (from.errored !== null || !from.readableEnded) to.destroy();
    });
  }

  async function send(chunk: Buffer, to: Socket): Promise<void> {
    const delay = proxy.delay();
    if (delay > 0) await new Promise((resolve) => setTimeout(resolve, delay));
    const size = proxy.split(chunk.length);
    if (to.destroyed) return;
    if (size === undefined || size >= chunk.length) {
      to.write(chunk);
      return;
    }
    to.write(chunk.subarray(0, size));
    await new Promise((resolve) => setTimeout(resolve, 1 + proxy.delay()));
    if (!to.destroyed) to.write(chunk.subarray(size));
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  const proxy: FaultProxy = {
    port: address.port,
    delay: () => 0,
    split: () => undefined,
    cut() {
      for (const socket of open) socket.destroy();
    },
    async close() {
      proxy.cut();
      server.close();
      await once(server, 'close');
    },
  };
  return proxy;
}
