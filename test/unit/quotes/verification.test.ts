import type { Estimate, QuoteRequest, QuoteVerification, VerificationOutcome } from 'intentbook';
import { afterEach, describe, expect, it } from 'vitest';
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
      'quotes.verifier must be an object with a function verify',
    );
  });
});
