import type { Domain } from '../protocol/eip712.ts';
import type { ChainLog } from '../protocol/event-decoder.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import type { ChainCall } from './chain-client.ts';
import type { BlockRef } from './chain-store.ts';

/**
 * A node that a book follows the chain by. It may be out of reach, lag behind, or be on another fork than it was a
 * moment ago: what it answers is checked against what it has answered before. A question that could not be answered MUST
 * reject; numbers are parsed, hex is in lower case.
 */
export interface ChainSource {
  /** For people and logs. Carries no credentials. */
  readonly name: string;
  /** Text that no other source has, in this process or another: by it one process at a time follows. */
  readonly id: string;

  /** Rejects with a `ChainMismatch` when this is another chain, or the contract is not there. */
  verify(domain: Domain, call: ChainCall): Promise<void>;

  /** The newest block. */
  head(call: ChainCall): Promise<BlockHeader>;

  /** A block by its number; `undefined` when the node has none. */
  block(number: number, call: ChainCall): Promise<BlockHeader | undefined>;

  /** The logs of some contracts that begin with one of some topics, without those that were taken back. */
  logs(query: LogQuery, call: ChainCall): Promise<readonly ChainLog[]>;

  /**
   * The inputs of the calls of the settlement contract's `settle` that each transaction makes, in their order, its own
   * included. A transaction whose calls cannot be found out, for want of traces, MUST be left out.
   */
  settleCalls(
    settlementContract: Address,
    transactions: readonly Hex[],
    call: ChainCall,
  ): Promise<ReadonlyMap<Hex, readonly Hex[]>>;
}

/** As much of a block as following takes. */
export interface BlockHeader extends BlockRef {
  readonly parentHash: Hex;
  /** Seconds since 1970. */
  readonly timestamp: number;
  /** 256 bytes; absent when the node does not tell. */
  readonly logsBloom?: Hex;
}

/** Which logs are asked for. */
export interface LogQuery {
  readonly addresses: readonly Address[];
  readonly topics: readonly Hex[];
  /** One block by its hash, or all from one number to another, both included. */
  readonly of: { readonly blockHash: Hex } | { readonly from: number; readonly to: number };
}

/** A node serves another chain than the book is for. Waiting does not help. */
export class ChainMismatch extends Error {
  override readonly name = 'ChainMismatch';
}

/**
 * Compares what a node serves with what a book is for, by one wording for every adapter.
 *
 * @param code what stands at the settlement contract's address.
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
