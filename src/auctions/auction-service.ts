import { createDeadlineLimiter } from '../concurrency/abort.ts';
import { OrderBookError } from '../errors.ts';
import { seconds, thenAlways } from '../ports/clock.ts';
import type { Store } from '../ports/store.ts';
import type { Hex } from '../protocol/hex.ts';
import type { CompetitionStatus } from '../records/competition-status.ts';
import { assertKnownOptions, requireTransactionHash, requireUid } from '../validation/options.ts';
import type { AuctionApi, AuctionsContext, RecordResult } from './auction-api.ts';
import { createAuctionFeed } from './auction-feed.ts';
import { createAuctionPricing } from './auction-prices.ts';
import type { Competition, CompetitionQuery } from './competition.ts';
import {
  competitionOfTransaction,
  competitionsOfOrder,
  hasOrder,
  latestCompetition,
  parseCompetition,
  readCompetition,
  recordCompetition,
} from './competition.ts';
import { competitionStatus } from './competition-status.ts';
import { createCurrentAuction } from './current-auction.ts';
import { createFindDenied } from './denied.ts';
import type { AuctionRun } from './drivers/run-options.ts';
import { createFeeSchedule } from './fee-policies.ts';
import { createFunding } from './funding.ts';
import { findInFlight, formatSolutionId, type HasFailed } from './in-flight.ts';
import { createSettlementAttempts } from './settlement-attempts.ts';
import { createSignatureChecks } from './signature-checks.ts';

/** Number of recent competitions that are searched for bids on an order. */
const RECENT = 5;

/** Maximum number of failed settlements. Those of auctions whose deadline has passed have no effect. */
const MAX_FAILED = 1000;

export function createAuctionService(context: AuctionsContext) {
  const { store, clock, chain, vaultRelayer, settlementContract, tokens, checkTimeout, quotes } = context;
  const { onFailure, nativePrice, holder, driverObserver } = context;
  const readsFunds = chain?.balancesAndAllowances !== undefined || chain?.balanceAndAllowance !== undefined;
  const getFees = createFeeSchedule(context.auctions, tokens);
  const remote = createDeadlineLimiter(clock, checkTimeout);
  const { hasFailed, settlementFailed } = createFailedSettlements();
  const attempts = createSettlementAttempts();
  const runs = new Set<AuctionRun>();
  let started = 0;
  const feed = createAuctionFeed(clock, () => auctions.current(), onFailure);
  const auctions = createCurrentAuction({
    store,
    clock,
    vaultRelayer,
    onFailure,
    onAuction: feed.add,
    deniedTokens: tokens.deniedTokens,
    minValidity: context.auctions.minValidity,
    firstId: context.auctions.firstId ?? clock.now(),
    getFees,
    jitOrderOwners: context.auctions.jitOrderOwners,
    findDenied: createFindDenied(context.host, remote, onFailure),
    findInFlight: () => findInFlight(store, hasFailed),
    funding:
      chain !== undefined && readsFunds ? createFunding(chain, remote, settlementContract, onFailure) : undefined,
    signatures:
      chain?.isValidSignature === undefined || context.auctions.maxSignatureChecks === 0
        ? undefined
        : createSignatureChecks({
            chain,
            remote,
            budget: context.auctions.maxSignatureChecks,
            onChange: () => auctions.changed(),
            onFailure,
          }),
    pricing: createAuctionPricing(context, tokens.wrappedNative, quotes === undefined ? undefined : nativePrice),
  });

  async function record(competition: Competition): Promise<'recorded' | 'replaced'> {
    const status = await recordCompetition(competition, store);
    auctions.changed();
    return status;
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
          changed: auctions.changed,
          competition: (auctionId) => readCompetition(auctionId, store),
          findHead: context.findHead,
          findInFlight: () => findInFlight(store, hasFailed),
          settlementFailed,
          attempts,
          driverObserver,
          onFailure,
        });
        const run: AuctionRun = { wake, stop: () => thenAlways(stop(), () => runs.delete(run)) };
        runs.add(run);
        return run;
      },
      async record(input): Promise<RecordResult> {
        const competition = parseCompetition(input);
        if (competition instanceof OrderBookError) return { status: 'rejected', error: competition };
        return { status: await record(competition) };
      },
      competition: async (auctionId, query) => readCompetition(auctionId, store, checked('competition', query)),
      async competitionsOfOrder(text) {
        const uid = requireUid(text);
        return (await competitionsOfOrder(uid, store)).map((each) => attempts.addTo(each, uid));
      },
      latestCompetition: async (query) => latestCompetition(store, checked('latestCompetition', query)),
      competitionOfTransaction: async (hash, query) =>
        competitionOfTransaction(requireTransactionHash(hash), store, checked('competitionOfTransaction', query)),
    } satisfies AuctionApi,
    /** Returns the status of an order in the solver competition. */
    status: (uid: Hex): Promise<CompetitionStatus> =>
      competitionStatus(uid, store, seconds(clock), auctions.selection, hasFailed),
    /** Ends all streams and runs. */
    async close(): Promise<void> {
      feed.close();
      await Promise.all([...runs].map((run) => run.stop()));
      runs.clear();
    },
    /** Returns whether a solver bids on an order in one of the last auctions. */
    isBidOn: (uid: Hex) => isBidOn(uid, store),
  };
}

/** Creates the list of settlements that this process has seen fail. */
function createFailedSettlements() {
  /** The newest block when the settlement of a solution failed. */
  const failed = new Map<string, number>();
  const hasFailed: HasFailed = (solution, block) =>
    block > (failed.get(formatSolutionId(solution)) ?? Number.POSITIVE_INFINITY);
  const settlementFailed = (solution: Parameters<HasFailed>[0], block: number) => {
    failed.set(formatSolutionId(solution), block);
    const [oldest = ''] = failed.keys();
    if (failed.size > MAX_FAILED) failed.delete(oldest);
  };
  return { hasFailed, settlementFailed };
}

async function isBidOn(uid: Hex, store: Pick<Store, 'auctions'>): Promise<boolean> {
  const recent = await store.auctions.competitions({ limit: RECENT });
  return recent.some(({ body }) => hasOrder(JSON.parse(body) as Competition, uid)); // stored from this type
}

/** Checks the names of a query: a misspelled `published` would return competitions too early. */
function checked(method: string, query: CompetitionQuery = {}): CompetitionQuery {
  assertKnownOptions(`auctions.${method}`, query, ['published']);
  return query;
}
