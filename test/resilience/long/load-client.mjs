// A client of the suites `load` and `fairness`. It runs in its own thread, so that its work does not delay the probes
// of the other client. It sends one request repeatedly: as fast as possible on 8 or more connections, or at a rate on
// one.
import { Agent, request } from 'node:http';
import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';

// Other clients run on other machines, so this one must not take the processor from the server. Linux has a priority
// for each thread, here the lowest.
if (process.platform === 'linux') setPriority(0, 19);

const { port, path, method = 'GET', headers = {}, body, perSecond, duration, localAddress } = workerData;
/** Whether no two requests may be equal: the path contains a placeholder for a number. */
const NUMBER = '{number}';

/** Concurrent connections of a demanding client. */
const { connections: CONNECTIONS = 8 } = workerData;

/** Milliseconds that a rejected client waits, and after which it leaves a stream. */
const [REJECTED, STREAM] = [50, 100];

// A DELETE without it has no body.
const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
const end = performance.now() + duration;
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

let number = 0;
const send = () =>
  new Promise((resolve) => {
    const target = path.replace(NUMBER, (++number).toString(16).padStart(40, '0'));
    const sent = request(
      { host: '127.0.0.1', port, path: target, method, headers: { ...headers, ...length }, localAddress, agent },
      (response) => {
        response.on('error', () => {}).on('close', () => resolve(response.statusCode));
        response.resume();
        if (response.headers['content-type'] === 'text/event-stream') setTimeout(() => sent.destroy(), STREAM);
      },
    );
    sent.on('error', () => resolve(0)).end(body);
  });

const counts = { sent: 0, rejected: 0 };
const repeat = async () => {
  while (performance.now() < end) {
    const isRejected = (await send()) === 429;
    counts.sent++;
    if (isRejected) counts.rejected++;
    if (perSecond !== undefined) await pause(1000 / perSecond);
    else if (isRejected) await pause(REJECTED);
  }
};
await Promise.all(Array.from({ length: perSecond === undefined ? CONNECTIONS : 1 }, repeat));
agent.destroy();
parentPort.postMessage(counts);
