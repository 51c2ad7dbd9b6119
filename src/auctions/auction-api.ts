import type { OrderBookError } from '../errors.ts';
import type { Address } from '../protocol/hex.ts';
import type { NativePriceResult } from '../quotes/quote-api.ts';
import type { Auction } from './auction.ts';
import type { Competition } from './competition.ts';

/** What became of a competition that was told. */
export type RecordResult =
  | { readonly status: 'recorded' | 'replaced' }
  | { readonly status: 'rejected'; readonly error: OrderBookError };

/** The methods on auctions: what solvers compete for, and how they did. Rejections are returned; only failures reject. */
export interface AuctionApi {
  /**
   * The auction of this moment: the open orders that can be paid for, and what their tokens are worth where that is known.
   * A new head and a change of the book make a new one, with a higher id, for whoever asks next.
   */
  current(): Promise<Auction>;
  /** Records how solvers did in an auction, in the place of an earlier record of it. For whoever holds the auctions. */
  record(competition: Competition): Promise<RecordResult>;
  /** The competition of an auction. */
  competition(auctionId: number): Promise<Competition | undefined>;
  /** The competition of the highest auction. */
  latestCompetition(): Promise<Competition | undefined>;
  /** The competition whose auction a transaction claims to settle. Rejects with `InvalidParameter` when `hash` is none. */
  competitionOfTransaction(hash: string): Promise<Competition | undefined>;
}

export interface AuctionModuleContext {
  readonly assertStarted: () => void;
  readonly onFailure: (failure: unknown) => void;
  readonly nativePrice: (token: Address, signal: AbortSignal) => Promise<NativePriceResult>;
}
