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
    const stream = await book.quotes.stream(request);
    const events: unknown[] = [];
    if (stream.status === 'streaming') for await (const event of stream.quotes) events.push(event);
    expect(events).toMatchObject([{ type: 'error', error: { code: 'InvalidBody' } }]);
  },
);
