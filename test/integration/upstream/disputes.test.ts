import type { Hex, Order, OrderBookOptions, UpstreamDifference } from 'intentbook';
import { describe, expect, test } from 'vitest';
import { tradeOf } from '../../support/chain-events.ts';
import { scriptedChain } from '../../support/scripted-chain.ts';
import { findElsewhere, postElsewhere, untilCurrent, type World, world } from './worlds.ts';

/** Lets time pass until both books agree about an order. */
async function untilEqual(here: World, uid: Hex): Promise<void> {
  const compare = async () => {
    await here.pass(60_000, 5000);
    const [mine, theirs] = [await here.book.orders.get(uid), await findElsewhere(here, uid)];
    return [mine?.status, mine?.executedSellAmount].join() === [theirs.status, theirs.executedSellAmount].join();
  };
  await expect.poll(compare, { timeout: 30_000 }).toBe(true);
}

const fill = (order: Order) => tradeOf(order, BigInt(order.sellAmount), BigInt(order.buyAmount));
const part = (order: Order, sold: bigint) => tradeOf(order, sold, sold * 10_000n);
const owned = (event: 'PreSignature' | 'OrderInvalidated', here: World, orderUid: Hex, signed?: boolean) =>
  ({ event, owner: here.alice.address.toLowerCase(), orderUid, ...(signed === undefined ? {} : { signed }) }) as never;

/** Options of a book that reads a chain from block 101 on. */
function following() {
  const chain = scriptedChain();
  chain.mine([], []);
  const indexer = { sources: [chain.node('ours')], fromBlock: 101, pollInterval: 1000 };
  return { chain, options: { indexer } as unknown as Partial<OrderBookOptions> };
}

describe('an order of the time before this book read the chain', () => {
  test('has the fills of both', async () => {
    const { chain, options } = following();
    const here = await world(options);
    const [uid = '0x', whole = '0x'] = await postElsewhere(here, 2, { partiallyFillable: true });
    await here.tell(here.other, 50, [
      part(await findElsewhere(here, uid), 400n),
      fill(await findElsewhere(here, whole)),
    ]);
    await here.pass(10_000);
    await here.book.upstream?.follow({ uids: [uid, whole] });
    await untilEqual(here, uid);
    const later = part(await findElsewhere(here, uid), 100n);
    chain.mine([later]);
    await here.tell(here.other, chain.head.number, [later]);
    await untilEqual(here, uid);
    await untilEqual(here, whole);
    expect((await here.book.orders.get(uid))?.executedSellAmount).toBe('500');
    expect(await here.status(whole)).toBe('fulfilled');
    expect(await here.log(uid)).toEqual(['created', 'traded', 'traded']);
  });

  test('is open if it was presigned then', async () => {
    const { options } = following();
    const here = await world(options);
    const order = { ...(await here.order()), signingScheme: 'presign', signature: '0x' };
    const { uid } = (await here.other.orders.submit(order as never)) as { uid: Hex };
    await here.pass(10_000);
    await here.book.upstream?.follow({ uids: [uid] });
    await here.pass(5000);
    await here.tell(here.other, 50, [owned('PreSignature', here, uid, true)]);
    await untilEqual(here, uid);
    expect(await here.status(uid)).toBe('open');
  });
});

describe('what the other book reports, and then no more', () => {
  test('is a fill that was mined again, which counts once', async () => {
    const here = await world();
    const [uid = '0x'] = await postElsewhere(here, 1, { partiallyFillable: true });
    await here.book.upstream?.follow({ uids: [uid] });
    await here.pass(2000);
    const first = part(await findElsewhere(here, uid), 400n);
    await here.tell(here.other, 7, [first]);
    await here.pass(60_000);
    await here.other.chain.rollback(0);
    await here.tell(here.other, 8, [first], 'b');
    await here.tell(here.other, 9, [part(await findElsewhere(here, uid), 500n)], 'b');
    await untilEqual(here, uid);
    expect((await here.book.trades.list({ orderUid: uid })).map(({ blockNumber }) => blockNumber)).toEqual([9, 8]);
    expect(await here.log(uid)).toEqual(['created', 'traded', 'reverted', 'traded', 'traded']);
  });

  test.each([0, 80_000])('is a fill that was mined again in another block after %d ms', async (gap) => {
    const here = await world();
    const [uid = '0x'] = await postElsewhere(here, 1);
    await here.book.upstream?.follow({ uids: [uid] });
    await here.pass(2000);
    const trade = fill(await findElsewhere(here, uid));
    await here.tell(here.other, 7, [trade]);
    await here.pass(60_000);
    expect(await here.status(uid)).toBe('fulfilled');
    await here.other.chain.rollback(0);
    await here.pass(gap, 5000);
    await here.tell(here.other, 8, [trade], 'b');
    await here.pass(1_500_000, 20_000);
    expect((await here.book.trades.list({ orderUid: uid })).map(({ blockNumber }) => blockNumber)).toEqual([8]);
    expect(await here.log(uid)).toEqual(['created', 'traded', 'reverted', 'traded']);
  });

  test.each([
    ['', 1_500_000],
    [', also if the first comparison fails', 1_800_000],
  ])('is a fill of an open order that one of the same amount has replaced%s', async (also, time) => {
    const here = await world();
    const validTo = Math.floor(here.clock.now() / 1000) + 100_000;
    const [uid = '0x'] = await postElsewhere(here, 1, { partiallyFillable: true, validTo });
    await here.book.upstream?.follow({ uids: [uid] });
    await here.pass(2000);
    const order = await findElsewhere(here, uid);
    await here.tell(here.other, 7, [part(order, 400n)]);
    await here.pass(60_000);
    await here.other.chain.rollback(0);
    await here.tell(here.other, 8, [{ ...part(order, 400n), transactionHash: `0x${'5e'.repeat(32)}` }], 'b');
    const { listTrades } = here.upstream;
    if (also !== '')
      here.upstream.listTrades = async (of, page) => {
        const read = await listTrades(of, page);
        return here.upstream.calls.listTrades > 2 ? read : { status: 'failed', reason: 'no answer' };
      };
    await here.pass(time, 20_000);
    expect((await here.book.trades.list({ orderUid: uid })).map(({ blockNumber }) => blockNumber)).toEqual([8]);
    expect(await here.log(uid)).toEqual(['created', 'traded', 'reverted', 'traded']);
    const reads = here.upstream.calls.listTrades;
    await here.pass(3_000_000, 20_000);
    expect(here.upstream.calls.listTrades).toBe(reads);
  });

  test('is a fill that was reverted, and is not final before', async () => {
    const here = await world();
    const [uid = '0x'] = await postElsewhere(here, 1);
    await here.book.upstream?.follow({ uids: [uid] });
    await here.pass(2000);
    await here.tell(here.other, 7, [fill(await findElsewhere(here, uid))]);
    await untilEqual(here, uid);
    await here.other.chain.rollback(0);
    await untilEqual(here, uid);
    expect(await here.log(uid)).toEqual(['created', 'traded', 'reverted']);
    expect(await here.book.upstream?.order(uid)).toMatchObject({ final: false });
  });

  test('is a presignature that was revoked', async () => {
    const here = await world();
    const order = { ...(await here.order()), signingScheme: 'presign', signature: '0x' };
    const { uid } = (await here.book.orders.submit(order as never)) as { uid: Hex };
    await here.tell(here.other, 1, [owned('PreSignature', here, uid, true)]);
    await untilEqual(here, uid);
    expect(await here.status(uid)).toBe('open');
    await here.tell(here.other, 2, [owned('PreSignature', here, uid, false)]);
    await untilEqual(here, uid);
    expect(await here.status(uid)).toBe('presignaturePending');
  });

  test('is no presignature of an order that has expired with a fill', async () => {
    const here = await world();
    const changes = { partiallyFillable: true, validTo: Math.floor(here.clock.now() / 1000) + 200 };
    const order = { ...(await here.order(changes)), signingScheme: 'presign', signature: '0x' };
    const { uid } = (await here.other.orders.submit(order as never)) as { uid: Hex };
    await here.book.upstream?.follow({ uids: [uid] });
    await here.tell(here.other, 1, [owned('PreSignature', here, uid, true)]);
    await untilEqual(here, uid);
    await here.pass(80_000, 5000);
    await here.tell(here.other, 2, [part(await findElsewhere(here, uid), 400n)]);
    await here.pass(70_000, 70_000); // it expires before the fill is read
    await untilEqual(here, uid);
    expect(await here.status(uid)).toBe('expired');
    expect(await here.log(uid)).not.toContain('reverted');
  });

  test('is an invalidation whose block was reorganised away, also if this book reads the chain', async () => {
    const { chain, options } = following();
    const here = await world(options);
    await here.pass(5000);
    const [uid = '0x'] = await postElsewhere(here, 1);
    await here.book.upstream?.follow({ uids: [uid] });
    await here.pass(3000);
    await here.tell(here.other, 160, [owned('OrderInvalidated', here, uid)]);
    await untilEqual(here, uid);
    expect(await here.status(uid)).toBe('cancelled');
    await here.other.chain.rollback(0);
    chain.mine([], []);
    await untilEqual(here, uid);
    expect(await here.log(uid)).toEqual(['created', 'cancelled', 'reverted']);
  });

  test.each(['eip712', 'presign'])('is a reorganised invalidation of %s before its end', async (scheme) => {
    const here = await world();
    const order = await here.order({ validTo: Math.floor(here.clock.now() / 1000) + 100 });
    const signature = scheme === 'presign' ? { signingScheme: scheme, signature: '0x' } : {};
    const { uid } = (await here.other.orders.submit({ ...order, ...signature } as never)) as { uid: Hex };
    await here.book.upstream?.follow({ uids: [uid] });
    await here.pass(2000);
    if (scheme === 'presign') await here.tell(here.other, 6, [owned('PreSignature', here, uid, true)]);
    await here.pass(48_000, 2000);
    await here.tell(here.other, 7, [owned('OrderInvalidated', here, uid)]);
    await here.pass(46_000, 2000);
    expect(await here.status(uid)).toBe('cancelled');
    await here.other.chain.rollback(0);
    await here.pass(3_000_000, 20_000);
    expect([await here.status(uid), (await findElsewhere(here, uid)).status]).toEqual(['expired', 'expired']);
    expect((await here.book.upstream?.order(uid))?.final).toBe(true);
  });

  test('is a trade of a block that this book has seen reorganised, in an import', async () => {
    const { chain, options } = following();
    const here = await world(options);
    await here.pass(5000);
    const [uid = '0x'] = await postElsewhere(here, 1);
    const trade = fill(await findElsewhere(here, uid));
    chain.mine([trade]);
    await here.tell(here.other, chain.head.number, [trade]);
    await here.pass(5000);
    chain.reorganise(1, [], [], []);
    await here.pass(10_000);
    await here.book.upstream?.follow({ owners: [here.alice.address] });
    await untilCurrent(here);
    expect(await here.status(uid)).toBe('open');
    await here.other.chain.rollback(0);
    await untilEqual(here, uid);
    expect(await here.log(uid)).toEqual(['created']);
  });
});

describe('a read of the other book', () => {
  test('takes all pages of the trades of an order', async () => {
    const here = await world();
    const [uid = '0x'] = await postElsewhere(here, 1, { partiallyFillable: true });
    const order = await findElsewhere(here, uid);
    for (let block = 1; block <= 11; block++)
      await here.tell(
        here.other,
        block,
        Array.from({ length: 100 }, () => part(order, 10n)),
      );
    await here.book.upstream?.follow({ uids: [uid] });
    await untilEqual(here, uid);
    const reads = here.upstream.calls.listTrades;
    await here.pass(300_000, 5000);
    expect(here.upstream.calls.listTrades).toBe(reads);
  });

  test.each([
    ['fails', 500],
    ['has a row that cannot be read', 200],
  ])('of the trades of an order that %s at one of them takes all others, and reports it', async (_, httpStatus) => {
    const here = await world();
    const [uid = '0x'] = await postElsewhere(here, 1, { partiallyFillable: true });
    const order = await findElsewhere(here, uid);
    await here.tell(
      here.other,
      1,
      Array.from({ length: 60 }, () => part(order, 10n)),
    );
    const { listTrades } = here.upstream;
    let bad = 40;
    here.upstream.listTrades = async (of, page) => {
      const isBad = page.offset <= bad && bad < page.offset + page.limit;
      return isBad ? { status: 'failed', reason: 'no page', httpStatus } : listTrades(of, page);
    };
    const differences: UpstreamDifference[] = [];
    here.book.on('upstreamDiffered', (difference) => void differences.push(difference));
    await here.book.upstream?.follow({ uids: [uid] });
    const getSold = async () => {
      await here.pass(60_000, 5000);
      return (await here.book.orders.get(uid))?.executedSellAmount;
    };
    await expect.poll(getSold, { timeout: 30_000 }).toBe('590');
    const row = { uid, field: 'row', local: 'trade 40', upstream: 'not readable', resolution: 'none' };
    expect(differences).toContainEqual(row);
    bad = 1000;
    await untilEqual(here, uid);
    // While each row fails, the other book fails, and not the row.
    let reads = 0;
    differences.length = 0;
    here.upstream.listTrades = async () => {
      reads++;
      return { status: 'failed', reason: 'no page', httpStatus };
    };
    await here.tell(here.other, 2, [part(order, 10n)]);
    await here.book.upstream?.refresh(uid);
    await here.pass(5000);
    expect(reads).toBeGreaterThan(0);
    expect(reads).toBeLessThan(7);
    expect(differences.map(({ field }) => field)).toEqual(['executed']);
  });

  test('that always fails for one order leaves out that order', async () => {
    const here = await world();
    const uids = await postElsewhere(here, 200);
    const { getOrders } = here.upstream;
    here.upstream.getOrders = async (read) =>
      read.includes(uids[0] ?? '0x') ? { status: 'failed', reason: 'status 500', httpStatus: 500 } : getOrders(read);
    await here.book.upstream?.follow({ uids });
    const count = async () => {
      await here.pass(10_000);
      return (await here.book.orders.list({ owner: here.alice.address, limit: 1000 })).orders.length;
    };
    await expect.poll(count, { timeout: 30_000 }).toBe(199);
  });

  test('is repeated less often for an order that is absent, and ends a day after its validity', async () => {
    const here = await world();
    const uid = `0x${'1b'.repeat(52)}${Math.floor(here.clock.now() / 1000 + 600).toString(16)}` as Hex;
    await here.book.upstream?.follow({ uids: [uid] });
    await here.pass(3_600_000, 20_000);
    expect(here.upstream.calls.getOrders).toBeLessThan(15);
    await here.pass(90_000_000, 600_000);
    expect(await here.book.upstream?.order(uid)).toBeUndefined();
  });

  test('finds an order that was absent for hours within a quarter of an hour', async () => {
    const here = await world();
    const [uid = '0x'] = await postElsewhere(here, 1, { validTo: Math.floor(here.clock.now() / 1000) + 5 * 3600 });
    here.upstream.change = () => undefined;
    await here.book.upstream?.follow({ uids: [uid] });
    await here.pass(7_200_000, 60_000);
    expect(await here.status(uid)).toBeUndefined();
    here.upstream.change = (order) => order;
    await here.pass(960_000, 20_000);
    expect(await here.status(uid)).toBe('open');
  });
});

describe('an owner', () => {
  test('has all orders that were posted elsewhere, beside one that was relayed', async () => {
    const here = await world();
    await postElsewhere(here, 3);
    await here.book.upstream?.follow({ owners: [here.alice.address] });
    await untilCurrent(here);
    await postElsewhere(here, 200);
    await here.book.orders.submit((await here.order()) as never);
    const count = async () => {
      await here.pass(600_000, 20_000);
      return (await here.book.orders.list({ owner: here.alice.address, limit: 1000 })).orders.length;
    };
    await expect.poll(count, { timeout: 30_000 }).toBe(204);
  });

  test('is current in spite of a row that cannot be read, which is reported once', async () => {
    const here = await world();
    await postElsewhere(here, 5);
    await here.book.upstream?.follow({ owners: [here.alice.address] });
    await untilCurrent(here);
    here.upstream.broken.add(0);
    const [late = '0x'] = await postElsewhere(here, 2);
    await here.book.upstream?.refresh(here.alice.address);
    const getLate = async () => {
      await here.pass(60_000, 5000);
      return here.status(late);
    };
    expect(here.upstream.calls.listOrders).toBeLessThan(40);
    await expect.poll(getLate, { timeout: 20_000 }).toBe('open');
    expect(here.failures.map((failure) => String((failure as { error?: unknown }).error ?? failure))).toContainEqual(
      expect.stringContaining('cannot list row 0 of the orders'),
    );
  });
});
