import type { AuctionCheck } from './auction-check.ts';
import type { BookProcess } from './book-process.ts';
import type { SeededRandom } from './random.ts';
import type { Scheduler } from './scheduler.ts';
import type { Report } from './store-observer.ts';
import type { Subscriber } from './subscribers.ts';

export interface AuctionSubscriberContext {
  readonly name: string;
  readonly scheduler: Scheduler;
  readonly random: SeededRandom;
  readonly auctions: AuctionCheck;
  readonly report: Report;
  readonly trace: (text: string) => void;
  /** Returns a process that has started. */
  readonly findProcess: () => BookProcess | undefined;
}

interface OrderJson {
  readonly uid: string;
  readonly created: number;
}

/** An auction as JSON. */
interface AuctionJson {
  readonly id: number;
  readonly block: number;
  readonly prices: Readonly<Record<string, string>>;
  readonly surplusCapturingJitOrderOwners: readonly string[];
  readonly orders: readonly OrderJson[];
}

interface DeltaJson {
  readonly id: number;
  readonly base: number;
  readonly block: number;
  readonly size: number;
  readonly prices: Readonly<Record<string, string | null>>;
  readonly removed: readonly string[];
  readonly added: readonly OrderJson[];
}

/** Milliseconds between two looks at whether the process of a connection still runs. */
const CHECK_INTERVAL = 400;

/**
 * Creates a client that follows the auction stream and rebuilds each auction from its deltas. The texts that it builds
 * must equal those that the book serves under the same ids.
 */
export function createAuctionSubscriber(context: AuctionSubscriberContext): Subscriber {
  const { name, scheduler, random, auctions, report, trace } = context;
  let connection = 0;
  let leave = () => {};
  let current: AuctionJson | undefined;
  let process: BookProcess | undefined;

  function receive(type: 'auction' | 'delta', text: string): void {
    if (type === 'auction')
      current = JSON.parse(text) as AuctionJson; // rendered by the book
    else if (current !== undefined)
      current = applyDelta(current, JSON.parse(text) as DeltaJson); // rendered by the book
    else report('auctions', `${name} received a delta without an auction`);
    if (current !== undefined) auctions.onText(JSON.stringify(current));
    trace(`${name} ${type} ${current?.id} ${current?.orders.length}`);
  }

  function applyDelta(from: AuctionJson, delta: DeltaJson): AuctionJson {
    const { id, base, block, size, prices, removed, added } = delta;
    if (base !== from.id) report('auctions', `${name} has auction ${from.id}, the delta starts from ${base}`);
    const orders = new Map(from.orders.map((order) => [order.uid, order]));
    for (const uid of removed) if (!orders.delete(uid)) report('auctions', `${name} cannot remove ${uid}`);
    for (const order of added) orders.set(order.uid, order);
    if (orders.size !== size) report('auctions', `${name} has ${orders.size} orders, expected ${size}`);
    const priced = Object.entries({ ...from.prices, ...prices }).filter(([, price]) => price !== null);
    return {
      id,
      block,
      prices: Object.fromEntries(priced.sort(([a], [b]) => (a < b ? -1 : 1))) as AuctionJson['prices'], // without null
      surplusCapturingJitOrderOwners: from.surplusCapturingJitOrderOwners,
      orders: [...orders.values()].sort((a, b) => a.created - b.created || (a.uid < b.uid ? -1 : 1)),
    };
  }

  async function follow(at: BookProcess, generation: number): Promise<void> {
    const resumes = current !== undefined && random.chance(0.7);
    const stream = await at.book.auctions.rendered.stream(resumes && current ? { after: current.id } : {});
    leave = () => stream.leave();
    for await (const { type, json, id } of stream) {
      if (generation !== connection) return;
      receive(type, json.join(''));
      if (current?.id !== id) report('auctions', `${name} has auction ${current?.id}, the event is ${id}`);
      await compareWithBook(at);
      if (generation !== connection) return;
    }
    reconnect();
  }

  /** Requests the complete auction, which often has the id of the rebuilt one. */
  async function compareWithBook({ book }: BookProcess): Promise<void> {
    const { bytes } = await book.auctions.rendered.current();
    auctions.onText(new TextDecoder().decode(bytes));
  }

  function connect(): void {
    const generation = ++connection;
    const found = context.findProcess();
    if (found === undefined) {
      reconnect();
      return;
    }
    process = found;
    follow(found, generation).catch(() => {
      if (generation === connection) reconnect();
    });
    const check = () => {
      if (generation !== connection) return;
      if (found.isStarted) scheduler.after(CHECK_INTERVAL, check);
      else reconnect();
    };
    check();
  }

  function reconnect(): void {
    connection++;
    process = undefined;
    leave();
    leave = () => {};
    scheduler.after(random.integer(1, 600), connect);
  }

  connect();
  return {
    disconnect: reconnect,
    requireAll(notify) {
      if (process === undefined || current === undefined) notify('liveness', `${name} has no auction`);
      else auctions.begin(process)(JSON.stringify(current), notify);
    },
  };
}
