import type { Configuration } from '../configuration.ts';
import { OrderBookError } from '../errors.ts';
import { createRemote } from '../orders/remote.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import type { NativePriceResult } from '../quotes/quotes.ts';
import type { Auction } from './auction.ts';
import { createAuctions } from './auction.ts';
import type { AuctionPrices } from './auction-prices.ts';
import { createAuctionPricing } from './auction-prices.ts';
import type { Competition } from './competition.ts';
import {
  competitionOfTransaction,
  hasOrder,
  latestCompetition,
  parseCompetition,
  readCompetition,
  recordCompetition,
} from './competition.ts';
import { createFunding } from './funding.ts';
import { requireTransactionHash } from './trades.ts';

/** What became of a competition that was told. */
export type RecordResult =
  | { readonly status: 'recorded' | 'replaced' }
  | { readonly status: 'rejected'; readonly error: OrderBookError };

/** The verbs on auctions: what solvers compete for, and how they did. Refusals are returned; only faults reject. */
export interface AuctionVerbs {
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

export interface AuctionPart {
  readonly verbs: AuctionVerbs;
  /** The UIDs in the auction that was made last. */
  readonly listed: ReadonlySet<Hex>;
  /** What tokens were worth in an auction, as far as anybody remembers. */
  pricesOf(auctionId: number): Promise<AuctionPrices | undefined>;
  /** Whether some solver bids on an order in one of the last auctions. */
  isBidOn(uid: Hex): Promise<boolean>;
}

/** Competitions that are looked at for bids on an order: later ones have given up on it. */
const RECENT = 5;

export function createAuctionPart(
  configuration: Configuration,
  context: {
    readonly started: () => void;
    readonly onFault: (fault: unknown) => void;
    readonly nativePrice: (token: Address, signal: AbortSignal) => Promise<NativePriceResult>;
  },
): AuctionPart {
  const { store, clock, chain, vaultRelayer, settlementContract, tokens, checkDeadline, quotes } = configuration;
  const { started, onFault, nativePrice } = context;
  const asksFunds = chain?.balancesAndAllowances !== undefined || chain?.balanceAndAllowance !== undefined;
  const remote = createRemote(clock, checkDeadline);
  const auctions = createAuctions({
    ...{ store, clock, vaultRelayer, onFault, deniedTokens: tokens.deniedTokens },
    funding: chain !== undefined && asksFunds ? createFunding(chain, remote, settlementContract, onFault) : undefined,
    pricing: createAuctionPricing({
      ...{ clock, onFault, wrappedNative: tokens.wrappedNative },
      nativePrice: quotes === undefined ? undefined : nativePrice,
    }),
  });

  return {
    verbs: {
      async current() {
        started();
        return auctions.current();
      },
      async record(input) {
        started();
        const competition = parseCompetition(input);
        if (competition instanceof OrderBookError) return { status: 'rejected', error: competition };
        return { status: await recordCompetition(competition, store) };
      },
      competition: async (auctionId) => readCompetition(auctionId, store),
      latestCompetition: async () => latestCompetition(store),
      competitionOfTransaction: async (hash) => competitionOfTransaction(requireTransactionHash(hash), store),
    },
    get listed() {
      return auctions.listed;
    },
    async pricesOf(auctionId) {
      const auction = await store.auctions.get(auctionId);
      if (auction !== undefined) return JSON.parse(auction.prices) as AuctionPrices; // as it was rendered
      return (await readCompetition(auctionId, store))?.auction.prices;
    },
    async isBidOn(uid) {
      const recent = await store.auctions.competitions(RECENT);
      return recent.some(({ body }) => hasOrder(JSON.parse(body) as Competition, uid)); // as it was recorded
    },
  };
}
