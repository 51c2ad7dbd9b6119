import type { Hex, Order } from 'intentbook';
import type { LogCheck, LogEntry } from '../checks/log-check.ts';
import type { Model } from '../checks/model.ts';
import type { Report } from '../checks/store-observer.ts';
import type { BookProcess } from '../machine/book-process.ts';
import type { SeededRandom } from '../machine/random.ts';
import type { Scheduler } from '../machine/scheduler.ts';
import type { Pool } from '../orders/pool.ts';
import { createConnection } from './connection.ts';

/** A client that follows a stream, and resumes after each interruption. */
export interface Subscriber {
  /** Ends the connection; the client connects again later. */
  disconnect(): void;
  /** Checks that every entry has arrived. */
  requireAll(notify: Report): Promise<void>;
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
  /** Returns a process that has started. */
  readonly findProcess: () => BookProcess | undefined;
}

/** Creates a subscriber and connects it. */
export function createSubscriber(context: SubscriberContext): Subscriber {
  const { name, filter, scheduler, random, model, pool, log, report } = context;
  let position = 0;

  const concerns = ({ owner, uid }: { owner: string; uid: string }) =>
    (filter.owner === undefined || filter.owner === owner || filter.owner === pool.byUid.get(uid)?.placedBy) &&
    (filter.uid === undefined || filter.uid === uid);

  /**
   * Returns whether the user of an entry was unknown since, because the order was rolled back. The entry that
   * reverts the placement names the user.
   */
  function mayBeSkipped({ uid, commit, cause }: LogEntry): boolean {
    const order = pool.byUid.get(uid);
    if (filter.owner === undefined || order?.placedBy !== filter.owner || cause?.onchainUser !== undefined)
      return false;
    return model.between(order.index, commit, model.commit).some(({ shown }) => shown === undefined);
  }

  /** Returns the next entries that this client may receive, up to the first that it must receive. */
  function listNext(): readonly LogEntry[] {
    const next: LogEntry[] = [];
    for (const entry of log.after(position)) {
      if (!concerns(entry)) continue;
      next.push(entry);
      if (!mayBeSkipped(entry)) break;
    }
    return next;
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

  const connection = createConnection({
    scheduler,
    random,
    find() {
      const found = context.findProcess();
      return found && { book: found.book, onEnd: found.process.onEnd };
    },
    async follow({ book }, isCurrent, onLeave) {
      const stream = await book.orders.rendered.stream(filter, { after: position });
      onLeave(stream.leave);
      for (;;) {
        const events = await stream.take();
        if (!isCurrent() || events.length === 0) return;
        for (const event of events) {
          if (event.type === 'gap') {
            context.trace(`${name} gap ${event.from} ${event.to}`);
            if (event.to > log.prunedThrough && position >= log.epochStart)
              report('streams', `${name} received a gap up to ${event.to}`);
            position = Math.max(position, event.to);
            continue;
          }
          if (event.type === 'position') {
            const missed = listNext().find((entry) => entry.id <= event.id && !mayBeSkipped(entry));
            if (missed !== undefined) report('streams', `${name} received position ${event.id} before ${missed.id}`);
            position = Math.max(position, event.id);
            continue;
          }
          const data: unknown = JSON.parse(event.data);
          const order = event.event === 'order' ? (data as Order) : undefined;
          receive(event.id, order?.uid ?? (data as { id: Hex }).id, order);
        }
        context.trace(`${name} at ${position}`);
      }
    },
  });

  return {
    disconnect: connection.reconnect,
    async requireAll(notify) {
      const next = listNext().find((entry) => !mayBeSkipped(entry));
      if (next !== undefined) notify('liveness', `${name} has not received entry ${next.id}, it is at ${position}`);
    },
  };
}
