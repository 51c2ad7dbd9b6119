import type { Address, Hex, OrderCreation } from 'intentbook';
import type { OrderMessage } from 'intentbook/sign';

/** The chain id of every simulation: Sepolia. */
export const CHAIN_ID = 11_155_111;

/** Tokens of all orders. */
export const SELL_TOKEN: Address = '0xfff9976782d46cc05630d1f6ebab18b2324d6b14';
export const BUY_TOKEN: Address = '0x0625afb445c3b6b7b929342a04a22599fd5dbb59';

/** Limits of each owner. They are low, so that random orders exceed them. */
export const QUOTAS = { open: 4, pending: 2 } as const;

/** Minimum remaining validity of a new order, in seconds. */
export const MIN_VALIDITY = 60;

/** Referrer codes: of a wallet without orders, of the second owner, and of no wallet. */
export const CODES = { other: 'ALPHA', own: 'BRAVO-2', unknown: 'CHARLIE_3' } as const;

export type Scheme = 'eip712' | 'ethsign' | 'presign' | 'eip1271';

/** A signed order. Few orders are used again and again, so that operations collide. */
export interface PoolOrder {
  readonly index: number;
  readonly uid: Hex;
  /** The signed terms. */
  readonly terms: OrderMessage;
  readonly owner: Address;
  /** Index of the owner. */
  readonly signer: number;
  readonly kind: 'sell' | 'buy';
  readonly sellAmount: bigint;
  readonly buyAmount: bigint;
  readonly validTo: number;
  /** Time before which auctions do not have it, in seconds since 1970. */
  readonly validFrom: number | undefined;
  readonly scheme: Scheme;
  readonly quotaClass: 'open' | 'pending';
  /** Index of the order that it replaces. */
  readonly replaces: number | undefined;
  /** The code with which every book rejects this order. */
  readonly rejection: string | undefined;
  /** The referrer code of its document. */
  readonly code: string | undefined;
  /** The user that places it on chain. `undefined`: it is submitted. */
  readonly placedBy: Address | undefined;
  /** `undefined` for an order that is placed on chain. */
  readonly creation: OrderCreation | undefined;
}
