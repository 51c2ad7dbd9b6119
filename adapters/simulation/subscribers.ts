import type { Hex, Order, OrderBook } from 'intentbook';
import type { LogCheck } from './log-check.ts';
import type { Model } from './model.ts';
import type { Pool } from './pool.ts';
import type { SeededRandom } from './random.ts';
import type { Scheduler } from './scheduler.ts';
import type { Report } from './store-observer.ts';

/** A client that follows an order stream, and resumes after each interruption. */
export interface Subscriber {
  /** Ends the connection; the client connects again later. */
  disconnect(): void;
  /** Checks that every entry has arrived. */
  requireAll(notify: Report): void;
}

export interface SubscriberContext {
  readonly name: string;
  readonly filter: { readonly owner?: string; readonly uid?: string };
  readonly scheduler: Scheduler;
  readonly random: SeededRandom;
  readonly model: Model;
  readonly pool: Pool;
  readonly log: LogCheck;
  readonly report: Report;
  readonly trace: (text: string) => void;
  /** Returns a book that is started, and whether its process still runs. */
  readonly findBook: () => { readonly book: OrderBook; readonly isAlive: () => boolean } | undefined;
}

/** Milliseconds between two looks at whether the process of a connection still runs. */
const CHECK_INTERVAL = 400;

/** Creates a subscriber and connects it. */
export function createSubscriber(context: SubscriberContext): Subscriber {
  const { name, filter, scheduler, random, model, pool, log, report } = context;
  let position = 0;
  let connection = 0;
  let leave = () => {};

  const concerns = ({ owner, uid }: { owner: string; uid: string }) =>
    (filter.owner === undefined || filter.owner === owner || filter.owner === pool.byUid.get(uid)?.placedBy) &&
    (filter.uid === undefined || filter.uid === uid);

  /**
   * Returns whether the user of an entry was unknown since, because the order was rolled back. The entry that
   * reverts the placement names the user.
   */
  function mayBeSkipped({ uid, commit, cause }: LogCheck['entries'][number]): boolean {
    const order = pool.byUid.get(uid);
    if (filter.owner === undefined || order?.placedBy !== filter.owner || cause?.onchainUser !== undefined)
      return false;
    return model.between(order.index, commit, model.commit).some(({ shown }) => shown === undefined);
  }

  /** Returns the next entries that this client may receive, up to the first that it must receive. */
  function listNext(): LogCheck['entries'] {
    const pending = log.entries.filter((entry) => entry.id > position && concerns(entry));
    const required = pending.findIndex((entry) => !mayBeSkipped(entry));
    return required < 0 ? pending : pending.slice(0, required + 1);
  }

  function receive(id: number, uid: Hex, order: Order | undefined): void {
    const next = listNext();
    const expected = next.find((entry) => entry.id === id);
    if (expected === undefined) {
      report('streams', `${name} received entry ${id} after ${position}, expected ${next.map((entry) => entry.id)}`);
      return;
    }
    position = id;
    const n = pool.byUid.get(uid)?.index ?? -1;
    const states = model.between(n, expected.commit, model.commit);
    const isCurrent = states.some(
      ({ shown }) => shown?.sold === order?.executedSellAmount && shown?.bought === order?.executedBuyAmount,
    );
    if (!isCurrent || expected.uid !== uid)
      report('streams', `${name} received order ${n} of entry ${id} in an old state`);
  }

  async function follow(book: OrderBook, generation: number): Promise<void> {
    const stream = await book.orders.rendered.stream(filter, { after: position });
    leave = stream.leave;
    for (;;) {
      const events = await stream.take();
      if (generation !== connection) return;
      if (events.length === 0) return reconnect();
      for (const event of events) {
        if (event.type === 'gap') {
          context.trace(`${name} gap ${event.from} ${event.to}`);
          position = Math.max(position, event.to);
          continue;
        }
        const data: unknown = JSON.parse(event.data);
        const order = event.event === 'order' ? (data as Order) : undefined;
        receive(event.id, order?.uid ?? (data as { id: Hex }).id, order);
      }
      context.trace(`${name} at ${position}`);
    }
  }

  function connect(): void {
    const generation = ++connection;
    const found = context.findBook();
    if (found === undefined) {
      reconnect();
      return;
    }
    follow(found.book, generation).catch(() => {
      if (generation === connection) reconnect();
    });
    const check = () => {
      if (generation !== connection) return;
      if (found.isAlive()) scheduler.after(CHECK_INTERVAL, check);
      else reconnect();
    };
    check();
  }

  function reconnect(): void {
    connection++;
    leave();
    leave = () => {};
    scheduler.after(random.integer(1, 600), connect);
  }

  connect();
  return {
    disconnect: reconnect,
    requireAll(notify) {
      const next = listNext().find((entry) => !mayBeSkipped(entry));
      if (next !== undefined) notify('liveness', `${name} has not received entry ${next.id}, it is at ${position}`);
    },
  };
}
