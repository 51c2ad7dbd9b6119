import type { Address, Hex } from './protocol/hex.ts';
import type { SourceObservation } from './quotes/sources.ts';

/** Something that happened to an order, told after it is stored. */
export interface OrderEvent {
  /** Its place in the book's log; counts up in the order of commits. */
  readonly id: number;
  readonly uid: Hex;
  readonly owner: Address;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** The events of a book, by name, with their listeners' arguments. */
export interface OrderBookEvents {
  /** An order was accepted and stored. */
  orderCreated: (event: OrderEvent) => void;
  /** An order was cancelled by its owner. */
  orderCancelled: (event: OrderEvent) => void;
  /** A source of prices was asked something. */
  sourceAsked: (observation: SourceObservation) => void;
  /** Something failed that no caller waits for: a damaged row, a listener that threw, a log that could not be read. */
  fault: (fault: unknown) => void;
}
