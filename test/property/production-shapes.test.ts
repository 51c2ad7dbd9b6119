import fc from 'fast-check';
import { driverEstimator, httpDriver } from 'intentbook/drivers';
import { httpEngine } from 'intentbook/solver';
import { expect, test } from 'vitest';
import type { z } from 'zod';
import { type Auction, type AuctionOrder, auctionCandidate } from '../../src/auctions/auction-order.ts';
import { solveAuction, toCompetition } from '../../src/auctions/drivers/round.ts';
import type { DriverSolution } from '../../src/auctions/drivers/solutions.ts';
import { createSolveRequests } from '../../src/auctions/drivers/solve-requests.ts';
import { renderAuction } from '../../src/auctions/render-auction.ts';
import { toProtocolFees } from '../../src/auctions/settled-auction.ts';
import { toOrderTrade } from '../../src/chain/trades.ts';
import type { StoredOrder } from '../../src/ports/store.ts';
import { type Hex, packUid } from '../../src/protocol/hex.ts';
import { createQuoteResponse } from '../../src/quotes/quote.ts';
import { prepareOrder, renderPrepared, toNewOrder } from '../../src/records/order-json.ts';
import { manualClock } from '../support/clock.ts';
import * as production from '../support/production-schemas.ts';
import { address, amount, bytes, order as orderData } from '../unit/protocol/arbitraries.ts';

const RUNS = process.env['TEST_LONG'] === undefined ? 300 : 100_000;
/** Orders of an auction, which are rendered together. */
const MAX_ORDERS = 4;
const NOW = 1_800_000_000;
const SETTLEMENT = '0x9008d19f58aabd9ed0d60971565aa8510560ab41';

const hash = bytes(32);
const factor = fc.integer({ min: 0, max: 999_999 });
const decimal = fc.record({ digits: fc.bigInt({ min: 1n, max: 10n ** 30n }), scale: fc.nat({ max: 40 }) });
const interaction = fc
  .record({ target: address, value: amount, callData: fc.uint8Array({ maxLength: 40 }) })
  .map(({ target, value, callData }) => {
    return { target, value: String(value), callData: `0x${Buffer.from(callData).toString('hex')}` as Hex };
  });
const calls = fc.array(interaction, { maxLength: 2 });
const bps = fc.integer({ min: 0, max: 12_000 });
const partnerFee = fc.oneof(
  fc.record({ volumeBps: bps, recipient: address }),
  fc.record({ surplusBps: bps, maxVolumeBps: bps, recipient: address }),
  fc.record({ priceImprovementBps: bps, maxVolumeBps: bps, recipient: address }),
);
const loan = fc.record({
  liquidityProvider: address,
  protocolAdapter: address,
  receiver: address,
  token: address,
  amount: amount.map(String),
});
const wrapper = fc.record({ address, data: hash, isOmittable: fc.boolean() }, { requiredKeys: ['address', 'data'] });
const document = fc.oneof(
  fc.constantFrom(null, '{}', '{"metadata":{"note":"\u00e9\\u2028\\"\ud83d\ude80"}}'),
  fc
    .array(partnerFee, { minLength: 1, maxLength: 6 })
    .map((fees) => JSON.stringify({ metadata: { partnerFee: fees } })),
  fc
    .record({ flashloan: loan, wrappers: fc.array(wrapper, { maxLength: 2 }) }, { requiredKeys: [] })
    .map((metadata) => JSON.stringify({ metadata })),
);
const quote = fc
  .record({
    gasAmount: fc.nat().map(String),
    gasPrice: fc.nat().map(String),
    sellTokenPrice: fc.constantFrom('0.000000000000000001', '1', '123456.75'),
    sellAmount: amount.map(String),
    buyAmount: amount.map(String),
    feeAmount: amount.map(String),
    solver: address,
    verified: fc.boolean(),
  })
  .map((body) => ({ body: JSON.stringify(body), metadata: '{"preInteractions":[]}' }));
const placement = fc
  .record({
    sender: address,
    placementError: fc.constantFrom(undefined, 'QuoteNotFound', 'ValidToTooFarInFuture', 'PreValidationError'),
    ethflow: fc.option(fc.record({ userValidTo: fc.nat(), refundTxHash: fc.option(hash) })),
  })
  .map(({ sender, placementError, ethflow }) => {
    const flow = ethflow && { ethflowData: { ...ethflow, isRefunded: ethflow.refundTxHash !== null } };
    const onchainOrderData = placementError === undefined ? { sender } : { sender, placementError };
    return JSON.stringify({ onchainUser: sender, onchainOrderData, ...flow });
  });

/** A stored order in any state: new, signed on chain, partially filled, filled, cancelled, expired, refunded. */
const row: fc.Arbitrary<StoredOrder> = fc
  .record({
    data: orderData,
    owner: address,
    digest: hash,
    signingScheme: fc.constantFrom('eip712' as const, 'ethsign' as const, 'presign' as const, 'eip1271' as const),
    signature: fc.uint8Array({ maxLength: 70 }),
    class: fc.constantFrom(undefined, undefined, 'liquidity' as const),
    pre: calls,
    post: calls,
    validFrom: fc.option(fc.nat({ max: 0xffff_ffff }), { nil: undefined }),
    state: fc.constantFrom('open' as const, 'presignaturePending' as const, 'fulfilled' as const, 'cancelled' as const),
    invalidated: fc.boolean(),
    share: fc.integer({ min: 0, max: 1000 }),
    executedFee: amount,
    executedFeeToken: fc.option(address),
    fullAppData: document,
    quote: fc.option(quote),
    placement: fc.option(placement),
  })
  .map(({ data, owner, digest, signingScheme, signature, pre, post, share, executedFee, ...rest }) => {
    const uid = packUid({ digest, owner, validTo: data.validTo });
    const signed = `0x${Buffer.from(signature).toString('hex')}` as Hex;
    const { class: orderClass, validFrom, state, invalidated, ...stored } = rest;
    const admitted = {
      uid,
      owner,
      data,
      signingScheme,
      signature: signed,
      creationDate: NOW * 1000,
      settlementContract: SETTLEMENT as Hex,
      interactions: { pre, post },
      validFrom,
      ...(orderClass && { class: orderClass }),
    };
    const part = (whole: bigint) => (whole * BigInt(share)) / 1000n;
    const signedFee = part(data.feeAmount);
    return {
      ...toNewOrder(admitted),
      ...stored,
      state,
      invalidated,
      version: 1,
      executedFee: String(executedFee),
      executedFeeAmount: String(signedFee),
      executedSellAmount: String(part(data.sellAmount) + signedFee),
      executedBuyAmount: String(part(data.buyAmount)),
    } as StoredOrder;
  });

const feeRules = fc
  .record({
    kind: fc.constantFrom('surplus' as const, 'priceImprovement' as const, 'volume' as const),
    factor,
    maxVolumeFactor: factor,
    maxPartnerFee: factor,
  })
  .map(({ maxPartnerFee, ...policy }) => ({
    protocolFees: [policy],
    maxPartnerFee,
    isSame: () => false,
    jitOrderOwners: [],
  }));

/** Parses a body as a strict client does. */
function read<T>(schema: z.ZodType<T>, body: unknown): T {
  const parsed = schema.safeParse(typeof body === 'string' ? JSON.parse(body) : body);
  if (!parsed.success) throw new Error(`${parsed.error.message}\n${JSON.stringify(body)}`);
  return parsed.data;
}

const toText = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

test(`orders in each state have the types of production (${RUNS} random orders)`, () => {
  fc.assert(
    fc.property(row, fc.constantFrom(0, NOW, 0xffff_ffff), (stored, now) => {
      const { status } = read(production.order, renderPrepared(prepareOrder(stored, true), now).json);
      expect(['presignaturePending', 'open', 'fulfilled', 'cancelled', 'expired']).toContain(status);
    }),
    { numRuns: RUNS },
  );
});

/** Creates an auction of orders, and records every request that a driver or an engine receives. */
async function sendAuction(orders: readonly AuctionOrder[], documents: ReadonlyMap<string, string>, price: string) {
  const requests = new Map<string, unknown>();
  const record: typeof fetch = async (input, init) => {
    const url = new URL(String(input));
    const body = init?.body instanceof Uint8Array ? toText(init.body) : init?.body;
    requests.set(url.pathname, body ?? Object.fromEntries(url.searchParams));
    return Response.json({ solutions: [] });
  };
  const prices = Object.fromEntries(
    orders.flatMap(({ sellToken, buyToken }) => [sellToken, buyToken].map((t) => [t, price])),
  );
  const auction: Auction = { id: NOW, block: 7, orders, prices, surplusCapturingJitOrderOwners: [] };
  const driver = httpDriver('http://driver/', { fetch: record, deltas: true });
  const settings = { drivers: [driver], solveTime: 1000, trustedTokens: [SETTLEMENT], maxSolutions: 3, maxWinners: 3 };
  const { signal } = new AbortController();
  const clock = manualClock(NOW * 1000);
  const solveRequests = createSolveRequests(clock, [SETTLEMENT]);
  const rest = {
    wrappedNative: undefined,
    signal,
    holdsLease: async () => true,
    findForbidden: async () => new Set<Hex>(),
  };
  const context = { clock, settings: settings as never, requests: solveRequests, ...rest };
  // The second auction is the difference to the first, with other orders.
  for (const part of [1, 0]) {
    await solveAuction({ ...auction, orders: orders.filter((_, i) => i % 2 === part) }, context);
  }
  requests.set('delta', requests.get('/solve'));
  solveRequests.forget();
  await solveAuction(auction, context);
  const id = { solutionId: 3, auctionId: auction.id };
  await driver.reveal?.(id, { signal });
  await driver.settle({ ...id, submissionDeadlineLatestBlock: 12 }, { signal });
  const source = { get: async (appData: string) => documents.get(appData) };
  await httpEngine('http://engine/engine/', { fetch: record, documents: source }).solve(auction, signal);
  return { auction, requests };
}

test(`auctions, competitions and trades have the types of production (${RUNS} random auctions)`, async () => {
  const rows = fc.array(row, { maxLength: MAX_ORDERS });
  await fc.assert(
    fc.asyncProperty(rows, feeRules, amount.map(String), hash, async (stored, rules, price, transactionHash) => {
      const orders = stored.flatMap((each) => auctionCandidate(each, rules)?.order ?? []);
      // Orders without a remaining amount are not in auctions.
      const open = orders.filter(({ sellAmount, buyAmount }) => sellAmount !== '0' && buyAmount !== '0');
      const documents = new Map(stored.map(({ body, fullAppData }) => [JSON.parse(body).appData, fullAppData ?? '{}']));
      const { auction, requests } = await sendAuction(open, documents, price);
      read(production.auction, toText(Buffer.concat((await renderAuction(auction)).chunks)));
      read(production.solveRequest, requests.get('/solve'));
      read(production.deltaRequest, requests.get('delta'));
      read(production.revealRequest, requests.get('/reveal'));
      read(production.settleRequest, requests.get('/settle'));
      read(production.engineRequest, requests.get('/engine/solve'));
      const executed = orders.map(({ uid, sellToken, buyToken }) => {
        return { uid, sellToken, buyToken, executedSell: 1n, executedBuy: 2n };
      });
      const solution = { driver: 'a', solutionId: 1, solver: SETTLEMENT, clearingPrices: {}, orders: executed };
      const ranked = [true, false].map((isWinner) => {
        return { solution: solution as unknown as DriverSolution, score: 5n, isWinner, filteredOut: !isWinner };
      });
      const referenceScores = new Map([[SETTLEMENT as Hex, 4n]]);
      read(production.competition, JSON.parse(JSON.stringify(toCompetition(auction, { ranked, referenceScores }, 9))));
      for (const order of orders) {
        const { uid, owner, sellToken, buyToken, sellAmount, buyAmount } = order;
        const traded = { uid, owner, sellToken, buyToken, sellAmount, buyAmount, feeAmount: '0' };
        const protocolFees = toProtocolFees(traded as never, order);
        const event = { blockNumber: 3, logIndex: 1, transactionHash, ...traded, protocolFees };
        read(production.trade, JSON.parse(JSON.stringify(toOrderTrade(event as never))));
      }
    }),
    { numRuns: Math.ceil(RUNS / MAX_ORDERS) },
  );
});

test(`quotes have the types of production (${RUNS} random quotes)`, async () => {
  const parts = fc.record({
    request: fc.record({
      sellToken: address,
      buyToken: address,
      from: address,
      receiver: fc.option(address),
      side: fc.record({ kind: fc.constantFrom('sell', 'buy') }),
      appData: fc.constantFrom(undefined, '{}', '{"metadata":{}}'),
      appDataHash: fc.option(hash, { nil: undefined }),
      sellTokenBalance: fc.constantFrom('erc20', 'external'),
      buyTokenBalance: fc.constantFrom('erc20', 'internal'),
      signing: fc.record({ scheme: fc.constantFrom('eip712', 'ethsign', 'eip1271', 'presign') }),
    }),
    validTo: fc.nat({ max: 0xffff_ffff }),
    appDataHash: hash,
    amounts: fc.record({ sellAmount: amount, buyAmount: amount }),
    fee: amount,
    gas: amount,
    verified: fc.boolean(),
    cost: fc.record({ gasPrice: decimal, sellTokenPrice: decimal }),
    volumeFee: fc.option(factor, { nil: undefined }),
    persisted: fc.option(fc.record({ id: fc.nat(), expiresAt: fc.nat() }), { nil: undefined }),
  });
  fc.assert(
    fc.property(parts, (given) => {
      read(production.quoteResponse, JSON.parse(JSON.stringify(createQuoteResponse(given as never))));
    }),
    { numRuns: RUNS },
  );
  let query: unknown;
  const estimator = driverEstimator('http://driver/', {
    fetch: async (url) => {
      query = Object.fromEntries(new URL(String(url)).searchParams);
      return Response.json({ kind: 'QuotingFailed', description: 'no route' }, { status: 400 });
    },
  });
  const trade = { sellToken: SETTLEMENT, buyToken: SETTLEMENT, kind: 'sell', amount: 5n };
  await estimator.estimate(trade as never, { signal: new AbortController().signal, timeout: 100 } as never);
  read(production.driverQuoteQuery, query);
});
