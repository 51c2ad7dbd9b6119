import type { Order, OrderBook, OrderBookOptions, Store, StoredEvent } from 'intentbook';
import { createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import type { Happening } from '../chain-events.ts';
import { blockOf, eventsIn } from '../chain-events.ts';
import { manualClock } from '../clock.ts';
import { account, SEPOLIA, signCancellation, signOrder } from '../orders.ts';
import { type DirectUpstream, directUpstream } from './direct-upstream.ts';

/** Lets promises settle. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 12; i++) await new Promise((resolve) => setImmediate(resolve));
}

const CALLS = ['submitOrder', 'cancelOrders', 'cancelOrder', 'getOrders', 'listOrders', 'listTrades', 'quote'] as const;

/** Counts the running calls of an upstream. A call may load modules, in real time. */
function countCalls(upstream: DirectUpstream): () => number {
  let running = 0;
  for (const name of CALLS) {
    const call = upstream[name] as (...parameters: unknown[]) => Promise<never>;
    upstream[name] = async (...parameters: unknown[]) => {
      running++;
      try {
        return await call(...parameters);
      } finally {
        running--;
      }
    };
  }
  return () => running;
}

/** Creates a book in front of another one, on one clock. The test applies the chain to each. */
export async function upstreamWorld(
  options: Partial<OrderBookOptions> = {},
  { store = memoryStore(), other: otherOptions = {} }: { store?: Store; other?: Partial<OrderBookOptions> } = {},
) {
  const clock = manualClock();
  const common = { chainId: SEPOLIA, clock, expiryInterval: 1000 } as const;
  const other = createOrderBook({ ...common, store: memoryStore(), profile: 'production', ...otherOptions });
  const upstream = directUpstream(other, clock);
  const running = countCalls(upstream);
  const failures: unknown[] = [];
  const start = async () => {
    const book = createOrderBook({ ...common, store, upstream, ...options });
    book.on('failure', (failure) => failures.push(failure));
    await book.start();
    return book;
  };
  await other.start();
  await other.chain.progress(); // loads the chain events, which would otherwise take real time
  const [alice, bob] = [account(1), account(2)];
  let book = await start();
  await book.chain.progress();
  let sold = 0;

  const order = (changes: Partial<Parameters<typeof signOrder>[1]> = {}, signer = alice) =>
    signOrder(signer, {
      validTo: Math.floor(clock.now() / 1000) + 3600,
      sellAmount: String(10n ** 18n + BigInt(++sold)),
      ...changes,
    });

  return {
    clock,
    other,
    upstream,
    failures,
    alice,
    bob,
    order,
    get book(): OrderBook {
      return book;
    },
    /** Closes the book, or abandons it like a crash, and starts another one on its store. */
    async restart() {
      await book.close();
      book = await start();
    },
    /** Lets time pass, in steps, with what happens meanwhile. */
    async pass(ms: number, step = 1000) {
      for (let left = ms; left > 0; left -= step) {
        clock.advance(Math.min(step, left));
        await settle();
        if (running() === 0) continue;
        for (let i = 0; i < 1000 && running() > 0; i++) await new Promise((resolve) => setTimeout(resolve, 1));
        await settle();
      }
      // Modules are loaded on first use, in real time.
      for (let i = 0; i < 20; i++) await new Promise((resolve) => setTimeout(resolve, 1));
    },
    async cancellation(orderUids: readonly string[], signer = alice) {
      return { orderUids, ...(await signCancellation(signer, { orderUids })) };
    },
    /** Applies chain events to one of the books. */
    async tell(to: OrderBook, number: number, happenings: readonly Happening[], fork = 'a') {
      const block = blockOf(number, fork);
      return to.chain.apply({ events: eventsIn(block, happenings), through: block });
    },
    async status(uid: string): Promise<Order['status'] | undefined> {
      return (await book.orders.get(uid))?.status;
    },
    /** Returns the types of the entries of an order in the log. */
    async log(uid: string): Promise<StoredEvent['type'][]> {
      return (await store.events.after(0, 100_000)).filter((event) => event.uid === uid).map(({ type }) => type);
    },
    async close() {
      await book.close();
      await other.close();
    },
  };
}
