import fc from 'fast-check';
import type { Auction, AuctionDelta, Order, OrderBook, Store } from 'intentbook';
import { createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { applyAuctionDelta } from 'intentbook/solver';
import { expect, test } from 'vitest';
import { address, NOW, place, USDC, WETH, word } from '../conformance/orders.ts';
import type { ManualClock } from '../support/clock.ts';
import { manualClock } from '../support/clock.ts';
import { completeOrder } from '../support/complete-orders.ts';
import { SEPOLIA } from '../support/orders.ts';

const TOKENS = [WETH, USDC, address(0x11), address(0x22), address(0x33)] as const;
const CASES = Number(process.env['TEST_CASES'] ?? 60);

interface World {
  readonly book: OrderBook;
  readonly store: Store;
  readonly clock: ManualClock;
  readonly prices: Map<string, string>;
  placed: number;
  block: number;
}

type Step = (world: World) => Promise<unknown>;

/** An order whose creation second, tokens and number are independent of each other. */
const orderOf = (n: number, second: number, sell: number, buy: number) =>
  completeOrder((n * 7919) % 10_007, {
    creationDate: (NOW - 100 + second) * 1000 + (n % 1000),
    sellToken: TOKENS[sell % TOKENS.length] ?? WETH,
    buyToken: TOKENS[buy % TOKENS.length] ?? USDC,
    validTo: NOW + 1_000_000,
  });

async function openOrders({ book }: World): Promise<readonly Order[]> {
  return (await book.orders.list({ status: 'open', limit: 100 })).orders;
}

async function chooseOrder(world: World, n: number): Promise<Order | undefined> {
  const orders = await openOrders(world);
  return orders[n % Math.max(1, orders.length)];
}

async function applyBlock(world: World, order?: Order): Promise<void> {
  const number = ++world.block;
  const [blockHash, transactionHash] = [word(number), word(number + 1_000_000)];
  const at = { blockNumber: number, blockHash, logIndex: 0, transactionHash, timestamp: null };
  const amounts = {
    sellAmount: '1',
    buyAmount: '1',
    feeAmount: '0',
    executedFee: null,
    prices: null,
    protocolFees: [],
  };
  const trade = order && {
    type: 'trade' as const,
    ...at,
    ...amounts,
    uid: order.uid,
    owner: order.owner,
    sellToken: order.sellToken,
    buyToken: order.buyToken,
  };
  await world.store.chain.apply({
    events: trade === undefined ? [] : [trade],
    blocks: [],
    through: { number, hash: blockHash },
    forgetBelow: 0,
    at: world.clock.now(),
  });
}

const natural = fc.nat({ max: 1000 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(fc.integer({ min: 1, max: 5 }), natural, natural).map(toPlacement) },
  {
    weight: 2,
    arbitrary: natural.map(
      (n): Step =>
        async (world) =>
          applyBlock(world, await chooseOrder(world, n)),
    ),
  },
  { weight: 2, arbitrary: natural.map(toCancellation) },
  { weight: 1, arbitrary: fc.constant<Step>((world) => applyBlock(world)) },
  { weight: 1, arbitrary: fc.tuple(natural, natural).map(toPriceChange) },
  { weight: 1, arbitrary: fc.constant<Step>(async ({ clock }) => clock.advance(61_000)) },
);

function toPlacement([count, second, tokens]: [number, number, number]): Step {
  return async (world) => {
    const numbers = Array.from({ length: count }, () => world.placed++);
    await place(world.store, ...numbers.map((n) => orderOf(n, second % 50, tokens + n, tokens + n + 1)));
  };
}

function toCancellation(n: number): Step {
  return async (world) => {
    const order = await chooseOrder(world, n);
    const cancellation = { now: NOW, cancelledAt: world.clock.now() };
    if (order !== undefined) await world.store.orders.cancel({ uids: [order.uid], ...cancellation });
  };
}

function toPriceChange([token, price]: [number, number]): Step {
  return async ({ prices }) => prices.set(TOKENS[token % TOKENS.length] ?? WETH, price % 7 === 0 ? '' : String(price));
}

async function createWorld(): Promise<World> {
  const clock = manualClock(NOW * 1000);
  const store = memoryStore();
  const prices = new Map<string, string>();
  const nativePrice = (token: string) => prices.get(token.toLowerCase()) ?? '1';
  const book = createOrderBook({
    chainId: SEPOLIA,
    store,
    clock,
    expiryInterval: 'off',
    quotes: {
      gasPrice: '0',
      estimators: [
        { name: 'test', nativePrice: (token) => nativePrice(token) || undefined, estimate: () => undefined },
      ],
    },
  });
  await book.start();
  return { book, store, clock, prices, placed: 0, block: 0 };
}

/** A client that has only what the stream sends. */
function createFollower({ book }: World) {
  let auction: Auction | undefined;
  const open = async (after?: number) => {
    const stream = await book.auctions.rendered.stream(after === undefined ? {} : { after });
    return { stream, changes: stream[Symbol.asyncIterator]() };
  };
  let current = open();
  return {
    get id() {
      return auction?.id ?? 0;
    },
    async read(): Promise<string> {
      const { changes } = await current;
      const { value, done } = await changes.next();
      if (done === true) throw new Error('the stream has ended');
      const content: unknown = JSON.parse(value.json.join(''));
      // The type of an event decides.
      if (value.type === 'auction') auction = content as Auction;
      else auction = applyAuctionDelta(auction as Auction, content as AuctionDelta);
      return value.type;
    },
    async reconnect() {
      (await current).stream.leave();
      current = open(auction?.id);
    },
    text: () => JSON.stringify(auction),
    leave: async () => (await current).stream.leave(),
  };
}

const action = fc.record({
  step,
  // A follower that does not read receives one delta for several auctions.
  reads: fc.integer({ min: 0, max: 3 }).map((n) => n > 0),
  reconnects: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
});

test(`auction stream: a follower has the same bytes as the auction at every id (${CASES} histories)`, async () => {
  const seen = { auction: 0, delta: 0 };
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 5, maxLength: 40 }), async (actions) => {
      const world = await createWorld();
      const follower = createFollower(world);
      for (const { step: run, reads, reconnects } of actions) {
        await run(world);
        const { id, chunks } = await world.book.auctions.rendered.current();
        if (reconnects) await follower.reconnect();
        if (!reads || follower.id === id) continue;
        const type = await follower.read();
        seen[type as keyof typeof seen]++;
        expect(follower.id).toBe(id);
        expect(follower.text()).toBe(new TextDecoder().decode(Buffer.concat(chunks)));
      }
      await follower.leave();
      await world.book.close();
    }),
    { numRuns: CASES },
  );
  expect(seen.delta).toBeGreaterThan(seen.auction); // otherwise the deltas were not tested
}, 120_000);
