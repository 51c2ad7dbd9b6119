import fc from 'fast-check';
import type { OrderBook, Store } from 'intentbook';
import { createApi, createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { afterEach, describe, expect, test } from 'vitest';
import type { AuctionOptions } from '../../../src/auctions/auction-options.ts';
import { computeProtocolFees } from '../../../src/protocol/protocol-fees.ts';
import { directFixture } from '../../integration/http/http-fixture.ts';
import { blockOf, eventsIn, hashOf, SETTLEMENT_HAPPENING, tradeOf } from '../../support/chain-events.ts';
import { manualClock } from '../../support/clock.ts';
import { wonBy } from '../../support/competitions.ts';
import { account, SEPOLIA, signOrder } from '../../support/orders.ts';
import { expectedFees, feeCase } from '../../support/protocol-fees.ts';
import { settleData } from '../../support/settlement.ts';

const CASES = 2000;
const sale = { kind: 'sell', sellAmount: 1000n, buyAmount: 400n, sold: 1000n, bought: 600n } as const;
const purchase = { kind: 'buy', sellAmount: 1000n, buyAmount: 400n, sold: 700n, bought: 400n } as const;
const volume = (factor: number) => ({ volume: { factor } });
const surplus = (factor: number, maxVolumeFactor: number) => ({ surplus: { factor, maxVolumeFactor } });
const improvement = (sellAmount: string, buyAmount: string, fee: string) => ({
  priceImprovement: { factor: 0.5, maxVolumeFactor: 0.9, quote: { sellAmount, buyAmount, fee } },
});

describe('protocol fees of a trade', () => {
  test.each([
    // 600 are left of 606 after 1 %.
    ['volume of a sale', sale, [volume(0.01)], [6n]],
    // 700 are 693 and 1 %.
    ['volume of a purchase', purchase, [volume(0.01)], [6n]],
    // The user keeps 200 of a surplus of 400.
    ['surplus of a sale', sale, [surplus(0.5, 0.9)], [200n]],
    ['surplus of a purchase', purchase, [surplus(0.5, 0.9)], [300n]],
    ['surplus, limited by the volume', sale, [surplus(0.5, 0.01)], [6n]],
    // The quote buys 500 less 50 for its fee, so the improvement is 150.
    ['price improvement of a sale', sale, [improvement('1000', '500', '100')], [150n]],
    ['price improvement of a purchase', purchase, [improvement('800', '400', '50')], [150n]],
    ['price improvement over a quote below the limit', sale, [improvement('1000', '300', '0')], [200n]],
    ['price improvement without a quote', sale, [improvement('1000', '0', '0')], [200n]],
    ['price improvement over a better quote', sale, [improvement('1000', '700', '0')], [0n]],
    // The second takes 6 of 606; the first one 100 of 706 - 606 … 606 / (1 - 0.1) = 673.
    ['two policies, the last removed first', sale, [volume(0.1), volume(0.01)], [67n, 6n]],
    ['no policy', sale, [], []],
  ] as const)('%s', (_name, trade, policies, fees) => {
    expect(computeProtocolFees(trade, policies)).toEqual(fees);
    expect(expectedFees(trade, policies)).toEqual(fees);
  });

  test(`equal those in exact fractions (${CASES} random cases)`, () => {
    let charged = 0;
    fc.assert(
      fc.property(feeCase, ({ trade, policies }) => {
        const fees = computeProtocolFees(trade, policies);
        if (fees.some((fee) => fee > 0n)) charged++;
        expect(fees).toEqual(expectedFees(trade, policies));
      }),
      { numRuns: CASES },
    );
    expect(charged).toBeGreaterThan(CASES / 2);
  });
});

describe('executedProtocolFees', () => {
  let book: OrderBook;
  afterEach(() => book.close());
  const clock = manualClock();

  async function open(store: Store, auctions: AuctionOptions): Promise<void> {
    book = createOrderBook({ chainId: SEPOLIA, clock, store, auctions });
    await book.start();
  }

  async function submit(changes: object = {}) {
    const terms = { sellAmount: '1000', buyAmount: '400', validTo: Math.floor(clock.now() / 1000) + 600 };
    const result = await book.orders.submit(await signOrder(account(1), { ...terms, ...changes }));
    const order = result.status === 'accepted' ? await book.orders.get(result.uid) : undefined;
    if (order === undefined) throw new Error('the order was not accepted');
    return order;
  }

  async function settle(order: Awaited<ReturnType<typeof submit>>, auctionId: number) {
    const transactionHash = hashOf('a settlement');
    const data = settleData([{ order }], { [order.sellToken]: 60n, [order.buyToken]: 100n }, auctionId);
    const through = blockOf(8);
    const happenings = [tradeOf(order, 1000n, 600n, transactionHash), { ...SETTLEMENT_HAPPENING, transactionHash }];
    const settleCalls = new Map([[transactionHash, [data]]]);
    await book.chain.apply({ events: eventsIn(through, happenings), through, settleCalls });
  }

  const appData = JSON.stringify({ metadata: { partnerFee: { volumeBps: 100, recipient: account(2).address } } });

  test('are those of the operator and of the partner, in both versions of the trades', async () => {
    await open(memoryStore(), { protocolFees: [{ kind: 'surplus', factor: 500_000, maxVolumeFactor: 900_000 }] });
    const order = await submit({ appData });
    const { id, orders } = await book.auctions.current();
    await book.auctions.record(wonBy([{ order, sold: 1000n, bought: 600n }], id));
    await settle(order, id);
    const fees = [
      { policy: orders[0]?.protocolFees[0], amount: '206', token: order.buyToken },
      { policy: { volume: { factor: 0.01 } }, amount: '6', token: order.buyToken },
    ];
    const http = directFixture(createApi(book), () => 0);
    for (const version of ['v1', 'v2']) {
      const response = await http.send('GET', `/api/${version}/trades?orderUid=${order.uid}`);
      expect(response.json()).toMatchObject([{ executedProtocolFees: fees }]);
    }
  });

  test('follow the policies of the auction, not those at the time of the settlement', async () => {
    const store = memoryStore();
    await open(store, { protocolFees: [{ kind: 'volume', factor: 10_000 }] });
    const order = await submit();
    const { id } = await book.auctions.current();
    await book.auctions.record(wonBy([{ order, sold: 1000n, bought: 600n }], id));
    await book.close();
    await open(store, { protocolFees: [] });
    await settle(order, id);
    expect((await book.trades.list({ orderUid: order.uid }))[0]?.executedProtocolFees).toEqual([
      { policy: { volume: { factor: 0.01 } }, amount: '6', token: order.buyToken },
    ]);
  });

  test('are empty for an order that was not in the auction, and for an unknown auction', async () => {
    await open(memoryStore(), { protocolFees: [{ kind: 'volume', factor: 10_000 }] });
    const [order, other] = [await submit(), await submit({ sellAmount: '2000' })];
    const { id: auctionId } = await book.auctions.current();
    const auction = { orders: [other.uid], prices: {} };
    await book.auctions.record(wonBy([{ order, sold: 1000n, bought: 600n }], auctionId, { auction }));
    const read = async () =>
      (await book.trades.list({ orderUid: order.uid })).map((trade) => trade.executedProtocolFees);
    await settle(order, auctionId);
    expect(await read()).toEqual([[]]);
    await book.chain.rollback(7);
    await settle(order, 77);
    expect(await read()).toEqual([[]]);
  });
});
