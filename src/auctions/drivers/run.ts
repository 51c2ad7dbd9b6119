import { DeadlineError, withDeadline } from '../../concurrency/abort.ts';
import { createWorker } from '../../concurrency/lifecycle.ts';
import { callListener, type Observer } from '../../listeners.ts';
import type { ChainHead } from '../../ports/chain-source.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Store } from '../../ports/store.ts';
import type { Address, Hex } from '../../protocol/hex.ts';
import type { Auction } from '../auction-order.ts';
import type { Competition } from '../competition.ts';
import type { SolutionId } from '../in-flight.ts';
import type { createSettlementAttempts } from '../settlement-attempts.ts';
import { type DriverObservation, observedDriver } from './observed-driver.ts';
import { createParticipation } from './participation.ts';
import { describeError, solveAuction, toCompetition } from './round.ts';
import type { AuctionRun, AuctionRunSettings } from './run-options.ts';
import type { DriverSolution } from './solutions.ts';
import { createSolveRequests } from './solve-requests.ts';
import { findOutcome, type WinOutcome } from './win-outcome.ts';
import { SELECTION_RULES } from './winner-selection.ts';

export interface RunContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly wrappedNative: Address | undefined;
  /** Identifies this process among others. */
  readonly holder: string;
  readonly current: () => Promise<Auction>;
  readonly record: (competition: Competition) => Promise<unknown>;
  /** Called when another process may have run auctions: their orders are in flight. */
  readonly changed: () => void;
  readonly competition: (auctionId: number) => Promise<Competition | undefined>;
  /** Returns the newest block of the chain. `undefined`: the book is behind it, or no node follows it. */
  readonly findHead: () => Promise<ChainHead | undefined>;
  /** Returns the orders of winning solutions that may still be settled. */
  readonly findInFlight: () => Promise<ReadonlySet<Hex>>;
  /** Called when a winner has failed for certain. Its orders can be offered again after `block`. */
  readonly settlementFailed: (solution: SolutionId, block: number) => void;
  readonly attempts: Pick<ReturnType<typeof createSettlementAttempts>, 'start'>;
  readonly driverObserver: Observer<DriverObservation>;
  readonly onFailure: (failure: unknown) => void;
}

/**
 * Kinds of errors of drivers after which no transaction is pending. After any other error, such as a lost connection,
 * the settlement may still be included until its deadline.
 */
const FINAL_KINDS: ReadonlySet<unknown> = new Set(['FailedToSubmit', 'SolutionNotAvailable', 'MalformedRequest']);

const isFinal = (failure: unknown) =>
  typeof failure === 'object' && failure !== null && 'kind' in failure && FINAL_KINDS.has(failure.kind);

/** Describes the end of a settlement in the words of production. */
function describeOutcome(failure: unknown): string {
  if (failure === undefined) return 'success';
  return failure instanceof DeadlineError ? 'timeout' : `driver failed: ${describeError(failure)}`;
}

const LEASE = 'auctions';

/** Milliseconds of the lease beyond the time of one auction. */
const LEASE_MARGIN = 10_000;

/** Starts to run auctions. Of several processes on one store, the holder of a lease runs them. */
export function startAuctionRun(options: AuctionRunSettings, context: RunContext): AuctionRun {
  const { store, clock, wrappedNative, holder, onFailure } = context;
  const stopped = new AbortController();
  const observed = options.drivers.map((driver) => observedDriver(driver, clock, context.driverObserver));
  const settings = { ...options, drivers: observed };
  const requests = createSolveRequests(clock, settings.trustedTokens);
  const participation = createParticipation(settings, clock, findWinOutcome, stopped.signal);
  let last = 0;
  /** The term of the lease. `undefined`: another process has it. */
  let term: number | undefined;

  async function findWinOutcome(id: SolutionId): Promise<WinOutcome> {
    return findOutcome(await context.competition(id.auctionId), id, store);
  }

  /** Acquires the lease, or renews it. @returns false if another process has it, or has had it since the last call. */
  async function holdsLease(): Promise<boolean> {
    const ttl = settings.solveTime + settings.revealTime + settings.interval + LEASE_MARGIN;
    const before = term;
    const outcome = await store.leases.acquire({ name: LEASE, holder, ttl });
    term = outcome.status === 'held' ? outcome.term : undefined;
    if (term !== before) requests.forget();
    if (term !== undefined && term !== before) context.changed();
    return term !== undefined && term === before;
  }

  async function runOnce(): Promise<void> {
    // An old block would give deadlines that have passed, and offer orders that are filled.
    const head = await context.findHead();
    if (head === undefined) return;
    if (!(await holdsLease()) && term === undefined) return;
    await participation.update(head.confirmedTo).catch(onFailure);
    const auction = await context.current();
    if (auction.id === last) return;
    if (await runAuction(auction)) last = auction.id;
  }

  /** @returns false if the auction must be repeated. */
  async function runAuction(auction: Auction): Promise<boolean> {
    const drivers = participation.admitted();
    if (auction.orders.length === 0 || drivers.length === 0) return true;
    const { signal } = stopped;
    const auctionAt = clock.now();
    const round = {
      clock,
      settings: { ...settings, drivers },
      requests,
      wrappedNative,
      signal,
      findForbidden: (uids: readonly Hex[]) => findForbidden(context, uids),
      holdsLease,
    };
    const solved = await solveAuction(auction, round);
    if (solved === undefined) return false;
    const { selection, problems } = solved;
    const head = await context.findHead();
    // Another process may run the auctions by now.
    if (head === undefined || signal.aborted || !(await holdsLease())) return false;
    const deadlineBlock = Math.max(auction.block, head.number) + settings.submissionBlocks;
    if (selection.ranked.length > 0) {
      await context.record(toCompetition(auction, selection, deadlineBlock)); // else the orders would not be in flight
      // A process that has taken the lease before the record may offer the same orders.
      if (!(await holdsLease())) return true;
    }
    const won = new Map<string, SolutionId[]>();
    for (const [i, { solution, isWinner }] of selection.ranked.entries()) {
      if (!isWinner) continue;
      const { driver, solver: solverAddress } = solution;
      const id = { auctionId: auction.id, solverAddress, ranking: i + 1 };
      won.set(driver, [...(won.get(driver) ?? []), id]);
      const endAttempt = context.attempts.start({
        ...id,
        auctionAt,
        startedAt: clock.now(),
        startBlock: head.number,
        deadlineBlock,
      });
      void settle(id, solution, deadlineBlock, endAttempt);
    }
    // If the head is old, the deadline may have passed.
    if (head.isRecent) for (const [driver, solutions] of won) participation.won(driver, solutions, deadlineBlock);
    const solutions = selection.ranked.map(({ solution, ...rank }) => {
      const { driver, solutionId, solver, orders } = solution;
      return { driver, solutionId, solver, ...rank, orders: orders.map(({ uid }) => uid) };
    });
    const { id: auctionId, block } = auction;
    const finished = { auctionId, block, deadlineBlock, rules: SELECTION_RULES, solutions, problems };
    callListener(settings.onRound, finished, onFailure);
    return true;
  }

  const worker = createWorker({
    clock,
    interval: settings.interval,
    async run() {
      await runOnce().catch(onFailure);
      return undefined;
    },
    onFailure,
  });
  const settle = createSettlement(settings, context, stopped.signal, worker.wake);
  worker.start();
  return {
    wake: worker.wake,
    async stop() {
      stopped.abort();
      await worker.stop();
      await store.leases.release({ name: LEASE, holder }).catch(onFailure);
    },
  };
}

/** Returns the number of the newest indexed block. 0 if there is none. */
async function readIndexedBlock(store: RunContext['store']): Promise<number> {
  return (await store.chain.progress()).indexedBlock?.number ?? 0;
}

/** Returns those of some orders outside of the auction that no solution may have: they are in flight, or not open. */
async function findForbidden({ store, findInFlight }: RunContext, uids: readonly Hex[]): Promise<ReadonlySet<Hex>> {
  const [rows, inFlight] = await Promise.all([store.orders.get(uids), findInFlight()]);
  // A solver may use an order again that an earlier settlement has added. The book has left out all other orders.
  const known = rows.filter(({ state, body }) => state !== 'open' || !body.includes('"isLiquidityOrder":true'));
  return new Set([...known.map(({ uid }) => uid), ...uids.filter((uid) => inFlight.has(uid))]);
}

/** Creates the settlement of winners. The next auctions do not wait for it: its orders are in flight. */
function createSettlement(settings: AuctionRunSettings, context: RunContext, stopped: AbortSignal, wake: () => void) {
  const { store, clock, onFailure } = context;

  return async (
    id: SolutionId,
    { driver: name, solutionId }: DriverSolution,
    latest: number,
    endAttempt: ReturnType<RunContext['attempts']['start']>,
  ): Promise<void> => {
    const { auctionId } = id;
    const driver = settings.drivers.find((each) => each.name === name);
    const request = { solutionId, auctionId, submissionDeadlineLatestBlock: latest };
    const failure: unknown = await withDeadline(
      clock,
      settings.settleTime,
      (signal) => driver?.settle(request, { signal }),
      stopped,
    ).then(
      () => undefined,
      (error: unknown) => error ?? new Error('the settlement has failed'),
    );
    if (stopped.aborted) return;
    const settlement = { auctionId, driver: name, solutionId };
    try {
      const block = await readIndexedBlock(store);
      if (isFinal(failure)) context.settlementFailed(id, block);
      endAttempt({ at: clock.now(), block, outcome: describeOutcome(failure) });
    } catch (error) {
      onFailure(error);
    }
    const reason = failure === undefined ? {} : { reason: describeError(failure) };
    callListener(settings.onSettled, { ...settlement, ...reason }, onFailure);
    wake();
  };
}
