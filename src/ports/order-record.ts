import type { Address, Hex } from '../protocol/hex.ts';
import type { SigningScheme } from '../protocol/signature.ts';
import type { OrderQuote } from './quote-store.ts';

/**
 * The stored state of an order, written with each change. `expired` is not a stored state, because it depends on the
 * time (see `getOrderStatus`).
 */
export type OrderState = 'open' | 'presignaturePending' | 'cancelled' | 'fulfilled';

/**
 * Class of a live order. An owner has one quota per class. An order is `pending` if its owner has not been verified: a
 * presign order without a signature on chain, or an unchecked contract signature.
 */
export type QuotaClass = 'open' | 'pending';

/** An order to insert. These values never change, except for changes by the chain and by the owner. */
export interface NewOrder {
  readonly uid: Hex;
  readonly owner: Address;
  /** Milliseconds since 1970. */
  readonly creationDate: number;
  readonly sellToken: Address;
  readonly buyToken: Address;
  readonly signingScheme: SigningScheme;
  /**
   * Effective validity in seconds since 1970: the signed value, the user's choice if it differs, or an earlier time up
   * to which a presign order waits for its signature.
   */
  readonly validTo: number;
  readonly state: 'open' | 'presignaturePending';
  readonly quotaClass: QuotaClass;
  /** The hash of the app-data document. */
  readonly appData: Hex;
  /**
   * All immutable members of the order in wire format, rendered once as a JSON object. The store MUST keep the text
   * unchanged.
   */
  readonly body: string;
  /** The quote of the order, if any. Stored with the order, independent of the quote's own expiry. */
  readonly quote?: OrderQuote;
}
