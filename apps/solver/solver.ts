import {
  type Address,
  type AuctionOrder,
  type Cancel,
  type Competition,
  type CompetitionSolution,
  type Hex,
  systemClock,
} from 'intentbook';
import {
  assertKnownOptions,
  callListener,
  createFailureReporter,
  createWorker,
  MAX_TIMER,
  requireFunction,
  requireFunctions,
  requireInteger,
} from '#internal';
import type { AuctionSource } from './auctions.ts';
import { formatPrices } from './describe-solution.ts';
import { getExecution, getScore } from './execution.ts';
import { createFailedOrders, type FailedOrder, MAX_RETRY_DELAY } from './failed-orders.ts';
import type { Settler } from './settler.ts';
import type { Solution, SolvableAuction, SolverEngine } from './types.ts';

/** Settings of a solver. */
export interface SolverOptions {
  /** Source of auctions: `book.auctions`, or `httpAuctions(url)`. */
  readonly auctions: AuctionSource;
  /** Finds solutions of auctions, such as `createReferenceEngine`. */
  readonly engine: SolverEngine;
  /** Executes settlements: `nodeSettler({ client, wallet })`. */
  readonly settler: Settler;
  /** Time between two auctions, in milliseconds. Default: 1000. */
  readonly interval?: number;
  /** Called after each auction in which there was something to solve. `onFailure` receives its error. */
  readonly onResult?: (result: SolverResult) => void;
  /** Called with errors of the source, of the node and of the engine. An error that it throws is dropped. */
  readonly onFailure?: (failure: unknown) => void;
}

const OPTIONS = ['auctions', 'engine', 'settler', 'interval', 'onResult', 'onFailure'];

/** The result of one auction. */
export interface SolverResult {
  readonly auctionId: number;
  readonly settlements: readonly {
    readonly transactionHash: Hex;
    readonly orders: readonly Hex[];
    readonly reverted: boolean;
  }[];
  /** Orders whose settlement fails in a simulation, with the reason. They are tried again later. */
  readonly failed: readonly FailedOrder[];
}

/** A solver that settles the auctions of one order book. */
export interface Solver {
  /** Solves the current auction once. Calls do not overlap. */
  run(): Promise<SolverResult | undefined>;
  /** Starts to solve in the background. Keeps the process running until `stop`. */
  start(): void;
  /** Solves without waiting for the interval. `retry` forgets which orders were settled and which have failed. */
  wake(options?: { readonly retry?: boolean }): void;
  /** Finishes the current settlement and stops. */
  stop(): Promise<void>;
}

/** The part of an auction that is done. */
interface Progress {
  readonly round: Round;
  readonly settlements: SolverResult['settlements'][number][];
  readonly failed: FailedOrder[];
}

/**
 * Creates a solver: reads auctions, solves them, simulates the settlements, submits them, and records the competition.
 *
 * ```ts
 * const solver = createSolver({ auctions: book.auctions, engine, settler: nodeSettler({ client, wallet }) });
 * solver.start();
 * ```
 *
 * @throws TypeError if an option is unknown or malformed.
 */
export function createSolver(options: SolverOptions): Solver {
  assertKnownOptions('createSolver', options, OPTIONS);
  const { auctions, engine, settler, onResult, onFailure } = options;
  requireFunctions('createSolver: auctions', auctions, ['current']);
  requireFunctions('createSolver: engine', engine, ['solve']);
  requireFunctions('createSolver: settler', settler, ['simulate', 'submit']);
  const interval = requireInteger('createSolver: interval', options.interval ?? 1_000, 1, MAX_TIMER);
  const failures = createFailedOrders(engine, settler);
  /** Blocks in which orders were settled. The book may not have read them yet. */
  const settled = new Map<Hex, number>();
  let working: Promise<SolverResult | undefined> | undefined;
  let background: { readonly stopped: AbortController; readonly release: Cancel | undefined } | undefined;

  if (onResult !== undefined) requireFunction('createSolver: onResult', onResult);
  const report = createFailureReporter(onFailure);

  async function record(round: Round): Promise<void> {
    try {
      await auctions.record?.(toCompetition(round, settler.address));
    } catch (failure) {
      report(failure);
    }
  }

  /** Leaves out orders that have failed recently, or whose settlement the book has not read yet. */
  function solvable(auction: SolvableAuction): SolvableAuction {
    for (const [uid, block] of settled) if (block <= auction.block) settled.delete(uid);
    return { ...auction, orders: failures.leaveOut(auction.orders).filter(({ uid }) => !settled.has(uid)) };
  }

  /** Submits a solution. If its result is unknown, its orders are left out for a while, so as not to settle twice. */
  async function submit(auction: SolvableAuction, solution: Solution, progress: Progress): Promise<void> {
    const { round, settlements } = progress;
    const orders = solution.fills.map(({ order }) => order.uid);
    const bid: Bid = { solution, transactionHash: undefined };
    // The auction may be older than the newest blocks. A deadline that has passed would not keep its orders in flight.
    round.head = (await settler.block?.().catch(report)) ?? round.head;
    round.bids.add(bid);
    await record(round);
    try {
      const { transactionHash, block, reverted } = await settler.submit(solution, auction.id);
      if (reverted) for (const uid of orders) failures.note(uid);
      if (!reverted) for (const uid of orders) settled.set(uid, block);
      settlements.push({ transactionHash, orders, reverted });
      if (reverted) round.bids.delete(bid);
      else bid.transactionHash = transactionHash;
    } catch (failure) {
      for (const uid of orders) failures.note(uid, MAX_RETRY_DELAY);
      throw failure;
    }
  }

  /** @throws The first failure of a simulation, after the other solutions. */
  async function settleAll(auction: SolvableAuction, signal: AbortSignal, progress: Progress): Promise<void> {
    const parts: (readonly AuctionOrder[])[] = [];
    const unknown: unknown[] = [];
    // An engine may offer an order in several solutions, of which one is settled.
    const isDone = (uid: Hex) => progress.settlements.some(({ orders, reverted }) => !reverted && orders.includes(uid));
    for (const solution of await engine.solve(auction, signal)) {
      if (signal.aborted) return;
      if (solution.fills.some(({ order }) => isDone(order.uid))) continue;
      let reason: string | undefined;
      try {
        reason = await settler.simulate(solution, signal);
      } catch (failure) {
        unknown.push(failure);
        continue;
      }
      if (reason === undefined) {
        await submit(auction, solution, progress);
        continue;
      }
      const divided = await failures.divide(auction, solution, reason, signal);
      progress.failed.push(...divided.failed);
      parts.push(...divided.parts);
    }
    for (const part of parts) {
      const orders = failures.leaveOut(part).filter(({ uid }) => !isDone(uid));
      if (orders.length > 0 && !signal.aborted) await settleAll({ ...auction, orders }, signal, progress);
    }
    if (unknown.length > 0) throw unknown[0];
  }

  async function solve(): Promise<SolverResult | undefined> {
    const { signal } = background?.stopped ?? new AbortController();
    const whole = await auctions.current();
    const auction = solvable(whole);
    if (auction.orders.length === 0) return undefined;
    const progress: Progress = {
      round: openRound(auctions.record ?? settler, settler, whole),
      settlements: [],
      failed: [],
    };
    const { round, settlements, failed } = progress;
    const result = { auctionId: auction.id, settlements, failed };
    try {
      await settleAll(auction, signal, progress);
    } finally {
      // The settlements before a failure are recorded and reported as well.
      if (settlements.some(({ reverted }) => !reverted)) await record(round);
      const isNotified = onResult !== undefined && (settlements.length > 0 || failed.length > 0);
      if (isNotified) callListener(onResult, result, report);
    }
    return result;
  }

  function run(): Promise<SolverResult | undefined> {
    working ??= solve().finally(() => {
      working = undefined;
    });
    return working;
  }

  const worker = createWorker({
    clock: systemClock,
    interval,
    async run(isStopping) {
      await run().catch((failure: unknown) => isStopping() || report(failure));
      return undefined;
    },
    onFailure: report,
  });

  return {
    run,
    start() {
      if (background !== undefined) return;
      background = { stopped: new AbortController(), release: systemClock.hold?.() };
      worker.start();
    },
    wake({ retry = false } = {}) {
      if (retry) {
        failures.clear();
        settled.clear();
      }
      worker.wake();
    },
    async stop() {
      background?.stopped.abort();
      background?.release?.();
      background = undefined;
      await worker.stop();
      await working?.catch(() => {});
    },
  };
}

/** A solution with the transaction that executed it. */
interface Bid {
  readonly solution: Solution;
  transactionHash: Hex | undefined;
}

/** An auction with all bids of one solver. */
interface Round {
  readonly settler: Settler;
  readonly auction: SolvableAuction;
  /** Number of the newest block when the last settlement was sent, or that of the auction. */
  head: number;
  readonly bids: Set<Bid>;
}

/**
 * The last round of each book, by the method that records its competitions. Until a settlement is indexed, the book may
 * return the same auction again.
 */
const lastRounds = new WeakMap<object, Round>();

/** A record of a competition replaces the earlier one, so that it needs the bids of all runs with the same auction. */
function openRound(book: object, settler: Settler, auction: SolvableAuction): Round {
  const last = lastRounds.get(book);
  if (last?.auction.id === auction.id && last.settler === settler) return last;
  const round = { settler, auction, head: auction.block, bids: new Set<Bid>() };
  lastRounds.set(book, round);
  return round;
}

/** Blocks after the newest one in which the solutions of an auction may be settled. */
const DEADLINE = 5;

/** Creates the record of a competition in which one solver has placed all bids. Every bid wins. */
function toCompetition({ auction, head, bids }: Round, solver: Address): Competition {
  const scored = [...bids].map((bid) => ({ ...bid, score: getScore(bid.solution, auction.prices) }));
  scored.sort((a, b) => (a.score < b.score ? -1 : a.score > b.score ? 1 : 0));
  return {
    auctionId: auction.id,
    auctionStartBlock: auction.block,
    auctionDeadlineBlock: Math.max(auction.block, head) + DEADLINE,
    transactionHashes: [...bids].flatMap(({ transactionHash }) => transactionHash ?? []),
    referenceScores: { [solver]: '0' },
    auction: { orders: auction.orders.map(({ uid }) => uid), prices: auction.prices },
    solutions: scored.map(({ solution, score, transactionHash }, i): CompetitionSolution => {
      const { prices, fills } = solution;
      return {
        solverAddress: solver,
        score: String(score),
        ranking: scored.length - i,
        clearingPrices: formatPrices(prices),
        orders: fills.map((fill) => {
          const { sold, bought } = getExecution(fill, prices);
          const { uid: id, sellToken, buyToken } = fill.order;
          return { id, sellAmount: String(sold), buyAmount: String(bought), sellToken, buyToken };
        }),
        isWinner: true,
        filteredOut: false,
        txHash: transactionHash ?? null,
        referenceScore: '0',
      };
    }),
  };
}
