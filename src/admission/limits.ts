import type { Address } from '../protocol/hex.ts';
import type { Rules } from '../protocol/profile.ts';

/** Limits on the number of an owner's live orders: neither cancelled nor fulfilled nor expired. */
export interface OwnerLimits {
  /** Maximum number of orders that the owner has authorised. Default: unlimited. */
  readonly maxOpenOrders: number | undefined;
  /**
   * Maximum number of orders without a verified owner: presign orders without a signature on chain, unchecked contract
   * signatures. They have a separate quota, so that a stranger cannot exhaust that of an owner. A client of
   * an interface has the same quota for presign orders of all owners. Presign orders of another client with more of
   * them do not stop it. Default: unlimited.
   */
  readonly maxPendingOrders: number | undefined;
}

/** Limits of a book. Every limit is an option of the host. */
export interface Limits extends OwnerLimits {
  /** Minimum remaining validity of a new order, in seconds. Default: 60. */
  readonly minValidity: number;
  /** Maximum remaining validity of a new order, in seconds; presign orders are exempt. Default: 31536000 (one year). */
  readonly maxValidity: number;
  /**
   * Maximum time that a presign order waits for its signature, in seconds. It is then expired, until its owner signs it
   * on chain. Default: until `validTo`.
   */
  readonly maxPendingValidity: number | undefined;
  /**
   * Maximum size of an app-data document in bytes of UTF-8, inclusive. Default: 1000, or 8192 in the production
   * profile.
   */
  readonly maxAppDataSize: number;
  /** Maximum gas of an order's hooks and of the check of its contract signature. Default: 8000000. */
  readonly maxOrderGas: number;
  /**
   * Maximum number of uploaded documents that no order refers to; the oldest is deleted for a new one. Uploads need no
   * signature, so this bounds the storage that strangers can use. Default: 10000.
   */
  readonly maxUnreferencedDocuments: number;
}

export const DEFAULT_LIMITS: Limits = {
  minValidity: 60,
  maxValidity: 365 * 24 * 60 * 60,
  maxAppDataSize: 1000,
  maxOrderGas: 8_000_000,
  maxUnreferencedDocuments: 10_000,
  maxPendingValidity: undefined,
  maxOpenOrders: undefined,
  maxPendingOrders: undefined,
};

/** Limits of individual owners, by address in lower case. */
export type OwnerLimitsTable = ReadonlyMap<Address, Partial<OwnerLimits>>;

/** The tokens that a book accepts. */
export interface TokenPolicy {
  /** The token that represents native currency on the sell side. */
  readonly wrappedNative: Address | undefined;
  readonly deniedTokens: ReadonlySet<Address>;
  /** The rules for orders whose tokens are worth the same. */
  readonly pairs: Pick<Rules, 'sameToken' | 'wrappedToNative'>;
}
