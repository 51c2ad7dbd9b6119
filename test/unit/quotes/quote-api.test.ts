import { getEventListeners } from 'node:events';
import type { NewQuote } from 'intentbook';
import { createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { QuoteStore } from '../../../src/ports/quote-store.ts';
import type { QuoteCandidate } from '../../../src/quotes/quote-candidate.ts';
import { createQuoteCandidate, isBetterCandidate } from '../../../src/quotes/quote-candidate.ts';
import { createQuotePersister } from '../../../src/quotes/quote-lifetime.ts';
import type { ParsedQuoteRequest } from '../../../src/quotes/request.ts';
import { parseQuoteRequest } from '../../../src/quotes/request.ts';
import { manualClock } from '../../support/clock.ts';
import { COW, SEPOLIA, WETH } from '../../support/orders.ts';
import { answering, quotesFixture, SELL, settle } from './quotes-fixture.ts';

const MAX = 2n ** 256n - 1n;
const ZERO = `0x${'0'.repeat(40)}` as const;

describe('amount of a quote request', () => {
  test.each([
    ['0', 'sellAmountBeforeFee must not be 0'],
    ['000', 'sellAmountBeforeFee must not be 0'],
    [String(MAX + 1n), 'sellAmountBeforeFee does not fit in 256 bits'],
    ['1e18', 'sellAmountBeforeFee must be decimal digits only, got "1e18"'],
    ['-1', 'sellAmountBeforeFee must be decimal digits only, got "-1"'],
  ])('%s is rejected with its reason', (sellAmountBeforeFee, message) => {
    expect(parseQuoteRequest({ ...SELL, sellAmountBeforeFee })).toMatchObject({ code: 'InvalidParameter', message });
  });

  test('is null like one that is absent', () => {
    const request = { ...SELL, sellAmountBeforeFee: null, sellAmountAfterFee: '5' };
    expect(parseQuoteRequest(request)).toMatchObject({ side: { kind: 'sell', sellAmountAfterFee: 5n } });
  });

  test.each([
    [7, 'the body must be an object, got 7'],
    [{ ...SELL, kind: 'swap' }, 'kind must be one of buy, sell, got "swap"'],
  ])('is not read from %j', (request, message) => {
    expect(parseQuoteRequest(request)).toMatchObject({ code: 'InvalidParameter', message });
  });
});

describe('native price', () => {
  async function open(deniedTokens: readonly string[] = []) {
    const quotes = { estimators: [answering('a', 5n)], gasPrice: '1' };
    const book = createOrderBook({
      chainId: SEPOLIA,
      store: memoryStore(),
      clock: manualClock(),
      quotes,
      deniedTokens,
    });
    await book.start();
    onTestFinished(() => book.close());
    return book.quotes;
  }

  test('of text that is no address is rejected with the parameter', async () => {
    const quotes = await open();
    expect(await quotes.nativePrice('0x12')).toMatchObject({
      status: 'rejected',
      error: {
        code: 'InvalidParameter',
        message: 'token: must be 0x and 40 hex digits, got "0x12"',
        data: { parameter: 'token' },
      },
    });
  });

  test('of a denied token is rejected, and that of another one is not', async () => {
    const quotes = await open([COW]);
    const token = COW.toLowerCase();
    expect(await quotes.nativePrice(COW)).toMatchObject({
      status: 'rejected',
      error: { code: 'UnsupportedToken', message: `token ${token} is deny-listed`, data: { token } },
    });
    expect(await quotes.nativePrice(WETH)).toMatchObject({ status: 'priced', price: '1' });
  });
});

const COST = { gasPrice: { digits: 1n, scale: 0 }, sellTokenPrice: { digits: 1n, scale: 0 } };
const estimateOf = (amount: bigint, verified = false, gas = 10n) => ({
  source: 's',
  amount,
  gas,
  solver: ZERO,
  verified,
  metadata: '{}',
});

describe('quote candidate', () => {
  const context = (side: Parameters<typeof createQuoteCandidate>[0]['side'], volumeFee?: number) => ({
    side,
    extraGas: 1n,
    unwrapGas: 2n,
    unverifiedGas: { min: 0n, max: 10n ** 9n },
    volumeFee,
  });
  const buy = context({ kind: 'buy', buyAmountAfterFee: 100n });

  test('includes the gas for unwrapping, and charges that of hooks', () => {
    expect(createQuoteCandidate(buy, estimateOf(50n), COST)).toMatchObject({
      gas: 12n,
      fee: 13n,
      amounts: { sellAmount: 50n, buyAmount: 100n },
    });
  });

  test.each<[gas: bigint, verified: boolean, expected: bigint]>([
    [1n, false, 402n],
    [500n, false, 502n],
    [9000n, false, 802n],
    [1n, true, 3n],
    [9000n, true, 9002n],
  ])('bounds %d gas from 400 to 800 unless it is verified (%j)', (gas, verified, expected) => {
    const bounded = { ...buy, unverifiedGas: { min: 400n, max: 800n } };
    expect(createQuoteCandidate(bounded, { ...estimateOf(50n), gas, verified }, COST)?.gas).toBe(expected);
  });

  test('is not possible if the owner would pay more than 256 bits', () => {
    expect(createQuoteCandidate(buy, estimateOf(MAX - 13n), COST)).toBeDefined();
    expect(createQuoteCandidate(buy, estimateOf(MAX - 12n), COST)).toBeUndefined();
  });

  test('is not possible if a volume fee leaves nothing to buy, or makes the sold amount too large', () => {
    const sell = context({ kind: 'sell', sellAmountAfterFee: 10n }, 999_999);
    expect(createQuoteCandidate(sell, estimateOf(1n), COST)?.amounts).toEqual({ sellAmount: 10n, buyAmount: 1n });
    const purchase = context({ kind: 'buy', buyAmountAfterFee: 1n }, 999_999);
    expect(createQuoteCandidate(purchase, estimateOf(MAX - 13n), COST)).toBeUndefined();
  });

  test('is better with a better rate, and with the same rate if only it is verified', () => {
    const of = (amount: bigint, verified: boolean): QuoteCandidate | undefined =>
      createQuoteCandidate(buy, estimateOf(amount, verified), COST);
    const isBetter = (a: QuoteCandidate | undefined, b: QuoteCandidate | undefined) =>
      a !== undefined && isBetterCandidate(a, b);
    expect(isBetter(of(50n, false), undefined)).toBe(true);
    expect(isBetter(of(50n, false), of(51n, true))).toBe(true);
    expect(isBetter(of(51n, true), of(50n, false))).toBe(false);
    expect(isBetter(of(50n, true), of(50n, false))).toBe(true);
    expect(isBetter(of(50n, true), of(50n, true))).toBe(false);
    expect(isBetter(of(50n, false), of(50n, false))).toBe(false);
    expect(isBetter(of(50n, false), of(50n, true))).toBe(false);
  });
});

describe('stored quotes', () => {
  function fixture() {
    const clock = manualClock();
    const inserted: NewQuote[] = [];
    let fails = false;
    const store = {
      async insert(quote: NewQuote) {
        if (fails) throw new Error('offline');
        return inserted.push(quote);
      },
    } as unknown as QuoteStore; // the method that is used
    const { persist } = createQuotePersister(store, clock, { standard: 60_000, onchain: 600_000 });
    const request = (changes: object = {}) =>
      ({
        sellToken: COW,
        buyToken: WETH,
        side: { kind: 'sell', sellAmountBeforeFee: 100n },
        signing: { scheme: 'eip712', onchain: false },
        ...changes,
      }) as unknown as ParsedQuoteRequest; // the members that are used
    const fail = (value: boolean) => {
      fails = value;
    };
    return { clock, inserted, persist, request, fail };
  }
  const candidate = { estimate: estimateOf(5n), gas: 10n } as QuoteCandidate; // the members that are stored

  test('are shared for half of their lifetime', async () => {
    const { clock, persist, request } = fixture();
    const now = clock.now();
    expect(await persist(request(), candidate, COST)).toEqual({ id: 1, expiresAt: now + 60_000 });
    clock.advance(29_999);
    expect(await persist(request(), candidate, COST)).toEqual({ id: 1, expiresAt: now + 60_000 });
    clock.advance(1);
    expect(await persist(request(), candidate, COST)).toEqual({ id: 2, expiresAt: now + 90_000 });
  });

  test('are separate for another kind, token, price or estimate', async () => {
    const { persist, request, inserted } = fixture();
    const signing = { scheme: 'presign', onchain: true };
    await persist(request(), candidate, COST);
    await persist(request({ signing }), candidate, COST);
    await persist(request({ buyToken: COW }), candidate, COST);
    await persist(request(), candidate, { ...COST, gasPrice: { digits: 2n, scale: 0 } });
    await persist(request(), candidate, { ...COST, sellTokenPrice: { digits: 2n, scale: 0 } });
    // The texts of both prices together would be equal to those of the next one.
    await persist(request(), candidate, {
      gasPrice: { digits: 11n, scale: 0 },
      sellTokenPrice: { digits: 1n, scale: 0 },
    });
    await persist(request(), candidate, {
      gasPrice: { digits: 1n, scale: 0 },
      sellTokenPrice: { digits: 11n, scale: 0 },
    });
    await persist(request(), { ...candidate, estimate: estimateOf(5n) }, COST);
    expect(inserted).toHaveLength(8);
    expect(inserted[1]).toMatchObject({ quoteKind: 'onchainPresign', expiresAt: manualClock().now() + 600_000 });
  });

  test('are stored again after a failure', async () => {
    const { persist, request, fail } = fixture();
    fail(true);
    await expect(persist(request(), candidate, COST)).rejects.toThrow('offline');
    fail(false);
    expect(await persist(request(), candidate, COST)).toMatchObject({ id: 1 });
    expect(await persist(request(), candidate, COST)).toMatchObject({ id: 1 });
  });
});

test('many calls with one signal share its listeners, of which Node.js accepts ten without a warning', async () => {
  const estimator = { ...answering('slow', 10n ** 17n), nativePrice: () => new Promise<never>(() => {}) };
  const { book } = await quotesFixture({ estimators: [estimator], gasPrice: () => new Promise(() => {}) });
  const { signal } = new AbortController();
  const tokens = Array.from({ length: 200 }, (_, i) => `0x${(i + 1).toString(16).padStart(40, 'a')}`);
  for (const token of tokens) {
    void book.quotes.nativePrice(token, { signal });
    void book.quotes.request({ ...SELL, buyToken: token }, { signal });
  }
  await settle();
  expect(getEventListeners(signal, 'abort').length).toBe(1);
});
