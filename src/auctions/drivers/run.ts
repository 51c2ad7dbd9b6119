import { withDeadline } from '../../concurrency/deadline.ts';
import { callListener } from '../../failure-reporter.ts';
import type { Observer } from '../../instrumentation.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Store } from '../../ports/store.ts';
import type { Address } from '../../protocol/hex.ts';
import type { Auction } from '../auction-order.ts';
import type { Competition } from '../competition.ts';
import type { DriverObservation } from './observed-driver.ts';
import { observedDriver } from './observed-driver.ts';
import { createParticipation } from './participation.ts';
import { describeError, solveAuction, toCompetition } from './round.ts';
import type { AuctionRun, AuctionRunSettings } from './run-options.ts';
import type { DriverSolution } from './solutions.ts';
import { SELECTION_RULES } from './winner-selection.ts';

export interface RunContext {
  readonly store: Pick<Store, 'chain' | 'leases'>;
  readonly clock: Clock;
  readonly wrappedNative: Address | undefined;
  /** Identifies this process among others. */
  readonly holder: string;
  readonly current: () => Promise<Auction>;
  readonly record: (competition: Competition) => Promise<unknown>;
  /** Called when a winner has failed. Its orders can be offered again after `block`. */
  readonly settlementFailed: (auctionId: number, solver: Address, block: number) => void;
  readonly driverObserver: Observer<DriverObservation>;
  readonly onFailure: (failure: unknown) => void;
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
  const participation = createParticipation(settings, clock, stopped.signal);
  let last = 0;

  async function holdsLease(): Promise<boolean> {
    const ttl = settings.solveTime + settings.revealTime + settings.interval + LEASE_MARGIN;
    return (await store.leases.acquire({ name: LEASE, holder, ttl })).status === 'held';
  }

  async function runOnce(): Promise<void> {
    if (!(await holdsLease())) return;
    const auction = await context.current();
    if (auction.id === last) return;
    await runAuction(auction);
    last = auction.id;
  }

  async function runAuction(auction: Auction): Promise<void> {
    const drivers = participation.admitted();
    if (auction.orders.length === 0 || drivers.length === 0) return;
    const { signal } = stopped;
    const round = { clock, settings: { ...settings, drivers }, wrappedNative, signal };
    const { selection, problems } = await solveAuction(auction, round);
    // Another process may run the auctions by now.
    if (signal.aborted || !(await holdsLease())) return;
    const { indexedBlock } = await store.chain.progress();
    const deadlineBlock = Math.max(auction.block, indexedBlock?.number ?? 0) + settings.submissionBlocks;
    if (selection.ranked.length > 0) await context.record(toCompetition(auction, selection, deadlineBlock));
    for (const { solution, isWinner } of selection.ranked) {
      if (isWinner) void settle(auction.id, solution, deadlineBlock);
    }
    const finished = {
      auctionId: auction.id,
      block: auction.block,
      deadlineBlock,
      rules: SELECTION_RULES,
      solutions: selection.ranked.map(({ solution, ...rank }) => {
        const { driver, solutionId, solver, orders } = solution;
        return { driver, solutionId, solver, ...rank, orders: orders.map(({ uid }) => uid) };
      }),
      problems,
    };
    callListener(settings.onRound, finished, onFailure);
  }

  /** Settles a winner. The next auctions do not wait for it: its orders are in flight. */
  async function settle(auctionId: number, { driver: name, solutionId, solver }: DriverSolution, latest: number) {
    const driver = settings.drivers.find((each) => each.name === name);
    const request = { solutionId, auctionId, submissionDeadlineLatestBlock: latest };
    const failed = await withDeadline(
      clock,
      settings.settleTime,
      (signal) => driver?.settle(request, { signal }),
      stopped.signal,
    ).then(() => undefined, describeError);
    if (stopped.signal.aborted) return;
    try {
      const { indexedBlock } = await store.chain.progress();
      if (failed !== undefined) context.settlementFailed(auctionId, solver, indexedBlock?.number ?? 0);
      const settlement = { auctionId, driver: name, solutionId };
      callListener(
        settings.onSettled,
        failed === undefined ? settlement : { ...settlement, reason: failed },
        onFailure,
      );
    } catch (failure) {
      onFailure(failure);
    }
    await participation.ended(auctionId, name, failed !== undefined).catch(onFailure);
    wake();
  }

  // `createWorker` is part of the core. If this module used it too, the core would be split into more files.
  let running: Promise<void> | undefined;
  let requested = false;
  let cancel = () => {};

  async function loop(): Promise<void> {
    do {
      requested = false;
      await runOnce().catch(onFailure);
    } while (requested && !stopped.signal.aborted);
    running = undefined;
    if (!stopped.signal.aborted) cancel = clock.after(settings.interval, wake);
  }

  function wake(): void {
    requested = true;
    if (running !== undefined || stopped.signal.aborted) return;
    cancel();
    running = loop();
  }

  wake();
  return {
    wake,
    async stop() {
      stopped.abort();
      cancel();
      await running;
      await store.leases.release({ name: LEASE, holder }).catch(onFailure);
    },
  };
}
