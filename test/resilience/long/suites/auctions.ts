import { strictEqual } from 'node:assert/strict';
import type { Auction, AuctionDelta } from 'intentbook';
import { createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { applyAuctionDelta } from 'intentbook/solver';
import { address, NOW, place, range } from '../../../conformance/orders.ts';
import { manualClock } from '../../../support/clock.ts';
import { completeOrder } from '../../../support/complete-orders.ts';
import { SEPOLIA } from '../../../support/orders.ts';
import type { LongShare, LongSuite } from '../suite.ts';

const ORDERS = 10_000;
const CHANGED = 10;

/** Runs a step, and notes its time and the longest time between two ticks of the event loop. */
async function measure<T>(share: LongShare, what: string, step: () => Promise<T>): Promise<T> {
  let [longest, last, running] = [0, performance.now(), true];
  const tick = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (running) setImmediate(tick);
  };
  const start = performance.now();
  setImmediate(tick);
  const result = await step();
  running = false;
  share.note(what, `${(performance.now() - start).toFixed(2)} ms, longest step ${longest.toFixed(1)} ms`);
  return result;
}

const orderOf = (n: number) =>
  completeOrder(n, {
    owner: address(1 + (n % 500)),
    creationDate: (NOW - (n % 5000)) * 1000,
    validTo: NOW + 1_000_000,
  });

export const suite: LongSuite = {
  description:
    'a follower of the auction stream has the bytes of auctions of 10,000 orders; times of builds and deltas',
  async run(share) {
    const end = performance.now() + share.milliseconds;
    const [store, clock] = [memoryStore(), manualClock(NOW * 1000)];
    const book = createOrderBook({ chainId: SEPOLIA, store, clock, expiryInterval: 'off', cacheBytes: 0 });
    await book.start();
    for (let n = 0; n < ORDERS; n += 500) await place(store, ...range(500).map((i) => orderOf(n + i)));
    await measure(share, 'first auction', () => book.auctions.current());
    await measure(share, 'unchanged auction', () => book.auctions.current());
    await measure(share, 'first rendering', () => book.auctions.rendered.current());
    const stream = await book.auctions.rendered.stream();
    const changes = stream[Symbol.asyncIterator]();
    let auction: Auction | undefined;
    let placed = ORDERS;
    do {
      if (auction !== undefined) {
        const gone = auction.orders.slice(0, CHANGED).map(({ uid }) => uid);
        await store.orders.cancel({ uids: gone, now: NOW, cancelledAt: clock.now() });
        await place(store, ...range(CHANGED).map(() => orderOf(placed++)));
        await measure(share, 'auction after changes', () => book.auctions.current());
      }
      const { value } = await measure(share, auction === undefined ? 'first event' : 'delta', () => changes.next());
      const content: unknown = JSON.parse(value.json.join(''));
      // The type of an event decides.
      auction =
        auction === undefined || value.type === 'auction'
          ? (content as Auction)
          : applyAuctionDelta(auction, content as AuctionDelta);
      const { chunks } = await book.auctions.rendered.current();
      strictEqual(JSON.stringify(auction), new TextDecoder().decode(Buffer.concat(chunks)));
      share.count('auctions');
    } while (performance.now() < end);
    stream.leave();
    await book.close();
  },
};
