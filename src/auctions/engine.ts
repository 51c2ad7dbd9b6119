import { createDeadlineLimiter } from '../concurrency/deadline.ts';
import { OrderBookError } from '../errors.ts';
import type { Configuration } from '../options.ts';
import { seconds } from '../ports/clock.ts';
import { NATIVE_MARKER } from '../protocol/chains.ts';
import type { Hex } from '../protocol/hex.ts';
import { requireTransactionHash } from '../protocol/transaction.ts';
import { createAuctions } from './auction.ts';
import type { AuctionApi, AuctionModuleContext } from './auction-api.ts';
import { createAuctionFeed } from './auction-feed.ts';
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
import type { CompetitionStatus } from './competition-status.ts';
import { competitionStatus } from './competition-status.ts';
import { createFindDenied } from './denied.ts';
import { createFunding } from './funding.ts';
import { findInFlight } from './in-flight.ts';
import type { SettledAuction } from './settled-auction.ts';
import { readSettledAuction } from './settled-auction.ts';

/** The auction engine. */
export interface AuctionEngine {
  readonly methods: AuctionApi;
  /** Returns the status of an order in the solver competition. */
  status(uid: Hex): Promise<CompetitionStatus>;
  /** Returns the values of an auction that its trades are evaluated with, if they are still stored. */
  settled(auctionId: number): Promise<SettledAuction | undefined>;
  /** Returns whether a solver bids on an order in one of the last auctions. */
  isBidOn(uid: Hex): Promise<boolean>;
  /** Ends all streams. */
  close(): Promise<void>;
}

/** Number of recent competitions that are searched for bids on an order. */
const RECENT = 5;

export function createAuctionEngine(configuration: Configuration, context: AuctionModuleContext): AuctionEngine {
  const { store, clock, chain, vaultRelayer, settlementContract, tokens, checkTimeout, quotes } = configuration;
  const { onFailure, nativePrice } = context;
  const readsFunds = chain?.balancesAndAllowances !== undefined || chain?.balanceAndAllowance !== undefined;
  const isSame = (sellToken: string, buyToken: string) =>
    sellToken === buyToken || (sellToken === tokens.wrappedNative && buyToken === NATIVE_MARKER);
  const fees = { ...configuration.auctions, isSame };
  const remote = createDeadlineLimiter(clock, checkTimeout);
  const feed = createAuctionFeed({ clock, onFailure, cut: () => auctions.current() });
  const auctions = createAuctions({
    store,
    clock,
    vaultRelayer,
    onFailure,
    onAuction: feed.add,
    deniedTokens: tokens.deniedTokens,
    minValidity: configuration.auctions.minValidity,
    fees,
    findDenied: createFindDenied(configuration.host, remote, onFailure),
    findInFlight: () => findInFlight(store),
    funding:
      chain !== undefined && readsFunds ? createFunding(chain, remote, settlementContract, onFailure) : undefined,
    pricing: createAuctionPricing({
      clock,
      onFailure,
      wrappedNative: tokens.wrappedNative,
      nativePrice: quotes === undefined ? undefined : nativePrice,
    }),
  });

  return {
    methods: {
      current: auctions.current,
      stream: async (options) => feed.stream(options),
      rendered: { current: auctions.rendered, stream: async (options) => feed.renderedStream(options) },
      selection: async () => auctions.selection,
      async record(input) {
        const competition = parseCompetition(input);
        if (competition instanceof OrderBookError) return { status: 'rejected', error: competition };
        const status = await recordCompetition(competition, store);
        auctions.competitionRecorded();
        return { status };
      },
      competition: async (auctionId, query) => readCompetition(auctionId, store, query),
      latestCompetition: async (query) => latestCompetition(store, query),
      competitionOfTransaction: async (hash, query) =>
        competitionOfTransaction(requireTransactionHash(hash), store, query),
    },
    status: (uid) => competitionStatus(uid, { store, now: seconds(clock), selection: auctions.selection }),
    close: async () => feed.close(),
    settled: (auctionId) => readSettledAuction(auctionId, store, fees),
    async isBidOn(uid) {
      const recent = await store.auctions.competitions(RECENT);
      return recent.some(({ body }) => hasOrder(JSON.parse(body) as Competition, uid)); // stored from this type
    },
  };
}
