import type { Estimator, QuoteRequest } from 'intentbook';
import { describe, expect, test } from 'vitest';
import { COW, WETH } from '../../support/orders.ts';
import { answering, ETHER, prompted, quoted, quotesFixture, SELL, settle, watch } from './quotes-fixture.ts';

const GOOD = (3n * ETHER) / 10n;

/** A sale that is large enough for any fee. */
const HUGE: QuoteRequest = { ...SELL, sellAmountBeforeFee: String(10n ** 30n) };

/** An estimator with a low price at once, and a good one with the right price after a tenth of a second. */
async function unevenFixture() {
  let later: (price: string) => void = () => {};
  const slow: Estimator = {
    ...answering('slow', GOOD),
    nativePrice: () =>
      new Promise<string>((resolve) => {
        later = resolve;
      }),
  };
  const low: Estimator = { name: 'low', estimate: () => undefined, nativePrice: () => '0.00000001' };
  const fixture = await quotesFixture({ estimators: [low, slow] });
  return {
    ...fixture,
    /** Returns the quote of a caller with a long timeout, after the good estimator has responded. */
    async priceForThePatient() {
      const waiting = watch(fixture.book.quotes.nativePrice(SELL.sellToken));
      await settle();
      fixture.clock.advance(100);
      later('0.0003');
      await settle();
      return waiting.value?.status === 'priced' ? waiting.value.price : undefined;
    },
  };
}

type Fixture = Awaited<ReturnType<typeof unevenFixture>>;

const IMPATIENT: readonly (readonly [string, (fixture: Fixture) => Promise<unknown>])[] = [
  [
    'uses one millisecond',
    async ({ book, clock }) => {
      const waiting = watch(book.quotes.request({ ...HUGE, timeout: 1 }));
      await settle();
      clock.advance(1);
      await settle();
      expect(waiting.done).toBe(true);
    },
  ],
  ['accepts the first estimate', ({ book }) => book.quotes.request({ ...HUGE, priceQuality: 'fast' })],
  ['reads a stream with a fee of the first price', ({ book }) => book.quotes.stream(HUGE)],
  [
    'leaves',
    async ({ book }) => {
      const gone = new AbortController();
      const waiting = watch(book.quotes.request(HUGE, { signal: gone.signal }));
      await settle();
      gone.abort();
      await settle();
      expect(waiting.done).toBe(true);
    },
  ],
];

/** The price between the good and the low one, after both have responded. */
const MEDIAN = '0.000150005';

describe('short quote request', () => {
  test('does not reduce the estimators of a longer request', async () => {
    const fixture = await unevenFixture();
    expect(await fixture.priceForThePatient()).toBe(MEDIAN);
  });

  test.each(IMPATIENT)('does not affect a longer request when another caller %s before', async (_, hurry) => {
    const fixture = await unevenFixture();
    await hurry(fixture);
    expect(await fixture.priceForThePatient()).toBe(MEDIAN);
    // It is cached, too.
    expect(await quoted(fixture.book, { ...HUGE, priceQuality: 'fast' })).toMatchObject({
      quote: { sellTokenPrice: MEDIAN },
    });
  });

  test('result at the usual timeout of the book is cached although an estimator hangs', async () => {
    const { book, clock } = await unevenFixture();
    const waiting = watch(book.quotes.nativePrice(SELL.sellToken));
    await settle();
    clock.advance(5_000);
    await settle();
    expect(waiting.value).toEqual({ status: 'priced', price: '0.00000001' });
    expect(await book.quotes.nativePrice(SELL.sellToken)).toEqual({ status: 'priced', price: '0.00000001' });
  });

  test('has its own timeout in a shared race, like the first request', async () => {
    const one = prompted('one');
    const { book, clock, outcomes } = await quotesFixture({ estimators: [one] });
    const first = watch(book.quotes.request(SELL));
    await settle();
    clock.advance(4_900);
    const second = watch(book.quotes.request(SELL));
    await settle();
    clock.advance(100);
    await settle();
    expect([first.done, second.done, one.recordedCalls[0]?.context.signal.aborted]).toEqual([true, false, false]);
    expect(first.value).toMatchObject({ error: { code: 'NoLiquidity' } });
    clock.advance(4_800);
    one.recordedCalls[0]?.answer({ amount: GOOD, gas: 100_000 });
    await settle();
    expect(second.value?.status).toBe('quoted');
    expect([one.recordedCalls.length, outcomes()]).toEqual([1, { one: 'responded' }]);
  });

  test('starts a new race after the timeout, so that no result gets old', async () => {
    const one = prompted('one');
    const { book, clock } = await quotesFixture({ estimators: [one, answering('good', GOOD)] });
    const calls = [];
    for (let i = 0; i < 4; i++) {
      calls.push(watch(book.quotes.request(SELL)));
      await settle();
      clock.advance(2_500);
      await settle();
    }
    expect(one.recordedCalls).toHaveLength(2);
    clock.advance(5_000);
    await settle();
    expect(calls.map(({ done }) => done)).toEqual([true, true, true, true]);
    expect(one.recordedCalls.every(({ context }) => context.signal.aborted)).toBe(true);
  });

  test('ignores estimates after its own timeout although others wait', async () => {
    const [one, two] = [prompted('one'), prompted('two')];
    const { book, clock } = await quotesFixture({ estimators: [one, two] });
    const early = watch(book.quotes.request(SELL));
    await settle();
    one.recordedCalls[0]?.answer({ amount: GOOD, gas: 100_000 });
    clock.advance(4_000);
    const late = watch(book.quotes.request(SELL));
    await settle();
    clock.advance(1_000);
    two.recordedCalls[0]?.answer({ amount: GOOD * 2n, gas: 100_000 });
    await settle();
    const bought = [early, late].map(({ value }) => value?.status === 'quoted' && value.quote.quote.buyAmount);
    expect(BigInt(bought[0] || 0)).toBeLessThan(GOOD);
    expect(BigInt(bought[1] || 0)).toBeGreaterThan(GOOD);
  });
});

describe('fast quote', () => {
  test.each([
    ['is too small to be useful', answering('tiny', 1n), answering('good', GOOD)],
    ['does not cover the fee', answering('dear', GOOD, 10 ** 12), answering('good', GOOD)],
  ])('uses another estimate when the first %s', async (_, useless, good) => {
    const slow = prompted('slow');
    const { book } = await quotesFixture({ estimators: [useless, slow] });
    const waiting = watch(book.quotes.request({ ...SELL, priceQuality: 'fast' }));
    await settle();
    expect(waiting.done).toBe(false);
    slow.recordedCalls[0]?.answer(await good.estimate({} as never, {} as never)); // it responds to any request
    await settle();
    expect(waiting.value?.status).toBe('quoted');
  });
});

describe('aborted quote request', () => {
  /** Sells wrapped native currency, whose price is known at once, while the gas price is not. */
  const request: QuoteRequest = { ...SELL, sellToken: WETH, buyToken: COW };

  async function gasPricePending() {
    let gas: (price: string) => void = () => {};
    const one = prompted('one');
    const gasPrice = () =>
      new Promise<string>((resolve) => {
        gas = resolve;
      });
    const fixture = await quotesFixture({ gasPrice, estimators: [one] });
    return { ...fixture, one, gas: (price: string) => gas(price) };
  }

  test.each(['request', 'stream'] as const)('ends while the gas price is unknown: %s', async (verb) => {
    const { book, clock, one } = await gasPricePending();
    const gone = new AbortController();
    const waiting = watch<unknown>(book.quotes[verb](request, { signal: gone.signal }));
    await settle();
    gone.abort(new Error('gone'));
    await settle();
    expect(waiting).toMatchObject({ done: true, error: { message: 'gone' } });
    expect(one.recordedCalls[0]?.context.signal.aborted).toBe(true);
    expect(clock.pending).toBe(1); // the sweep
  });

  test.each(['request', 'stream'] as const)('before the call queries nothing: %s', async (verb) => {
    const { book, one } = await gasPricePending();
    const waiting = watch<unknown>(book.quotes[verb](request, { signal: AbortSignal.abort(new Error('before')) }));
    await settle();
    expect(waiting).toMatchObject({ done: true, error: { message: 'before' } });
    expect(one.recordedCalls).toHaveLength(0);
  });

  test('in the tick of the gas price reads no stream', async () => {
    const { book, one, gas } = await gasPricePending();
    const gone = new AbortController();
    const waiting = watch(book.quotes.stream(request, { signal: gone.signal }));
    await settle();
    gas('1');
    gone.abort(new Error('gone'));
    await settle();
    expect(waiting).toMatchObject({ done: true, error: { message: 'gone' } });
    expect(one.recordedCalls[0]?.context.signal.aborted).toBe(true);
  });
});
