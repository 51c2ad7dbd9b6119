// A thread that sends requests to a local server over persistent connections. It reads only as much of a response as is
// needed to find its end, so that the server is the bottleneck.
import { connect, type Socket } from 'node:net';
import { parentPort } from 'node:worker_threads';

/** Parameters of a load. */
export interface Load {
  readonly port: number;
  /** Raw HTTP requests, sent in rotation. */
  readonly requests: readonly string[];
  readonly connections: number;
  /** Number of responses. */
  readonly count: number;
  /** Length of the body of each response. Another length is an error. */
  readonly length: number;
}

const port = parentPort;
const sockets: Socket[] = [];
port?.on('message', (load: Load) => {
  void run(load).then(
    (ms) => port.postMessage(ms),
    (error: unknown) => port.postMessage(String(error)),
  );
});

async function run({ port: server, requests, connections, count, length }: Load): Promise<number> {
  while (sockets.length < connections) sockets.push(await open(server));
  let sent = 0;
  const next = () => (sent < count ? requests[sent++ % requests.length] : undefined);
  const start = performance.now();
  await Promise.all(sockets.slice(0, connections).map((socket) => sendAll(socket, length, next)));
  return performance.now() - start;
}

function open(server: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(server, '127.0.0.1', () => resolve(socket.setNoDelay()));
    socket.once('error', reject);
  });
}

/** Sends requests over one connection, one at a time, until there are no more. @param expected - Length of a body. */
function sendAll(socket: Socket, expected: number, next: () => string | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    let missing = 0;
    const stop = (error?: Error) => {
      socket.off('data', onData).off('error', stop).off('close', onClose);
      if (error === undefined) resolve();
      else reject(error);
    };
    const onClose = () => stop(new Error('the server has closed the connection'));
    const send = () => {
      const request = next();
      if (request === undefined) stop();
      else socket.write(request);
    };
    const onData = (chunk: Buffer) => {
      if (missing === 0) {
        const head = chunk.indexOf('\r\n\r\n');
        const [, length] = /\r\ncontent-length: (\d+)/i.exec(chunk.toString('latin1', 0, head)) ?? [];
        if (!chunk.toString('latin1', 0, 12).endsWith(' 200') || Number(length) !== expected) {
          const start = chunk.toString('latin1', 0, Math.max(100, head));
          stop(new Error(`the server must respond with 200 and ${expected} bytes, got ${start}`));
          return;
        }
        missing = head + 4 + expected;
      }
      missing -= chunk.length;
      if (missing === 0) send();
    };
    socket.on('data', onData).once('error', stop).once('close', onClose);
    send();
  });
}
