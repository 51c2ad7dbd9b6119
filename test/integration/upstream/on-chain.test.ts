import type { Hex, Order, UpstreamDifference } from 'intentbook';
import { appDataHash } from 'intentbook/sign';
import { describe, expect, test } from 'vitest';
import { blockOf, eventsIn, placementOf, SETTLEMENT_HAPPENING, TRADER, tradeOf } from '../../support/chain-events.ts';
import { scriptedChain } from '../../support/scripted-chain.ts';
import { settleData } from '../../support/settlement.ts';
import { type World, world } from './worlds.ts';

const DOCUMENT = '{"appCode":"desk"}';
const TOKENS = { sellToken: `0x${'a1'.repeat(20)}`, buyToken: `0x${'b2'.repeat(20)}` } as const;

async function postElsewhere({ other, order }: World, changes: Parameters<World['order']>[0] = {}): Promise<Order> {
  const { uid } = (await other.orders.submit((await order(changes)) as never)) as { uid: Hex };
  return (await other.orders.get(uid)) as Order;
}

/** Lets time pass until an order has the given members: reads are stored in real time. */
async function becomes({ book, pass }: World, uid: Hex, members: Partial<Order>): Promise<void> {
  const get = async () => {
    await pass(5000);
    return book.orders.get(uid);
  };
  await expect.poll(get, { timeout: 20_000 }).toMatchObject(members);
}

/** The other book reports this sum of the fees of each order. */
function reportFee({ upstream }: World, fee: string): void {
  upstream.change = (order) => ({ ...order, executedFee: fee });
}

describe('the fee of an order that is filled', () => {
  test('scenario 27: is taken from the other book when that attributes it, once, and reads end', async () => {
    const here = await world();
    const differences: UpstreamDifference[] = [];
    here.book.on('upstreamDiffered', (difference) => void differences.push(difference));
    const order = await postElsewhere(here);
    await here.book.upstream?.follow({ uids: [order.uid] });
    await here.pass(2000);
    await here.tell(here.other, 7, [tradeOf(order, BigInt(order.sellAmount), BigInt(order.buyAmount))]);
    await becomes(here, order.uid, { status: 'fulfilled', executedFee: '0' });
    reportFee(here, '1234');
    await becomes(here, order.uid, { executedFee: '1234' });
    expect(await here.log(order.uid)).toEqual(['created', 'traded']);
    await here.pass(1_500_000, 50_000);
    expect(differences.filter(({ field }) => field === 'fee')).toEqual([
      { uid: order.uid, field: 'fee', local: '0', upstream: '1234', resolution: 'upstream' },
    ]);
    const { getOrders } = here.upstream.calls;
    await here.pass(3_600_000, 100_000);
    expect(here.upstream.calls.getOrders).toBe(getOrders);
  });

  test('stays if the other book lists each trade twice', async () => {
    const here = await world();
    const { listTrades } = here.upstream;
    here.upstream.listTrades = async (of, page) => {
      const read = await listTrades(of, page);
      return read.status === 'read' ? { ...read, value: read.value.flatMap((trade) => [trade, trade]) } : read;
    };
    const order = await postElsewhere(here);
    await here.book.upstream?.follow({ uids: [order.uid] });
    await here.pass(2000);
    await here.tell(here.other, 7, [tradeOf(order, BigInt(order.sellAmount), BigInt(order.buyAmount))]);
    reportFee(here, '99');
    await becomes(here, order.uid, { status: 'fulfilled', executedFee: '99' });
    const differences: UpstreamDifference[] = [];
    here.book.on('upstreamDiffered', (difference) => void differences.push(difference));
    await here.pass(1_500_000, 50_000); // the trades are compared again
    expect(differences).toEqual([]);
    expect(await here.book.orders.get(order.uid)).toMatchObject({ executedFee: '99' });
  });

  test('in two parts is the sum that the other book reports, not more', async () => {
    const here = await world();
    const order = await postElsewhere(here, { partiallyFillable: true, sellAmount: '1000', buyAmount: '500' });
    await here.book.upstream?.follow({ uids: [order.uid] });
    await here.pass(2000);
    await here.tell(here.other, 7, [tradeOf(order, 400n, 200n)]);
    reportFee(here, '10');
    await becomes(here, order.uid, { executedSellAmount: '400', executedFee: '10' });
    await here.tell(here.other, 8, [tradeOf(order, 600n, 300n)]);
    reportFee(here, '25');
    await becomes(here, order.uid, { executedSellAmount: '1000', executedFee: '25' });
  });

  test('is kept when the trades of the owner are read again', async () => {
    const here = await world();
    const order = await postElsewhere(here);
    await here.tell(here.other, 7, [tradeOf(order, BigInt(order.sellAmount), BigInt(order.buyAmount))]);
    reportFee(here, '99');
    await here.book.upstream?.follow({ owners: [here.alice.address] });
    await becomes(here, order.uid, { status: 'fulfilled', executedFee: '99' });
    // The import begins again, and the list of trades has no fees.
    await here.book.upstream?.unfollow({ owners: [here.alice.address] });
    const { listTrades } = here.upstream.calls;
    await here.book.upstream?.follow({ owners: [here.alice.address] });
    await here.pass(30_000, 5000);
    expect(here.upstream.calls.listTrades).toBeGreaterThan(listTrades);
    expect(await here.book.orders.get(order.uid)).toMatchObject({ executedFee: '99' });
  });

  test('that was imported is the sum that the other book reports', async () => {
    const here = await world();
    const order = await postElsewhere(here);
    await here.tell(here.other, 7, [tradeOf(order, BigInt(order.sellAmount), BigInt(order.buyAmount))]);
    reportFee(here, '99');
    await here.book.upstream?.follow({ owners: [here.alice.address] });
    await becomes(here, order.uid, { status: 'fulfilled', executedFee: '99' });
  });
});

describe('a settlement of orders of the other book', () => {
  const PRICES = { [TOKENS.sellToken]: 1n, [TOKENS.buyToken]: 1n };
  const TRANSACTION = `0x${'5e'.repeat(32)}` as Hex;

  /** Applies a settlement with its calldata to the book. */
  async function settleHere({ book }: World, orders: readonly Order[]): Promise<void> {
    const through = blockOf(5);
    const fills = orders.map((order) => ({ order, executed: BigInt(order.sellAmount) }));
    const trades = fills.map(({ order, executed }) => tradeOf(order, executed, executed, TRANSACTION));
    const events = eventsIn(through, [...trades, { ...SETTLEMENT_HAPPENING, transactionHash: TRANSACTION }]);
    await book.chain.apply({ events, through, settleCalls: new Map([[TRANSACTION, [settleData(fills, PRICES)]]]) });
  }

  test('stores no order that is traded beside a followed one, because it is not a just-in-time order', async () => {
    const here = await world();
    const [mine, foreign] = [await postElsewhere(here, TOKENS), await postElsewhere(here, TOKENS)];
    await here.book.upstream?.follow({ uids: [mine.uid] });
    await becomes(here, mine.uid, { status: 'open' });
    await settleHere(here, [mine, foreign]);
    expect(await here.status(mine.uid)).toBe('fulfilled');
    expect(await here.status(foreign.uid)).toBeUndefined();
  });

  test('begins to follow the orders whose app data is followed, each with its trade', async () => {
    const here = await world();
    const order = await postElsewhere(here, { ...TOKENS, appData: DOCUMENT });
    const foreign = await postElsewhere(here, TOKENS);
    await here.book.upstream?.follow({ appData: [appDataHash(DOCUMENT)] });
    await settleHere(here, [foreign, order]);
    await becomes(here, order.uid, { status: 'fulfilled', appData: order.appData });
    expect(await here.status(foreign.uid)).toBeUndefined();
    expect(await here.log(order.uid)).toEqual(['created', 'traded']);
    await here.book.upstream?.unfollow({ appData: [order.appData] });
    await expect(here.book.upstream?.follow({ appData: ['0x12'] })).rejects.toMatchObject({ code: 'InvalidParameter' });
  });
});

describe('an order that is placed on chain', () => {
  test('is in the list of the account that has placed it, with the validity that the account chose', async () => {
    const here = await world();
    await here.tell(here.other, 1, [placementOf(TOKENS, { userValidTo: Math.floor(here.clock.now() / 1000) + 5000 })]);
    await here.book.upstream?.follow({ owners: [TRADER] });
    const list = async () => {
      await here.pass(5000);
      return (await here.book.orders.list({ owner: TRADER, limit: 10 })).orders;
    };
    await expect.poll(list, { timeout: 20_000 }).toMatchObject([
      {
        status: 'open',
        onchainUser: TRADER,
        onchainOrderData: { sender: TRADER },
        ethflowData: { isRefunded: false },
      },
    ]);
  });

  test('scenario 30: with a placement error keeps it, and is in no auction', async () => {
    const here = await world();
    await here.tell(here.other, 1, [placementOf(TOKENS, { userValidTo: Math.floor(here.clock.now() / 1000) + 5000 })]);
    here.upstream.change = (order) => ({
      ...order,
      onchainOrderData: { sender: TRADER, placementError: 'QuoteNotFound' },
    });
    await here.book.upstream?.follow({ owners: [TRADER] });
    const list = async () => {
      await here.pass(5000);
      return (await here.book.orders.list({ owner: TRADER, limit: 10 })).orders;
    };
    await expect
      .poll(list, { timeout: 20_000 })
      .toMatchObject([{ onchainOrderData: { sender: TRADER, placementError: 'QuoteNotFound' } }]);
    expect((await here.book.auctions.current()).orders).toEqual([]);
  });

  test('scenario 29: whose placement was reorganised away is not open here, with the chain as the cause', async () => {
    const chain = scriptedChain();
    const { address: contract } = placementOf(TOKENS) as { address: string };
    const here = await world({
      indexer: { sources: [chain.node('node')], fromBlock: 101, onchainOrderContracts: [contract] },
    });
    const differences: UpstreamDifference[] = [];
    here.book.on('upstreamDiffered', (difference) => void differences.push(difference));
    await here.pass(5000);
    await here.book.upstream?.follow({ owners: [TRADER] });
    await here.pass(5000);
    const placement = placementOf(TOKENS, { userValidTo: Math.floor(here.clock.now() / 1000) + 50_000 });
    const timestamp = Math.floor(here.clock.now() / 1000);
    chain.mine([{ ...placement, timestamp }]);
    await here.tell(here.other, 1, [{ ...placement, timestamp }]);
    const count = async () => {
      await here.pass(5000);
      return (await here.book.orders.list({ owner: TRADER, limit: 10 })).orders.length;
    };
    await expect.poll(count, { timeout: 20_000 }).toBe(1);
    chain.reorganise(1, [], []);
    await expect.poll(count, { timeout: 20_000 }).toBe(0);
    await here.book.upstream?.refresh(TRADER);
    await here.pass(620_000, 20_000);
    expect(await count()).toBe(0);
    const { orders } = await here.other.orders.list({ owner: TRADER, limit: 10 });
    expect(differences).toContainEqual({
      uid: orders[0]?.uid,
      field: 'missing',
      local: 'not placed on chain',
      upstream: 'open',
      resolution: 'chain',
    });
  });
});
