import type { Address, Hex } from '../protocol/hex.ts';
import type { BuyTokenDestination, OrderData, OrderKind, SellTokenSource } from '../protocol/order.ts';
import type { SigningScheme } from '../protocol/signature.ts';
import type { Interactions } from '../protocol/trampoline.ts';
import type { KnownDocument } from './documents.ts';

/** An order whose signature has been checked and whose owner is therefore determined. */
export interface VerifiedOrder {
  readonly creation: ParsedCreation;
  /** The signed data. */
  readonly data: OrderData;
  readonly uid: Hex;
  readonly owner: Address;
  /** The signature in its stored form. */
  readonly signature: Hex;
  readonly document: KnownDocument;
  /** The document's hooks, in the form in which a settlement runs them. */
  readonly interactions: Interactions;
}

/** A parsed order. Absent members have their defaults. */
export interface ParsedCreation {
  readonly sellToken: Address;
  readonly buyToken: Address;
  readonly receiver: Address | null;
  readonly sellAmount: bigint;
  readonly buyAmount: bigint;
  readonly validTo: number;
  /** False also for a fee that does not fit in 256 bits. */
  readonly feeIsZero: boolean;
  readonly kind: OrderKind;
  readonly partiallyFillable: boolean;
  readonly sellTokenBalance: SellTokenSource;
  readonly buyTokenBalance: BuyTokenDestination;
  readonly signingScheme: SigningScheme;
  readonly signature: Hex;
  readonly from: Address | undefined;
  readonly quoteId: number | undefined;
  readonly appData: string;
  readonly appDataHash: Hex | undefined;
  readonly fullBalanceCheck: boolean;
}
