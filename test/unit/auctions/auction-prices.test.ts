import { OrderBookError } from 'intentbook';
import { expect, test } from 'vitest';
import { createAuctionPricing } from '../../../src/auctions/auction-prices.ts';
import { createShutdownError } from '../../../src/quotes/rejection.ts';
import { manualClock } from '../../support/clock.ts';

const TOKEN = `0x${'ab'.repeat(20)}` as const;

function pricing(error: OrderBookError) {
  const failures: unknown[] = [];
  const { find } = createAuctionPricing({
    clock: manualClock(0),
    wrappedNative: undefined,
    nativePrice: async () => ({ status: 'rejected', error }),
    onFailure: (failure) => failures.push(failure),
  });
  return { find, failures };
}

test('auction prices: fail when the book closes, so that no order is left out', async () => {
  const { find, failures } = pricing(createShutdownError());
  await expect(find([TOKEN])).rejects.toMatchObject({ code: 'Closed' });
  expect(failures).toEqual([]);
});

test('auction prices: omit a token without a price', async () => {
  const { find } = pricing(new OrderBookError('NoLiquidity'));
  expect(await find([TOKEN])).toEqual({});
});
