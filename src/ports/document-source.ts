import type { Hex } from '../protocol/hex.ts';

/** A source of app-data documents outside of the book, such as an IPFS gateway. */
export interface DocumentSource {
  /**
   * Returns the text of the document with a hash, or `undefined` if the source does not have it. The book verifies hash
   * and size, so a source may return any text. MUST reject if the source cannot be reached.
   *
   * @param hash - The keccak-256 of the document.
   */
  find(hash: Hex, call: DocumentCall): Promise<string | undefined>;
}

/** The context of a call to a document source. */
export interface DocumentCall {
  /** Aborted at the deadline. An implementation SHOULD then stop its work. */
  readonly signal: AbortSignal;
  /** Maximum size of a document in bytes. An implementation SHOULD NOT read more. */
  readonly maxBytes: number;
}
