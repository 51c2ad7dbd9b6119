import type {
  Address,
  Estimate,
  Hex,
  JitOrder,
  QuoteRequest,
  QuoteVerification,
  QuoteVerifier,
  VerificationOutcome,
} from 'intentbook';
import { afterEach, describe, expect, it } from 'vitest';
import { readMonotonic } from '../../../src/ports/clock.ts';
import type { OrderHasher } from '../../../src/protocol/order.ts';
import type { ValidatedEstimate } from '../../../src/quotes/estimate-validation.ts';
import type { QuoteSide } from '../../../src/quotes/fee.ts';
import type { Prepared } from '../../../src/quotes/prepare.ts';
import { createEstimateVerification } from '../../../src/quotes/verification.ts';
import { manualClock } from '../../support/clock.ts';
import { quotesFixture, SELL, source } from './quotes-fixture.ts';

const CALLS = [{ target: `0x${'11'.repeat(20)}`, value: '0', callData: '0x1234' }] as const;

let opened: Awaited<ReturnType<typeof quotesFixture>> | undefined;
afterEach(async () => opened?.book.close());

/** Opens a book with an estimator per amount, and a scripted verifier. */
async function open(
  amounts: readonly bigint[],
  verify: (quote: QuoteVerification) => Promise<VerificationOutcome> | VerificationOutcome,
  more: Partial<Estimate> = { interactions: CALLS },
) {
  const seen: QuoteVerification[] = [];
  opened = await quotesFixture({
    estimators: amounts.map((amount, i) => source(`s${i}`, () => ({ amount, gas: 100_000, verified: true, ...more }))),
    verifier: {
      verify: async (quote) => {
        seen.push(quote);
        return verify(quote);
      },
    },
  });
  const request = async (changes: Partial<QuoteRequest> = {}) => {
    const result = await opened?.book.quotes.request({ ...SELL, ...changes } as QuoteRequest);
    return result?.status === 'quoted' ? result.quote : result?.error.code;
  };
  return { ...opened, seen, request };
}

const succeed = ({ order }: QuoteVerification): VerificationOutcome => ({
  status: 'verified',
  amount: order.buyAmount,
  gas: 90_000,
});
const FAILED: VerificationOutcome = { status: 'failed', reason: 'the settlement reverts' };

describe('estimate verification', () => {
  const [SOLD, BOUGHT, OWNER, RECEIVER] = [1, 2, 3, 4].map((n): Address => `0x${String(n).padStart(40, '0')}`) as [
    Address,
    Address,
    Address,
    Address,
  ];
  const ZERO: Address = `0x${'0'.repeat(40)}`;
  const HASH: Hex = `0x${'77'.repeat(32)}`;
  const COST = { gasPrice: { digits: 0n, scale: 0 }, sellTokenPrice: { digits: 1n, scale: 0 } };
  const HOOK = { target: SOLD, value: '0', callData: '0x' } as const;

  function direct(verify: QuoteVerifier['verify']) {
    const clock = manualClock();
    const failures: unknown[] = [];
    const seen: QuoteVerification[] = [];
    const verification = createEstimateVerification({
      verifier: {
        verify(quote, call) {
          seen.push(quote);
          return verify(quote, call);
        },
      },
      clock,
      hasher: { digest: () => new Uint8Array(32) } as unknown as OrderHasher, // the member that is used
      settlementContract: SOLD,
      vaultRelayer: BOUGHT,
      onFailure: (failure) => void failures.push(failure),
    });
    return { ...verification, clock, failures, seen };
  }
  interface Choice {
    readonly from?: Address;
    readonly receiver?: Address;
    readonly side?: QuoteSide;
    readonly appDataHash?: Hex;
    readonly hooks?: Prepared['hooks'];
  }
  const preparedOf = ({ from = OWNER, receiver = RECEIVER, side, appDataHash = HASH, hooks }: Choice = {}) => {
    const chosen = side ?? { kind: 'sell', sellAmountBeforeFee: 100n };
    return {
      request: { from, receiver, side: chosen },
      side: chosen,
      trade: { kind: chosen.kind, sellToken: SOLD, buyToken: BOUGHT },
      validTo: 9,
      appDataHash,
      hooks: hooks ?? { pre: [], post: [] },
      extraGas: 0n,
      unwrapGas: 0n,
      unverifiedGas: { min: 0n, max: 10n ** 9n },
      volumeFee: undefined,
    } as unknown as Prepared; // the members that are used
  };
  const estimateOf = (amount: bigint, interactions: ValidatedEstimate['interactions'] | null = CALLS) => ({
    source: 's',
    amount,
    gas: 50n,
    solver: ZERO,
    verified: false,
    metadata: '{}',
    ...(interactions && { interactions }),
  });
  const verified = async (): Promise<VerificationOutcome> => ({ status: 'verified', amount: 70n, gas: 40 });

  it.each([
    ['sell', { kind: 'sell', sellAmountBeforeFee: 100n }, 100n, 60n],
    ['buy', { kind: 'buy', buyAmountAfterFee: 100n }, 60n, 100n],
  ] as const)('simulates the %s order for the whole amount', async (kind, side, sellAmount, buyAmount) => {
    const { verify, seen } = direct(verified);
    const estimate = estimateOf(60n);
    expect(await verify(preparedOf({ side }), estimate)).toEqual({
      ...estimate,
      amount: 70n,
      gas: 40n,
      verified: true,
    });
    const terms = { sellToken: SOLD, buyToken: BOUGHT, receiver: RECEIVER, validTo: 9, appData: HASH, feeAmount: 0n };
    const balances = { sellTokenBalance: 'erc20', buyTokenBalance: 'erc20' };
    expect(seen).toEqual([
      {
        order: { ...terms, ...balances, sellAmount, buyAmount, kind, partiallyFillable: false },
        uid: `0x${'0'.repeat(64)}${OWNER.slice(2)}00000009`,
        owner: OWNER,
        settlementContract: SOLD,
        vaultRelayer: BOUGHT,
        interactions: CALLS,
        preInteractions: [],
        jitOrders: [],
        txOrigin: undefined,
        hooks: { pre: [], post: [] },
      },
    ]);
  });

  it.each([
    ['unknown', ZERO],
    ['the settlement contract', SOLD],
  ] as const)('replaces an owner that is %s', async (_, from) => {
    const { verify, seen } = direct(verified);
    await verify(preparedOf({ from }), estimateOf(60n));
    expect(seen[0]?.owner).toBe('0x00000000000000000000000000000000c0ffee01');
  });

  it('does not simulate an estimate without calls', async () => {
    const { verify, seen } = direct(verified);
    const estimate = estimateOf(60n, null);
    expect(await verify(preparedOf(), estimate)).toBe(estimate);
    expect(seen).toEqual([]);
  });

  it('simulates an estimate once for the same owner, receiver and app data', async () => {
    const { verify, seen } = direct(verified);
    const estimate = estimateOf(60n);
    await Promise.all([verify(preparedOf(), estimate), verify(preparedOf(), estimate)]);
    expect(seen).toHaveLength(1);
    for (const changes of [{ from: SOLD }, { receiver: SOLD }, { appDataHash: `0x${'78'.repeat(32)}` }] as const) {
      await verify(preparedOf(changes), estimate);
    }
    await verify(preparedOf(), { ...estimate });
    expect(seen).toHaveLength(5);
  });

  it.each([
    [{ pre: [HOOK], post: [] }, 50n],
    [{ pre: [], post: [HOOK] }, 50n],
    [{ pre: [HOOK], post: [HOOK] }, 50n],
    [{ pre: [], post: [] }, 40n],
  ])('keeps the estimated gas of an order with hooks: case %#', async (hooks, gas) => {
    const { verify } = direct(verified);
    expect(await verify(preparedOf({ hooks }), estimateOf(60n))).toMatchObject({ gas, amount: 70n });
  });

  it.each([
    [{ amount: 0n, gas: 1 }],
    [{ amount: 2n ** 256n, gas: 1 }],
    [{ amount: 1n, gas: 0 }],
    [{ amount: 1n, gas: 1.5 }],
  ])('does not use the observed %o', async (observed) => {
    const { verify } = direct(async () => ({ status: 'verified', ...observed }));
    const estimate = estimateOf(60n);
    expect(await verify(preparedOf(), estimate)).toBe(estimate);
  });

  it('aborts a simulation after two seconds, and reports it', async () => {
    let signal: AbortSignal | undefined;
    const { verify, clock, failures } = direct((_, call) => {
      signal = call.signal;
      return new Promise(() => {});
    });
    const estimate = estimateOf(60n);
    const result = verify(preparedOf(), estimate);
    clock.advance(1999);
    expect(signal?.aborted).toBe(false);
    clock.advance(1);
    expect(await result).toBe(estimate);
    expect([signal?.aborted, failures.length]).toEqual([true, 1]);
  });

  it.each([
    ['the rest of its time', 800, 800],
    ['half a second more', -10, 500],
  ])('chooses the best unverified estimate after %s', async (_, rest, limit) => {
    const { choose, clock } = direct(() => new Promise(() => {}));
    let chosen: unknown;
    const done = choose(preparedOf(), [estimateOf(60n), estimateOf(61n)], COST, readMonotonic(clock) + rest).then(
      (candidate) => {
        chosen = candidate?.estimate.amount;
      },
    );
    clock.advance(limit - 1);
    for (let i = 0; i < 20; i++) await Promise.resolve();
    expect(chosen).toBeUndefined();
    clock.advance(1);
    await done;
    expect(chosen).toBe(61n);
  });

  it('chooses nothing without a usable estimate', async () => {
    const { choose, clock } = direct(verified);
    expect(await choose(preparedOf(), [], COST, readMonotonic(clock))).toBeUndefined();
    expect(await choose(preparedOf(), [estimateOf(2n ** 256n, null)], COST, readMonotonic(clock))).toBeUndefined();
  });
});

describe('quote verification', () => {
  it('passes the order, its UID and the calls of the route to the verifier', async () => {
    const { seen, request } = await open([1000n], succeed);
    expect(await request()).toMatchObject({ verified: true, quote: { gasAmount: '90000' } });
    const [quote] = seen;
    expect(quote).toMatchObject({ interactions: CALLS, hooks: { pre: [], post: [] }, order: { buyAmount: 1000n } });
    expect(quote?.uid.slice(66, 106)).toBe(quote?.owner.slice(2));
  });

  it('prefers a verified quote to a better unverified one', async () => {
    const { request } = await open([1000n, 900n], (quote) =>
      quote.order.buyAmount === 900n ? succeed(quote) : FAILED,
    );
    expect(await request({ sellAmountAfterFee: '1000', sellAmountBeforeFee: undefined } as object)).toMatchObject({
      verified: true,
      quote: { buyAmount: '900' },
    });
  });

  it('simulates the three best estimates only', async () => {
    const { seen, request } = await open(
      [1n, 5n, 3n, 4n, 2n].map((each) => each * 1000n),
      () => FAILED,
    );
    expect(await request()).toMatchObject({ verified: false });
    expect(new Set(seen.map(({ order }) => order.buyAmount))).toEqual(new Set([5000n, 4000n, 3000n]));
  });

  it('does not trust the estimator', async () => {
    const { request } = await open([1000n], () => FAILED);
    expect(await request()).toMatchObject({ verified: false });
    expect(await request({ priceQuality: 'fast' })).toMatchObject({ verified: false });
    expect(await request({ priceQuality: 'verified' })).toBe('QuoteNotVerified');
  });

  it('treats a failing verifier as unverified and reports it', async () => {
    const { failures, request } = await open([1000n], () => Promise.reject(new Error('unreachable')));
    expect(await request()).toMatchObject({ verified: false });
    expect(failures).toMatchObject([{ message: 'unreachable' }]);
  });

  it.each<[string, VerificationOutcome]>([
    ['amount', { status: 'verified', amount: 0n, gas: 1 }],
    ['gas', { status: 'verified', amount: 1n, gas: 0 }],
  ])('ignores an observed %s that is not positive', async (_, outcome) => {
    const { request } = await open([1000n], () => outcome);
    expect(await request()).toMatchObject({ verified: false, quote: { gasAmount: '100000' } });
  });

  it('ends at the deadline of the request', async () => {
    const { clock, request } = await open([1000n], () => new Promise(() => {}));
    const running = request({ timeout: 1000 });
    const end = async () => {
      clock.advance(500);
      return Promise.race([running, undefined]);
    };
    await expect.poll(end).toMatchObject({ verified: false });
  });

  it('emits an error in a stream if a verified quote is required and impossible', async () => {
    const { book } = await open([1000n], () => FAILED);
    const stream = await book.quotes.stream({ ...SELL, priceQuality: 'verified' });
    if (stream.status === 'rejected') throw stream.error;
    const events = [];
    for await (const event of stream.quotes) events.push(event);
    expect(events).toMatchObject([{ type: 'error', error: { code: 'QuoteNotVerified' } }]);
  });

  it('emits the verified quotes of a stream if a better estimate is not verified', async () => {
    const outcome = (quote: QuoteVerification) => (quote.order.buyAmount === 2000n ? FAILED : succeed(quote));
    const { book } = await open([2000n, 1000n], outcome);
    const stream = await book.quotes.stream({ ...SELL, priceQuality: 'verified' });
    if (stream.status === 'rejected') throw stream.error;
    const events = [];
    for await (const event of stream.quotes) events.push(event);
    expect(events).toMatchObject([{ type: 'quote', quote: { verified: true } }]);
  });

  it.each([
    ['after a better one that is not verified', [2000n, 1000n], [false, true]],
    ['and none without verification afterwards', [1000n, 2000n], [true]],
  ] as const)('emits a verified quote of a stream %s', async (_, amounts, verified) => {
    const outcome = (quote: QuoteVerification) => (quote.order.buyAmount === 2000n ? FAILED : succeed(quote));
    const { book } = await open(amounts, outcome);
    const stream = await book.quotes.stream(SELL);
    if (stream.status === 'rejected') throw stream.error;
    const events = [];
    for await (const event of stream.quotes) events.push(event);
    expect(events.map((event) => event.type === 'quote' && event.quote.verified)).toEqual(verified);
  });

  it('waits in a stream for a simulation of less than two seconds', async () => {
    const pending: (() => void)[] = [];
    const { book, clock } = await open([1000n], async (quote) => {
      await new Promise<void>((resolve) => pending.push(resolve));
      return succeed(quote);
    });
    const stream = await book.quotes.stream({ ...SELL, priceQuality: 'verified' });
    if (stream.status === 'rejected') throw stream.error;
    const reading = stream.quotes[Symbol.asyncIterator]().next();
    await expect.poll(() => pending.length).toBe(1);
    clock.advance(1_900);
    pending[0]?.();
    expect((await reading).value).toMatchObject({ type: 'quote', quote: { verified: true } });
  });

  it('emits a quote of a stream although the simulation of an earlier estimate is slow', async () => {
    let finish = () => {};
    const slow = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const { book, seen } = await open([2000n, 1000n], async (quote) => {
      if (quote.order.buyAmount === 2000n) await slow;
      return succeed(quote);
    });
    const stream = await book.quotes.stream(SELL);
    if (stream.status === 'rejected') throw stream.error;
    const reader = stream.quotes[Symbol.asyncIterator]();
    const reading = reader.next();
    await expect.poll(() => seen.length).toBe(2);
    const first = (await reading).value;
    finish();
    const rest = [];
    for await (const event of stream.quotes) rest.push(event);
    expect(rest).toMatchObject([{ type: 'quote', quote: { verified: true } }]);
    const bought = [first, ...rest].map((event) => event?.type === 'quote' && event.quote.quote.buyAmount);
    expect(BigInt(bought[1] || 0)).toBeGreaterThan(BigInt(bought[0] || 0));
  });

  it('stores the calls of the route as metadata', async () => {
    const { store, request } = await open([1000n], succeed);
    const quote = await request();
    if (typeof quote !== 'object') throw new Error('no quote');
    const { sellToken, buyToken } = quote.quote;
    const terms = { sellToken, buyToken, kind: 'sell', amount: String(1000n * 10n ** 18n) } as const;
    const stored = await store.quotes.match({ ...terms, quoteKind: 'standard', now: 0, id: quote.id ?? 0 });
    expect(JSON.parse(stored?.metadata ?? '')).toEqual({
      version: '1.0',
      interactions: CALLS,
      preInteractions: [],
      jitOrders: [],
    });
  });

  const JIT: JitOrder = {
    sellToken: `0x${'22'.repeat(20)}`,
    buyToken: `0x${'33'.repeat(20)}`,
    receiver: `0x${'44'.repeat(20)}`,
    sellAmount: '1',
    buyAmount: '2',
    executedAmount: '1',
    validTo: 5,
    appData: `0x${'55'.repeat(32)}`,
    side: 'sell',
    partiallyFillable: false,
    sellTokenSource: 'erc20',
    buyTokenDestination: 'erc20',
    signingScheme: 'eip712',
    signature: `0x${'66'.repeat(65)}`,
  };

  it.each<[string, object]>([
    ['an amount in hex', { sellAmount: '0x1' }],
    ['an amount above 256 bits', { executedAmount: String(2n ** 256n) }],
    ['an unknown scheme', { signingScheme: 'bls' }],
    ['a signature of 64 bytes', { signature: `0x${'66'.repeat(64)}` }],
    ['a pre-signature without an owner', { signingScheme: 'presign', signature: '0x' }],
    ['a contract signature without its contract', { signingScheme: 'eip1271', signature: '0x12' }],
    ['a signature of 10 kB', { signingScheme: 'eip1271', signature: `0x${'66'.repeat(10_000)}` }],
  ])('rejects an estimate with an order that has %s', async (_, change) => {
    const jitOrders = [{ ...JIT, ...change }];
    const { request } = await open([1000n], succeed, { interactions: [], jitOrders } as Partial<Estimate>);
    expect(await request()).toBe('NoLiquidity');
  });

  it('rejects an estimate with 17 orders, a wrong account, or calls before the transfers that are no list', async () => {
    const changes = [{ jitOrders: Array(17).fill(JIT) }, { txOrigin: '0x12' }, { preInteractions: {} }];
    for (const change of changes) {
      const { request } = await open([1000n], succeed, { interactions: [], ...change } as Partial<Estimate>);
      expect(await request()).toBe('NoLiquidity');
    }
  });

  it('charges the least gas for an unverified quote, and the observed gas for a verified one', async () => {
    const unverifiedGas = { min: 400_000 };
    for (const [outcome, gas] of [
      [FAILED, '400000'],
      [{ status: 'verified', amount: 1000n, gas: 90_000 }, '90000'],
    ] as const) {
      const { book } = await quotesFixture({
        estimators: [source('low', () => ({ amount: 1000n, gas: 1, interactions: CALLS }))],
        verifier: { verify: async () => outcome },
        unverifiedGas,
      });
      const result = await book.quotes.request(SELL);
      expect(result.status === 'quoted' && result.quote.quote.gasAmount).toBe(gas);
      await book.close();
    }
  });

  it('does not simulate an order of other tokens, which could spend those of the contract', async () => {
    const { request, seen } = await open([1000n], succeed, { interactions: [], jitOrders: [JIT] });
    expect(await request()).toMatchObject({ verified: false });
    expect(seen).toEqual([]);
  });

  it.each<[string, unknown]>([
    ['no list', {}],
    ['too many calls', Array.from({ length: 65 }, () => CALLS[0])],
    ['a wrong target', [{ ...CALLS[0], target: '0x12' }]],
    ['a value that is no text', [{ ...CALLS[0], value: 0 }]],
    ['a value above 256 bits', [{ ...CALLS[0], value: String(2n ** 256n) }]],
    ['no data', [{ ...CALLS[0], callData: undefined }]],
    ['too much data', [{ ...CALLS[0], callData: `0x${'00'.repeat(50_000)}` }]],
  ])('rejects an estimate whose calls have %s', async (_, interactions) => {
    const { request } = await open([1000n], succeed, { interactions } as Partial<Estimate>);
    expect(await request()).toBe('NoLiquidity');
  });

  it('rejects an option that is no verifier', async () => {
    await expect(quotesFixture({ estimators: [], verifier: {} as never })).rejects.toThrow(
      'createOrderBook: quotes.verifier must be an object with verify(), got an object',
    );
  });
});
