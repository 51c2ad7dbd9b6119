import type { Address, Hex } from '../protocol/hex.ts';

/** The types of log entries. */
export const ORDER_EVENTS = [
  'created',
  'cancelled',
  /** The order was placed on chain after it had been submitted, or added by a settlement. */
  'placed',
  'presigned',
  'presignatureRevoked',
  'traded',
  'refunded',
  /** `validTo` has passed while the order was open, as far as the chain is indexed. */
  'expired',
  /**
   * The order is not expired after all: an older chain event was indexed, the cause of the expiry was rolled back, or a
   * clock that was ahead had recorded the expiry.
   */
  'reinstated',
  /** A block was rolled back, and with it the event in `cause.reverted`. */
  'reverted',
] as const;

/** The type of a log entry. */
export type OrderEventType = (typeof ORDER_EVENTS)[number];

/** The position of a log on the chain. Block number and log index are the key; the block hash identifies the fork. */
export interface LogPosition {
  readonly blockNumber: number;
  readonly blockHash: Hex;
  readonly logIndex: number;
  readonly transactionHash: Hex;
}

/** The chain event that caused a log entry. */
export interface ChainCause {
  readonly position: LogPosition;
  readonly trade?: {
    /** Number of the order's trade in this transaction, from 1. */
    readonly ordinal: number;
    /** Whether this trade fills the order. */
    readonly completes: boolean;
    readonly sellAmount: string;
    readonly buyAmount: string;
    readonly feeAmount: string;
  };
  /**
   * The account that has placed the order on chain, in the entries of a placement for another owner, such as the
   * contract for native currency.
   */
  readonly onchainUser?: Address;
  /** In a `reverted` entry: the type of the entry that is reverted. All other fields are as in that entry. */
  readonly reverted?: Exclude<OrderEventType, 'expired' | 'reinstated' | 'reverted'>;
}
