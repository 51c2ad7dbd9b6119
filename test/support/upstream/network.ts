import type { Clock, OrderBook } from 'intentbook';
import { fetchHandler } from 'intentbook/fetch';

/** What happens to a request on its way to a book, or to its response. */
export type NetworkFault = 'cut before' | 'cut after' | 'doubled' | 'late' | '429' | '503' | 'html' | 'truncated';

/** A network without sockets between a book and its upstream, on a clock of a test. */
export interface Network {
  readonly fetch: typeof fetch;
  /** `down`: no connection can be opened. `limited`: each response is 429 without `Retry-After`. */
  state: 'up' | 'down' | 'limited';
  /** Draws the fault of a request. */
  draw: (method: string) => NetworkFault | undefined;
  /** Number of requests of this process that have not ended. */
  readonly underWay: number;
  /** Number of requests that were sent. */
  readonly sent: number;
}

/** Milliseconds after which a late request arrives. */
const LATE = 30_000;

/** Creates the network in front of a book. */
export function createNetwork(book: OrderBook, clock: Clock): Network {
  const serve = fetchHandler(book);
  let [underWay, sent] = [0, 0];

  async function respond(request: Request): Promise<Response> {
    if (network.state === 'down') throw new TypeError('fetch failed');
    if (network.state === 'limited') return new Response('{"message":"Limit Exceeded"}', { status: 429 });
    switch (network.draw(request.method)) {
      case 'cut before':
        throw new TypeError('fetch failed');
      case 'cut after':
        await serve(request);
        throw new TypeError('terminated');
      case 'doubled':
        await serve(request.clone());
        return serve(request);
      case 'late':
        clock.after(LATE, () => void serve(request));
        return new Response('<html>Gateway Timeout</html>', { status: 504 });
      case '429':
        return new Response('{"message":"Limit Exceeded"}', { status: 429, headers: { 'retry-after': '5' } });
      case '503':
        return new Response('<html>Service Unavailable</html>', { status: 503, headers: { 'retry-after': '5' } });
      case 'html':
        return new Response('<html>The request could not be satisfied.</html>', { status: 200 });
      case 'truncated': {
        const { status, headers } = await serve(request);
        return new Response('"0x', { status, headers });
      }
      case undefined:
        return serve(request);
    }
  }

  const network: Network = {
    state: 'up',
    draw: () => undefined,
    get underWay() {
      return underWay;
    },
    get sent() {
      return sent;
    },
    async fetch(input, init) {
      underWay++;
      sent++;
      try {
        return await respond(new Request(input, init));
      } finally {
        underWay--;
      }
    },
  };
  return network;
}
