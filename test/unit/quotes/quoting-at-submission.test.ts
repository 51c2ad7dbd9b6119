import type { EstimateFunction, QuoteOptions } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { afterEach, describe, expect, it } from 'vitest';
import { account, COW, signOrder, WETH } from '../../support/orders.ts';
import { ETHER, quoted, quotesFixture, SELL, source } from './quotes-fixture.ts';

let opened: Awaited<ReturnType<typeof quotesFixture>> | undefined;
afterEach(async () => opened?.book.close());

async function open(estimate: EstimateFunction, options: Partial<QuoteOptions> = {}, store = memoryStore()) {
  let calls = 0;
  const counting: EstimateFunction = (...args) => {
    calls++;
    return estimate(...args);
  };
  const fixture = await quotesFixture({ estimators: [source('s', counting)], ...options }, store);
  opened = fixture;
  const { book, clock } = fixture;
  const validTo = Math.floor(clock.now() / 1000) + 600;
  const order = { sellToken: COW, buyToken: WETH, sellAmount: String(1000n * ETHER), buyAmount: '1', validTo };
  return {
    ...fixture,
    calls: () => calls,
    async place(choice: object = {}) {
      const result = await book.orders.submit(await signOrder(account(7), { ...order, ...choice }));
      if (result.status !== 'accepted') throw result.error;
      return (await book.orders.get(result.uid))?.quote;
    },
  };
}

describe('order without a matching quote', () => {
  it('is quoted at submission', async () => {
    const { place, calls } = await open(() => ({ amount: 5000n, gas: 100_000 }));
    expect(await place()).toMatchObject({ sellAmount: String(1000n * ETHER), buyAmount: '5000', gasAmount: '100000' });
    expect(await place({ kind: 'buy', buyAmount: '7' })).toMatchObject({ sellAmount: '5000', buyAmount: '7' });
    expect(calls()).toBe(2);
  });

  it('is not quoted again if a quote fits', async () => {
    const { book, place, calls } = await open(() => ({ amount: 5000n, gas: 100_000 }));
    await quoted(book, SELL);
    expect(await place()).toMatchObject({ buyAmount: '5000' });
    expect(calls()).toBe(1);
  });

  it.each<[string, EstimateFunction]>([
    ['there is no route', () => undefined],
    ['the estimator fails', () => Promise.reject(new Error('down'))],
    ['a token is unsupported', () => ({ unsupportedToken: COW.toLowerCase() as `0x${string}` })],
  ])('is stored without a quote if %s', async (_, estimate) => {
    const { place } = await open(estimate);
    expect(await place()).toBeUndefined();
  });

  it('is stored without a quote after the time limit', async () => {
    const { place, clock } = await open(() => new Promise(() => {}), { orderTimeout: 300 });
    let stored = false;
    const placing = place().finally(() => {
      stored = true;
    });
    const advance = () => {
      clock.advance(100);
      return stored;
    };
    await expect.poll(advance).toBe(true);
    expect(await placing).toBeUndefined();
  });

  it('is inserted again after a busy write, however long its quote took', async () => {
    const store = memoryStore();
    const { insert } = store.orders;
    let inserts = 0;
    store.orders.insert = async (orders, options) =>
      inserts++ === 0 ? orders.map(() => ({ status: 'busy' })) : insert(orders, options);
    const { place, clock } = await open(() => new Promise(() => {}), { orderTimeout: 6_000 }, store);
    let ended = false;
    const placing = place().finally(() => {
      ended = true;
    });
    placing.catch(() => {});
    const advance = () => {
      clock.advance(1_000);
      return ended;
    };
    await expect.poll(advance).toBe(true);
    expect(await placing).toBeUndefined();
    expect(inserts).toBe(2);
  });

  it('waits for a tenth of the time while an estimator does not respond, until all respond in time', async () => {
    let delay = Number.POSITIVE_INFINITY;
    const slow: EstimateFunction = () =>
      new Promise((resolve) => {
        if (delay < 1000) clock.after(delay, () => resolve({ amount: 6000n, gas: 100_000 }));
      });
    const estimators = [source('fast', () => ({ amount: 5000n, gas: 100_000 })), source('slow', slow)];
    const { place, clock, failures } = await open(slow, { orderTimeout: 1000, quoteCacheTtl: 0, estimators });
    let sellAmount = 1000;
    /** Places another order, and returns its quote and how long it has waited. */
    const placeTimed = async (choice: object = {}) => {
      let isStored = false;
      const startedAt = clock.now();
      const placing = place({ sellAmount: String(++sellAmount), ...choice }).finally(() => {
        isStored = true;
      });
      const advance = () => {
        if (!isStored) clock.advance(20);
        return isStored;
      };
      await expect.poll(advance, { interval: 5 }).toBe(true);
      return { buyAmount: (await placing)?.buyAmount, isShort: clock.now() - startedAt < 600 };
    };
    for (let i = 0; i < 3; i++) expect(await placeTimed()).toEqual({ buyAmount: '5000', isShort: false });
    for (let i = 0; i < 3; i++) expect(await placeTimed()).toEqual({ buyAmount: '5000', isShort: true });
    expect(await placeTimed({ sellToken: WETH, buyToken: COW })).toEqual({ buyAmount: '5000', isShort: false });
    clock.advance(1000); // the end of the last request without an order
    await new Promise((resolve) => setTimeout(resolve));
    delay = 300;
    expect(await placeTimed()).toEqual({ buyAmount: '5000', isShort: true });
    const getAmount = async () => {
      clock.advance(300);
      return (await placeTimed()).buyAmount;
    };
    await expect.poll(getAmount).toBe('6000');
    expect(failures).toEqual([]);
  });

  it('is stored without a quote if the store does not store the quote in time', async () => {
    const store = memoryStore();
    const hanging = { ...store, quotes: { ...store.quotes, insert: () => new Promise<never>(() => {}) } };
    const { place, clock, failures } = await open(() => ({ amount: 5000n, gas: 100_000 }), {}, hanging);
    let stored = false;
    const placing = place().finally(() => {
      stored = true;
    });
    const advance = () => {
      clock.advance(500);
      return stored;
    };
    await expect.poll(advance).toBe(true);
    expect(await placing).toBeUndefined();
    expect(failures).toHaveLength(1);
  });

  it('is stored without a query if the time limit is 0', async () => {
    const { place, calls } = await open(() => ({ amount: 5000n, gas: 100_000 }), { orderTimeout: 0 });
    expect(await place()).toBeUndefined();
    expect(calls()).toBe(0);
  });
});
