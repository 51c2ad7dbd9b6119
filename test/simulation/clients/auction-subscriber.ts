import type { AuctionCheck } from '../checks/auction-check.ts';
import type { Report } from '../checks/store-observer.ts';
import type { BookProcess } from '../machine/book-process.ts';
import type { SeededRandom } from '../machine/random.ts';
import type { Scheduler } from '../machine/scheduler.ts';
import { createConnection } from './connection.ts';
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

/**
 * Creates a client that follows the auction stream and rebuilds each auction from its deltas. The texts that it builds
 * must equal those that the book serves under the same ids.
 */
export function createAuctionSubscriber(context: AuctionSubscriberContext): Subscriber {
  const { name, scheduler, random, auctions, report, trace } = context;
  let current: AuctionJson | undefined;

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

  /** Requests the complete auction, which often has the id of the rebuilt one. */
  async function compareWithBook({ book }: BookProcess): Promise<void> {
    const { chunks } = await book.auctions.rendered.current();
    auctions.onText(new TextDecoder().decode(Buffer.concat(chunks)));
  }

  const connection = createConnection({
    scheduler,
    random,
    find() {
      const found = context.findProcess();
      return found && { at: found, onEnd: found.process.onEnd };
    },
    async follow({ at }, isCurrent, onLeave) {
      const resumes = current !== undefined && random.chance(0.7);
      const stream = await at.book.auctions.rendered.stream(resumes && current ? { after: current.id } : {});
      onLeave(() => stream.leave());
      for await (const { type, json, id } of stream) {
        if (!isCurrent()) return;
        receive(type, json.join(''));
        if (current?.id !== id) report('auctions', `${name} has auction ${current?.id}, the event is ${id}`);
        await compareWithBook(at);
        if (!isCurrent()) return;
      }
    },
  });

  return {
    disconnect: connection.reconnect,
    async requireAll(notify) {
      const at = connection.endpoint?.at;
      if (at === undefined || current === undefined) notify('liveness', `${name} has no auction`);
      else auctions.begin(at)(JSON.stringify(current), notify);
    },
  };
}
