import type { StreamEvent, StreamItem, StreamPosition } from './stream.ts';

/**
 * Creates the queue of a stream. When it is full, a gap replaces it, which later entries extend until it is read.
 *
 * @param size - Maximum number of entries that wait.
 * @param onChange - Called when something waits.
 */
export function createStreamQueue(size: number, onChange: () => void) {
  let queue: (StreamEvent | StreamPosition)[] = [];
  let gap: { from: number; to: number } | undefined;
  /** Entries up to here are queued, left out as a gap, or do not concern the subscriber. */
  let position = 0;

  /** Returns the first id that waits for the reader. */
  function getFirstWaiting(): number {
    const [first] = queue;
    return gap?.from ?? (first?.type === 'gap' ? first.from : (first?.id ?? position + 1));
  }

  /** Adds a gap between two positions, whose entries have been deleted. */
  function skip(after: number, through: number): void {
    const from = Math.max(after, position) + 1;
    if (from > through) return;
    queue.push({ type: 'gap', from, to: through });
    position = through;
    onChange();
  }

  return {
    get position(): number {
      return position;
    },
    get isEmpty(): boolean {
      return queue.length === 0 && gap === undefined;
    },
    /** Begins at a position, after a gap if entries before it are missing. */
    begin(at: number, missed?: { readonly from: number; readonly to: number }): void {
      position = at;
      if (missed !== undefined) queue.push({ type: 'gap', ...missed });
    },
    push(item: StreamItem): void {
      if (item.id <= position) return;
      if (gap === undefined && queue.length < size) {
        // A first `push` would reserve 17 places for each subscriber.
        if (queue.length === 0) queue = [item];
        else queue.push(item);
      } else {
        // Later entries extend the gap until it is read.
        gap = { from: getFirstWaiting(), to: item.id };
        queue = [];
      }
      position = item.id;
      onChange();
    },
    /** Adds a page of the log up to a position. The page may exceed the size of the queue. */
    append(items: readonly StreamItem[], through: number): void {
      queue.push(...items.filter(({ id }) => id > position));
      position = Math.max(position, through);
    },
    /** Adds a position without an entry. */
    advance(to: number): void {
      position = to;
      queue.push({ type: 'position', id: to });
      onChange();
    },
    skip,
    /** Replaces the queue by a gap up to the start of an epoch, whose entries follow it. */
    restart(first: number): void {
      queue = [{ type: 'gap', from: getFirstWaiting(), to: first - 1 }];
      gap = undefined;
      position = first - 1;
      onChange();
    },
    /** Removes what waits, and returns it. */
    take(): (StreamEvent | StreamPosition)[] {
      const events: (StreamEvent | StreamPosition)[] = gap === undefined ? queue : [{ type: 'gap', ...gap }, ...queue];
      gap = undefined;
      queue = [];
      return events;
    },
  };
}
