import type { ChainSource } from '../ports/chain-source.ts';
import type { BlockRef } from '../ports/chain-store.ts';
import type { Address } from '../protocol/hex.ts';
import { parseHex } from '../protocol/hex.ts';
import { assertKnownOptions } from '../validation/options.ts';

/** How a book follows the chain. */
export interface IndexerOptions {
  /** Nodes, the preferred one first. The next one is asked when one fails or falls behind. At least one. */
  readonly sources: readonly ChainSource[];
  /** The first block whose events count. Default: the one after the newest, when nothing has been followed yet. */
  readonly fromBlock?: number;
  /** Contracts that place orders on chain. Default: the known native-currency-flow contract of the deployment. */
  readonly onchainOrderContracts?: readonly string[];
  /** Milliseconds between looks for a new block. Default 2000. */
  readonly pollInterval?: number;
  /** Blocks from the newest that are followed one by one, since they may be taken back. Default 64. */
  readonly reorgLimit?: number;
  /** Blocks that are asked for at once, at most, while catching up. Default 10000. */
  readonly maxBlockRange?: number;
  /** Milliseconds that a node has to answer a question. Default 15000. */
  readonly timeout?: number;
}

/** How following goes, as readiness shows it. */
export type IndexerState = 'starting' | 'following' | 'catching up' | 'standing by' | 'unavailable' | 'stopped';

/** What a book that follows its chain tells of it. */
export type IndexerObservation =
  /** `head` is the newest block that the node knows. */
  | { readonly type: 'progress'; readonly block: number; readonly head: number }
  | { readonly type: 'reorganised'; readonly from: BlockRef; readonly to: number }
  /** A second look has found events that the first had not shown. */
  | { readonly type: 'missed'; readonly events: number; readonly block: number }
  | { readonly type: 'failure'; readonly source: string; readonly failure: unknown };

/** The chain has changed further back than is looked. Somebody has to say where to go on. */
export class ReorganisationTooDeep extends Error {
  override readonly name = 'ReorganisationTooDeep';
}

const DEFAULTS = { pollInterval: 2000, reorgLimit: 64, maxBlockRange: 10_000, timeout: 15_000 } as const;

/** The least that each number may be. */
const NUMBERS = { pollInterval: 1, reorgLimit: 1, maxBlockRange: 1, timeout: 1, fromBlock: 1 } as const;

/** The options of following, read. */
export type ParsedIndexerOptions = Required<Omit<IndexerOptions, 'fromBlock' | 'onchainOrderContracts'>> & {
  readonly fromBlock: number | undefined;
  readonly onchainOrderContracts: readonly Address[];
  /** By this text one process at a time follows. */
  readonly holder: string;
};

/** @throws TypeError naming the option that is unknown or malformed. */
export function parseIndexerOptions(options: IndexerOptions, ethFlow: Address | undefined): ParsedIndexerOptions {
  assertKnownOptions('createOrderBook, indexer', options, [
    'sources',
    'onchainOrderContracts',
    ...Object.keys(NUMBERS),
  ]);
  const { sources, fromBlock, onchainOrderContracts = ethFlow === undefined ? [] : [ethFlow] } = options;
  const [first] = Array.isArray(sources) ? (sources as readonly ChainSource[]) : []; // of the option's own type
  if (first === undefined) throw invalid('sources must have a node');
  for (const [name, least] of Object.entries(NUMBERS)) {
    const value: unknown = options[name as keyof typeof NUMBERS]; // its own keys
    if (value !== undefined && !(Number.isSafeInteger(value) && Number(value) >= least)) {
      throw invalid(`${name} must be a whole number from ${least} up, not ${String(value)}`);
    }
  }
  return {
    ...DEFAULTS,
    ...options,
    sources,
    fromBlock,
    holder: first.id,
    onchainOrderContracts: onchainOrderContracts.map((text) => {
      const address = parseHex(text, 20);
      if (address === undefined) throw invalid(`onchainOrderContracts must be addresses, not "${text}"`);
      return address;
    }),
  };
}

const invalid = (reason: string) => new TypeError(`createOrderBook, indexer: ${reason}`);
