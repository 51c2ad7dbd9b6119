import type { OrderBook } from 'intentbook';

/** A change of the connection of a book to its nodes. */
export interface ChainChange {
  /** Path of the book. */
  readonly path: string;
  /** Whether a node responds. */
  readonly up: boolean;
  /** One line, for a log. */
  readonly message: string;
}

/** The connection of a book to its nodes. */
export interface ChainMonitor {
  /** Whether a node responded at last. `undefined` before the first request has finished. */
  readonly up: boolean | undefined;
  /** Blocks between the head of the chain and the indexed block. `undefined` before the first response. */
  readonly lag: number | undefined;
}

/** Watches the indexer of a book that has not started. Reports each change of state once. */
export function monitorChain(
  path: string,
  book: Pick<OrderBook, 'on'>,
  onChange: (change: ChainChange) => void,
): ChainMonitor {
  let up: boolean | undefined;
  let lag: number | undefined;
  book.on('chainProgress', (observation) => {
    if (observation.type === 'progress') {
      const { block, head } = observation;
      lag = Math.max(0, head - block);
      if (up === true) return;
      up = true;
      onChange({ path, up, message: `chain: connected; block ${block} of ${head} is indexed` });
    }
    if (observation.type === 'failure' && up !== false) {
      up = false;
      const { source, failure } = observation;
      onChange({ path, up, message: `chain: ${source} does not respond (${reasonOf(failure)}); retrying` });
    }
  });
  return {
    get up() {
      return up;
    },
    get lag() {
      return lag;
    },
  };
}

/** Returns the first line of a message. */
function reasonOf(failure: unknown): string {
  const text = failure instanceof Error ? failure.message : String(failure);
  return (text.split('\n')[0] ?? '').slice(0, 200);
}
