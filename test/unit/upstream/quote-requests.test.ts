import type { QuoteRequest } from 'intentbook';
import { createOrderBook } from 'intentbook';
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
