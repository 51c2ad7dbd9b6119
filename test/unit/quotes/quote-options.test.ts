import type { QuoteOptions } from 'intentbook';
import { describe, expect, test } from 'vitest';
import { createStoredQuote, getQuoteKind } from '../../../src/quotes/quote-lifetime.ts';
import { getOrderQuoting, parsePrice, parseQuoteOptions } from '../../../src/quotes/quote-options.ts';

const MAX = 2n ** 256n - 1n;
const MAX_TIMER = 2 ** 31 - 1;
const DEFAULTS: QuoteOptions = { estimators: [], gasPrice: '1' };
const read = (changes: object = {}) => parseQuoteOptions({ ...DEFAULTS, ...changes });

describe('quote options', () => {
  test('have defaults', () => {
    expect(read()).toMatchObject({
      estimators: [],
      gasPrice: { digits: 1n, scale: 0 },
      priceAmount: 10n ** 17n,
      timeouts: { usual: 5_000, longest: 10_000 },
      lifetimes: { standard: 60_000, onchain: 600_000 },
      quoteCacheTtl: 500,
      priceCacheTtl: 30_000,
    });
  });

  test.each([
    [{ priceAmount: 0n }, 'priceAmount must be a positive bigint'],
    [{ priceAmount: 5 }, 'priceAmount must be a positive bigint'],
    [{ gasPrice: 'x' }, 'gasPrice must be a decimal number of wei below 2^256, got "x"'],
    [{ gasPrice: undefined }, 'gasPrice must be a decimal number of wei below 2^256, got undefined'],
    [{ gasPrice: MAX + 1n }, `gasPrice must be a decimal number of wei below 2^256, got ${MAX + 1n}n`],
    [{ timeout: -1 }, `timeout must be an integer from 0 to ${MAX_TIMER}, got -1`],
    [{ maxTimeout: 1.5 }, `maxTimeout must be an integer from 0 to ${MAX_TIMER}, got 1.5`],
    [{ expiry: MAX_TIMER + 1 }, `expiry must be an integer from 0 to ${MAX_TIMER}, got ${MAX_TIMER + 1}`],
    [{ onchainExpiry: Number.NaN }, `onchainExpiry must be an integer from 0 to ${MAX_TIMER}, got NaN`],
    [{ quoteCacheTtl: '5' }, `quoteCacheTtl must be an integer from 0 to ${MAX_TIMER}, got "5"`],
    [{ priceCacheTtl: -1 }, `priceCacheTtl must be an integer from 0 to ${MAX_TIMER}, got -1`],
    [{ estimators: 'https://solver.example' }, 'estimators must be a list of estimators'],
    [{ unverifiedGas: { min: -1 } }, `unverifiedGas.min must be an integer from 0 up, got -1`],
    [{ unverifiedGas: { min: 5, max: 4 } }, `unverifiedGas.max must be an integer from 5 up, got 4`],
    [{ volumeFee: -1 }, 'volumeFee must be an integer from 0 to 999999 (parts per million), got -1'],
    [{ volumeFee: 1_000_000 }, 'volumeFee must be an integer from 0 to 999999 (parts per million), got 1000000'],
    [{ volumeFee: 0.5 }, 'volumeFee must be an integer from 0 to 999999 (parts per million), got 0.5'],
  ])('reject %o', (changes, message) => {
    expect(() => read(changes)).toThrow(new TypeError(`createOrderBook: quotes.${message}`));
  });

  test.each([[undefined], [{}], [{ name: 'x' }], [5]])('reject the estimator %j', (estimator) => {
    const message = 'createOrderBook: quotes.estimators[0] must be a function or have an estimate function';
    expect(() => read({ estimators: [estimator] })).toThrow(new TypeError(message));
  });

  test('reject an unknown option', () => {
    expect(() => read({ timeOut: 1 })).toThrow(
      new TypeError('createOrderBook, quotes: unknown option "timeOut", did you mean "timeout"?'),
    );
  });

  test('accept the limits of each range', () => {
    const options = read({
      timeout: 0,
      maxTimeout: MAX_TIMER,
      volumeFee: 999_999,
      gasPrice: String(MAX),
      priceAmount: 1n,
    });
    expect(options.timeouts).toEqual({ usual: 0, longest: MAX_TIMER });
    expect(options.volumeFee('0x', '0x')).toBe(999_999);
    expect(read({ volumeFee: 0 }).volumeFee('0x', '0x')).toBe(0);
    expect(read().volumeFee('0x', '0x')).toBeUndefined();
  });

  test('check each result of a function for the volume fee', () => {
    const { volumeFee } = read({ volumeFee: (sellToken: string) => (sellToken === '0x01' ? 25 : -1) });
    expect(volumeFee('0x01', '0x02')).toBe(25);
    expect(() => volumeFee('0x02', '0x01')).toThrow('quotes.volumeFee must be an integer from 0 to 999999');
  });

  test('limit a gas price by its whole part', () => {
    expect(parsePrice(`${MAX}.9`)).toEqual({ digits: MAX * 10n + 9n, scale: 1 });
    expect(parsePrice(`${MAX + 1n}.0`)).toBeUndefined();
  });

  test('give each estimator a unique name, and keep its methods and their receiver', async () => {
    const estimator = {
      name: 'pool',
      price: '3',
      estimate() {
        return this.price;
      },
      nativePrice(token: string) {
        return `${this.price} ${token}`;
      },
    };
    const { estimators } = read({
      estimators: [
        estimator,
        estimator,
        estimator,
        { estimate: () => 'plain' },
        () => 'function',
        { ...estimator, nativePrice: undefined },
      ],
    });
    expect(estimators.map(({ name }) => name)).toEqual([
      'pool',
      'pool 2',
      'pool 3',
      'estimator 4',
      'estimator 5',
      'pool 4',
    ]);
    expect(estimators[0]).toBe(estimator);
    const [, second, , plain, , last] = estimators as unknown as (typeof estimator)[];
    expect([second?.estimate(), second?.nativePrice('0x01')]).toEqual(['3', '3 0x01']);
    expect([plain?.estimate(), plain?.nativePrice, last?.nativePrice]).toEqual(['plain', undefined, undefined]);
  });

  test('quote orders at their submission only with a timeout', () => {
    const requestQuote = async () => Promise.reject(new Error('not called'));
    expect(getOrderQuoting(undefined, requestQuote)).toEqual({ quoting: false, orderQuoting: undefined });
    expect(getOrderQuoting(DEFAULTS, requestQuote)).toEqual({
      quoting: true,
      orderQuoting: { requestQuote, timeout: 1000, late: new Map() },
    });
    const off = { ...DEFAULTS, orderTimeout: 0 };
    expect(getOrderQuoting(off, requestQuote)).toEqual({ quoting: true, orderQuoting: undefined });
  });
});

describe('stored quote', () => {
  test.each([
    [{ scheme: 'presign', onchain: true }, 'onchainPresign'],
    [{ scheme: 'eip1271', onchain: true }, 'onchainEip1271'],
    [{ scheme: 'presign', onchain: false }, 'standard'],
    [{ scheme: 'eip712', onchain: false }, 'standard'],
  ] as const)('of %o has the kind %s', (signing, kind) => {
    expect(getQuoteKind(signing as Parameters<typeof getQuoteKind>[0])).toBe(kind);
  });

  const [sellToken, buyToken] = [`0x${'01'.repeat(20)}`, `0x${'02'.repeat(20)}`] as const;
  const cost = { gasPrice: { digits: 2n, scale: 0 }, sellTokenPrice: { digits: 1n, scale: 0 } };
  type Stored = Parameters<typeof createStoredQuote>;
  const store = (side: Stored[0]['side'], amount: bigint, verified = false) =>
    createStoredQuote(
      { sellToken, buyToken, side, signing: { scheme: 'eip712', onchain: false } as Stored[0]['signing'] },
      {
        estimate: { source: 's', amount, gas: 5n, solver: sellToken, verified, metadata: '{"a":1}' },
        gas: 5n,
      },
      cost,
      99,
    );
  /** The rate with 256 binary digits after the point. */
  const rate = (bought: bigint, sold: bigint) => ((bought << 256n) / sold).toString(16).padStart(128, '0');

  test('has the whole amounts, and a rank by the rate with the fee', () => {
    expect(store({ kind: 'sell', sellAmountBeforeFee: 100n }, 300n)).toEqual({
      sellToken,
      buyToken,
      expiresAt: 99,
      kind: 'sell',
      amount: '100',
      quoteKind: 'standard',
      rank: `0${rate(300n, 110n)}`,
      quote: {
        body: JSON.stringify({
          gasAmount: '5',
          gasPrice: '2',
          sellTokenPrice: '1',
          sellAmount: '100',
          buyAmount: '300',
          feeAmount: '10',
          solver: sellToken,
          verified: false,
        }),
        metadata: '{"a":1}',
      },
    });
    const purchase = store({ kind: 'buy', buyAmountAfterFee: 100n }, 300n, true);
    expect([purchase.amount, purchase.rank]).toEqual(['100', `1${rate(100n, 310n)}`]);
  });

  test('ranks every verified quote before every unverified one, and ranks have one length', () => {
    const worst = store({ kind: 'buy', buyAmountAfterFee: 1n }, MAX - 10n, true).rank;
    const best = store({ kind: 'sell', sellAmountAfterFee: 1n }, MAX).rank;
    expect(worst > best).toBe(true);
    expect([worst.length, best.length]).toEqual([129, 129]);
  });
});
