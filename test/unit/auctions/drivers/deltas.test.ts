import type { AuctionOrder, Hex, OrderBook, SolverDriver, Store } from 'intentbook';
import { createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { NOW, place, word } from '../../../conformance/orders.ts';
import type { ManualClock } from '../../../support/clock.ts';
import { manualClock } from '../../../support/clock.ts';
import { completeOrder } from '../../../support/complete-orders.ts';
import { SEPOLIA } from '../../../support/orders.ts';

let clock: ManualClock;
let store: Store;
let book: OrderBook;
let blocks: number;

beforeEach(async () => {
  clock = manualClock(NOW * 1000);
  store = memoryStore();
  blocks = 0;
  book = createOrderBook({
    chainId: SEPOLIA,
    clock,
    store,
    expiryInterval: 'off',
    auctions: { minValidity: 0, surplusCapturingJitOrderOwners: [`0x${'77'.repeat(20)}`] },
    quotes: { gasPrice: '0', estimators: [{ name: 'test', nativePrice: () => '1', estimate: () => undefined }] },
  });
  await book.start();
});
afterEach(() => book.close());

interface Body {
  readonly kind: string;
  readonly id: string;
  readonly orders?: readonly AuctionOrder[];
  readonly updatedOrders?: readonly AuctionOrder[];
  readonly removedOrders?: readonly Hex[];
}

/** A driver that keeps the orders of the bodies it has received, as production describes it. */
function deltaDriver(name: string, changes: Partial<SolverDriver> = {}) {
  const bodies: Body[] = [];
  const copy = new Map<Hex, AuctionOrder>();
  const driver: SolverDriver = {
    name,
    acceptsDeltas: true,
    async solve({ auction, body: bytes }) {
      const body = JSON.parse(new TextDecoder().decode(bytes)) as Body;
      if (body.kind === 'full') copy.clear();
      for (const uid of body.removedOrders ?? []) copy.delete(uid);
      for (const order of body.orders ?? body.updatedOrders ?? []) copy.set(order.uid, order);
      const offered = new Map(auction.orders.map((order) => [order.uid, order]));
      expect(copy).toEqual(offered);
      expect(body.id).toBe(String(auction.id));
      bodies.push(body);
      return { solutions: [] };
    },
    settle: async () => {},
    ...changes,
  };
  return { driver, bodies, kinds: () => bodies.map(({ kind }) => kind) };
}

const orderOf = (n: number) => completeOrder(n, { validTo: NOW + 100_000 });

async function nextBlock(ms = 1000): Promise<void> {
  const through = { number: ++blocks, hash: word(blocks) };
  await store.chain.apply({ events: [], blocks: [], through, forgetBelow: 0, at: clock.now() });
  clock.advance(ms);
  for (let i = 0; i < 60; i++) await new Promise(setImmediate);
}

async function start(...drivers: readonly SolverDriver[]): Promise<void> {
  for (const n of [1, 2, 3]) await place(store, orderOf(n));
  await nextBlock();
  await book.auctions.run({ drivers });
  await nextBlock();
}

const cancel = (n: number) => store.orders.cancel({ uids: [orderOf(n).uid], now: NOW, cancelledAt: clock.now() });

test('driver that accepts deltas receives the difference to the auction before', async () => {
  const one = deltaDriver('one');
  const plain = deltaDriver('plain', { acceptsDeltas: false });
  await start(one.driver, plain.driver);
  await place(store, orderOf(4));
  await cancel(2);
  await nextBlock();
  const body: Partial<Body> = one.bodies.at(-1) ?? {};
  const { updatedOrders, removedOrders, ...rest } = body;
  expect(updatedOrders?.map(({ uid }) => uid)).toEqual([orderOf(4).uid]);
  expect(removedOrders).toEqual([orderOf(2).uid]);
  const { orders, ...members } = plain.bodies.at(-1) ?? {};
  expect(rest).toEqual({ ...members, kind: 'delta' });
  expect(one.kinds()).toEqual(['full', 'delta']);
  expect(plain.kinds()).toEqual(['full', 'full']);
});

test('driver that has failed receives the next auction complete, and the others do not', async () => {
  const [one, two] = [deltaDriver('one'), deltaDriver('two')];
  const solve = vi.fn(two.driver.solve);
  await start(one.driver, { ...two.driver, solve });
  solve.mockRejectedValueOnce(new Error('restarted'));
  for (const n of [4, 5, 6]) {
    await place(store, orderOf(n));
    await nextBlock();
  }
  expect(one.kinds()).toEqual(['full', 'delta', 'delta', 'delta']);
  expect(two.kinds()).toEqual(['full', 'full', 'delta']);
});

test('driver receives a complete auction two minutes after the last one', async () => {
  const one = deltaDriver('one');
  await start(one.driver);
  for (const n of [4, 5, 6, 7]) {
    await place(store, orderOf(n));
    await nextBlock(50_000);
  }
  expect(one.kinds()).toEqual(['full', 'delta', 'delta', 'full', 'delta']);
});

test('driver receives a complete auction after another process has run auctions', async () => {
  const one = deltaDriver('one');
  await start(one.driver);
  const taken = vi.spyOn(store.leases, 'acquire');
  taken.mockResolvedValueOnce({ status: 'taken', holder: 'another', expiresAt: 0 });
  for (const n of [4, 5, 6]) {
    await place(store, orderOf(n));
    await nextBlock();
  }
  expect(one.kinds()).toEqual(['full', 'full', 'delta']);
});

test('drivers that accept deltas share the bytes of a body', async () => {
  const [one, two] = [deltaDriver('one'), deltaDriver('two')];
  const bodies: Uint8Array[] = [];
  const watch = ({ driver }: typeof one): SolverDriver => ({
    ...driver,
    solve(request, context) {
      bodies.push(request.body);
      return driver.solve(request, context);
    },
  });
  await start(watch(one), watch(two));
  await place(store, orderOf(4));
  await nextBlock();
  expect(bodies.map((body) => bodies.indexOf(body))).toEqual([0, 0, 2, 2]);
});
