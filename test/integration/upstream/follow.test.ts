import type { Hex, Order } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { describe, expect, test } from 'vitest';
import { tradeOf } from '../../support/chain-events.ts';
import { SEPOLIA, signOrder } from '../../support/orders.ts';
import { findElsewhere, postElsewhere, untilCurrent, world } from './worlds.ts';

const fill = (order: Order) => tradeOf(order, BigInt(order.sellAmount), BigInt(order.buyAmount));

describe('a followed order', () => {
  test('is stored with its terms, and cancelled when it is cancelled in the other book', async () => {
    const here = await world();
    const [uid = '0x'] = await postElsewhere(here, 1);
    await here.book.upstream?.follow({ uids: [uid] });
    await here.pass(2000);
    const { creationDate } = await findElsewhere(here, uid);
    expect(await here.book.orders.get(uid)).toMatchObject({ status: 'open', creationDate });
    await here.other.orders.cancel(await here.cancellation([uid]));
    await here.pass(60_000);
    expect(await here.status(uid)).toBe('cancelled');
    expect(await here.log(uid)).toEqual(['created', 'cancelled']);
  });

  test('scenario 5: that a read has shown as cancelled stays so while a replica shows it as open', async () => {
    const here = await world();
    const [uid = '0x'] = await postElsewhere(here, 1);
    await here.book.upstream?.follow({ uids: [uid] });
    await here.pass(2000);
    await here.other.orders.cancel(await here.cancellation([uid]));
    await here.pass(60_000);
    expect(await here.status(uid)).toBe('cancelled');
    here.upstream.change = (order) => ({ ...order, status: 'open', invalidated: false });
    await here.pass(150_000, 5000);
    expect(await here.log(uid)).toEqual(['created', 'cancelled']);
    here.upstream.change = (order) => order;
    await here.pass(600_000, 5000);
    expect(await here.log(uid)).toEqual(['created', 'cancelled']);
  });

  test('scenario 6: that is cancelled off chain and then filled is filled, each reported once', async () => {
    const here = await world();
    const [uid = '0x'] = await postElsewhere(here, 1);
    await here.book.upstream?.follow({ uids: [uid] });
    await here.pass(2000);
    const order = await findElsewhere(here, uid);
    await here.other.orders.cancel(await here.cancellation([uid]));
    await here.pass(60_000);
    await here.tell(here.book, 1, [fill(order)]);
    await here.tell(here.other, 1, [fill(order)]);
    await here.pass(300_000, 10_000);
    expect(await here.status(uid)).toBe('fulfilled');
    expect(await here.log(uid)).toEqual(['created', 'cancelled', 'traded']);
  });

  test('scenario 24: whose fill is reorganised away is open, also if a read is older', async () => {
    const here = await world();
    const [uid = '0x'] = await postElsewhere(here, 1);
    await here.book.upstream?.follow({ uids: [uid] });
    await here.pass(2000);
    const order = await findElsewhere(here, uid);
    for (const each of [here.book, here.other]) await here.tell(each, 1, [fill(order)]);
    expect(await here.status(uid)).toBe('fulfilled');
    // The read begins while the fill is there, and ends after it was reverted. The trades are as old.
    const trades = await here.upstream.listTrades({ uid }, { offset: 0, limit: 10 });
    here.upstream.listTrades = async () => trades;
    here.upstream.onRead = async () => {
      here.upstream.onRead = async () => {};
      for (const each of [here.book, here.other]) await each.chain.rollback(0);
    };
    await here.book.upstream?.refresh(uid);
    await here.pass(2000);
    expect(await here.status(uid)).toBe('open');
    expect(await here.log(uid)).toEqual(['created', 'traded', 'reverted']);
  });

  test('scenario 25: that is filled at its end is not called expired before the grace has passed', async () => {
    const here = await world();
    const validTo = Math.floor(here.clock.now() / 1000) + 100;
    const result = await here.book.orders.submit((await here.order({ validTo })) as never);
    const { uid } = result as { uid: Hex };
    await here.pass(130_000, 10_000);
    expect(await here.log(uid)).toEqual(['created']);
    await here.tell(here.book, 1, [fill(await findElsewhere(here, uid))]);
    await here.pass(60_000, 10_000);
    expect(await here.status(uid)).toBe('fulfilled');
    expect(await here.log(uid)).toEqual(['created', 'traded']);
  });

  test('scenario 26: that is partially filled and then cancelled keeps its amounts', async () => {
    const here = await world();
    const submitted = await here.order({ partiallyFillable: true, sellAmount: '1000', buyAmount: '500' });
    const { uid } = (await here.book.orders.submit(submitted as never)) as { uid: Hex };
    const part = tradeOf(await findElsewhere(here, uid), 400n, 200n);
    await here.tell(here.book, 1, [part]);
    await here.tell(here.other, 1, [part]);
    await here.other.orders.cancel(await here.cancellation([uid]));
    await here.pass(60_000);
    expect(await here.book.orders.get(uid)).toMatchObject({ status: 'cancelled', executedSellAmount: '400' });
  });

  test('scenario 34: whose book is down for an hour follows the chain, and catches up', async () => {
    const here = await world();
    const [a = '0x', b = '0x'] = await postElsewhere(here, 2);
    await here.book.upstream?.follow({ uids: [a, b] });
    await here.pass(2000);
    here.upstream.setDown(true);
    await here.tell(here.book, 1, [fill(await findElsewhere(here, a))]);
    await here.other.orders.cancel(await here.cancellation([b]));
    await here.pass(3_600_000 - 10_000, 100_000);
    expect([await here.status(a)]).toEqual(['fulfilled']);
    const state = await here.book.upstream?.state();
    expect(state?.staleness).toBeGreaterThan(3_500_000);
    here.upstream.setDown(false);
    await here.pass(60_000);
    expect(await here.log(b)).toContain('cancelled');
  });

  test('scenario 35: is filled by the trades of the other book without a node, and once when the node is back', async () => {
    const here = await world();
    const [uid = '0x'] = await postElsewhere(here, 1);
    await here.book.upstream?.follow({ uids: [uid] });
    await here.pass(2000);
    const trade = fill(await findElsewhere(here, uid));
    await here.tell(here.other, 7, [trade]);
    await here.pass(60_000);
    expect(await here.status(uid)).toBe('fulfilled');
    expect(await here.tell(here.book, 7, [trade])).toMatchObject({ status: 'applied' });
    expect(await here.log(uid)).toEqual(['created', 'traded']);
    expect(await here.book.trades.list({ orderUid: uid })).toHaveLength(1);
  });

  test('scenario 36: of an unknown status keeps its own', async () => {
    const here = await world();
    const [uid = '0x'] = await postElsewhere(here, 1);
    await here.book.upstream?.follow({ uids: [uid] });
    await here.pass(2000);
    const differences: unknown[] = [];
    here.book.on('upstreamDiffered', (difference) => void differences.push(difference));
    here.upstream.change = (order) => ({ ...order, status: 'paused' as never });
    await here.pass(120_000, 5000);
    expect(await here.status(uid)).toBe('open');
    const difference = { uid, field: 'status', local: 'open', upstream: 'unknown', resolution: 'none' };
    expect(differences).toContainEqual(difference);
  });

  test('scenario 37: of another contract is not stored, and is reported', async () => {
    const here = await world();
    const [uid = '0x'] = await postElsewhere(here, 1);
    const differences: unknown[] = [];
    here.book.on('upstreamDiffered', (difference) => void differences.push(difference));
    here.upstream.change = (order) => ({ ...order, sellAmount: `${order.sellAmount}0` });
    await here.book.upstream?.follow({ uids: [uid] });
    await here.pass(2000);
    expect(await here.status(uid)).toBeUndefined();
    expect(differences).toContainEqual({
      uid,
      field: 'row',
      local: 'not stored',
      upstream: 'another domain',
      resolution: 'none',
    });
  });

  test('scenario 37: of a book of another contract is reported with the contract', async () => {
    const staging = `0x${'f5'.repeat(20)}` as Hex;
    const here = await world({}, { other: { settlementContract: staging } });
    const domain = { chainId: SEPOLIA, settlementContract: staging };
    const order = await signOrder(here.alice, { validTo: Math.floor(here.clock.now() / 1000) + 3600 }, { domain });
    const { uid } = (await here.other.orders.submit(order as never)) as { uid: Hex };
    const differences: unknown[] = [];
    here.book.on('upstreamDiffered', (difference) => void differences.push(difference));
    await here.book.upstream?.follow({ uids: [uid] });
    await here.pass(2000);
    expect(await here.status(uid)).toBeUndefined();
    expect(differences).toMatchObject([{ uid, field: 'row', upstream: `settled by ${staging}` }]);
  });

  test('scenario 38: keeps what its book has shown while a failover is read that is far behind', async () => {
    const here = await world();
    const [uid = '0x'] = await postElsewhere(here, 1);
    await here.book.upstream?.follow({ uids: [uid] });
    await here.pass(2000);
    await here.upstream.freeze();
    await here.tell(here.other, 7, [fill(await findElsewhere(here, uid))]);
    await here.upstream.freeze(false);
    await here.pass(60_000);
    expect(await here.status(uid)).toBe('fulfilled');
    here.upstream.host = 'failover.example';
    await here.other.chain.rollback(0); // the failover has not read the block yet
    await here.pass(900_000, 5000);
    expect(await here.status(uid)).toBe('fulfilled');
    expect(await here.log(uid)).toEqual(['created', 'traded']);
    here.upstream.host = here.upstream.name;
    await here.pass(1_200_000, 5000);
    expect(await here.log(uid)).toEqual(['created', 'traded', 'reverted']);
  });

  test('scenario 40: expires by the clock of the other book if that of this host is wrong', async () => {
    const here = await world();
    here.upstream.skew = -90_000;
    const validTo = Math.floor(here.clock.now() / 1000) + 60;
    const { uid } = (await here.book.orders.submit((await here.order({ validTo })) as never)) as { uid: Hex };
    await here.pass(50_000, 5000);
    // One answer of a proxy with another time changes nothing.
    here.upstream.skew = 400_000;
    await here.book.orders.submit((await here.order()) as never);
    here.upstream.skew = -90_000;
    await here.pass(50_000, 5000);
    expect(await here.status(uid)).toBe('open');
    await here.pass(60_000, 5000);
    expect(await here.status(uid)).toBe('expired');
    expect(await here.book.upstream?.state()).toMatchObject({ clockSkew: -90_000 });
  });

  test('that is absent from reads stays as it is, and the absence is reported', async () => {
    const here = await world();
    const { uid } = (await here.book.orders.submit((await here.order()) as never)) as { uid: Hex };
    const fields: string[] = [];
    here.book.on('upstreamDiffered', ({ field }) => void fields.push(field));
    here.upstream.change = () => undefined;
    await here.pass(200_000, 5000);
    expect(await here.status(uid)).toBe('open');
    expect(fields).toEqual(['missing']);
  });

  test('is final after its end can no longer be reverted', async () => {
    const here = await world();
    const [uid = '0x'] = await postElsewhere(here, 1);
    await here.book.upstream?.follow({ uids: [uid] });
    await here.pass(2000);
    await here.other.orders.cancel(await here.cancellation([uid]));
    await here.pass(120_000, 5000);
    expect(await here.book.upstream?.order(uid)).toMatchObject({ status: 'cancelled', final: false });
    await here.pass(1_500_000, 50_000);
    expect(await here.book.upstream?.order(uid)).toEqual({ uid, final: true });
  });
});

describe('the import of an owner', () => {
  test('stores all orders with their states, and follows those that live', async () => {
    const here = await world();
    const uids = await postElsewhere(here, 40);
    const [filled = '0x', cancelled = '0x', open = '0x'] = uids;
    await here.tell(here.other, 1, [fill(await findElsewhere(here, filled))]);
    await here.other.orders.cancel(await here.cancellation([cancelled]));
    await here.book.upstream?.follow({ owners: [here.alice.address] });
    await untilCurrent(here);
    const { orders } = await here.book.orders.list({ owner: here.alice.address, limit: 100 });
    expect(orders.map(({ uid }) => uid)).toEqual([...uids].reverse());
    expect([await here.status(filled), await here.status(cancelled), await here.status(open)]).toEqual([
      'fulfilled',
      'cancelled',
      'open',
    ]);
    expect(await here.log(filled)).toEqual(['created', 'traded']);
    expect(await here.book.upstream?.owner(here.alice.address)).toMatchObject({
      phase: 'current',
      orders: 40,
      trades: 1,
    });
    await here.other.orders.cancel(await here.cancellation([open]));
    await here.pass(60_000);
    expect(await here.status(open)).toBe('cancelled');
  });

  test('follows the orders of a page whose import was interrupted after they were stored', async () => {
    const inner = memoryStore();
    let failures = 0;
    const write: typeof inner.tasks.write = async (changes) => {
      if (changes.some(({ kind }) => kind === 'order') && failures++ === 0) throw new Error('the process is killed');
      return inner.tasks.write(changes);
    };
    const here = await world({}, { store: { ...inner, tasks: { ...inner.tasks, write } } });
    const [uid = '0x'] = await postElsewhere(here, 1);
    await here.book.upstream?.follow({ owners: [here.alice.address] });
    await untilCurrent(here);
    expect(failures).toBeGreaterThan(0);
    await here.other.orders.cancel(await here.cancellation([uid]));
    await here.pass(120_000, 5000);
    expect(await here.status(uid)).toBe('cancelled');
  });

  test('scenario 18: leaves out a row that cannot be read, and reads all others', async () => {
    const here = await world();
    const uids = await postElsewhere(here, 60);
    here.upstream.broken.add(30);
    const differences: unknown[] = [];
    here.book.on('upstreamDiffered', (difference) => void differences.push(difference));
    await here.book.upstream?.follow({ owners: [here.alice.address] });
    await untilCurrent(here);
    const { orders } = await here.book.orders.list({ owner: here.alice.address, limit: 100 });
    const missing = uids.filter((uid) => !orders.some((order) => order.uid === uid));
    expect(missing).toEqual([[...uids].reverse()[30]]);
    expect(await here.book.upstream?.owner(here.alice.address)).toMatchObject({ skipped: 1 });
    const row = `row 30 of the orders of ${here.alice.address.toLowerCase()}`;
    expect(differences).toEqual([{ uid: null, field: 'row', local: row, upstream: 'error', resolution: 'none' }]);
  });

  test('scenario 19: continues after a restart', async () => {
    const here = await world();
    const uids = await postElsewhere(here, 1200);
    await here.book.upstream?.follow({ owners: [here.alice.address] });
    await here.pass(1000);
    await here.restart();
    await untilCurrent(here);
    const stored = await here.book.orders.list({ owner: here.alice.address, limit: 1000 });
    const rest = await here.book.orders.list({ owner: here.alice.address, limit: 1000, cursor: stored.next ?? '' });
    expect(stored.orders.length + rest.orders.length).toBe(uids.length);
    const [first = '0x'] = uids;
    expect(await here.log(first)).toEqual(['created']);
  });

  test('scenario 21: finds an order that was posted elsewhere later', async () => {
    const here = await world();
    await postElsewhere(here, 3);
    await here.book.upstream?.follow({ owners: [here.alice.address] });
    await here.pass(5000);
    const [late = '0x'] = await postElsewhere(here, 1);
    await here.pass(620_000, 20_000);
    expect(await here.status(late)).toBe('open');
    await here.other.orders.cancel(await here.cancellation([late]));
    await here.book.upstream?.refresh(late);
    await here.pass(3000);
    expect(await here.status(late)).toBe('cancelled');
  });
});

describe('a quote of the other book', () => {
  const estimator = { name: 'fixed', estimate: async () => ({ amount: 5n * 10n ** 21n, gas: 100_000 }) };

  test('scenarios 31 and 32: has an id of this book, and the order carries that of the other one', async () => {
    const quotes = { estimators: [estimator as never], gasPrice: 0 };
    const here = await world({}, { other: { quotes } });
    const request = {
      sellToken: '0xfff9976782d46cc05630d1f6ebab18b2324d6b14',
      buyToken: '0x0625afb445c3b6b7b929342a04a22599fd5dbb59',
      kind: 'sell',
      sellAmountBeforeFee: '1000000000000000000',
      from: here.alice.address,
    } as never;
    await here.other.quotes.request({ ...(request as object), sellAmountBeforeFee: '5' } as never);
    const result = await here.book.quotes.request(request);
    expect(result).toMatchObject({ status: 'quoted', quote: { id: 1 } });
    const sent: unknown[] = [];
    const { submitOrder } = here.upstream;
    here.upstream.submitOrder = (order) => {
      sent.push(order['quoteId']);
      return submitOrder(order);
    };
    const validTo = Math.floor(here.clock.now() / 1000) + 7200;
    const order = { ...(await here.order({ sellAmount: '1000000000000000000' })), quoteId: 1 };
    expect(await here.book.orders.submit(order as never)).toMatchObject({ status: 'accepted' });
    expect(sent).toEqual([2]);
    const unknown = { ...(await here.order()), quoteId: 77 };
    expect(await here.book.orders.submit(unknown as never)).toMatchObject({ status: 'accepted' });
    expect(sent).toEqual([2, undefined]);
    // After its end, the other book makes a new quote silently.
    await here.pass(61_000, 61_000);
    const late = { ...(await here.order({ sellAmount: '1000000000000000000', validTo })), quoteId: 1 };
    const submitted = await here.book.orders.submit(late as never);
    expect(submitted).toMatchObject({ status: 'accepted' });
    const { uid } = submitted as { uid: Hex };
    await here.pass(60_000, 5000);
    expect((await here.book.orders.get(uid))?.quote).toEqual((await findElsewhere(here, uid)).quote);
  });

  test('that it has linked to an order is the quote of the order here, relayed, imported or followed', async () => {
    const quotes = { estimators: [estimator as never], gasPrice: 15e9 };
    const here = await world({}, { other: { quotes } });
    const [early = '0x', followed = '0x'] = await postElsewhere(here, 2);
    const relayed = await here.book.orders.submit((await here.order()) as never);
    if (relayed.status !== 'accepted') throw relayed.error;
    expect(await here.book.orders.get(relayed.uid)).not.toHaveProperty('quote');
    await here.book.upstream?.follow({ uids: [followed] });
    await here.pass(3000);
    await here.book.upstream?.follow({ owners: [here.alice.address] });
    await untilCurrent(here);
    for (const uid of [early, followed, relayed.uid]) {
      const { quote } = await findElsewhere(here, uid);
      expect(quote).toMatchObject({ gasAmount: expect.stringMatching(/^[1-9]/), verified: false });
      expect((await here.book.orders.get(uid))?.quote).toEqual(quote);
    }
  });

  test('that is rejected is passed on', async () => {
    const here = await world();
    const request = { sellToken: '0x' } as never;
    const [mine, theirs] = [await here.book.quotes.request(request), await here.other.quotes.request(request)];
    expect(mine).toMatchObject({
      status: 'rejected',
      error: { code: (theirs as { error: { code: string } }).error.code },
    });
  });
});
