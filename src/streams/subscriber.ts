import {
  type LogPage,
  POSITION_INTERVAL,
  type Stream,
  type StreamEvent,
  type StreamItem,
  type StreamPosition,
} from './stream.ts';
import { createStreamQueue } from './stream-queue.ts';

export interface SubscriberOptions {
  readonly key: string;
  readonly queueSize: number;
  readonly resumeLimit: number;
  /** Returns the last position that the broadcaster has distributed. `undefined` if it has stopped. */
  position(): number | undefined;
  /** Reads a page. Entries up to `pruned` may be missing from it. */
  resume(after: number, key: string, last: number): Promise<LogPage & { readonly pruned?: number }>;
  /** Called when the subscriber starts to receive pushed items. */
  onLive(): void;
  /** Called when the subscriber reads the log separately again. */
  onLagging(): void;
  onLeave(): void;
  onFailure(failure: unknown): void;
}

type Events = Awaited<ReturnType<Stream['take']>>;

export interface StreamSubscriber extends Stream {
  /**
   * Starts after a position. `last` is the newest position of the log.
   *
   * @param lostEnd - The position up to which entries may be lost, if the log has begun a new epoch.
   */
  begin(after: number, last: number, lostEnd?: number): Promise<void>;
  push(item: StreamItem): void;
  /** Sends the position of the broadcaster if the subscriber has received nothing for many entries. */
  report(position: number): void;
  /** Makes the subscriber read the log separately, since it may have missed an item. */
  fallBehind(): void;
  /**
   * Replaces the queue by a gap up to the start of a new epoch of the log, which may have lost entries. Has no effect
   * on a subscriber that has received nothing, or that has reached this epoch.
   *
   * @param first - The first id of the epoch.
   * @param through - The newest id that has been read.
   */
  restart(first: number, through: number): void;
  /** Adds a gap between two positions, whose entries have been deleted before they were distributed. */
  skip(from: number, through: number): void;
}

export function createSubscriber(options: SubscriberOptions): StreamSubscriber {
  const { key, queueSize, resumeLimit } = options;
  const queue = createStreamQueue(queueSize, () => wake?.());
  let start = 0;
  let backlog = 0;
  let hasBegun = false;
  /** The last restart before the subscriber has begun. */
  let restarted: { readonly first: number; readonly through: number } | undefined;
  let live = false;
  let ended = false;
  let wake: (() => void) | undefined;

  function leave(): void {
    if (ended) return;
    ended = true;
    queue.take();
    wake?.();
    options.onLeave();
  }

  /** Reads one page of missed entries. Becomes live when none is missing. */
  async function catchUp(): Promise<void> {
    const last = options.position();
    if (last === undefined) return leave();
    if (queue.position < last) {
      const { items, through, pruned = 0 } = await options.resume(queue.position, key, last);
      if (ended) return;
      queue.skip(queue.position, pruned);
      queue.append(items, through);
    }
    // No item can be distributed between this comparison and `onLive`, which run in the same tick.
    if (queue.position < (options.position() ?? 0)) return;
    live = true;
    options.onLive();
  }

  // No async function: what waits for an event is all that many idle subscribers need, and all that is collected.
  // Events are no promise, which would take two more steps of each subscriber.
  function takeNow(): Events | Promise<Events> {
    wake = undefined;
    if (ended) return [];
    if (!queue.isEmpty) return queue.take();
    if (!live) return catchUp().catch(fail).then(takeNow);
    const changed = new Promise<void>((resolve) => {
      wake = resolve;
    });
    return changed.then(takeNow);
  }

  const take = () => Promise.resolve(takeNow());

  function fail(failure: unknown): void {
    options.onFailure(failure);
    leave();
  }

  const iterator = createStreamIterator(take, leave);

  return {
    get start() {
      return start;
    },
    get backlog() {
      return backlog;
    },
    get position() {
      const isWaiting = live && wake !== undefined && queue.isEmpty;
      return isWaiting ? Math.max(queue.position, options.position() ?? 0) : undefined;
    },
    report(reached) {
      if (live && queue.isEmpty && reached - queue.position >= POSITION_INTERVAL) queue.advance(reached);
    },
    async begin(after, known, lostEnd) {
      hasBegun = true;
      const last = Math.max(known, restarted?.through ?? 0);
      const skipped = restarted !== undefined && after > 0 && after < restarted.first ? restarted.first - 1 : lostEnd;
      const missed = findMissed(after, last, skipped, resumeLimit);
      queue.begin(missed?.to ?? after, missed);
      // A client that is disconnected before it has received the gap must receive it when it resumes.
      start = after;
      backlog = last - queue.position;
      // A subscriber that has missed nothing receives all entries from now on, whenever it starts to read.
      if (queue.position >= (options.position() ?? 0)) await catchUp();
    },
    fallBehind() {
      live = false;
      options.onLagging();
      wake?.();
    },
    restart(first, through) {
      if (!hasBegun) restarted = { first, through };
      else if (queue.position > 0 && queue.position < first) queue.restart(first);
    },
    skip(from, through) {
      // A subscriber that is not live reads the log itself.
      if (live) queue.skip(from, through);
    },
    push: queue.push,
    take,
    leave,
    [Symbol.asyncIterator]: () => iterator,
  };
}

/** Returns the gap at the begin of a stream. `undefined`: it can resume without one. */
function findMissed(after: number, last: number, skipped: number | undefined, resumeLimit: number) {
  // The position belongs to another log, or the log was reset.
  if (after > last) return { from: 1, to: last };
  if (skipped === undefined && last - after <= resumeLimit) return undefined;
  return { from: after + 1, to: Math.max(skipped ?? 0, last - resumeLimit) };
}

/**
 * Creates the iterator of a stream. An async generator would not do: while it waits, it does not receive its reader's
 * `return`.
 */
export function createStreamIterator(take: Stream['take'], leave: Stream['leave']): AsyncIterator<StreamEvent> {
  let taken: readonly (StreamEvent | StreamPosition)[] = [];
  let at = 0;
  let reads = 0;
  let last: Promise<IteratorResult<StreamEvent>> | undefined;
  const end = () => {
    leave();
    return { done: true, value: undefined } as const;
  };
  const settle = (result: IteratorResult<StreamEvent>) => {
    reads--;
    return result;
  };
  function getTaken(): IteratorResult<StreamEvent> | undefined {
    for (let event = taken[at++]; event !== undefined; event = taken[at++]) {
      if (event.type !== 'position') return settle({ done: false, value: event });
    }
    return undefined;
  }
  function read(): Promise<IteratorResult<StreamEvent>> {
    const result = getTaken();
    return result === undefined ? take().then(onTaken, onFailure) : Promise.resolve(result);
  }
  function onTaken(events: Events) {
    taken = events;
    at = 0;
    return events.length === 0 ? settle(end()) : (getTaken() ?? read());
  }
  function onFailure(failure: unknown): never {
    reads--;
    throw failure;
  }
  return {
    next() {
      // A stream has one pending read, so further calls wait for it, as those of a generator.
      last = reads++ === 0 || last === undefined ? read() : last.then(read, read);
      return last;
    },
    return: async () => end(),
  };
}
