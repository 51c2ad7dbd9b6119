import type { ReadContext } from '../orders/read.ts';
import { readOrders } from '../orders/read.ts';
import type { Store } from '../ports/store.ts';
import type { BroadcasterOptions } from './broadcaster.ts';
import { createStreamBroadcaster } from './broadcaster.ts';
import type { EventLog } from './event-log.ts';
import { createOrderMatcher, filterStream } from './order-filter.ts';
import { orderLog } from './order-log.ts';
import type { OrderStreamFilter } from './order-stream-event.ts';
import { getOrderStreamKey, toOrderStreamEvent } from './order-stream-event.ts';
import type { Stream, StreamOptions } from './stream.ts';

/** The order streams of a book. */
export interface OrderStreams {
  /**
   * Subscribes to orders.
   *
   * @throws OrderBookError `InvalidParameter` for an invalid filter.
   */
  subscribe(filter: OrderStreamFilter, options?: StreamOptions): Promise<Stream>;
  readonly toEvent: typeof toOrderStreamEvent;
  /** Ends all streams. New subscriptions are possible afterwards. */
  close(): void;
}

export interface OrderStreamsContext extends Omit<BroadcasterOptions, 'log'> {
  readonly log: EventLog;
  readonly reading: ReadContext & { readonly store: Store };
}

/** Creates the streams. Nothing is read before the first subscription. */
export function createOrderStreams({ log, reading, ...options }: OrderStreamsContext): OrderStreams {
  const { filterPlaced } = reading.store.orders;
  const orders = orderLog(log, { read: (uids) => readOrders(uids, reading), filterPlaced });
  const broadcaster = createStreamBroadcaster({ ...options, log: orders });
  return {
    async subscribe(filter, streamOptions) {
      const key = getOrderStreamKey(filter);
      const matches = createOrderMatcher(filter);
      const stream = await broadcaster.subscribe(key, streamOptions);
      return matches === undefined ? stream : filterStream(stream, matches);
    },
    toEvent: toOrderStreamEvent,
    close: broadcaster.close,
  };
}
