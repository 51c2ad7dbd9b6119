import { createDeadlineLimiter } from '../concurrency/deadline.ts';
import { thenAlways } from '../concurrency/then-always.ts';
import { OrderBookError } from '../errors.ts';
import type { Configuration } from '../options.ts';
import { seconds } from '../ports/clock.ts';
import { NATIVE_MARKER } from '../protocol/chains.ts';
import type { Hex } from '../protocol/hex.ts';
import { requireTransactionHash } from '../protocol/transaction.ts';
import { requireUid } from '../protocol/uid.ts';
import { createAuctions } from './auction.ts';
import type { AuctionApi, AuctionModuleContext, RecordResult } from './auction-api.ts';
import { createAuctionFeed } from './auction-feed.ts';
import { createAuctionPricing } from './auction-prices.ts';
import type { Competition } from './competition.ts';
import {
  competitionOfTransaction,
  competitionsOfOrder,
  hasOrder,
  latestCompetition,
  parseCompetition,
  readCompetition,
  recordCompetition,
} from './competition.ts';
import type { CompetitionStatus } from './competition-status.ts';
import { competitionStatus } from './competition-status.ts';
import { createFindDenied } from './denied.ts';
import type { AuctionRun } from './drivers/run-options.ts';
import { createFeeSchedule } from './fee-policies.ts';
import { createFunding } from './funding.ts';
import { findInFlight, formatSolutionId } from './in-flight.ts';
import type { SettledAuction } from './settled-auction.ts';
import { readSettledAuction } from './settled-auction.ts';
import type { ExecutedSettlement } from './settled-solution.ts';
import { createSignatureChecks } from './signature-checks.ts';

/** The auction methods, after they are loaded. */
export interface AuctionService {
  readonly methods: AuctionApi;
  /** Returns the status of an order in the solver competition. */
  status(uid: Hex): Promise<CompetitionStatus>;
  /** Returns the values of the auction that a settlement belongs to, which its trades are evaluated with. */
  settled(auctionId: number, settlement: ExecutedSettlement): Promise<SettledAuction | undefined>;
  /** Returns whether a solver bids on an order in one of the last auctions. */
  isBidOn(uid: Hex): Promise<boolean>;
  /** Ends all streams and runs. */
  close(): Promise<void>;
}

/** Number of recent competitions that are searched for bids on an order. */
const RECENT = 5;

/** Maximum number of failed settlements. Those of auctions whose deadline has passed have no effect. */
const MAX_FAILED = 1000;

export function createAuctionService(configuration: Configuration, context: AuctionModuleContext): AuctionService {
  const { store, clock, chain, vaultRelayer, settlementContract, tokens, checkTimeout, quotes } = configuration;
  const { onFailure, nativePrice, holder, driverObserver } = context;
  const readsFunds = chain?.balancesAndAllowances !== undefined || chain?.balanceAndAllowance !== undefined;
  const isSame = (sellToken: string, buyToken: string) =>
    sellToken === buyToken || (sellToken === tokens.wrappedNative && buyToken === NATIVE_MARKER);
  const getFees = createFeeSchedule(configuration.auctions, isSame);
  const remote = createDeadlineLimiter(clock, checkTimeout);
  /** The newest block when the settlement of a solution failed. */
  const failed = new Map<string, number>();
  const runs = new Set<AuctionRun>();
  let started = 0;
  const feed = createAuctionFeed({ clock, onFailure, build: () => auctions.current() });
  const auctions = createAuctions({
    store,
    clock,
    vaultRelayer,
    onFailure,
    onAuction: feed.add,
    deniedTokens: tokens.deniedTokens,
    minValidity: configuration.auctions.minValidity,
    firstId: configuration.auctions.firstId ?? clock.now(),
    getFees,
    findDenied: createFindDenied(configuration.host, remote, onFailure),
    findInFlight: () =>
      findInFlight(store, (solution, block) => {
        return block > (failed.get(formatSolutionId(solution)) ?? Number.POSITIVE_INFINITY);
      }),
    funding:
      chain !== undefined && readsFunds ? createFunding(chain, remote, settlementContract, onFailure) : undefined,
    signatures:
      chain?.isValidSignature === undefined || configuration.auctions.maxSignatureChecks === 0
        ? undefined
        : createSignatureChecks({
            chain,
            remote,
            budget: configuration.auctions.maxSignatureChecks,
            onChange: () => auctions.changed(),
            onFailure,
          }),
    pricing: createAuctionPricing({
      clock,
      onFailure,
      wrappedNative: tokens.wrappedNative,
      nativePrice: quotes === undefined ? undefined : nativePrice,
    }),
  });

  async function record(input: Competition): Promise<RecordResult> {
    const competition = parseCompetition(input);
    if (competition instanceof OrderBookError) return { status: 'rejected', error: competition };
    const status = await recordCompetition(competition, store);
    auctions.changed();
    return { status };
  }

  return {
    methods: {
      current: auctions.current,
      stream: async (options) => feed.stream(options),
      rendered: { current: auctions.rendered, stream: async (options) => feed.renderedStream(options) },
      selection: async () => auctions.selection,
      async run(options) {
        const [{ parseRunOptions }, { startAuctionRun }] = await Promise.all([
          import('./drivers/run-options.ts'),
          import('./drivers/run.ts'),
        ]);
        context.assertStarted(); // the book may have closed meanwhile
        const { wake, stop } = startAuctionRun(parseRunOptions(options), {
          store,
          clock,
          wrappedNative: tokens.wrappedNative,
          holder: `${holder} ${++started}`,
          current: auctions.current,
          record,
          competition: (auctionId) => readCompetition(auctionId, store),
          findHead: context.findHead,
          settlementFailed(solution, block) {
            failed.set(formatSolutionId(solution), block);
            const [oldest = ''] = failed.keys();
            if (failed.size > MAX_FAILED) failed.delete(oldest);
          },
          driverObserver,
          onFailure,
        });
        const run: AuctionRun = { wake, stop: () => thenAlways(stop(), () => runs.delete(run)) };
        runs.add(run);
        return run;
      },
      record,
      competition: async (auctionId, query) => readCompetition(auctionId, store, query),
      competitionsOfOrder: async (uid) => competitionsOfOrder(requireUid(uid), store),
      latestCompetition: async (query) => latestCompetition(store, query),
      competitionOfTransaction: async (hash, query) =>
        competitionOfTransaction(requireTransactionHash(hash), store, query),
    },
    status: (uid) => competitionStatus(uid, { store, now: seconds(clock), selection: auctions.selection }),
    async close() {
      feed.close();
      await Promise.all([...runs].map((run) => run.stop()));
      runs.clear();
    },
    settled: (auctionId, settlement) => readSettledAuction(auctionId, settlement, store, getFees(seconds(clock))),
    async isBidOn(uid) {
      const recent = await store.auctions.competitions({ limit: RECENT });
      return recent.some(({ body }) => hasOrder(JSON.parse(body) as Competition, uid)); // stored from this type
    },
  };
}
