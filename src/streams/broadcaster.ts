import type { StreamSubscriber } from './subscriber.ts';
import { createSubscriber } from './subscriber.ts';

/** Something that a durable log tells, in words that are rendered once for everybody who hears it. */
export interface StreamItem {
  readonly type: 'item';
  /** Its place in the log. Ascends in the order of commits. */
  readonly id: number;
  readonly event: string;
  /** JSON text. */
  readonly data: string;
}

/** What a stream says: something that happened, or that something may have been left out. */
export type StreamEvent =
  | StreamItem
  /** What stands in the log from `from` to `to` was not told, as far as it concerned this reader. */
  | { readonly type: 'gap'; readonly from: number; readonly to: number };

/** A stretch of a log, rendered. */
export interface LogPage {
  readonly items: readonly StreamItem[];
  /** Up to where the log has been read. */
  readonly through: number;
}

/** A log that readers follow, each by one key of its own. */
export interface StreamLog {
  /** The newest place of the log. */
  last(): Promise<number>;
  /** Tells when there may be something new. */
  watch(hint: () => void): () => void;
  /** Reads on, for everybody: what concerns any of `keys`, with the keys that each item concerns. */
  follow(
    after: number,
    keys: ReadonlySet<string>,
  ): Promise<LogPage & { readonly keysOf: readonly (readonly string[])[] }>;
  /** Reads on for one reader that catches up. `through` may be beyond `told` when the log has grown since. */
  resume(after: number, key: string, told: number): Promise<LogPage>;
}

export interface BroadcasterOptions {
  readonly log: StreamLog;
  /** How many items may wait for a reader that is slow. */
  readonly queueSize: number;
  /** How many places of the log a reader that comes back may have missed to be told of them one by one. */
  readonly resumeLimit: number;
  readonly onFailure: (failure: unknown) => void;
}

/** Where a stream begins, and what ends it. */
export interface StreamOptions {
  /** The last place that the reader has seen. Absent: it wants to hear of what happens from now on. */
  readonly after?: number;
  readonly signal?: AbortSignal;
}

/** A stream for one reader. It ends when the reader leaves, or the hub is closed. */
export interface Stream extends AsyncIterable<StreamEvent> {
  /** The place that it begins behind. */
  readonly start: number;
  /** Waits for at least one event, and takes all that are there; empty at the end. */
  take(): Promise<readonly StreamEvent[]>;
  /** Ends it, for whoever waits in `take` too. */
  leave(): void;
}

/** Spreads a log to many readers. */
export interface StreamBroadcaster {
  subscribe(key: string, options?: StreamOptions): Promise<Stream>;
  /** Ends all streams. Can be subscribed to again. */
  close(): void;
  /** How many streams are open. */
  readonly size: number;
}

/**
 * Makes a hub. The log is read once for all readers, and only while there are any; each has a bounded queue, and one that
 * does not keep up is told of a gap instead of being waited for. Who comes back with the last place that it has seen reads the log
 * from there by itself, until it has caught up.
 */
export function createStreamBroadcaster({
  log,
  queueSize,
  resumeLimit,
  onFailure,
}: BroadcasterOptions): StreamBroadcaster {
  const readers = new Map<string, Set<StreamSubscriber>>();
  const open = new Set<StreamSubscriber>();
  let told: number | undefined;
  let unwatch = () => {};
  let beginning: Promise<void> | undefined;
  let running: Promise<void> | undefined;
  let again = false;
  // Counts the times that nobody was there any more: what was read before belongs to nobody.
  let epoch = 0;
  // Those who began to listen while the log was being read for the others.
  let late = new Set<StreamSubscriber>();

  async function drain(mine: number): Promise<void> {
    try {
      while (again && told !== undefined && epoch === mine) {
        again = false;
        late = new Set();
        const { items, keysOf, through } = await log.follow(told, new Set(readers.keys()));
        if (epoch !== mine || told === undefined) return;
        // Nobody has looked for what concerns them, so they read it by themselves.
        if (items.length > 0 || through > told) for (const reader of late) reader.fallBehind();
        items.forEach((item, i) => {
          for (const key of keysOf[i] ?? []) for (const reader of readers.get(key) ?? []) reader.push(item);
        });
        again ||= through > told;
        told = Math.max(told, through);
      }
    } catch (failure) {
      onFailure(failure);
      // A stream that is silently behind is worse than one that ends: its reader comes back to where it was.
      for (const subscriber of [...open]) subscriber.leave();
    }
  }

  function wake(): void {
    again = true;
    running ??= drain(epoch).finally(() => {
      running = undefined;
      if (again && told !== undefined) wake();
    });
  }

  /** The first reader begins at the end of the log. */
  function begin(): Promise<void> {
    beginning ??= log.last().then((last) => {
      told = last;
      unwatch = log.watch(wake);
      wake();
    });
    return beginning;
  }

  function end(): void {
    epoch++;
    unwatch();
    unwatch = () => {};
    told = undefined;
    beginning = undefined;
    again = false;
  }

  function unlist(key: string, subscriber: StreamSubscriber): void {
    const set = readers.get(key);
    set?.delete(subscriber);
    if (set?.size === 0) readers.delete(key);
  }

  return {
    get size() {
      return open.size;
    },

    async subscribe(key, { after, signal } = {}) {
      const subscriber = createSubscriber({
        key,
        queueSize,
        resumeLimit,
        onFailure,
        told: () => told,
        resume: log.resume,
        onLive: () => {
          const set = readers.get(key) ?? new Set();
          readers.set(key, set.add(subscriber));
          if (running !== undefined) late.add(subscriber);
        },
        onLagging: () => unlist(key, subscriber),
        onLeave: () => {
          signal?.removeEventListener('abort', subscriber.leave);
          open.delete(subscriber);
          unlist(key, subscriber);
          if (open.size === 0) end();
        },
      });
      open.add(subscriber);
      try {
        await begin();
        const newest = await log.last();
        await subscriber.begin(after ?? newest, newest);
      } catch (failure) {
        subscriber.leave();
        throw failure;
      }
      if (signal?.aborted) subscriber.leave();
      else signal?.addEventListener('abort', subscriber.leave, { once: true });
      return subscriber;
    },

    close() {
      for (const subscriber of [...open]) subscriber.leave();
    },
  };
}
