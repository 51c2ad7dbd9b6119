import type { Address } from '../protocol/hex.ts';

/** How many live orders an owner may have, neither cancelled nor filled nor expired. */
export interface OwnerLimits {
  /** Those that the owner has authorised. Default: any number. */
  readonly maxOpenOrders: number | undefined;
  /**
   * Those that wait for the owner's word: presign orders not signed on chain yet, contract signatures that nobody has
   * checked. They have a budget of their own, so that a stranger cannot use up a victim's. Default: any number.
   */
  readonly maxPendingOrders: number | undefined;
}

/** What a book lets in. Every limit is an option of the host. */
export interface Limits extends OwnerLimits {
  /** Seconds that an order must still be valid for when it arrives. Default 60. */
  readonly minValidity: number;
  /** Seconds that an order may be valid for at most; presign orders excepted. Default one year. */
  readonly maxValidity: number;
  /** Bytes of UTF-8 that an app-data document may have, inclusive. Default 1000. */
  readonly maxAppDataSize: number;
  /**
   * Uploaded documents that are kept while no order refers to them; the oldest makes room for the next. Nobody signs
   * for them, so that this bounds what strangers can store. Default 10,000.
   */
  readonly maxUnreferencedDocuments: number;
}

export const DEFAULT_LIMITS: Limits = {
  minValidity: 60,
  maxValidity: 365 * 24 * 60 * 60,
  maxAppDataSize: 1000,
  maxUnreferencedDocuments: 10_000,
  maxOpenOrders: undefined,
  maxPendingOrders: undefined,
};

/** The limits of owners who have their own, by address in lower case. */
export type OwnerLimitsTable = ReadonlyMap<Address, Partial<OwnerLimits>>;

/** Which tokens a book trades. */
export interface TokenPolicy {
  /** The token that stands for native currency when it is sold. */
  readonly wrappedNative: Address | undefined;
  readonly deniedTokens: ReadonlySet<Address>;
}
