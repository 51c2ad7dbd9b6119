import type { StreamEvent, StreamItem, StreamPosition } from './stream.ts';

/**
 * Queue of a stream. When it is full, a gap replaces it, which later entries extend until it is read.
 *
 * A class, since a process has thousands: closures of each would take most of the memory of an idle stream.
 */
export class StreamQueue {
  readonly #size: number;
  #queue: (StreamEvent | StreamPosition)[] = [];
  #gap: { readonly from: number; readonly to: number } | undefined;
  #position = 0;

  /** @param size - Maximum number of entries that wait. */
  constructor(size: number) {
    this.#size = size;
  }

  /** Entries up to here are queued, left out as a gap, or do not concern the subscriber. */
  get position(): number {
    return this.#position;
  }

  get isEmpty(): boolean {
    return this.#queue.length === 0 && this.#gap === undefined;
  }

  /** Begins at a position, after a gap if entries before it are missing. */
  begin(at: number, missed?: { readonly from: number; readonly to: number }): void {
    this.#position = at;
    if (missed !== undefined) this.#queue.push({ type: 'gap', from: missed.from, to: missed.to });
  }

  push(item: StreamItem): void {
    if (item.id <= this.#position) return;
    if (this.#gap === undefined && this.#queue.length < this.#size) {
      // A first `push` would reserve 17 places for each subscriber.
      if (this.#queue.length === 0) this.#queue = [item];
      else this.#queue.push(item);
    } else {
      // Later entries extend the gap until it is read.
      this.#gap = { from: this.#getFirstWaiting(), to: item.id };
      this.#queue = [];
    }
    this.#position = item.id;
  }

  /** Adds a page of the log up to a position. The page may exceed the size of the queue. */
  append(items: readonly StreamItem[], through: number): void {
    this.#queue.push(...items.filter(({ id }) => id > this.#position));
    this.#position = Math.max(this.#position, through);
  }

  /** Adds a position without an entry. */
  advance(to: number): void {
    this.#position = to;
    this.#queue.push({ type: 'position', id: to });
  }

  /** Adds a gap between two positions, whose entries have been deleted. */
  skip(after: number, through: number): void {
    const from = Math.max(after, this.#position) + 1;
    if (from > through) return;
    this.#queue.push({ type: 'gap', from, to: through });
    this.#position = through;
  }

  /** Replaces the queue by a gap up to the start of an epoch, whose entries follow it. */
  restart(first: number): void {
    this.#queue = [{ type: 'gap', from: this.#getFirstWaiting(), to: first - 1 }];
    this.#gap = undefined;
    this.#position = first - 1;
  }

  /** Removes the first that waits. */
  shift(): StreamEvent | StreamPosition | undefined {
    if (this.#gap === undefined) return this.#queue.shift();
    const { from, to } = this.#gap;
    this.#gap = undefined;
    return { type: 'gap', from, to };
  }

  /** Removes what waits, and returns it. */
  take(): (StreamEvent | StreamPosition)[] {
    const gap = this.#gap === undefined ? undefined : this.shift();
    const events = gap === undefined ? this.#queue : [gap, ...this.#queue];
    this.#queue = [];
    return events;
  }

  /** Returns the first id that waits for the reader. */
  #getFirstWaiting(): number {
    const [first] = this.#queue;
    return this.#gap?.from ?? (first?.type === 'gap' ? first.from : (first?.id ?? this.#position + 1));
  }
}
