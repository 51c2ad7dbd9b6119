import type { QuoteRequest } from 'intentbook';
import { createOrderBook, StoreError } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { orderBookUpstream } from 'intentbook/upstream';
import { expect, onTestFinished, test } from 'vitest';

test.each([[{ sellAmountBeforeFee: 1000n }], [undefined], [() => {}]])(
  'a quote request that has no JSON text is rejected and not sent',
  async (given) => {
    const request = given as unknown as QuoteRequest; // of a caller without types
    const send = () => Promise.reject(new Error('nothing must be sent'));
    const upstream = orderBookUpstream({ url: 'https://book.example/mainnet', fetch: send });
    const book = createOrderBook({ chainId: 1, store: memoryStore(), upstream });
    await book.start();
    onTestFinished(() => book.close());
    expect(await book.quotes.request(request)).toMatchObject({ status: 'rejected', error: { code: 'InvalidBody' } });
    expect(await book.quotes.stream(request)).toMatchObject({ status: 'rejected', error: { code: 'InvalidBody' } });
  },
);

let books = 0;

/** Starts a book in front of another one, which gives one response. Books of one origin share its pauses. */
async function startBook(response: Response) {
  const upstream = orderBookUpstream({
    url: `https://book${++books}.example/mainnet`,
    fetch: async () => response.clone(),
  });
  const book = createOrderBook({ chainId: 1, store: memoryStore(), upstream });
  await book.start();
  onTestFinished(() => book.close());
  return book;
}

test.each([
  [400, 'UnsupportedToken', {}],
  [503, 'UpstreamUnavailable', { 'retry-after': '30' }],
])('a stream of quotes that the other book rejects with status %i has no events', async (status, code, headers) => {
  const body = { errorType: 'UnsupportedToken', description: 'no' };
  const book = await startBook(Response.json(body, { status, headers }));
  expect(await book.quotes.stream({} as QuoteRequest)).toMatchObject({ status: 'rejected', error: { code } });
});

test('a stream of quotes begins with its first quote', async () => {
  const text = [1, 2].map((id) => `data: ${JSON.stringify({ id: null, quote: { buyAmount: String(id) } })}\n\n`);
  const book = await startBook(new Response(text.join(''), { headers: { 'content-type': 'text/event-stream' } }));
  const stream = await book.quotes.stream({} as QuoteRequest);
  const events: unknown[] = [];
  if (stream.status !== 'streaming') throw stream.error;
  for await (const event of stream.quotes) events.push(event);
  expect(events).toMatchObject([{ quote: { quote: { buyAmount: '1' } } }, { quote: { quote: { buyAmount: '2' } } }]);
});

const TOKEN = `0x${'1a'.repeat(20)}`;
const SALE = { sellToken: TOKEN, buyToken: TOKEN, kind: 'sell', sellAmount: '1', buyAmount: '1', feeAmount: '0' };

/** Starts a book in front of another one, whose stream of quotes has one event and stays open. */
async function startEndlessBook(store = memoryStore()) {
  const signals: AbortSignal[] = [];
  const event = { id: 1, expiration: '2100-01-01T00:00:00Z', quote: SALE };
  const upstream = orderBookUpstream({
    url: `https://book${++books}.example/mainnet`,
    async fetch(target, init) {
      if (!String(target).endsWith('/quote/stream')) return Response.json([]);
      if (init?.signal) signals.push(init.signal);
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(event)}\n\n`)),
      });
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
    },
  });
  const book = createOrderBook({ chainId: 1, store, upstream });
  await book.start();
  onTestFinished(() => book.close());
  const isEnded = () => signals.length === 1 && signals.every(({ aborted }) => aborted);
  return { book, isEnded };
}

test.each([
  ['before it has read a quote', 0],
  ['while it waits for a quote', 2],
])('a stream of quotes ends its request when the reader leaves %s', async (_, reads) => {
  const { book, isEnded } = await startEndlessBook();
  const stream = await book.quotes.stream({} as QuoteRequest);
  if (stream.status !== 'streaming') throw stream.error;
  const iterator = stream.quotes[Symbol.asyncIterator]();
  const events = Array.from({ length: reads }, () => iterator.next());
  expect(isEnded()).toBe(false);
  await iterator.return?.();
  await expect.poll(isEnded).toBe(true);
  expect((await Promise.all(events)).map(({ done }) => done === true)).toEqual([false, true].slice(0, reads));
  expect(await iterator.next()).toEqual({ done: true, value: undefined });
});

test('a stream of quotes ends its request when its first quote cannot be stored', async () => {
  const store = memoryStore();
  const insert = () => Promise.reject(new StoreError('Unavailable', 'no'));
  const { book, isEnded } = await startEndlessBook({ ...store, quotes: { ...store.quotes, insert } });
  await expect(book.quotes.stream({} as QuoteRequest)).rejects.toThrow('no');
  await expect.poll(isEnded).toBe(true);
});
