/** Error response of the server. */
export class Rejection extends Error {
  constructor(status, body) {
    super(body?.description ?? body?.message ?? `the server responded with status ${status}`);
    this.status = status;
    this.code = body?.errorType;
  }
}

async function read(url, signal) {
  const response = await fetch(url, { signal, headers: { accept: 'application/json' } });
  const body = await response.json().catch(() => undefined);
  if (!response.ok) throw new Rejection(response.status, body);
  return { body, link: response.headers.get('link') };
}

/** Returns the books that the server serves. */
export async function deployments() {
  return (await read('/', undefined)).body;
}

/** Creates a client of a book. All requests can be aborted. */
export function openBook({ api, chainId, path }) {
  const get = (rest, signal) => read(api + rest, signal);
  const query = (values) => new URLSearchParams(Object.entries(values).filter(([, value]) => value !== undefined));

  return {
    path,
    chainId,

    /** Returns orders, newest first, and the cursor of the next page if there is one. */
    async list(filters, signal) {
      const { body, link } = await get(`/orders?${query(filters)}`, signal);
      const next = link?.match(/<([^>]*)>;\s*rel="?next"?/)?.[1];
      return {
        orders: body,
        next: next === undefined ? undefined : new URL(next, location.href).searchParams.get('cursor'),
      };
    },

    order: async (uid, signal) => (await get(`/orders/${uid}`, signal)).body,
    listByTransaction: async (hash, signal) => (await get(`/transactions/${hash}/orders`, signal)).body,
    trades: async (uid, signal) => (await get(`/trades?orderUid=${uid}`, signal)).body,

    /** Returns the notifications of an account, or undefined if the server does not store notifications. */
    async notifications(account, signal) {
      try {
        const { body } = await read(`/accounts/${account}/notifications`, signal);
        return body.filter(({ metadata }) => metadata?.chainId === undefined || metadata.chainId === chainId);
      } catch (error) {
        if (error instanceof Rejection) return undefined;
        throw error;
      }
    },

    /**
     * Calls `order` with each new or changed order of the book's stream. If the book has no stream, calls `missed`
     * every five seconds while the page is visible.
     */
    subscribe(filters, { order, missed, state }, signal) {
      const source = new EventSource(`${api}/orders/stream?${query(filters)}`);
      let timer;
      const stop = () => {
        source.close();
        clearInterval(timer);
      };
      source.addEventListener('order', ({ data }) => order(JSON.parse(data)));
      source.addEventListener('gap', missed);
      source.addEventListener('open', () => state('live'));
      source.addEventListener('error', () => {
        // The browser reconnects after a broken connection, but not after an error response.
        state(source.readyState === EventSource.CLOSED ? 'every 5 s' : 'reconnecting');
        if (source.readyState !== EventSource.CLOSED || timer !== undefined) return;
        timer = setInterval(() => document.visibilityState === 'visible' && missed(), 5000);
      });
      signal.addEventListener('abort', stop);
    },
  };
}
