import type { Store } from 'intentbook';
import { createApi, createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { describe, expect, test } from 'vitest';
import { renderAuction } from '../../../src/auctions/render-auction.ts';
import { NOW, place, range } from '../../conformance/orders.ts';
import { directFixture } from '../../integration/http/http-fixture.ts';
import { manualClock } from '../../support/clock.ts';
import { completeOrder as order } from '../../support/complete-orders.ts';
import { SEPOLIA } from '../../support/orders.ts';

/** A store that counts the orders that are read. */
function countingStore() {
  const store = memoryStore();
  const reads = { listed: 0, read: 0 };
  const counted: Store = {
    ...store,
    orders: {
      ...store.orders,
      list: async (query) => {
        const page = await store.orders.list(query);
        reads.listed += page.length;
        return page;
      },
      get: async (uids) => {
        const rows = await store.orders.get(uids);
        reads.read += rows.length;
        return rows;
      },
    },
  };
  return { store: counted, reads };
}

/** An order of the fixture. Later ones are valid for longer. */
const listed = (n: number) => order(n, { validTo: NOW + 1000 + n });

async function fixture(count: number) {
  const { store, reads } = countingStore();
  const clock = manualClock(NOW * 1000);
  const book = createOrderBook({ chainId: SEPOLIA, store, clock, expiryInterval: 'off', auctions: { minValidity: 0 } });
  await book.start();
  await place(store, ...range(count).map(listed));
  const http = directFixture(createApi(book), () => 0);
  return { book, store, clock, reads, http };
}

describe('auction', () => {
  test('reads all open orders once, and afterwards only those that changed', async () => {
    const { book, store, reads } = await fixture(300);
    expect((await book.auctions.current()).orders).toHaveLength(300);
    expect(reads).toEqual({ listed: 300, read: 0 });
    await place(store, order(901));
    await store.orders.cancel({ uids: [listed(7).uid], now: NOW, cancelledAt: NOW * 1000 });
    const { orders } = await book.auctions.current();
    expect(orders.map(({ uid }) => uid)).toContain(order(901).uid);
    expect(orders.map(({ uid }) => uid)).not.toContain(listed(7).uid);
    expect(reads).toEqual({ listed: 300, read: 2 });
    await book.close();
  });

  test('contains orders oldest first, also one that becomes open later', async () => {
    const { book, store, clock } = await fixture(3);
    await book.auctions.current();
    const late = order(50, {
      signingScheme: 'presign',
      state: 'presignaturePending',
      quotaClass: 'pending',
      creationDate: order(0).creationDate - 1,
    });
    await place(store, late, order(60, { creationDate: order(0).creationDate + 1 }));
    await book.auctions.current();
    const at = { blockNumber: 5, blockHash: order(1).appData, logIndex: 0, transactionHash: order(1).appData };
    await store.chain.apply({
      events: [{ type: 'presignature', ...at, timestamp: null, uid: late.uid, signed: true }],
      blocks: [],
      through: { number: 5, hash: at.blockHash },
      forgetBelow: 0,
      at: clock.now(),
    });
    const uids = (await book.auctions.current()).orders.map(({ uid }) => uid);
    expect(uids).toEqual([late.uid, listed(0).uid, listed(1).uid, listed(2).uid, order(60).uid]);
    await book.close();
  });

  test('omits orders from the second after their `validTo`, before and after the sweep', async () => {
    const { book, store, clock } = await fixture(3);
    expect((await book.auctions.current()).orders).toHaveLength(3);
    clock.advance(1_001_000); // past the `validTo` of the first order, and the maximum age of an auction
    expect((await book.auctions.current()).orders.map(({ uid }) => uid)).toEqual([listed(1).uid, listed(2).uid]);
    await store.orders.expire(NOW + 1001, 10);
    expect((await book.auctions.current()).orders.map(({ uid }) => uid)).toEqual([listed(1).uid, listed(2).uid]);
    await book.close();
  });

  test('contains orders that a clock ahead had left out', async () => {
    const { book, clock } = await fixture(3);
    clock.jump(1_001_000);
    expect((await book.auctions.current()).orders.map(({ uid }) => uid)).toEqual([listed(1).uid, listed(2).uid]);
    clock.jump(-1_001_000);
    expect((await book.auctions.current()).orders).toHaveLength(3);
    await book.close();
  });

  test('is rendered once per auction and returns 304 for a known entity tag', async () => {
    const { book, store, http } = await fixture(3);
    const first = await http.send('GET', '/api/v1/auction');
    expect(first.status).toBe(200);
    expect(first.json()).toEqual(JSON.parse(JSON.stringify(await book.auctions.current())));
    expect(await book.auctions.rendered.current()).toBe(await book.auctions.rendered.current());
    const etag = first.header('etag') ?? '';
    const repeated = await http.send('GET', '/api/v1/auction', { headers: { 'if-none-match': etag } });
    expect(repeated.status).toBe(304);
    await place(store, order(901));
    const changed = await http.send('GET', '/api/v1/auction', { headers: { 'if-none-match': etag } });
    expect(changed.status).toBe(200);
    expect(changed.header('etag')).not.toBe(etag);
    await book.close();
  });

  test('has the orders of its list after any other list', async () => {
    const members = { block: 2, prices: {}, surplusCapturingJitOrderOwners: [] };
    const create = (i: number, version = 0) => ({ uid: `0x${i}`, text: 'ü'.repeat((i * 7) % 5), version });
    const [a, b, c, d, e] = [1, 2, 3, 4, 5].map((i) => create(i));
    const changed = create(3, 1);
    const large = Array.from({ length: 5000 }, (_, i) => create(i));
    const lists = [[], [a], [a, b, c, d, e], [b, c, d], [a, b, changed, d, e], [c], [], [a, e], [d], large];
    lists.push(large.slice(1), large.toSpliced(4999, 1), large.toSpliced(2500, 1, { ...create(2500, 1) }), [e, a, c]);
    lists.push(large.slice(0, 128), large.slice(0, 129), large.slice(64, 300), large.toReversed(), large);
    for (const [id, orders] of lists.entries()) {
      const auction = { id, ...members, orders };
      const { chunks } = await renderAuction(auction as never);
      expect(new TextDecoder().decode(Buffer.concat(chunks)), `list ${id}`).toBe(JSON.stringify(auction));
    }
  });

  test('shares the chunks of unchanged orders with other auctions', async () => {
    const orders: unknown[] = Array.from({ length: 10_000 }, (_, i) => ({ uid: `0x${i}` }));
    const buffersOf = async (list: unknown[]) => {
      const { chunks } = await renderAuction({ id: 1, orders: list } as never);
      return chunks.slice(1, -1).map(({ buffer }) => buffer);
    };
    const before = new Set(await buffersOf(orders));
    const lists = [orders.slice(1), orders.toSpliced(5000, 1), orders.toSpliced(5000, 1, {}), [...orders, {}, {}]];
    for (const list of lists) {
      const added = (await buffersOf(list)).filter((buffer) => !before.has(buffer));
      expect(added.length).toBeLessThan(3);
      const again = (await buffersOf(list)).filter((buffer) => !before.has(buffer));
      expect(again.length).toBeLessThan(3);
    }
  });

  test('does not make short chunks of orders that are added or removed one by one', async () => {
    const orders: unknown[] = [];
    const render = () => renderAuction({ id: 1, orders } as never);
    for (let i = 0; i < 1000; i++) {
      orders.splice((i * 7) % (orders.length + 1), i % 5 === 4 ? 1 : 0, { i });
      await render();
    }
    expect((await render()).chunks.length).toBeLessThan(orders.length / 16);
  });

  test('is valid UTF-8 JSON whatever its members contain', async () => {
    const members = { id: 1, block: 2, prices: {}, surplusCapturingJitOrderOwners: [] };
    for (const orders of [[], ['x'], ['ü"\\', '€ and 😀', 'z']]) {
      const { chunks, size } = await renderAuction({ ...members, orders: orders.map((text) => ({ text })) } as never);
      expect(size).toBe(orders.length);
      expect(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))).orders).toEqual(
        orders.map((text) => ({ text })),
      );
    }
  });
});
