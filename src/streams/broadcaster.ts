import { countRows } from '../concurrency/abort.ts';
import { createConcurrencyLimit } from '../concurrency/limit.ts';
import { nextStep } from '../concurrency/steps.ts';
import { thenAlways } from '../ports/clock.ts';
import { assertKnownOptions } from '../validation/options.ts';
import { type LogPage, POSITION_INTERVAL, type Stream, type StreamItem, type StreamOptions } from './stream.ts';
import { StreamSubscriber, type SubscriberHost } from './subscriber.ts';

/** A log that subscribers follow, each by one key. */
export interface StreamLog {
  /** Maximum number of entries of a page. */
  readonly pageSize: number;
  /** Returns the newest position of the log. */
  last(): Promise<number>;
  /** Returns the position up to which entries have been deleted; 0 if none has been. */
  prunedThrough(): Promise<number>;
  /** Calls `onEntries` when the log may have new entries. Returns a function that removes the callback. */
  watch(onEntries: () => void): () => void;
  /** Reads the next page for all subscribers: entries that concern any of `keys`, with the keys of each entry. */
  follow(
    after: number,
    keys: ReadonlySet<string>,
  ): Promise<LogPage & { readonly keysOf: readonly (readonly string[])[] }>;
  /** Reads the next page for one subscriber that catches up. `through` may exceed `last` if the log has grown. */
  resume(after: number, key: string, last: number): Promise<LogPage>;
}

export interface BroadcasterOptions {
  readonly log: StreamLog;
  /** Maximum number of items that wait for a slow subscriber. */
  readonly queueSize: number;
  /** Maximum number of log entries that a subscriber can resume over. Older entries become a gap. */
  readonly resumeLimit: number;
  readonly onFailure: (failure: unknown) => void;
}

/** A new log epoch begins at least this number of ids later: a tenth of a second after the previous one. */
const EPOCH_DISTANCE = 10_000;

/** Maximum number of pages that are read concurrently for subscribers that resume. */
const MAX_RESUMING = 4;

/** Distributes a log to many subscribers. */
export type StreamBroadcaster = ReturnType<typeof createStreamBroadcaster>;

/**
 * Creates a broadcaster.
 *
 * It reads the log once for all subscribers, and only while there are any. Each subscriber has a bounded queue; one
 * that is too slow receives a gap and does not delay the others. A subscriber that resumes reads the log separately
 * until it has caught up. A page is a step of a long read: one of them is read per tick of the event loop, so that
 * many subscribers that resume, or many new entries, do not delay other work.
 */
export function createStreamBroadcaster({ log, queueSize, resumeLimit, onFailure }: BroadcasterOptions) {
  const subscribers = new Map<string, Set<StreamSubscriber>>();
  const open = new Set<StreamSubscriber>();
  const resuming = createConcurrencyLimit(MAX_RESUMING);
  /** The last position that was distributed. `undefined` while there are no subscribers. */
  let position: number | undefined;
  let unwatch = () => {};
  let beginning: Promise<void> | undefined;
  let running: Promise<void> | undefined;
  let requested = false;
  // Subscribers that joined during a read. The read did not include their keys.
  let joinedDuringRead = new Set<StreamSubscriber>();

  async function distribute(): Promise<void> {
    try {
      while (requested && position !== undefined) {
        await nextStep();
        if (position === undefined) return;
        requested = false;
        joinedDuringRead = new Set();
        const { items, keysOf, through, gapEnd } = await log.follow(position, new Set(subscribers.keys()));
        const pruned = gapEnd === undefined ? 0 : await log.prunedThrough();
        if (position === undefined) return;
        // The log has begun a new epoch, since it may have lost entries that were distributed.
        if (gapEnd !== undefined && gapEnd > pruned + 1)
          for (const subscriber of open) subscriber.restart(gapEnd, through);
        else if (pruned > position) for (const subscriber of open) subscriber.skip(position, pruned);
        if (through > position) for (const subscriber of joinedDuringRead) subscriber.fallBehind();
        items.forEach((item, i) => {
          for (const key of keysOf[i] ?? []) for (const each of subscribers.get(key) ?? []) each.push(item);
        });
        requested ||= through > position;
        const isFar = Math.floor(through / POSITION_INTERVAL) > Math.floor(position / POSITION_INTERVAL);
        position = Math.max(position, through);
        if (isFar) for (const subscriber of open) subscriber.report(position);
      }
    } catch (failure) {
      onFailure(failure);
      // A stream that is silently behind is worse than one that ends: the client reconnects and resumes.
      for (const subscriber of [...open]) subscriber.leave();
    }
  }

  function wake(): void {
    requested = true;
    running ??= thenAlways(distribute(), () => {
      running = undefined;
      if (requested && position !== undefined) wake();
    });
  }

  /** Starts following at the end of the log, for the first subscriber. */
  function begin(): Promise<void> {
    if (beginning !== undefined) return beginning;
    const mine = log.last().then((last) => {
      if (beginning !== mine) return; // all subscribers have left
      position = last;
      unwatch = log.watch(wake);
      wake();
    });
    beginning = mine;
    return mine;
  }

  function end(): void {
    unwatch();
    unwatch = () => {};
    position = undefined;
    beginning = undefined;
  }

  /**
   * Returns the position up to which a subscriber may have missed entries, because the log has begun a new epoch since.
   * Undefined if it has not.
   */
  async function findLostEnd(after: number, newest: number): Promise<number | undefined> {
    if (after === 0 || newest - after < EPOCH_DISTANCE) return undefined;
    const { gapEnd } = await log.follow(after, new Set());
    return gapEnd === undefined || gapEnd <= (await log.prunedThrough()) + 1 ? undefined : gapEnd - 1;
  }

  function unlist(subscriber: StreamSubscriber): void {
    const { key } = subscriber.options;
    const set = subscribers.get(key);
    set?.delete(subscriber);
    if (set?.size === 0) subscribers.delete(key);
  }

  const host: SubscriberHost = {
    queueSize,
    resumeLimit,
    onFailure,
    position: () => position,
    resume: (subscriber, from, last) => {
      const { key, ...options } = subscriber.options;
      return resuming.run(async () => {
        await nextStep(options);
        // A subscriber may have left while its page was queued.
        if (!open.has(subscriber)) return { items: [], through: from, pruned: 0 };
        // Counted before, since the subscriber may leave during the read.
        countRows(options, log.pageSize);
        const page = await log.resume(from, key, last);
        countRows(options, page.items.length - log.pageSize);
        // Read after the page, which may lack the entries that have been deleted by now.
        return { ...page, pruned: await log.prunedThrough() };
      }, options.client?.());
    },
    onLive: (subscriber) => {
      const { key } = subscriber.options;
      const set = subscribers.get(key) ?? new Set();
      subscribers.set(key, set.add(subscriber));
      if (running !== undefined) joinedDuringRead.add(subscriber);
    },
    onLagging: unlist,
    onLeave: (subscriber) => {
      subscriber.options.signal?.removeEventListener('abort', subscriber.leave);
      open.delete(subscriber);
      unlist(subscriber);
      if (open.size === 0) end();
    },
  };

  return {
    /** Number of open streams. */
    get size(): number {
      return open.size;
    },

    /**
     * Subscribes to a key.
     *
     * @param matches - Returns whether an item of the key is sent. Absent: each is.
     */
    async subscribe(
      key: string,
      options: StreamOptions = {},
      matches?: (item: StreamItem) => boolean,
    ): Promise<Stream> {
      assertKnownOptions('stream', options, ['after', 'signal', 'client', 'meter']);
      const { after, signal } = options;
      const subscriber = new StreamSubscriber(host, { ...options, key, matches });
      open.add(subscriber);
      try {
        await begin();
        const newest = await log.last();
        await subscriber.begin(after ?? newest, newest, await findLostEnd(after ?? newest, newest));
      } catch (failure) {
        subscriber.leave();
        throw failure;
      }
      if (signal?.aborted) subscriber.leave();
      else signal?.addEventListener('abort', subscriber.leave, { once: true });
      return subscriber;
    },

    /** Ends all streams. New subscriptions are possible afterwards. */
    close(): void {
      for (const subscriber of [...open]) subscriber.leave();
    },
  };
}
