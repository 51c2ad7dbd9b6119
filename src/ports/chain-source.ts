import type { Domain } from '../protocol/eip712.ts';
import type { ChainLog } from '../protocol/event-decoder.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import type { ChainCall } from './chain-client.ts';
import type { BlockRef } from './chain-store.ts';

/**
 * A node from which a book indexes the chain. It may be unreachable, lag behind, or switch to another fork: the indexer
 * checks each response against earlier ones. A query that fails MUST reject. Numbers are parsed, hex is in lower case.
 */
export interface ChainSource {
  /** Name for people and logs. Contains no credentials. */
  readonly name: string;
  /** Text that is unique to this source, in this process and in others. Used as the holder of the indexer lease. */
  readonly id: string;

  /** Rejects with a `ChainMismatch` if the node serves another chain or the contract does not exist. */
  verify(domain: Domain, call: ChainCall): Promise<void>;

  /** Returns the newest block. */
  head(call: ChainCall): Promise<BlockHeader>;

  /** Returns the block with a number; `undefined` if the node has none. */
  block(number: number, call: ChainCall): Promise<BlockHeader | undefined>;

  /** Returns the logs of the given contracts whose first topic is one of `topics`, without removed logs. */
  logs(query: LogQuery, call: ChainCall): Promise<readonly ChainLog[]>;

  /**
   * Returns, for each transaction, the inputs of all calls of `settle` of the settlement contract, in call order. The
   * transaction's own call is included. A transaction whose calls cannot be determined, because traces are missing,
   * MUST be left out.
   */
  settleCalls(
    settlementContract: Address,
    transactions: readonly Hex[],
    call: ChainCall,
  ): Promise<ReadonlyMap<Hex, readonly Hex[]>>;
}

/** The fields of a block that the indexer needs. */
export interface BlockHeader extends BlockRef {
  readonly parentHash: Hex;
  /** Seconds since 1970. */
  readonly timestamp: number;
  /** 256 bytes; absent if the node does not return it. */
  readonly logsBloom?: Hex;
}

export interface ChainHead {
  readonly number: number;
  /** Whether it is at most a minute old. Deadlines that are counted from an older block may have passed. */
  readonly isRecent: boolean;
  /** The last block of which no log is missing in the index: each node has read it a second time, or it is old. */
  readonly confirmedTo: number;
}

/** The filter of a log query. */
export interface LogQuery {
  readonly addresses: readonly Address[];
  readonly topics: readonly Hex[];
  /** One block by its hash, or a range of block numbers, both included. */
  readonly of: { readonly blockHash: Hex } | { readonly from: number; readonly to: number };
}

/** A node serves another chain than that of the book. A retry does not help. */
export class ChainMismatch extends Error {
  override readonly name = 'ChainMismatch';

  /** Recognises also errors of another copy of this package, which the module of a chain client may have installed. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof Error && value.name === 'ChainMismatch';
  }
}

/**
 * Compares the chain of a node with that of the book, with the same message for every adapter.
 *
 * @param code - The contract code at the settlement contract's address.
 * @throws ChainMismatch if the chain id differs or there is no contract.
 */
export function assertSameChain(name: string, wanted: Domain, chainId: number, code: Hex | undefined): void {
  if (chainId !== wanted.chainId) {
    throw new ChainMismatch(`${name} serves chain ${chainId}; this book is for chain ${wanted.chainId}`);
  }
  if (code !== undefined && code !== '0x') return;
  throw new ChainMismatch(
    `${name} has no contract at ${wanted.settlementContract}, the settlement contract of this book, on chain ${chainId}`,
  );
}
