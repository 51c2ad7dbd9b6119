import type { Address, Hex } from './hex.ts';

/** A call that a user attaches to an order. */
export interface Hook {
  readonly target: Address;
  readonly callData: Hex;
  /** Gas limit in units, below 2^64. */
  readonly gasLimit: bigint;
}

/** The calls before and after an order's trade, in execution order. */
export interface Hooks {
  readonly pre: readonly Hook[];
  readonly post: readonly Hook[];
}

/** The fee of a partner in basis points: of the volume, or of the surplus up to a share of the volume. */
export type FeePolicy =
  | { readonly kind: 'volume'; readonly bps: number }
  | { readonly kind: 'surplus' | 'priceImprovement'; readonly bps: number; readonly maxVolumeBps: number };

export type PartnerFee = FeePolicy & { readonly recipient: Address };

/** A flash loan that is taken before the trade and repaid after it. */
export interface Flashloan {
  readonly liquidityProvider: Address;
  readonly protocolAdapter: Address;
  readonly receiver: Address;
  readonly token: Address;
  /** Atoms of the token. */
  readonly amount: bigint;
}

/** A contract that wraps the settlement of an order. */
export interface Wrapper {
  readonly address: Address;
  readonly data: Hex;
  readonly isOmittable: boolean;
}

/** The keys of an app-data document that the protocol defines. */
export interface Metadata {
  readonly hooks: Hooks;
  /** The signer, for schemes whose signature does not contain it. */
  readonly signer: Address | undefined;
  /** The UID of the order that this order replaces. */
  readonly replacedOrder: Hex | undefined;
  readonly partnerFees: readonly PartnerFee[];
  readonly flashloan: Flashloan | undefined;
  readonly wrappers: readonly Wrapper[];
  /** Seconds since 1970 before which the order must not be settled. */
  readonly validFrom: number | undefined;
  /** Whether the order requests a settlement outside of auctions. */
  readonly fastPath: boolean;
}

/** The metadata of a document without protocol keys. */
export const NO_METADATA: Metadata = {
  hooks: { pre: [], post: [] },
  signer: undefined,
  replacedOrder: undefined,
  partnerFees: [],
  flashloan: undefined,
  wrappers: [],
  validFrom: undefined,
  fastPath: false,
};
