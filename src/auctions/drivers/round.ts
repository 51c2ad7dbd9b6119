import { DeadlineError, withDeadline } from '../../concurrency/abort.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Address, Hex } from '../../protocol/hex.ts';
import { decodeSettle, type SettledTrade } from '../../protocol/settle-calldata.ts';
import type { Auction, AuctionOrder } from '../auction-order.ts';
import type { Competition } from '../competition.ts';
import type { AuctionRunSettings, DriverProblem } from './run-options.ts';
import { type DriverSolution, parseSolutions } from './solutions.ts';
import type { createSolveRequests } from './solve-requests.ts';
import type { SolverDriver } from './solver-driver.ts';
import { type ExecutedOrder, type Selection, selectWinners } from './winner-selection.ts';

export interface RoundContext {
  readonly clock: Clock;
  readonly settings: AuctionRunSettings;
  readonly requests: ReturnType<typeof createSolveRequests>;
  readonly wrappedNative: Address | undefined;
  readonly signal: AbortSignal;
  /** Returns those of some orders outside of the auction that no solution may have. */
  readonly findForbidden: (uids: readonly Hex[]) => Promise<ReadonlySet<Hex>>;
  /** Renews the lease of the process. @returns false if another one has had it. */
  readonly holdsLease: () => Promise<boolean>;
}

/** The solutions of an auction with the drivers that can settle them. */
export interface SolvedAuction {
  readonly selection: Selection<DriverSolution>;
  readonly problems: readonly DriverProblem[];
}

/**
 * Sends an auction to all drivers at once, and selects the winners. A winner that cannot be verified is dropped.
 *
 * @returns `undefined` if another process has had the lease.
 */
export async function solveAuction(auction: Auction, context: RoundContext): Promise<SolvedAuction | undefined> {
  const { clock, settings, wrappedNative } = context;
  const problems: DriverProblem[] = [];
  const deadline = clock.now() + settings.solveTime;
  const requests = await context.requests.render(auction, deadline, settings.drivers);
  const orders = new Map<Hex, AuctionOrder>(auction.orders.map((order) => [order.uid, order]));
  const responses = await Promise.all(
    settings.drivers.map(async (driver, i) => {
      const request = requests[i] as (typeof requests)[number]; // one for each driver
      return solveWith(driver, request, orders, context, problems);
    }),
  );
  const { id: auctionId, prices } = auction;
  const jitOwners = auction.surplusCapturingJitOrderOwners;
  const rules = { auctionId, prices, orders, jitOwners, wrappedNative, maxWinners: settings.maxWinners };
  let solutions = await dropForbidden(responses.flat(), orders, context, problems);
  for (;;) {
    const selection = selectWinners(solutions, rules);
    if (!settings.reveal) return { selection, problems };
    const { refuted, silent } = await findRefuted(auction.id, selection, context, problems);
    if (refuted.size === 0 || context.signal.aborted) return { selection, problems };
    if (!(await context.holdsLease())) return undefined;
    // Without the refuted solutions others may win, which are verified in turn. A driver takes the time of one reveal.
    solutions = solutions.filter((each) => !refuted.has(each) && (verified.has(each) || !silent.has(each.driver)));
  }
}

async function solveWith(
  driver: SolverDriver,
  { request, onSolved }: Awaited<ReturnType<RoundContext['requests']['render']>>[number],
  orders: ReadonlyMap<Hex, AuctionOrder>,
  { clock, settings, wrappedNative, signal: stopped }: RoundContext,
  problems: DriverProblem[],
): Promise<readonly DriverSolution[]> {
  const report = (reason: string) => problems.push({ driver: driver.name, step: 'solve', reason });
  try {
    const solve = (signal: AbortSignal) => driver.solve(request, { signal });
    const response = await withDeadline(clock, settings.solveTime, solve, stopped);
    onSolved();
    const { name, submissionAddress } = driver;
    const { maxSolutions, maxPriceSpread } = settings;
    const rules = { maxSolutions, maxPriceSpread, wrappedNative };
    const parsed = parseSolutions(response, { driver: name, submissionAddress, orders, ...rules });
    for (const problem of parsed.problems) report(problem);
    return parsed.solutions;
  } catch (error) {
    report(describeError(error));
    return [];
  }
}

/** Drops solutions with an order that the book knows and has not offered: it may be in flight or cancelled. */
async function dropForbidden(
  solutions: readonly DriverSolution[],
  offered: ReadonlyMap<Hex, AuctionOrder>,
  { findForbidden }: RoundContext,
  problems: DriverProblem[],
): Promise<readonly DriverSolution[]> {
  const others = new Set(
    solutions.flatMap(({ orders }) => orders.map(({ uid }) => uid)).filter((uid) => !offered.has(uid)),
  );
  if (others.size === 0) return solutions;
  const forbidden = await findForbidden([...others]);
  return solutions.filter(({ driver, orders }) => {
    const found = orders.find(({ uid }) => forbidden.has(uid));
    if (found === undefined) return true;
    problems.push({
      driver,
      step: 'solve',
      reason: `order ${found.uid} is an order of the book that is not in the auction`,
    });
    return false;
  });
}

const verified = new WeakSet<DriverSolution>();

/** Returns the winners whose calldata is not revealed, or contradicts their claims, and drivers without a response. */
async function findRefuted(
  auctionId: number,
  { ranked }: Selection<DriverSolution>,
  { clock, settings, signal: stopped }: RoundContext,
  problems: DriverProblem[],
): Promise<{ readonly refuted: ReadonlySet<DriverSolution>; readonly silent: ReadonlySet<string> }> {
  const refuted = new Set<DriverSolution>();
  const silent = new Set<string>();
  const winners = stopped.aborted ? [] : ranked.filter((each) => each.isWinner && !verified.has(each.solution));
  const check = async ({ solution }: (typeof winners)[number]) => {
    const driver = settings.drivers.find(({ name }) => name === solution.driver);
    const reveal = (signal: AbortSignal) => {
      return driver?.reveal?.({ solutionId: solution.solutionId, auctionId }, { signal });
    };
    const problem =
      driver?.reveal === undefined
        ? undefined
        : await withDeadline(clock, settings.revealTime, reveal, stopped).then(
            (response) => checkCalldata(response, solution, auctionId),
            (error: unknown) => {
              if (error instanceof DeadlineError) silent.add(solution.driver);
              return describeError(error);
            },
          );
    verified.add(solution);
    if (problem === undefined) return;
    problems.push({ driver: solution.driver, step: 'reveal', reason: problem });
    refuted.add(solution);
  };
  await Promise.all(winners.map(check));
  return { refuted, silent };
}

export function toCompetition(
  auction: Auction,
  { ranked, referenceScores }: Selection<DriverSolution>,
  deadlineBlock: number,
): Competition {
  return {
    auctionId: auction.id,
    auctionStartBlock: auction.block,
    auctionDeadlineBlock: deadlineBlock,
    transactionHashes: [],
    referenceScores: Object.fromEntries([...referenceScores].map(([solver, score]) => [solver, String(score)])),
    auction: { orders: auction.orders.map(({ uid }) => uid), prices: auction.prices },
    solutions: ranked
      .map(({ solution, score, isWinner, filteredOut }, i) => ({
        solverAddress: solution.solver,
        score: String(score),
        ranking: i + 1,
        clearingPrices: solution.clearingPrices,
        orders: solution.orders.map(({ uid: id, executedSell, executedBuy, buyToken, sellToken }) => {
          return { id, sellAmount: String(executedSell), buyAmount: String(executedBuy), buyToken, sellToken };
        }),
        isWinner,
        filteredOut,
        txHash: null,
        referenceScore: isWinner ? String(referenceScores.get(solution.solver) ?? 0n) : null,
      }))
      .reverse(), // worst first
  };
}

/** Describes an error of a driver in one line. */
export function describeError(error: unknown): string {
  return String(Object(error).message ?? error).slice(0, 500);
}

/**
 * Checks that the calldata of a revealed solution executes its orders as claimed. Calldata of another contract, such as
 * a wrapper, cannot be decoded and is accepted.
 *
 * @param response - The body of the response of `POST /reveal`.
 * @returns The problem, or `undefined`.
 */
function checkCalldata(response: unknown, { orders }: DriverSolution, auctionId: number): string | undefined {
  const text = findCalldata(response);
  if (text === undefined) return 'calldata.internalized must be hex';
  const call = decodeSettle(text);
  if (call === undefined) return undefined;
  if (call.auctionId !== null && call.auctionId !== auctionId)
    return `the calldata must contain the auction id ${auctionId}, got ${call.auctionId}`;
  const trades = [...call.trades];
  for (const order of orders) {
    const i = trades.findIndex((trade) => executes(trade, order));
    if (i < 0) return `the calldata does not execute order ${order.uid} as claimed`;
    trades.splice(i, 1);
  }
  // Further trades could be those of orders in flight, and a settlement with them belongs to no solution.
  return trades.length === 0 ? undefined : `the calldata executes ${trades.length} orders that are not claimed`;
}

function findCalldata(response: unknown): string | undefined {
  if (typeof response !== 'object' || response === null || !('calldata' in response)) return undefined;
  const { calldata } = response;
  if (typeof calldata !== 'object' || calldata === null || !('internalized' in calldata)) return undefined;
  const { internalized: text } = calldata;
  return typeof text === 'string' && /^0x(?:[0-9a-fA-F]{2})*$/.test(text) ? text.toLowerCase() : undefined;
}

/** Whether a trade has the terms of an order, and gives its owner at least what is claimed. */
function executes(trade: SettledTrade, order: ExecutedOrder): boolean {
  const { kind, custom } = trade;
  if (kind !== order.kind || trade.sellToken !== order.sellToken || trade.buyToken !== order.buyToken) return false;
  if (trade.sellAmount !== order.sellAmount || trade.buyAmount !== order.buyAmount) return false;
  if (custom.sell === 0n || custom.buy === 0n) return false;
  const whole = kind === 'sell' ? trade.sellAmount : trade.buyAmount;
  const fixed = trade.partiallyFillable ? trade.executedAmount : whole;
  if (kind === 'sell') {
    const bought = (fixed * custom.sell + custom.buy - 1n) / custom.buy;
    return fixed === order.executedSell && bought >= order.executedBuy;
  }
  return fixed === order.executedBuy && (fixed * custom.buy) / custom.sell <= order.executedSell;
}
