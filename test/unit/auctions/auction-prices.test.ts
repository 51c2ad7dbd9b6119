import { OrderBookError } from 'intentbook';
import { expect, test } from 'vitest';
import { createAuctionPricing } from '../../../src/auctions/auction-prices.ts';
import { createShutdownError } from '../../../src/quotes/rejection.ts';
import { manualClock } from '../../support/clock.ts';

const TOKEN = `0x${'ab'.repeat(20)}` as const;

function pricing(error: OrderBookError) {
  const failures: unknown[] = [];
  const { find } = createAuctionPricing(
    { clock: manualClock(0), onFailure: (failure) => failures.push(failure) },
    undefined,
    async () => ({ status: 'rejected', error }),
  );
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

/** Prices of a source whose response can be changed, and the queried tokens. */
function scriptedPricing(isPriced: (token: string) => boolean, error = new OrderBookError('NoLiquidity')) {
  const clock = manualClock(0);
  const queried: string[] = [];
  const { find } = createAuctionPricing({ clock, onFailure: () => {} }, undefined, async (token) => {
    queried.push(token);
    if (isPriced(token)) return { status: 'priced', price: '1' };
    return { status: 'rejected', error };
  });
  const size = async (tokens: Iterable<`0x${string}`>) => Object.keys(await find(tokens)).length;
  return { clock, queried, size };
}

const tokensFrom = (first: number, count: number) =>
  Array.from({ length: count }, (_, i): `0x${string}` => `0x${String(first + i).padStart(40, '0')}`);

test('auction prices: query a token with a recent price again after a failure of its source', async () => {
  let isFailing = false;
  const { clock, queried, size } = scriptedPricing(() => !isFailing);
  expect(await size([TOKEN])).toBe(1);
  isFailing = true;
  clock.advance(599_000);
  expect([await size([TOKEN]), await size([TOKEN])]).toEqual([0, 0]);
  isFailing = false;
  expect(await size([TOKEN])).toBe(1);
  // A token without a recent price is queried once a minute.
  isFailing = true;
  clock.advance(600_001);
  queried.length = 0;
  expect([await size([TOKEN]), await size([TOKEN])]).toEqual([0, 0]);
  expect(queried).toHaveLength(1);
  clock.advance(60_000);
  await size([TOKEN]);
  expect(queried).toHaveLength(2);
});

test('auction prices: a clock that is set back does not prolong the time of a missing price', async () => {
  let isPriced = false;
  const { clock, queried, size } = scriptedPricing(() => isPriced);
  expect(await size([TOKEN])).toBe(0);
  clock.advance(59_999);
  clock.jump(-59_999);
  isPriced = true;
  expect([await size([TOKEN]), queried.length]).toEqual([0, 1]);
  clock.advance(1);
  expect([await size([TOKEN]), queried.length]).toEqual([1, 2]);
  // The same holds for the time in which a missing price is queried again at once.
  isPriced = false;
  clock.advance(600_000);
  clock.jump(-600_000);
  expect([await size([TOKEN]), await size([TOKEN]), queried.length]).toEqual([0, 0, 3]);
});

test.each([new OrderBookError('NoLiquidity', undefined, { temporary: true }), new OrderBookError('ChainUnavailable')])(
  'auction prices: query a new token again 5 seconds after a temporary failure of its source',
  async (error) => {
    const { clock, queried, size } = scriptedPricing(() => queried.length > 1, error);
    expect([await size([TOKEN]), await size([TOKEN])]).toEqual([0, 0]);
    clock.advance(4_999);
    expect([await size([TOKEN]), queried.length]).toEqual([0, 1]);
    clock.advance(1);
    expect([await size([TOKEN]), queried.length]).toEqual([1, 2]);
  },
);

test('auction prices: include all tokens after several auctions', async () => {
  const { size } = scriptedPricing(() => true);
  const tokens = tokensFrom(0, 1_200);
  expect([await size(tokens), await size(tokens), await size(tokens)]).toEqual([500, 1_000, 1_200]);
});

test('auction prices: keep the tokens with a price beside many new ones without', async () => {
  const { queried, size } = scriptedPricing((token) => token === TOKEN);
  expect(await size([TOKEN])).toBe(1);
  queried.length = 0;
  expect(await size([...tokensFrom(0, 1_000), TOKEN])).toBe(1);
  expect(queried).toHaveLength(501);
});

test('auction prices: a source that hangs costs one second, and later the last price is used', async () => {
  const clock = manualClock(0);
  let isHanging = false;
  const { find } = createAuctionPricing({ clock, onFailure: () => {} }, undefined, async (_, signal) => {
    if (isHanging)
      await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    return { status: 'priced', price: '1' };
  });
  const tokens = tokensFrom(0, 40);
  expect(Object.keys(await find(tokens))).toHaveLength(40);
  isHanging = true;
  const late = find(tokens);
  for (let step = 0; step < 2; step++) {
    clock.advance(1_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(Object.keys(await late)).toHaveLength(40);
});

test('auction prices: tokens whose sources hang follow the others, the last one at the end', async () => {
  const clock = manualClock(0);
  const queried: string[] = [];
  const tokens = tokensFrom(0, 100);
  const hanging = new Set<string>(tokens.slice(0, 40));
  const { find } = createAuctionPricing({ clock, onFailure: () => {} }, undefined, async (token, signal) => {
    queried.push(token);
    if (hanging.has(token))
      await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    return { status: 'priced', price: '1' };
  });
  const run = async () => {
    queried.length = 0;
    const prices = find(tokens);
    for (let step = 0; step < 2; step++) {
      await new Promise((resolve) => setImmediate(resolve));
      clock.advance(1_000);
    }
    return Object.keys(await prices).length;
  };
  expect([await run(), queried]).toEqual([0, tokens.slice(0, 32)]);
  expect([await run(), queried.slice(0, 68)]).toEqual([60, tokens.slice(32)]);
  // The second auction has queried the tokens until 23 again.
  await run();
  expect(queried.slice(60, 76)).toEqual(tokens.slice(24, 40));
});
