import type { ReadOptions } from '../concurrency/abort.ts';

/** An entry of a durable log, rendered once for all subscribers. */
export interface StreamItem {
  readonly type: 'item';
  /** The position in the log. Increases in the order of commits. */
  readonly id: number;
  readonly event: string;
  /** JSON text. */
  readonly data: string;
}

/** An event of a stream: a log entry, or a gap. */
export type StreamEvent =
  | StreamItem
  /** Entries from `from` to `to` that concern this subscriber may be missing. */
  | { readonly type: 'gap'; readonly from: number; readonly to: number };

/** A position without an entry for the subscriber, from which it can resume. Sent after many foreign entries. */
export interface StreamPosition {
  readonly type: 'position';
  readonly id: number;
}

/** Number of foreign entries after which a stream sends its position. */
export const POSITION_INTERVAL = 128;

/** A page of a log, rendered. */
export interface LogPage {
  readonly items: readonly StreamItem[];
  /** The last position that was read. */
  readonly through: number;
  /** The id of the first entry after the last hole of the page. Absent if the page has none. */
  readonly gapEnd?: number | undefined;
}

/**
 * The start of a stream, the signal that ends it, and who pays: `client` takes turns to catch up, and `meter` receives
 * the entries that are read for this stream alone.
 */
export interface StreamOptions extends Pick<ReadOptions, 'client' | 'meter'> {
  /** The last position that the subscriber has seen. Absent: the stream starts with the next entry. */
  readonly after?: number;
  readonly signal?: AbortSignal;
}

/** A stream of one subscriber. It ends when the subscriber leaves or the broadcaster closes. */
export interface Stream extends AsyncIterable<StreamEvent> {
  /** The position after which the stream starts. */
  readonly start: number;
  /** Number of log entries between the start and the end of the log when the stream began. */
  readonly backlog: number;
  /**
   * The position from which the subscriber can resume, while `take` waits for an event. Undefined while events are
   * queued or read.
   */
  readonly position: number | undefined;
  /** Waits for at least one event and returns all that are queued. Empty at the end. Iterators omit positions. */
  take(): Promise<readonly (StreamEvent | StreamPosition)[]>;
  /** Ends the stream, also for a pending `take`. */
  leave(): void;
}
