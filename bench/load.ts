// A thread that asks a server on this machine for many answers, over connections that it keeps. It reads no more of an
// answer than where it ends, so that it is the server that is waited for.
import { connect, type Socket } from 'node:net';
import { parentPort } from 'node:worker_threads';

/** What to ask. */
export interface Load {
  readonly port: number;
  /** Requests as they are on the wire, each asked in turn. */
  readonly requests: readonly string[];
  readonly connections: number;
  /** How many answers are waited for. */
  readonly count: number;
}

const port = parentPort;
const sockets: Socket[] = [];
port?.on('message', (load: Load) => {
  void run(load).then(
    (ms) => port.postMessage(ms),
    (error: unknown) => port.postMessage(String(error)),
  );
});

async function run({ port: server, requests, connections, count }: Load): Promise<number> {
  while (sockets.length < connections) sockets.push(await open(server));
  let asked = 0;
  const next = () => (asked < count ? requests[asked++ % requests.length] : undefined);
  const start = performance.now();
  await Promise.all(sockets.slice(0, connections).map((socket) => drive(socket, next)));
  return performance.now() - start;
}

function open(server: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(server, '127.0.0.1', () => resolve(socket.setNoDelay()));
    socket.once('error', reject);
  });
}

/** Asks over one connection, one request at a time, until there is none left. */
function drive(socket: Socket, next: () => string | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    let missing = 0;
    const stop = (error?: Error) => {
      socket.off('data', take).off('error', stop).off('close', gone);
      if (error === undefined) resolve();
      else reject(error);
    };
    const gone = () => stop(new Error('the server has closed the connection'));
    const ask = () => {
      const request = next();
      if (request === undefined) stop();
      else socket.write(request);
    };
    const take = (chunk: Buffer) => {
      if (missing === 0) {
        const head = chunk.indexOf('\r\n\r\n');
        const [, length] = /\r\ncontent-length: (\d+)/i.exec(chunk.toString('latin1', 0, head)) ?? [];
        if (!chunk.toString('latin1', 0, 12).endsWith(' 200') || length === undefined) {
          stop(new Error(`the server answered ${chunk.toString('latin1', 0, 100)}`));
          return;
        }
        missing = head + 4 + Number(length);
      }
      missing -= chunk.length;
      if (missing === 0) ask();
    };
    socket.on('data', take).once('error', stop).once('close', gone);
    ask();
  });
}
