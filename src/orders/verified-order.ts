import type { KnownDocument } from '../app-data/documents.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import type { OrderData } from '../protocol/order.ts';
import type { Interactions } from '../protocol/trampoline.ts';
import type { ParsedCreation } from './creation.ts';

/** An order on its way in, once its owner is known. */
export interface VerifiedOrder {
  readonly creation: ParsedCreation;
  /** What was signed. */
  readonly data: OrderData;
  readonly uid: Hex;
  readonly owner: Address;
  /** The signature in its stored form. */
  readonly signature: Hex;
  readonly document: KnownDocument;
  /** The document's hooks, as the settlement makes them. */
  readonly interactions: Interactions;
}
