import type { BroadcasterOptions } from './broadcaster.ts';
import { createStreamBroadcaster } from './broadcaster.ts';
import type { EventLog } from './event-log.ts';
import { createOrderMatcher, filterStream } from './order-filter.ts';
import type { OrderLogReads } from './order-log.ts';
import { orderLog } from './order-log.ts';
import type { OrderStreamFilter } from './order-stream.ts';
import { getOrderStreamKey, toOrderStreamEvent } from './order-stream.ts';
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

export interface OrderStreamsContext extends Omit<BroadcasterOptions, 'log'>, OrderLogReads {
  readonly log: EventLog;
}

/** Creates the streams. Nothing is read before the first subscription. */
export function createOrderStreams({ log, read, filterPlaced, ...options }: OrderStreamsContext): OrderStreams {
  const broadcaster = createStreamBroadcaster({ ...options, log: orderLog(log, { read, filterPlaced }) });
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
