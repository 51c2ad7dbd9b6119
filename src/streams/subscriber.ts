import type { LogPage, Stream, StreamEvent, StreamItem } from './broadcaster.ts';

export interface SubscriberOptions {
  readonly key: string;
  readonly queueSize: number;
  readonly resumeLimit: number;
  /** Up to where those who listen have been told. */
  told(): number | undefined;
  resume(after: number, key: string, told: number): Promise<LogPage>;
  /** From now on it is told what happens. */
  onLive(): void;
  /** From now on it is not, since it reads by itself. */
  onLagging(): void;
  onLeave(): void;
  onFailure(failure: unknown): void;
}

/** A stream as its hub sees it. */
export interface StreamSubscriber extends Stream {
  /** Puts it behind a place, not beyond `last`, the newest of the log. */
  begin(after: number, last: number): Promise<void>;
  push(item: StreamItem): void;
  /** It may have missed something: it reads on from where it is. */
  fallBehind(): void;
}

export function createSubscriber(options: SubscriberOptions): StreamSubscriber {
  const { key, queueSize, resumeLimit } = options;
  let queue: StreamEvent[] = [];
  let gap: { from: number; to: number } | undefined;
  /** Everything up to here has been queued, left out, or was no business of this reader's. */
  let place = 0;
  let start = 0;
  let live = false;
  let ended = false;
  let wake: (() => void) | undefined;

  function push(item: StreamItem): void {
    if (ended || item.id <= place) return;
    place = item.id;
    if (gap !== undefined) gap.to = item.id;
    else if (queue.length < queueSize) queue.push(item);
    else {
      const [first] = queue;
      gap = { from: first?.type === 'item' ? first.id : (first?.from ?? item.id), to: item.id };
      queue = [];
    }
    wake?.();
  }

  function leave(): void {
    if (ended) return;
    ended = true;
    queue = [];
    gap = undefined;
    wake?.();
    options.onLeave();
  }

  /** Reads a page of what was missed; becomes a listener once nothing is missing. */
  async function catchUp(): Promise<void> {
    const told = options.told();
    if (told === undefined) return leave();
    if (place < told) {
      const { items, through } = await options.resume(place, key, told);
      if (ended) return;
      queue.push(...items.filter(({ id }) => id > place));
      place = Math.max(place, through);
    }
    // Nothing is told between this comparison and the listening.
    if (place < (options.told() ?? 0)) return;
    live = true;
    options.onLive();
  }

  async function take(): Promise<readonly StreamEvent[]> {
    while (!ended) {
      if (gap !== undefined) {
        const told = gap;
        gap = undefined;
        return [{ type: 'gap', ...told }];
      }
      if (queue.length > 0) {
        const events = queue;
        queue = [];
        return events;
      }
      if (!live) {
        try {
          await catchUp();
        } catch (failure) {
          options.onFailure(failure);
          leave();
        }
        continue;
      }
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
      wake = undefined;
    }
    return [];
  }

  let taken: StreamEvent[] = [];
  const iterator: AsyncIterator<StreamEvent> = {
    async next() {
      if (taken.length === 0) taken = [...(await take())];
      const value = taken.shift();
      return value === undefined ? { done: true, value: undefined } : { done: false, value };
    },
    async return() {
      leave();
      return { done: true, value: undefined };
    },
  };

  return {
    get start() {
      return start;
    },
    async begin(after, last) {
      place = after;
      if (after > last) {
        // A place that is not there is one of another log, or of one that was set back.
        place = last;
        queue.push({ type: 'gap', from: 1, to: last });
      } else if (last - after > resumeLimit) {
        place = last - resumeLimit;
        queue.push({ type: 'gap', from: after + 1, to: place });
      }
      start = place;
      // Who has missed nothing hears of everything from this moment on, whenever it begins to read.
      if (place >= (options.told() ?? 0)) await catchUp();
    },
    fallBehind() {
      live = false;
      options.onLagging();
      wake?.();
    },
    push,
    take,
    leave,
    [Symbol.asyncIterator]: () => iterator,
  };
}
