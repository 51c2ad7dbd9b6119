import type { Hex } from '../protocol/hex.ts';

/** A document to store with its order, unless it is already stored. */
export interface NewDocument {
  readonly hash: Hex;
  readonly document: string;
}

/** App-data documents by hash. The first write of a hash is kept. */
export interface AppDataStore {
  /**
   * Stores a document under its hash. The first write is kept; the caller has verified `hash`.
   *
   * @param keep - Maximum number of documents that no order refers to, including this one. The oldest of them are
   * deleted in the same step. A document counts as referred to once an order was inserted together with it, or with its
   * hash while it was stored. Concurrent writers MAY exceed the number until the next write. Default: unlimited.
   */
  put(document: NewDocument, keep?: number): Promise<'stored' | 'known'>;

  get(hash: Hex): Promise<string | undefined>;
}
