import type { EventLog } from '../records/event-log.ts';
import type { OrderStreamFilter } from '../records/order-stream-filter.ts';
import { type BroadcasterOptions, createStreamBroadcaster } from './broadcaster.ts';
import { createOrderMatcher, filterItems } from './order-filter.ts';
import { type OrderLogReads, orderLog } from './order-log.ts';
import { getOrderStreamKey, toOrderStreamEvent } from './order-stream-event.ts';
import type { Stream, StreamOptions } from './stream.ts';

export type OrderStreams = ReturnType<typeof createOrderStreams>;

/**
 * Creates the streams. Nothing is read before the first subscription.
 *
 * @param reads - Reads the orders of log entries.
 */
export function createOrderStreams(log: EventLog, reads: OrderLogReads, options: Omit<BroadcasterOptions, 'log'>) {
  const broadcaster = createStreamBroadcaster({ ...options, log: orderLog(log, reads) });
  return {
    /**
     * Subscribes to orders.
     *
     * @throws OrderBookError `InvalidParameter` for an invalid filter.
     */
    async subscribe(filter: OrderStreamFilter, streamOptions?: StreamOptions): Promise<Stream> {
      const key = getOrderStreamKey(filter);
      const matches = createOrderMatcher(filter);
      return broadcaster.subscribe(key, streamOptions, matches && filterItems(matches));
    },
    toEvent: toOrderStreamEvent,
    /** Ends all streams. New subscriptions are possible afterwards. */
    close: broadcaster.close,
  };
}
