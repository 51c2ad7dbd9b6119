import type { Address, Hex } from '../protocol/hex.ts';
import type { OrderData } from '../protocol/order.ts';
import type { SigningScheme } from '../protocol/signature.ts';
import type { AdmittedOrder } from '../records/wire-order.ts';
import type { KnownDocument } from './documents.ts';

/**
 * An order whose signature needs no other check of this process. The owner of an ECDSA signature is recovered. That of
 * the schemes `eip1271` and `presign` is claimed by the order, and the chain decides.
 */
export interface VerifiedOrder extends Omit<AdmittedOrder, 'creationDate' | 'class'> {
  readonly creation: ParsedCreation;
  readonly document: KnownDocument;
}

/** A parsed order. Absent members have their defaults. */
export interface ParsedCreation extends Omit<OrderData, 'feeAmount' | 'appData'> {
  /** False also for a fee that does not fit in 256 bits. */
  readonly feeIsZero: boolean;
  readonly signingScheme: SigningScheme;
  readonly signature: Hex;
  readonly from: Address | undefined;
  readonly quoteId: number | undefined;
  readonly appData: string;
  readonly appDataHash: Hex | undefined;
  readonly fullBalanceCheck: boolean;
}
