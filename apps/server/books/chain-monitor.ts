import type { OrderBook } from 'intentbook';
import { type ChainState, observeChain } from 'intentbook/prometheus';
import { formatError } from '#internal';

/** A change of the connection of a book to its nodes. */
export interface ChainChange {
  /** Path of the book. */
  readonly path: string;
  /** Whether a node responds. */
  readonly up: boolean;
  /** One line, for a log. */
  readonly message: string;
}

/** Watches the nodes of a book that has not started. Reports each change of state once. */
export function reportChainChanges(
  path: string,
  book: Pick<OrderBook, 'on'>,
  onChange: (change: ChainChange) => void,
): ChainState {
  const state = observeChain(book, ({ up, source, failure }) => {
    const lag = state.lag === undefined ? '' : `; ${state.lag} blocks are not indexed yet`;
    const failed = `chain: ${source} does not respond (${getReason(failure)}); retrying`;
    onChange({ path, up, message: up ? `chain: connected${lag}` : failed });
  });
  return state;
}

/** Returns the first line of a message. */
function getReason(failure: unknown): string {
  const text = failure instanceof Error ? failure.message : formatError(failure);
  return (text.split('\n')[0] ?? '').slice(0, 200);
}
