import type { KnownDocument } from '../app-data/documents.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import type { OrderData } from '../protocol/order.ts';
import type { Interactions } from '../protocol/trampoline.ts';
import type { ParsedCreation } from './creation.ts';

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
