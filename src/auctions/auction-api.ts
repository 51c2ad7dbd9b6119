import type { TokenPolicy } from '../admission/limits.ts';
import type { OrderPolicy } from '../admission/policy.ts';
import type { OrderBookError } from '../errors.ts';
import type { Observer } from '../listeners.ts';
import type { ChainClient } from '../ports/chain-client.ts';
import type { ChainHead } from '../ports/chain-source.ts';
import type { Clock } from '../ports/clock.ts';
import type { Store } from '../ports/store.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import type { AuctionChange, AuctionStreamOptions } from './auction-delta.ts';
import type { RenderedAuctionStream } from './auction-feed.ts';
import type { ParsedAuctionOptions } from './auction-options.ts';
import type { Auction } from './auction-order.ts';
import type { PriceToken } from './auction-prices.ts';
import type { Competition, CompetitionQuery } from './competition.ts';
import type { DriverObservation } from './drivers/observed-driver.ts';
import type { AuctionRun, AuctionRunOptions } from './drivers/run-options.ts';
import type { FilterReason } from './filter-reason.ts';
import type { RenderedAuction } from './render-auction.ts';
import type { OrderCompetition } from './settlement-attempts.ts';

/** The result of recording a competition. */
export type RecordResult =
  | { readonly status: 'recorded' | 'replaced' }
  | { readonly status: 'rejected'; readonly error: OrderBookError };

/** The orders that were considered for an auction. */
export interface AuctionSelection {
  readonly id: number;
  /** The newest indexed block. */
  readonly block: number;
  /** The UIDs of its orders. */
  readonly listed: Pick<ReadonlySet<Hex>, 'has'>;
  /** The open orders that were left out, with the reason of each. */
  readonly filtered: ReadonlyMap<Hex, FilterReason>;
  /** Number of left-out orders by reason. Reasons without an order are absent. */
  readonly counts: Readonly<Partial<Record<FilterReason, number>>>;
}

/** Auction methods. Rejections are returned; failures are thrown. */
export interface AuctionApi {
  /**
   * Returns the current auction: the open orders that can be settled now, with the native prices of their tokens. After
   * a new block or a change of the book the next call creates an auction with a higher id.
   */
  current(): Promise<Auction>;
  /**
   * Streams auctions: a complete auction, then the difference to each later one. Every 65th event is a complete auction
   * again. A slow subscriber receives one delta for several auctions. Closing the book ends the stream.
   */
  stream(options?: AuctionStreamOptions): Promise<AsyncIterable<AuctionChange>>;
  /** The same as JSON, for the HTTP interface. Nothing is rendered twice. */
  readonly rendered: {
    current(): Promise<RenderedAuction>;
    stream(options?: AuctionStreamOptions): Promise<RenderedAuctionStream>;
  };
  /** Returns the selection of the last auction of this process. `undefined` before the first. Creates no auction. */
  selection(): Promise<AuctionSelection | undefined>;
  /**
   * Runs auctions with solvers: sends each new auction to the drivers, selects the winners, records the competition and
   * lets the winners settle. Of several processes on one store, one runs the auctions.
   *
   * @throws TypeError naming the option that is unknown or malformed.
   */
  run(options: AuctionRunOptions): Promise<AuctionRun>;
  /** Records the competition of an auction, and replaces an earlier record. For the operator of the auctions. */
  record(competition: Competition): Promise<RecordResult>;
  /** Returns the competition of an auction. */
  competition(auctionId: number, query?: CompetitionQuery): Promise<Competition | undefined>;
  /**
   * Returns the competitions with an order among the newest 50, newest first. Their solutions are those with the order,
   * and their attempts those that this process has started.
   */
  competitionsOfOrder(uid: string): Promise<readonly OrderCompetition[]>;
  /** Returns the competition of the highest auction id. */
  latestCompetition(query?: CompetitionQuery): Promise<Competition | undefined>;
  /**
   * Returns the competition of the auction that a transaction settled. Throws `InvalidParameter` for a malformed hash.
   */
  competitionOfTransaction(hash: string, query?: CompetitionQuery): Promise<Competition | undefined>;
}

/** The parsed options of a book that its auctions need. */
export interface AuctionConfiguration {
  readonly store: Store;
  readonly clock: Clock;
  readonly chain: ChainClient | undefined;
  readonly settlementContract: Address;
  readonly vaultRelayer: Address;
  readonly tokens: TokenPolicy;
  /** Timeout of one check of a node or of the host, in milliseconds. */
  readonly checkTimeout: number;
  readonly host: OrderPolicy;
  /** `undefined`: tokens have no prices. */
  readonly quotes: object | undefined;
  readonly auctions: ParsedAuctionOptions;
}

/** What the book provides to its auctions. */
export interface AuctionsContext extends AuctionConfiguration {
  readonly assertStarted: () => void;
  /** Identifies this process among others, for leases. */
  readonly holder: string;
  readonly onFailure: (failure: unknown) => void;
  readonly driverObserver: Observer<DriverObservation>;
  /** Returns the newest block of the chain. `undefined`: the book is behind it, or no node follows it. */
  readonly findHead: () => Promise<ChainHead | undefined>;
  readonly nativePrice: PriceToken;
}
