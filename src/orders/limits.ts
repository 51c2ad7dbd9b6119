import type { Address } from '../protocol/hex.ts';

/** What a book lets in. Every limit is an option of the host. */
export interface Limits {
  /** Seconds that an order must still be valid for when it arrives. Default 60. */
  readonly minValidity: number;
  /** Seconds that an order may be valid for at most; presign orders excepted. Default one year. */
  readonly maxValidity: number;
  /** Bytes of UTF-8 that an app-data document may have, inclusive. Default 1000. */
  readonly maxAppDataSize: number;
  /** Live orders that an owner may have, those not authenticated aside. Default: any number. */
  readonly maxOpenOrders: number | undefined;
  /**
   * Live orders that may wait for their owner's word: presign orders not signed on chain yet, contract signatures
   * nobody has checked. They have a budget of their own, so that a stranger cannot use up a victim's. Default: any number.
   */
  readonly maxPendingOrders: number | undefined;
}

export const DEFAULT_LIMITS: Limits = {
  minValidity: 60,
  maxValidity: 365 * 24 * 60 * 60,
  maxAppDataSize: 1000,
  maxOpenOrders: undefined,
  maxPendingOrders: undefined,
};

/** Which tokens a book trades. */
export interface TokenPolicy {
  /** The token that stands for native currency when it is sold. */
  readonly wrappedNative: Address | undefined;
  readonly deniedTokens: ReadonlySet<Address>;
}
