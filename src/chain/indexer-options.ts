import type { DeadlineLimiter } from '../concurrency/abort.ts';
import type { ChainSource } from '../ports/chain-source.ts';
import type { ApplyOutcome, BlockRef, ChainStore, RollbackOutcome } from '../ports/chain-store.ts';
import type { Clock } from '../ports/clock.ts';
import type { LeaseStore } from '../ports/store.ts';
import type { Domain } from '../protocol/eip712.ts';
import type { Address } from '../protocol/hex.ts';
import { assertKnownOptions, parseAddress, requireInteger } from '../validation/options.ts';
import type { ChainBatch } from './decode-batch.ts';

/** Options of the chain indexer. */
export interface IndexerOptions {
  /** Nodes, the preferred one first. The next node is used when one fails or falls behind. At least one. */
  readonly sources: readonly ChainSource[];
  /**
   * The first block to index, if the store has no checkpoint; 0 is the first block of the chain. Default: the block
   * after the newest.
   */
  readonly fromBlock?: number;
  /** Contracts that place orders on chain. Default: the known native-currency-flow contract of the deployment. */
  readonly onchainOrderContracts?: readonly string[];
  /** Milliseconds between two polls for a new block. Default: 2000. */
  readonly pollInterval?: number;
  /**
   * Maximum depth of a reorganisation, in blocks. Blocks this close to the head are indexed one by one. Default: 64.
   */
  readonly reorgLimit?: number;
  /** Maximum number of blocks of one log request while catching up. Default: 10000. */
  readonly maxBlockRange?: number;
  /** Maximum milliseconds of a request to a node. Default: 15000. */
  readonly timeout?: number;
}

/** The state of the indexer, as readiness shows it. */
export type IndexerState = 'starting' | 'following' | 'catching up' | 'standing by' | 'unavailable' | 'stopped';

/** An observation of the indexer. */
export type IndexerObservation =
  /** `head` is the newest block of the node. */
  | { readonly type: 'progress'; readonly block: number; readonly head: number }
  /** A node has another newest block than before. `timestamp` is that of the block, in seconds since 1970. */
  | { readonly type: 'head'; readonly head: number; readonly timestamp: number }
  | { readonly type: 'reorganised'; readonly from: BlockRef; readonly to: number }
  /** The second read of blocks found events that the first had missed. */
  | { readonly type: 'missed'; readonly events: number; readonly block: number }
  /** Another process has begun to index the book, and this one queries no node. */
  | { readonly type: 'standingBy' }
  | { readonly type: 'failure'; readonly source: string; readonly failure: unknown };

/** Thrown when a reorganisation is deeper than `reorgLimit`. An operator must choose the block to continue from. */
export class ReorganisationTooDeep extends Error {
  override readonly name = 'ReorganisationTooDeep';
}

/** The minimum of each number. */
const NUMBERS = { pollInterval: 1, reorgLimit: 1, maxBlockRange: 1, timeout: 1, fromBlock: 0 } as const;

export interface ChainIndexerContext {
  readonly domain: Domain;
  readonly clock: Clock;
  readonly remote: DeadlineLimiter;
  readonly leases: LeaseStore;
  readonly progress: ChainStore['progress'];
  readonly blocks: ChainStore['blocks'];
  readonly apply: (batch: ChainBatch) => Promise<ApplyOutcome>;
  readonly rollback: (to: number, after: BlockRef) => Promise<RollbackOutcome>;
  readonly observe: (observation: IndexerObservation) => void;
  readonly onFailure: (failure: unknown) => void;
}

export type ParsedIndexerOptions = Required<Omit<IndexerOptions, 'fromBlock' | 'onchainOrderContracts'>> & {
  readonly fromBlock: number | undefined;
  readonly onchainOrderContracts: readonly Address[];
  /** The holder of the indexing lease. Only one process indexes at a time. */
  readonly holder: string;
};

/** Parses indexer options. @throws TypeError naming the option that is unknown or malformed. */
export function parseIndexerOptions(options: IndexerOptions, ethFlow: Address | undefined): ParsedIndexerOptions {
  assertKnownOptions('createOrderBook, indexer', options, [
    'sources',
    'onchainOrderContracts',
    ...Object.keys(NUMBERS),
  ]);
  const { sources, fromBlock, onchainOrderContracts = ethFlow === undefined ? [] : [ethFlow] } = options;
  const { pollInterval = 2000, reorgLimit = 64, maxBlockRange = 10_000, timeout = 15_000 } = options;
  const [first] = Array.isArray(sources) ? (sources as readonly ChainSource[]) : []; // the declared type
  if (first === undefined) throw invalid('sources must be an array with at least one node');
  if (sources.some((source: ChainSource | undefined) => typeof source?.head !== 'function')) {
    throw invalid('sources must be nodes such as viemSource(client)');
  }
  for (const [name, least] of Object.entries(NUMBERS)) {
    const value: unknown = options[name as keyof typeof NUMBERS]; // iterates these keys
    if (value !== undefined) requireInteger(`createOrderBook, indexer: ${name}`, value, least);
  }
  return {
    sources,
    pollInterval,
    reorgLimit,
    maxBlockRange,
    timeout,
    // The genesis block has no transactions, so its checkpoint is the one before block 1.
    fromBlock: fromBlock === 0 ? 1 : fromBlock,
    holder: first.id,
    onchainOrderContracts: onchainOrderContracts.map((text) => {
      return parseAddress('createOrderBook, indexer', 'onchainOrderContracts', text);
    }),
  };
}

const invalid = (reason: string) => new TypeError(`createOrderBook, indexer: ${reason}`);
