// A client of the suite `load`. It runs in its own thread, so that its work does not delay the probes of the other
// client. It sends one request repeatedly: as fast as possible on 8 connections, or at a rate on one.
import { Agent, request } from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';

const { port, path, method = 'GET', headers = {}, body, perSecond, duration, localAddress } = workerData;

/** Concurrent connections of a demanding client. */
const CONNECTIONS = 8;

/** Milliseconds that a rejected client waits, and after which it leaves a stream. */
const [REJECTED, STREAM] = [50, 100];

const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
const end = performance.now() + duration;
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

const send = () =>
  new Promise((resolve) => {
    const sent = request({ host: '127.0.0.1', port, path, method, headers, localAddress, agent }, (response) => {
      response.on('error', () => {}).on('close', () => resolve(response.statusCode));
      response.resume();
      if (response.headers['content-type'] === 'text/event-stream') setTimeout(() => sent.destroy(), STREAM);
    });
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
