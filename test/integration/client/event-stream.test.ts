import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { createOrderBook, ERRORS } from 'intentbook';
import { createClient, RequestError } from 'intentbook/client';
import { fetchHandler } from 'intentbook/fetch';
import { memoryStore } from 'intentbook/memory';
import { describe, expect, it } from 'vitest';
import { readEvents } from '../../../adapters/client/event-stream.ts';
import type { Sender } from '../../../adapters/client/http.ts';
import { manualClock } from '../../support/clock.ts';
import { account, SEPOLIA, signOrder } from '../../support/orders.ts';

/** Returns a body whose chunks are the parts of a text. */
function bodyOf(text: string, size: number): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at < bytes.length) controller.enqueue(bytes.slice(at, at + size));
      at += size;
    },
  });
}

/** Serves a stream and an empty list. */
const clientOf = (text: string, size: number) =>
  createClient('http://localhost', {
    fetch: async (url) => (url.includes('/stream') ? new Response(bodyOf(text, size)) : Response.json([])),
  });

describe('event stream of the client', () => {
  const order = { uid: '0x12', status: 'open' };
  const lines = [': stream', 'id: 4', '', 'id: 5', 'event: order', `data: ${JSON.stringify(order)}`, '', ''];
  const spread = [...lines.slice(0, 5), 'data: {"uid":"0x12",', 'data:"status":"open"}', 'ignored', '', ''];

  for (const [name, end] of Object.entries({ LF: '\n', CR: '\r', CRLF: '\r\n' })) {
    it.each([1, 2, 3, 7, 1000])(`reads lines that end with ${name} in chunks of %i bytes`, async (size) => {
      for (const text of [lines, spread]) {
        // The first byte of the next line shows that a CR at the end has no LF.
        const mirror = await clientOf(`${text.join(end)}:`, size).mirror();
        await mirror.reached(5);
        expect([...mirror.orders.values()]).toEqual([order]);
        mirror.close();
      }
    });
  }

  it('reads data with the line separators of Unicode, which do not end a line', async () => {
    const separated = { ...order, fullAppData: '{"a":"\u2028\u2029\u0085"}' };
    const text = [...lines.slice(0, 5), `data: ${JSON.stringify(separated)}`, '', ''].join('\n');
    const mirror = await clientOf(text, 1000).mirror();
    await mirror.reached(5);
    expect([...mirror.orders.values()]).toEqual([separated]);
    mirror.close();
  });
});

describe('position of the event stream', () => {
  it.each(['id', 'id:', 'id: ', 'id: abc', 'id: 6\0', 'id: -6', 'id: 6.5', 'id: 1e9', 'id: 99999999999999999999'])(
    'is kept after the line %j',
    async (line) => {
      const positions: (string | null)[] = [];
      const end = new AbortController();
      const sender = {
        maxBytes: 1000,
        async open(_: string, { headers }: { headers: Record<string, string> }) {
          positions.push(headers['last-event-id'] ?? null);
          if (positions.length === 2) end.abort();
          return new Response(`id: 5\nevent: order\ndata: 1\n\n${line}\nevent: order\ndata: 2\n\n`);
        },
      } as unknown as Sender; // the part that is used
      const data: string[] = [];
      for await (const event of readEvents(sender, '/stream', { maxDelay: 1 }, end.signal, {})) data.push(event.data);
      expect(positions).toEqual([null, '5']);
      expect(data.slice(0, 2)).toEqual(['1', '2']);
    },
  );
});

describe('mirror with a filter', () => {
  async function fixture() {
    const clock = manualClock(Date.now());
    const book = createOrderBook({ chainId: SEPOLIA, store: memoryStore(), clock });
    await book.start();
    const handler = fetchHandler(book);
    const client = createClient('http://localhost', { fetch: (url, init) => handler(new Request(url, init)) });
    const mirror = await client.mirror({ owner: account(2).address });
    const submit = async (amount: number) => {
      const choice = { validTo: Math.floor(clock.now() / 1000) + 3600, sellAmount: String(amount) };
      expect(await book.orders.submit(await signOrder(account(1), choice))).toMatchObject({ status: 'accepted' });
    };
    return { book, clock, mirror, submit };
  }

  it('reaches the position of foreign entries with the next keep-alive', async () => {
    const { book, clock, mirror, submit } = await fixture();
    await submit(1000);
    const reached = mirror.reached(await book.log.last());
    // The stream reads the entry before the keep-alive.
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(15_000);
    await reached;
    expect(mirror.orders.size).toBe(0);
    mirror.close();
    await book.close();
  });
});

describe('RequestError', () => {
  it('is retryable as the table of codes states', () => {
    for (const [code, { status, retryable }] of Object.entries(ERRORS)) {
      expect([code, new RequestError(status, { errorType: code }).retryable]).toEqual([code, retryable]);
    }
    for (const status of [408, 502, 503, 504]) expect(new RequestError(status).retryable).toBe(true);
  });

  it.each([
    ['3', 3000],
    [new Date(Date.now() + 86_400_000).toUTCString(), 86_400_000],
    [new Date(Date.now() - 86_400_000).toUTCString(), 0],
    ['soon', undefined],
    ['-1', undefined],
  ])('has the time of Retry-After: %s', async (text, expected) => {
    const client = createClient('http://localhost', {
      fetch: async () => new Response('{}', { status: 503, headers: { 'retry-after': text } }),
    });
    const error = await client.get('0x12').catch((failure: unknown) => failure);
    const { retryAfter } = error as RequestError; // the response has an error status
    if (expected !== 86_400_000) expect(retryAfter).toBe(expected);
    else expect(Math.abs((retryAfter ?? 0) - expected)).toBeLessThan(3_600_000);
  });

  it('has the time of a Retry-After with blanks at its end, which fetch of Node.js keeps', async () => {
    const head = 'HTTP/1.1 503 Service Unavailable\r\nretry-after: 7 \t\r\ncontent-length: 2\r\n\r\n{}';
    const server = createServer((socket) => socket.once('data', () => socket.end(head))).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo; // a listening server has an address
    const error = await createClient(`http://127.0.0.1:${port}`)
      .get('0x12')
      .catch((failure: unknown) => failure);
    server.close();
    expect(error).toMatchObject({ status: 503, retryAfter: 7000 });
  });
});
