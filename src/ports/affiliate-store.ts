import type { Address, Hex } from '../protocol/hex.ts';

/** A code to bind to a wallet. The caller has verified the signature. */
export interface NewAffiliate {
  readonly walletAddress: Address;
  /** In normal form: trimmed, upper case. */
  readonly code: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** The signed digest, 32 bytes. */
  readonly digest: Hex;
  /** The signature in normal form: low s, v of 27 or 28. A contract signature is stored unchanged. */
  readonly signedMessage: Hex;
}

/** A code and the wallet that has signed it. `createdAt` is in milliseconds since 1970. */
export interface Affiliate {
  readonly walletAddress: Address;
  readonly code: string;
  readonly createdAt: number;
}

/** The result of a registration: the first status that applies. See docs/internals/decisions.md#d5-3. */
export type RegisterOutcome =
  | { readonly status: 'registered' }
  /** The wallet already has a code. */
  | { readonly status: 'bound' }
  /** The digest or the signature was used for an earlier registration. */
  | { readonly status: 'used' }
  /** The code belongs to another wallet. */
  | { readonly status: 'taken' };

/** Codes, the wallets that they are bound to, and the signatures that were used to bind them. */
export interface AffiliateStore {
  /**
   * Binds a code to a wallet and records digest and signature as used, in one step. Of several concurrent calls for one
   * code, wallet or signature, exactly one is `registered`.
   */
  register(affiliate: NewAffiliate): Promise<RegisterOutcome>;
  byWallet(walletAddress: Address): Promise<Affiliate | undefined>;
  /** @param code - In normal form. */
  byCode(code: string): Promise<Affiliate | undefined>;
}
