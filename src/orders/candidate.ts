import type { AppData } from '../protocol/app-data.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import type { OrderData } from '../protocol/order.ts';
import type { ParsedCreation } from './creation.ts';

/** An order on its way in, once its owner is known. */
export interface Candidate {
  readonly creation: ParsedCreation;
  /** What was signed. */
  readonly data: OrderData;
  readonly uid: Hex;
  readonly owner: Address;
  /** The signature in its stored form. */
  readonly signature: Hex;
  readonly document: KnownDocument;
}

/** The app-data document of an order. */
export interface KnownDocument {
  readonly hash: Hex;
  readonly text: string;
  readonly content: AppData;
  /** Whether it came with the order, and is to be stored with it. */
  readonly supplied: boolean;
}
