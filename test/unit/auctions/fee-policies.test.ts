import fc from 'fast-check';
import type { Auction, FeePolicyOption, OrderBook } from 'intentbook';
import { createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { afterEach, describe, expect, test } from 'vitest';
import type { UpcomingFees } from '../../../src/auctions/auction-options.ts';
import { parseAuctionOptions } from '../../../src/auctions/auction-options.ts';
import type { FeeSubject } from '../../../src/auctions/fee-policies.ts';
import { createFeeSchedule, getFeePolicies, isWithinQuote } from '../../../src/auctions/fee-policies.ts';
import type { Address } from '../../../src/protocol/hex.ts';
import type { PartnerFee } from '../../../src/protocol/metadata.ts';
import type { WireFeePolicy } from '../../../src/protocol/protocol-fees.ts';
import { computeProtocolFees } from '../../../src/protocol/protocol-fees.ts';
import { manualClock } from '../../support/clock.ts';
import type { OrderChoice } from '../../support/orders.ts';
import { account, COW, SEPOLIA, signOrder, WETH } from '../../support/orders.ts';
import { expectedFees, feeCase } from '../../support/protocol-fees.ts';
import { add, divide, floor, least, multiply, rational, subtract } from '../../support/rational.ts';

const CASES = process.env['TEST_LONG'] === undefined ? 1000 : 100_000;
const MILLION = 1_000_000n;
const RECIPIENT = '0x00000000000000000000000000000000000000f1';
const OWNER: Address = '0x00000000000000000000000000000000000000f3';
const SOLVER: Address = '0x00000000000000000000000000000000000000f2';
const NO_SOLVER = `0x${'0'.repeat(40)}`;
const NONE = { protocolFees: [], maxPartnerFee: 10_000, isSame: () => false, jitOrderOwners: [] };

/** Returns pseudo-random integers below a bound, the same in each run. */
function createRandom(seed: number) {
  let state = seed;
  return (bound: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * bound);
  };
}

const subject = (change: Partial<FeeSubject> = {}): FeeSubject => ({
  kind: 'sell',
  sellToken: WETH.toLowerCase(),
  buyToken: COW.toLowerCase(),
  sellAmount: '1000',
  buyAmount: '400',
  quote: { sellAmount: '1000', buyAmount: '444', fee: '0', solver: SOLVER },
  partnerFees: [],
  owner: OWNER,
  ...change,
});

/** Returns the share of the volume that a policy may take, in parts per million. */
function shareOf(policy: WireFeePolicy): bigint {
  const [{ factor, maxVolumeFactor }] = Object.values(policy) as [{ factor: number; maxVolumeFactor?: number }];
  return BigInt(Math.round((maxVolumeFactor ?? factor) * 1_000_000));
}

/** Returns the largest factors of partner fees by exact fractions: each at most what the sum of the former leaves. */
function expectedFactors(requested: readonly bigint[], maximum: number): number[] {
  const one = rational(1n);
  const cap = rational(BigInt(maximum), MILLION);
  let sum = rational(0n);
  return requested.map((bps) => {
    const value = rational(bps, 10_000n);
    const rest = subtract(divide(add(one, cap), add(one, sum)), one);
    sum = add(sum, least(value, subtract(cap, sum)));
    return Number(floor(multiply(least(value, rest), rational(MILLION)))) / 1_000_000;
  });
}

const partnerFees = fc.array(
  fc.record({
    kind: fc.constantFrom<PartnerFee['kind']>('volume', 'surplus', 'priceImprovement'),
    bps: fc.integer({ min: 0, max: 12_000 }),
    maxVolumeBps: fc.oneof(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 12_000 })),
    recipient: fc.constant<Address>(RECIPIENT),
  }),
  { minLength: 3, maxLength: 6 },
);

/** Returns the share of the volume that a partner asks for. */
const requestedBps = (fee: PartnerFee) => BigInt(fee.kind === 'volume' ? fee.bps : fee.maxVolumeBps);

describe('partner fees', () => {
  test.each<[readonly number[], number, readonly number[]]>([
    [[50, 30, 40], 10_000, [0.005, 0.003, 0.001984]],
    [[100, 50], 10_000, [0.01, 0]],
    [[1000, 2000, 1500], 300_000, [0.1, 0.181818, 0]],
    [[1000, 2000], 0, [0, 0]],
    [[0], 300_000, [0]],
  ])('%j basis points under %d parts per million are %j', (requested, maxPartnerFee, factors) => {
    const fees = requested.map((bps): PartnerFee => ({ kind: 'volume', bps, recipient: RECIPIENT }));
    expect(getFeePolicies(subject({ partnerFees: fees }), { ...NONE, maxPartnerFee })).toEqual(
      factors.map((factor) => ({ volume: { factor } })),
    );
  });

  test(`add up to the maximum, and each stays an entry (${CASES} random cases)`, () => {
    fc.assert(
      fc.property(partnerFees, fc.integer({ min: 0, max: 999_999 }), (fees, maxPartnerFee) => {
        const given = fees as readonly PartnerFee[];
        const policies = getFeePolicies(subject({ partnerFees: given }), { ...NONE, maxPartnerFee });
        const factors = policies.map((policy) => Number(shareOf(policy)) / 1_000_000);
        expect(factors).toEqual(expectedFactors(given.map(requestedBps), maxPartnerFee));
        expect(policies.map((policy) => Object.keys(policy)[0])).toEqual(given.map(({ kind }) => kind));
      }),
      { numRuns: CASES },
    );
  });

  const ppm = fc.integer({ min: 0, max: 999_999 });
  const operatorFee = fc.record({ factor: ppm, bucket: fc.option(ppm, { nil: undefined }) });

  test(`have the exact amounts, behind a volume fee with buckets and upcoming rates (${CASES} random cases)`, () => {
    const FROM = 1000;
    const pair = [WETH.toLowerCase(), COW.toLowerCase()];
    const toPolicy = ({ factor, bucket }: { factor: number; bucket: number | undefined }): FeePolicyOption => {
      const buckets = bucket === undefined ? [] : [{ tokens: pair, factor: bucket }];
      return { kind: 'volume', factor, buckets };
    };
    fc.assert(
      fc.property(
        fc.record({
          fees: feeCase,
          partnerFees,
          now: operatorFee,
          later: operatorFee,
          isLater: fc.boolean(),
          cap: ppm,
        }),
        ({ fees: { trade }, partnerFees: given, now, later, isLater, cap }) => {
          const upcomingFees = { from: FROM, protocolFees: [toPolicy(later)] };
          const options = { protocolFees: [toPolicy(now)], maxPartnerFee: cap, upcomingFees };
          const rules = createFeeSchedule(parseAuctionOptions(options), {} as never)(isLater ? FROM : FROM - 1);
          const order = subject({
            kind: trade.kind,
            sellAmount: String(trade.sellAmount),
            buyAmount: String(trade.buyAmount),
            partnerFees: given as readonly PartnerFee[],
          });
          const policies = getFeePolicies(order, rules);
          const operator = isLater ? later : now;
          expect(policies[0]).toEqual({ volume: { factor: (operator.bucket ?? operator.factor) / 1_000_000 } });
          expect(policies).toHaveLength(1 + given.length);
          expect(computeProtocolFees(trade, policies)).toEqual(expectedFees(trade, policies));
        },
      ),
      { numRuns: CASES },
    );
  });

  test('have the form of the protocol; a factor of surplus is below one', () => {
    const partnerFees: PartnerFee[] = [
      { kind: 'volume', bps: 2, recipient: RECIPIENT },
      { kind: 'surplus', bps: 10_000, maxVolumeBps: 3, recipient: RECIPIENT },
      { kind: 'priceImprovement', bps: 5000, maxVolumeBps: 300, recipient: RECIPIENT },
    ];
    expect(getFeePolicies(subject({ partnerFees }), { ...NONE, maxPartnerFee: 100_000 })).toEqual([
      { volume: { factor: 0.0002 } },
      { surplus: { factor: 0.9999, maxVolumeFactor: 0.0003 } },
      {
        priceImprovement: {
          factor: 0.5,
          maxVolumeFactor: 0.03,
          quote: { sellAmount: '1000', buyAmount: '444', fee: '0', solver: SOLVER },
        },
      },
    ]);
  });
});

describe('policies of the operator', () => {
  const volume: FeePolicyOption = { kind: 'volume', factor: 200 };
  const inMarket: FeePolicyOption = { kind: 'surplus', factor: 500_000, maxVolumeFactor: 9800, orders: 'inMarket' };
  const outOfMarket: FeePolicyOption = { ...inMarket, kind: 'priceImprovement', orders: 'outOfMarket' };
  const kinds = (order: FeeSubject, protocolFees: readonly FeePolicyOption[]) =>
    getFeePolicies(order, { ...NONE, protocolFees }).map((policy) => Object.keys(policy)[0]);

  test('apply to orders in the market, outside of it, or to both, before partner fees', () => {
    const all = [volume, inMarket, outOfMarket];
    expect(kinds(subject(), all)).toEqual(['volume', 'surplus']);
    expect(kinds(subject({ buyAmount: '445' }), all)).toEqual(['volume', 'priceImprovement']);
    const partnerFees: PartnerFee[] = [{ kind: 'surplus', bps: 1, maxVolumeBps: 1, recipient: RECIPIENT }];
    expect(kinds(subject({ partnerFees }), [volume])).toEqual(['volume', 'surplus']);
  });

  test('have other factors for the pairs of a bucket, and no volume fee for equal tokens', () => {
    const buckets = [{ tokens: [WETH.toLowerCase(), COW.toLowerCase()], factor: 30 }];
    const rules = { ...NONE, protocolFees: [{ ...volume, buckets }] };
    expect(getFeePolicies(subject(), rules)).toEqual([{ volume: { factor: 0.00003 } }]);
    expect(getFeePolicies(subject({ buyToken: RECIPIENT }), rules)).toEqual([{ volume: { factor: 0.0002 } }]);
    expect(getFeePolicies(subject(), { ...rules, isSame: () => true })).toEqual([]);
    const charged = { ...rules, protocolFees: [{ ...volume, equalTokens: true }], isSame: () => true };
    expect(getFeePolicies(subject(), charged)).toEqual([{ volume: { factor: 0.0002 } }]);
  });

  test(`an order is in the market exactly if its quote covers it (${CASES} random cases)`, () => {
    const random = createRandom(2);
    const amount = () => BigInt(1 + random(1_000_000)) * 10n ** BigInt(random(20)) + BigInt(random(1000));
    for (let i = 0; i < CASES; i++) {
      const [quoteSell, quoteBuy] = [amount(), amount()];
      const fee = (quoteSell * BigInt(random(100))) / 120n;
      const quote = { sellAmount: String(quoteSell), buyAmount: String(quoteBuy), fee: String(fee), solver: SOLVER };
      const size = amount();
      const rest = quoteBuy - (fee * quoteBuy) / quoteSell;
      // The last buy amount of a sale, and the first sell amount of a purchase, that the quote covers.
      const last = (size * rest) / quoteSell;
      const sale = (buyAmount: bigint) => subject({ quote, sellAmount: String(size), buyAmount: String(buyAmount) });
      if (last > 0n) expect([isWithinQuote(sale(last)), isWithinQuote(sale(last + 1n))]).toEqual([true, false]);
      const cost = (quoteSell + fee) * size;
      const first = (cost + quoteBuy - 1n) / quoteBuy;
      const purchase = (sellAmount: bigint) =>
        subject({ kind: 'buy', quote, sellAmount: String(sellAmount), buyAmount: String(size) });
      expect([isWithinQuote(purchase(first)), isWithinQuote(purchase(first - 1n))]).toEqual([true, false]);
    }
  });

  test('an order without a quote is outside of the market', () => {
    expect(isWithinQuote(subject({ quote: { sellAmount: '1000', buyAmount: '0', fee: '0', solver: SOLVER } }))).toBe(
      false,
    );
  });

  test.each<[object, string]>([
    [{ protocolFees: [{ kind: 'volume', factor: 1_000_000 }] }, 'protocolFees.0.factor must be an integer from 0 to'],
    [{ protocolFees: [{ kind: 'flat', factor: 1 }] }, 'protocolFees.0.kind must be one of volume'],
    [{ protocolFees: [{ kind: 'surplus', factor: 1 }] }, 'protocolFees.0.maxVolumeFactor must be'],
    [{ protocolFees: [{ kind: 'volume', factor: 1, orders: 'all' }] }, 'protocolFees.0.orders must be one of any'],
    [{ protocolFees: [{ kind: 'volume', factor: 1, bucket: [] }] }, 'unknown option "bucket", did you mean "buckets"?'],
    [{ protocolFees: [{ kind: 'surplus', factor: 1, maxVolume: 1 }] }, 'unknown option "maxVolume"'],
    [{ protocolFees: [{ kind: 'volume', factor: 1, equalTokens: 1 }] }, 'protocolFees.0.equalTokens must be a boolean'],
    [{ protocolFees: { kind: 'volume', factor: 1 } }, 'protocolFees must be a list of policies'],
    [{ upcomingFees: { from: 1, protocolFee: [] } }, 'unknown option "protocolFee", did you mean "protocolFees"?'],
    [{ maxPartnerFee: -1 }, 'maxPartnerFee must be an integer from 0 to'],
    [{ minValidity: 1.5 }, 'minValidity must be an integer from 0 up'],
    [{ upcomingFees: { protocolFees: [] } }, 'upcomingFees.from must be an integer from 0 up, got undefined'],
    [
      { upcomingFees: { from: 1, protocolFees: [{ kind: 'volume', factor: -1 }] } },
      'upcomingFees.protocolFees.0.factor must be an integer',
    ],
    [{ upcomingFees: { from: 1, protocolFees: [], maxPartnerFee: 0.5 } }, 'upcomingFees.maxPartnerFee must be'],
  ])('rejects %j', (auctions, message) => {
    expect(() => createOrderBook({ chainId: SEPOLIA, store: memoryStore(), auctions })).toThrow(message);
  });
});

describe('auction', () => {
  let book: OrderBook;
  afterEach(() => book.close());

  async function feesIn(protocolFees: readonly FeePolicyOption[], choice: OrderChoice): Promise<unknown> {
    const clock = manualClock();
    book = createOrderBook({ chainId: SEPOLIA, clock, store: memoryStore(), auctions: { protocolFees } });
    await book.start();
    const validTo = Math.floor(clock.now() / 1000) + 600;
    await book.orders.submit(await signOrder(account(1), { validTo, ...choice }));
    const { orders }: Auction = await book.auctions.current();
    return orders.map((order) => order.protocolFees);
  }

  test('shows the policies of each order, and those of the partner in its app data', async () => {
    const partnerFee = { bps: 150, recipient: RECIPIENT };
    const appData = JSON.stringify({ metadata: { partnerFee } });
    const protocolFees: FeePolicyOption[] = [
      { kind: 'priceImprovement', factor: 500_000, maxVolumeFactor: 9800, orders: 'outOfMarket' },
    ];
    expect(await feesIn(protocolFees, { appData, sellAmount: '1000' })).toEqual([
      [
        {
          priceImprovement: {
            factor: 0.5,
            maxVolumeFactor: 0.0098,
            quote: { sellAmount: '1000', buyAmount: '0', fee: '0', solver: NO_SOLVER },
          },
        },
        { volume: { factor: 0.01 } },
      ],
    ]);
  });

  test('shows no policies of an order without any', async () => {
    expect(await feesIn([], {})).toEqual([[]]);
  });

  test('has the partner fee of the fees before if that of the upcoming fees is undefined', () => {
    const given = { from: 1, protocolFees: [], maxPartnerFee: undefined };
    const upcomingFees = given as unknown as UpcomingFees; // as from JavaScript
    expect(parseAuctionOptions({ maxPartnerFee: 7, upcomingFees }).upcomingFees).toMatchObject({ maxPartnerFee: 7 });
  });

  test('has other fees from the time of the upcoming fees on, without a change of the book', async () => {
    const clock = manualClock();
    const now = Math.floor(clock.now() / 1000);
    book = createOrderBook({
      chainId: SEPOLIA,
      clock,
      store: memoryStore(),
      auctions: {
        protocolFees: [{ kind: 'volume', factor: 200 }],
        maxPartnerFee: 5000,
        upcomingFees: { from: now + 60, protocolFees: [{ kind: 'surplus', factor: 300_000, maxVolumeFactor: 100 }] },
      },
    });
    await book.start();
    const appData = JSON.stringify({ metadata: { partnerFee: { bps: 150, recipient: RECIPIENT } } });
    await book.orders.submit(await signOrder(account(1), { validTo: now + 600, appData }));
    const partner = { volume: { factor: 0.005 } };
    const getFees = async () => (await book.auctions.current()).orders.map(({ protocolFees }) => protocolFees);
    expect(await getFees()).toEqual([[{ volume: { factor: 0.0002 } }, partner]]);
    await clock.advance(59_000);
    expect(await getFees()).toEqual([[{ volume: { factor: 0.0002 } }, partner]]);
    await clock.advance(12_000);
    expect(await getFees()).toEqual([[{ surplus: { factor: 0.3, maxVolumeFactor: 0.0001 } }, partner]]);
  });
});
