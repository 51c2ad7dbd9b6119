import type { OrderBook } from 'intentbook';
import { createOrderBook } from 'intentbook';
import type { Mirror } from 'intentbook/client';
import { createClient, RequestError } from 'intentbook/client';
import { fetchHandler } from 'intentbook/fetch';
import { memoryStore } from 'intentbook/memory';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { account, COW, type OrderChoice, SEPOLIA, signCancellation, signOrder, WETH } from '../../support/orders.ts';

const OWNER = account(9);
const OTHER = '0x00000000000000000000000000000000000000aa';

/** Faults in a run. */
const FAULTS = process.env['TEST_LONG'] === undefined ? 300 : 10_000;

let book: OrderBook;
let send: (url: string, init?: RequestInit) => Promise<Response>;
beforeEach(async () => {
  book = createOrderBook({ chainId: SEPOLIA, store: memoryStore(), limits: { maxOpenOrders: 100_000 } });
  await book.start();
  const handler = fetchHandler(book);
  send = (url, init) => handler(new Request(url, init));
});
afterEach(() => book.close());

let amount = 1000;
const order = async (more: OrderChoice = {}) =>
  signOrder(OWNER, { sellAmount: String(amount++), validTo: Math.floor(Date.now() / 1000) + 3600, ...more });

async function place(more: OrderChoice = {}): Promise<string> {
  const result = await book.orders.submit(await order(more));
  if (result.status !== 'accepted') throw new Error(result.status);
  return result.uid;
}

async function cancel(uid: string): Promise<void> {
  const result = await book.orders.cancel({
    orderUids: [uid],
    ...(await signCancellation(OWNER, { orderUids: [uid] })),
  });
  expect(result.status).toBe('cancelled');
}

async function expectEqualView(mirror: Mirror): Promise<void> {
  await mirror.reached(await book.log.last());
  const wanted: [string, string][] = [];
  for (let cursor: string | undefined, more = true; more; ) {
    const page = await book.orders.list({ status: 'open', limit: 1000, ...(cursor === undefined ? {} : { cursor }) });
    wanted.push(...page.orders.map(({ uid, status }): [string, string] => [uid, status]));
    cursor = page.next;
    more = cursor !== undefined;
  }
  const seen = [...mirror.orders.values()].map(({ uid, status }): [string, string] => [uid, status]);
  expect(seen.sort()).toEqual(wanted.sort());
}

describe('client', () => {
  it('submits, reads, lists and cancels orders, and reports rejections with their code', async () => {
    const client = createClient('http://localhost/', { fetch: send });
    const created = await order();
    const uid = await client.submit(created);
    expect((await client.get(uid))?.status).toBe('open');
    expect(await client.get(`0x${'ab'.repeat(56)}`)).toBeUndefined();
    await place();
    const first = await client.list({ limit: 1 });
    const second = await client.list({ limit: 1, cursor: String(first.next) });
    expect(second.orders[0]?.uid).toBe(uid);
    const failure = await client.submit(created).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(RequestError);
    expect(failure).toMatchObject({ status: 400, code: 'DuplicatedOrder' });
    await client.cancel({ orderUids: [uid], ...(await signCancellation(OWNER, { orderUids: [uid] })) });
    expect((await client.get(uid))?.status).toBe('cancelled');
    expect(await client.trades({ orderUid: uid })).toEqual([]);
  });

  it('rejects if a response ends before its body is complete', async () => {
    const uid = await place();
    const client = createClient('http://localhost', {
      async fetch(url, init) {
        const response = await send(url, init);
        return new Response((await response.text()).slice(0, 20), response);
      },
    });
    await expect(client.get(uid)).rejects.toThrow(SyntaxError);
    await expect(client.submit(await order())).rejects.toThrow(SyntaxError);
  });

  it('rejects with the status of an error response without JSON', async () => {
    for (const body of ['<h1>not found</h1>', 'null', '']) {
      const client = createClient('http://localhost', { fetch: async () => new Response(body, { status: 403 }) });
      await expect(client.list()).rejects.toMatchObject({ name: 'RequestError', status: 403, code: undefined });
      await expect(client.mirror()).rejects.toMatchObject({ name: 'RequestError', status: 403 });
    }
  });

  it('mirror: selects by pair, token, kind and account, and rejects an invalid filter', async () => {
    const client = createClient('http://localhost', { fetch: send });
    const uid = await place({ sellToken: WETH, buyToken: COW });
    const reverse = await place({ sellToken: COW, buyToken: WETH });
    await place({ sellToken: WETH, buyToken: OTHER });
    const uidsOf = async (filter: object) => {
      const mirror = await client.mirror(filter);
      mirror.close();
      return [...mirror.orders.keys()].sort();
    };
    expect(await uidsOf({ pair: [COW.toUpperCase().replace('X', 'x'), WETH] })).toEqual([uid, reverse].sort());
    expect(await uidsOf({ sellToken: COW })).toEqual([reverse]);
    expect(await uidsOf({ token: OTHER })).toHaveLength(1);
    expect(await uidsOf({ kind: 'buy' })).toEqual([]);
    expect(await uidsOf({ owner: OWNER.address })).toHaveLength(3);
    await expect(client.mirror({ owner: '0x12' })).rejects.toThrow(/owner/);
    await expect(client.mirror({ owner: null as never })).rejects.toThrow(/owner/);
    await expect(client.mirror({ pair: [WETH] as never })).rejects.toThrow(/pair/);
  });
});

describe('order stream filters', () => {
  it('send only matching orders', async () => {
    const read = async (query: string, count: number) => {
      const response = await send(`http://localhost/api/v1/orders/stream?${query}`, {
        headers: { 'last-event-id': '0' },
      });
      expect(response.status).toBe(200);
      const reader = (response.body as ReadableStream<Uint8Array>).getReader();
      let text = '';
      while (text.split('event: order').length <= count) {
        text += new TextDecoder().decode((await reader.read()).value);
      }
      await reader.cancel();
      return [...text.matchAll(/"uid":"(0x[0-9a-f]+)"/g)].map(([, uid]) => uid);
    };
    const first = await place({ sellToken: WETH, buyToken: COW });
    const second = await place({ sellToken: COW, buyToken: WETH });
    const third = await place({ sellToken: WETH, buyToken: OTHER });
    expect(await read(`sellToken=${COW}`, 1)).toEqual([second]);
    expect(await read(`token=${OTHER}`, 1)).toEqual([third]);
    expect(await read(`pair=${COW},${WETH}`, 2)).toEqual([first, second]);
    expect(await read(`kind=sell&buyToken=${COW}&status=open`, 1)).toEqual([first]);
    for (const query of ['kind=both', 'status=done', 'pair=0x12', 'token=0x', 'tokens=1']) {
      const response = await send(`http://localhost/api/v1/orders/stream?${query}`);
      expect([query, response.status]).toEqual([query, 400]);
    }
  });
});

/** A generator of numbers from 0 to 1 (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

describe('mirror with faults', () => {
  it(`equals the server at every position after ${FAULTS} cut, delayed and repeated connections`, async () => {
    const random = seeded(7);
    let faults = 0;

    /** Cuts a stream at any byte, delays its chunks, and repeats them. */
    function damage(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
      const reader = body.getReader();
      let left = Math.floor(random() * 3000);
      let last: Uint8Array | undefined;
      return new ReadableStream({
        async pull(controller) {
          if (last !== undefined && random() < 0.2) {
            faults++;
            controller.enqueue(last);
            last = undefined;
            return;
          }
          const { done, value } = await reader.read();
          if (random() < 0.2) {
            faults++;
            await new Promise((resolve) => setImmediate(resolve));
          }
          if (done) return controller.close();
          if (value.length > left) {
            faults++;
            controller.enqueue(value.subarray(0, left));
            await reader.cancel();
            if (random() < 0.5) controller.close();
            else controller.error(new Error('the connection was cut'));
            return;
          }
          left -= value.length;
          last = value;
          controller.enqueue(value);
        },
        cancel: () => reader.cancel(),
      });
    }

    const client = createClient('http://localhost', {
      maxDelay: 1,
      async fetch(url, init) {
        if (random() < 0.1) {
          faults++;
          throw new TypeError('the server is not reachable');
        }
        const response = await send(url, init);
        if (!url.includes('/stream') || response.body === null) return response;
        return new Response(damage(response.body), response);
      },
    });

    const open: string[] = [];
    for (let i = 0; i < 20; i++) open.push(await place());
    const mirror = await client.mirror();
    let checks = 0;
    while (faults < FAULTS) {
      for (let i = 0; i < 5; i++) {
        const uid = open[Math.floor(random() * open.length)];
        if (uid !== undefined && random() < 0.45) {
          await cancel(uid);
          open.splice(open.indexOf(uid), 1);
        } else open.push(await place());
      }
      await expectEqualView(mirror);
      checks++;
    }
    expect(checks).toBeGreaterThan(5);
    mirror.close();
    await expect(mirror.reached(Number.MAX_SAFE_INTEGER)).rejects.toThrow('closed');
  });

  it('reads all orders again after a gap', async () => {
    await book.close();
    book = createOrderBook({ chainId: SEPOLIA, store: memoryStore(), streams: { resumeLimit: 2 } });
    await book.start();
    const handler = fetchHandler(book);
    let isDown = false;
    const cuts = new Set<() => void>();
    const client = createClient('http://localhost', {
      maxDelay: 1,
      async fetch(url, init) {
        if (isDown) throw new TypeError('the server is not reachable');
        const control = new AbortController();
        cuts.add(() => control.abort());
        const signal = AbortSignal.any([control.signal, ...(init?.signal ? [init.signal] : [])]);
        return handler(new Request(url, { ...init, signal }));
      },
    });
    const mirror = await client.mirror();
    isDown = true;
    for (const cut of cuts) cut();
    for (let i = 0; i < 5; i++) await place(); // more than a client may have missed
    isDown = false;
    await expectEqualViewSize(mirror, 5);
    await mirror.reached(await book.log.last());
    await place();
    await expectEqualView(mirror);
    mirror.close();
  });
});

describe('mirror of a book that begins a new log', () => {
  it('reads all orders again and follows the positions of the new log', async () => {
    for (let i = 0; i < 5; i++) await place();
    let cut = () => {};
    const client = createClient('http://localhost', {
      maxDelay: 1,
      fetch(url, init) {
        const control = new AbortController();
        if (url.includes('/stream')) cut = () => control.abort();
        return send(url, {
          ...init,
          signal: AbortSignal.any([control.signal, ...(init?.signal ? [init.signal] : [])]),
        });
      },
    });
    const mirror = await client.mirror();
    expect(mirror.cursor).toBe(5);
    await book.close();
    book = createOrderBook({ chainId: SEPOLIA, store: memoryStore() });
    await book.start();
    const handler = fetchHandler(book);
    send = (url, init) => handler(new Request(url, init));
    const uid = await place();
    cut();
    await expectEqualViewSize(mirror, 1);
    expect(mirror.cursor).toBe(1);
    await cancel(uid);
    await place();
    await mirror.reached(3);
    await expectEqualView(mirror);
    mirror.close();
  });
});

describe('mirror of a server that stops responding', () => {
  it('repeats the read of the orders after its timeout', async () => {
    await place();
    let reads = 0;
    const client = createClient('http://localhost', {
      maxDelay: 1,
      timeout: 20,
      fetch(url, init) {
        if (url.includes('/stream') || ++reads > 2) return send(url, init);
        return new Promise((_, reject) => {
          init?.signal?.addEventListener('abort', () => reject(init.signal?.reason));
        });
      },
    });
    const mirror = await client.mirror();
    expect([mirror.orders.size, reads]).toEqual([1, 3]);
    mirror.close();
  });
});

describe('mirror of a server that rejects a request', () => {
  it('rejects if the orders cannot be listed with the filter', async () => {
    const client = createClient('http://localhost', { fetch: send });
    await expect(client.mirror({ status: 'opened' as 'open' })).rejects.toMatchObject({ status: 400 });
  });

  it('waits for the time that the server requires, for the stream and for the orders', async () => {
    const rejected = new Set<string>();
    const times: number[] = [];
    const client = createClient('http://localhost', {
      maxDelay: 1,
      async fetch(url, init) {
        times.push(performance.now());
        const { pathname } = new URL(url);
        if (rejected.has(pathname)) return send(url, init);
        rejected.add(pathname);
        return new Response('{}', { status: 429, headers: { 'retry-after': '0.2' } });
      },
    });
    const mirror = await client.mirror();
    mirror.close();
    const [first = 0, second = 0, third = 0, fourth = 0] = times;
    expect(second - first).toBeGreaterThan(195);
    expect(fourth - third).toBeGreaterThan(195);
  });

  it('reports the time as a member of the error', async () => {
    const fetch = async () => new Response('{}', { status: 503, headers: { 'retry-after': '2' } });
    await expect(createClient('http://localhost', { fetch }).list()).rejects.toMatchObject({ retryAfter: 2000 });
  });

  it('reads a date without a zone as UTC', async () => {
    const { TZ } = process.env;
    process.env['TZ'] = 'America/Los_Angeles';
    const past = 'Sun Nov  6 08:49:37 1994';
    const zoneless = new Date(Date.now() + 60_000)
      .toUTCString()
      .replace(/(\w+), (\d+) (\w+) (\d+) (\S+) GMT/, '$1 $3 $2 $5 $4');
    try {
      for (const [date, limit] of [
        [past, 0],
        [zoneless, 60_000],
      ] as const) {
        const fetch = async () => new Response('{}', { status: 503, headers: { 'retry-after': date } });
        const failure = await createClient('http://localhost', { fetch })
          .list()
          .catch((error: unknown) => error);
        const { retryAfter = -1 } = failure as RequestError;
        expect([retryAfter >= 0, retryAfter <= limit]).toEqual([true, true]);
      }
    } finally {
      if (TZ === undefined) delete process.env['TZ'];
      else process.env['TZ'] = TZ;
    }
  });
});

describe('mirror that is closed', () => {
  it('aborts the read of all orders, and is not connected', async () => {
    for (let i = 0; i < 3; i++) await place();
    let cut = () => {};
    let listing: AbortSignal | undefined;
    let isSlow = false;
    const client = createClient('http://localhost', {
      maxDelay: 1,
      async fetch(url, init) {
        if (url.includes('/stream')) {
          const control = new AbortController();
          cut = () => control.abort();
          return send(url, { ...init, signal: AbortSignal.any([control.signal, init?.signal as AbortSignal]) });
        }
        if (!isSlow) return send(url, init);
        listing = init?.signal as AbortSignal;
        return new Promise((_, reject) => listing?.addEventListener('abort', () => reject(listing?.reason)));
      },
    });
    const mirror = await client.mirror();
    await book.close();
    book = createOrderBook({ chainId: SEPOLIA, store: memoryStore() });
    await book.start();
    const handler = fetchHandler(book);
    send = (url, init) => handler(new Request(url, init));
    isSlow = true;
    cut();
    await expect.poll(() => listing).toBeDefined();
    expect(mirror.connected).toBe(true);
    mirror.close();
    expect([listing?.aborted, mirror.connected]).toEqual([true, false]);
  });
});

describe('options of a client', () => {
  it.each([
    ['timeout', Number.NaN],
    ['maxDelay', 0],
    ['silence', Number.POSITIVE_INFINITY],
    ['maxBytes', -1],
    ['maxBytes', '1000'],
    ['timeout', null],
  ])('reject %s: %s', (name, value) => {
    expect(() => createClient('http://localhost', { [name]: value })).toThrow(
      `createClient: ${name} must be a number above 0, up to 2147483647, got ${value}`,
    );
  });
});

describe('mirror listeners', () => {
  it('that throw do not end the mirror', async () => {
    const client = createClient('http://localhost', { fetch: send });
    const mirror = await client.mirror();
    const seen: unknown[] = [];
    mirror.onChange(() => {
      throw new Error('the listener failed');
    });
    mirror.onChange((uid) => void seen.push(uid));
    const handlers = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    const uncaught: unknown[] = [];
    const handle = (error: unknown) => void uncaught.push(error);
    process.on('uncaughtException', handle);
    try {
      const uids = [await place(), await place()];
      await mirror.reached(await book.log.last());
      await new Promise((resolve) => setTimeout(resolve, 5));
      expect(seen).toEqual(uids);
      expect([...mirror.orders.keys()]).toEqual(uids);
      expect(mirror.connected).toBe(true);
      expect(uncaught).toEqual([new Error('the listener failed'), new Error('the listener failed')]);
    } finally {
      process.off('uncaughtException', handle);
      for (const handler of handlers) process.on('uncaughtException', handler);
      mirror.close();
    }
  });
});

async function expectEqualViewSize(mirror: Mirror, size: number): Promise<void> {
  await new Promise<void>((resolve) => {
    const check = () => mirror.orders.size === size && resolve();
    mirror.onChange(check);
    check();
  });
  expect(mirror.orders.size).toBe(size);
}
