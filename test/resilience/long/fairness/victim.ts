import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { account, signCancellation, signOrder } from '../../../support/orders.ts';

/** What another client does beside an attacker. */
export const OPERATIONS = ['live', 'get', 'list', 'submit', 'delivery'] as const;
/** The name of an operation. */
export type Operation = (typeof OPERATIONS)[number];

/** Milliseconds between two operations of a kind. Together they stay within the default limits of a client. */
const INTERVALS: Readonly<Record<Operation, number>> = { live: 20, get: 25, list: 150, submit: 300, delivery: 500 };
/** Operations that take longer count with this time, in milliseconds. */
const MAX_TIME = 5_000;
/** Address of the client. Other clients have others, and their own limits. */
const ADDRESS = '127.0.0.2';

/** Times of operations in milliseconds, and the number of those that did not succeed. */
export interface VictimTimes {
  readonly times: Readonly<Record<Operation, readonly number[]>>;
  readonly failed: number;
}

/** A client that uses the book as intended. */
export interface Victim extends AsyncDisposable {
  /** Account whose cancellations are delivered. */
  readonly account: `0x${string}`;
  /** Target of its subscription. */
  readonly target: string;
  /** Sends operations to a server at fixed times, whether earlier ones have ended or not. */
  measure(port: number, uid: string, duration: number): Promise<VictimTimes>;
}

/** Creates the client with a webhook receiver. */
export async function createVictim(): Promise<Victim> {
  const signer = account(77_001);
  const waiting = new Map<string, () => void>();
  const receiver = createServer(async (incoming, response) => {
    let body = '';
    for await (const chunk of incoming) body += chunk;
    response.end();
    const { data } = JSON.parse(body) as { data?: { metadata?: { orderUid?: string } } };
    waiting.get(data?.metadata?.orderUid ?? '')?.();
  });
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  let orders = Math.floor(Date.now() / 1000);

  const send = (port: number, method: string, path: string, body?: unknown) =>
    new Promise<{ status: number; text: string }>((resolve, reject) => {
      const text = body === undefined ? '' : JSON.stringify(body);
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
      const options = { host: '127.0.0.1', port, path, method, localAddress: ADDRESS, agent };
      const sent = request({ ...options, headers }, (response) => {
        let received = '';
        response.on('data', (chunk) => {
          received += chunk;
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text: received })).on('error', reject);
      });
      sent.on('error', reject).end(text);
    });

  async function timed(work: () => Promise<{ status: number }>): Promise<number> {
    const since = performance.now();
    const { status } = await work();
    if (status >= 400) throw new Error(`status ${status}`);
    return performance.now() - since;
  }

  async function run(operation: Operation, port: number, uid: string): Promise<number> {
    switch (operation) {
      case 'live':
        return timed(() => send(port, 'GET', '/live'));
      case 'get':
        return timed(() => send(port, 'GET', `/api/v1/orders/${uid}`));
      case 'list':
        return timed(() => send(port, 'GET', '/api/v1/orders?status=open&limit=50'));
      case 'submit': {
        // An owner has a limit of open orders.
        const by = account(77_002 + (orders % 97));
        const choice = { sellAmount: String(10n ** 18n + BigInt(++orders)), validTo: orders + 100_000 };
        const order = await signOrder(by, choice);
        return timed(() => send(port, 'POST', '/api/v1/orders', order));
      }
      case 'delivery': {
        const choice = { sellAmount: String(10n ** 18n + BigInt(++orders)), validTo: orders + 100_000 };
        const { status, text } = await send(port, 'POST', '/api/v1/orders', await signOrder(signer, choice));
        if (status !== 201) throw new Error(`status ${status}`);
        const orderUids = [JSON.parse(text) as string];
        const cancellation = { orderUids, ...(await signCancellation(signer, { orderUids })) };
        const arrival = new Promise<void>((resolve) => waiting.set(orderUids[0] ?? '', resolve));
        return timed(async () => {
          const response = await send(port, 'DELETE', '/api/v1/orders', cancellation);
          if (response.status < 400) await arrival;
          return response;
        });
      }
    }
  }

  return {
    account: signer.address.toLowerCase() as `0x${string}`, // an address
    target: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`, // it listens
    async measure(port, uid, duration) {
      const times: Record<Operation, number[]> = { live: [], get: [], list: [], submit: [], delivery: [] };
      let failed = 0;
      const running: Promise<void>[] = [];
      const limit = new Promise<number>((resolve) => {
        setTimeout(() => resolve(MAX_TIME), duration + MAX_TIME).unref();
      });
      const timers = OPERATIONS.map((operation) => {
        const begin = () => {
          const done = Promise.race([run(operation, port, uid), limit]).then(
            (time) => void times[operation].push(time),
            () => {
              failed++;
            },
          );
          running.push(done);
        };
        begin();
        return setInterval(begin, INTERVALS[operation]);
      });
      await new Promise((resolve) => setTimeout(resolve, duration));
      for (const timer of timers) clearInterval(timer);
      await Promise.all(running);
      return { times, failed };
    },
    async [Symbol.asyncDispose]() {
      agent.destroy();
      receiver.closeAllConnections();
      receiver.close();
    },
  };
}
