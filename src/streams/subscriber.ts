import { thenAlways } from '../ports/clock.ts';
import {
  type LogPage,
  POSITION_INTERVAL,
  type Stream,
  type StreamEvent,
  type StreamItem,
  type StreamOptions,
} from './stream.ts';
import { StreamQueue } from './stream-queue.ts';

/** What subscribers need of their broadcaster. */
export interface SubscriberHost {
  readonly queueSize: number;
  /** Maximum number of log entries that a subscriber can resume over. */
  readonly resumeLimit: number;
  /** Returns the last position that the broadcaster has distributed. `undefined` if it has stopped. */
  position(): number | undefined;
  /** Reads a page for a subscriber. Entries up to `pruned` may be missing from it. */
  resume(subscriber: StreamSubscriber, after: number, last: number): Promise<LogPage & { readonly pruned?: number }>;
  /** Called when the subscriber starts to receive pushed items. */
  onLive(subscriber: StreamSubscriber): void;
  /** Called when the subscriber reads the log separately again. */
  onLagging(subscriber: StreamSubscriber): void;
  onLeave(subscriber: StreamSubscriber): void;
  onFailure(failure: unknown): void;
}

/** What is sent to a subscriber. */
export interface SubscriberOptions extends StreamOptions {
  readonly key: string;
  /** Returns whether an item of the key concerns the subscriber. Absent: each does. */
  readonly matches?: ((item: StreamItem) => boolean) | undefined;
}

type Next = IteratorResult<StreamEvent>;

const END = { done: true, value: undefined } as const;

/** Subscriber of a broadcaster. A class, as its queue is. */
export class StreamSubscriber implements Stream {
  readonly options: SubscriberOptions;
  readonly #host: SubscriberHost;
  readonly #queue: StreamQueue;
  #start = 0;
  #backlog = 0;
  #hasBegun = false;
  /** The last restart before the subscriber has begun. */
  #restarted: { readonly first: number; readonly through: number } | undefined;
  #live = false;
  #ended = false;
  /** Called once when something waits, or the stream has ended. */
  #reader: (() => void) | undefined;
  #catchingUp: Promise<void> | undefined;

  /** Bound, as the listener of a signal. */
  readonly leave = (): void => {
    if (this.#ended) return;
    this.#ended = true;
    this.#queue.take();
    this.#wake();
    this.#host.onLeave(this);
  };

  constructor(host: SubscriberHost, options: SubscriberOptions) {
    this.options = options;
    this.#host = host;
    this.#queue = new StreamQueue(host.queueSize);
  }

  get start(): number {
    return this.#start;
  }

  get backlog(): number {
    return this.#backlog;
  }

  get position(): number | undefined {
    const isWaiting = this.#live && this.#reader !== undefined && this.#queue.isEmpty;
    return isWaiting ? Math.max(this.#queue.position, this.#host.position() ?? 0) : undefined;
  }

  /**
   * Starts after a position. `last` is the newest position of the log.
   *
   * @param lostEnd - The position up to which entries may be lost, if the log has begun a new epoch.
   */
  async begin(after: number, known: number, lostEnd?: number): Promise<void> {
    this.#hasBegun = true;
    const restarted = this.#restarted;
    const last = Math.max(known, restarted?.through ?? 0);
    const skipped = restarted !== undefined && after > 0 && after < restarted.first ? restarted.first - 1 : lostEnd;
    const missed = findMissed(after, last, skipped, this.#host.resumeLimit);
    this.#queue.begin(missed?.to ?? after, missed);
    // A client that is disconnected before it has received the gap must receive it when it resumes.
    this.#start = after;
    this.#backlog = last - this.#queue.position;
    // A subscriber that has missed nothing receives all entries from now on, whenever it starts to read.
    if (this.#queue.position >= (this.#host.position() ?? 0)) await this.#catchUp();
  }

  push(item: StreamItem): void {
    if (this.options.matches?.(item) === false) return;
    this.#queue.push(item);
    this.#wake();
  }

  /** Sends the position of the broadcaster if the subscriber has received nothing for many entries. */
  report(reached: number): void {
    if (!this.#live || !this.#queue.isEmpty || reached - this.#queue.position < POSITION_INTERVAL) return;
    this.#queue.advance(reached);
    this.#wake();
  }

  /** Makes the subscriber read the log separately, since it may have missed an item. */
  fallBehind(): void {
    this.#live = false;
    this.#host.onLagging(this);
    this.#wake();
  }

  /**
   * Replaces the queue by a gap up to the start of a new epoch of the log, which may have lost entries. Has no effect
   * on a subscriber that has received nothing, or that has reached this epoch.
   *
   * @param first - The first id of the epoch.
   * @param through - The newest id that has been read.
   */
  restart(first: number, through: number): void {
    if (!this.#hasBegun) this.#restarted = { first, through };
    else if (this.#queue.position > 0 && this.#queue.position < first) {
      this.#queue.restart(first);
      this.#wake();
    }
  }

  /** Adds a gap between two positions, whose entries have been deleted before they were distributed. */
  skip(from: number, through: number): void {
    // A subscriber that is not live reads the log itself.
    if (!this.#live) return;
    this.#queue.skip(from, through);
    this.#wake();
  }

  // Not async: what waits for an event is all that many idle subscribers need, and all that is collected.
  take(): ReturnType<Stream['take']> {
    if (this.#ended) return Promise.resolve([]);
    if (!this.#queue.isEmpty) return Promise.resolve(this.#queue.take());
    return new Promise<void>((resolve) => this.#wait(resolve)).then(() => this.take());
  }

  // An async generator would not do: while it waits, it does not receive its reader's `return`.
  [Symbol.asyncIterator](): AsyncIterator<StreamEvent> {
    return {
      next: () => Promise.resolve(this.#getNext()),
      return: async () => {
        this.leave();
        return END;
      },
    };
  }

  #getNext(): Next | Promise<Next> {
    if (this.#ended) return END;
    for (let event = this.#queue.shift(); event !== undefined; event = this.#queue.shift()) {
      if (event.type !== 'position') return { done: false, value: event };
    }
    return new Promise((resolve) => this.#wait(() => resolve(this.#getNext())));
  }

  #wake(): void {
    const waiting = this.#reader;
    this.#reader = undefined;
    waiting?.();
  }

  /** Calls readers in turn, each when it may read again. */
  #wait(read: () => void): void {
    if (this.#live) {
      const earlier = this.#reader;
      const both = () => {
        earlier?.();
        read();
      };
      this.#reader = earlier === undefined ? read : both;
      return;
    }
    this.#catchingUp ??= thenAlways(
      this.#catchUp().catch((failure: unknown) => {
        this.#host.onFailure(failure);
        this.leave();
      }),
      () => {
        this.#catchingUp = undefined;
      },
    );
    void this.#catchingUp.then(read);
  }

  /** Reads one page of missed entries. Becomes live when none is missing. */
  async #catchUp(): Promise<void> {
    const queue = this.#queue;
    const last = this.#host.position();
    if (last === undefined) return this.leave();
    const from = queue.position;
    if (from < last) {
      const { items, through, pruned = 0 } = await this.#host.resume(this, from, last);
      if (this.#ended) return;
      queue.skip(queue.position, pruned);
      const { matches } = this.options;
      queue.append(matches === undefined ? items : items.filter(matches), through);
      // A client that leaves before it receives an entry need not have all of them read again.
      if (queue.isEmpty && through - from >= POSITION_INTERVAL) queue.advance(through);
    }
    // No item can be distributed between this comparison and `onLive`, which run in the same tick.
    if (queue.position < (this.#host.position() ?? 0)) return;
    this.#live = true;
    this.#host.onLive(this);
  }
}

/** Returns the gap at the begin of a stream. `undefined`: it can resume without one. */
function findMissed(after: number, last: number, skipped: number | undefined, resumeLimit: number) {
  // The position belongs to another log, or the log was reset.
  if (after > last) return { from: 1, to: last };
  if (skipped === undefined && last - after <= resumeLimit) return undefined;
  return { from: after + 1, to: Math.max(skipped ?? 0, last - resumeLimit) };
}
