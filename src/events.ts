import type { ChainCause } from './ports/order-events.ts';
import type { Address, Hex } from './protocol/hex.ts';

/** A change of an order, emitted after it is stored. */
export interface OrderEvent {
  /** The position in the event log. Increases in the order of commits. */
  readonly id: number;
  readonly uid: Hex;
  readonly owner: Address;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The chain event that caused it, if any. */
  readonly cause?: ChainCause;
}

/** A change of an order that a chain event caused. */
export interface ChainOrderEvent extends OrderEvent {
  readonly cause: ChainCause;
}

/** A fill. */
export interface TradeEvent extends OrderEvent {
  readonly cause: ChainCause & Required<Pick<ChainCause, 'trade'>>;
}

/** The reversal of a chain event whose block was reverted. */
export interface RevertedEvent extends OrderEvent {
  readonly cause: ChainCause & Required<Pick<ChainCause, 'reverted'>>;
}
