/**
 * Streams: subscriptions to a log, with limits, and the streams of orders.
 *
 * @module
 */

export { createStreamBroadcaster, type StreamLog } from './broadcaster.ts';
export type { OrderStreamEvent } from './order-stream-event.ts';
export { createOrderStreams, type OrderStreams } from './order-streams.ts';
export type { Stream, StreamEvent, StreamItem, StreamOptions, StreamPosition } from './stream.ts';
